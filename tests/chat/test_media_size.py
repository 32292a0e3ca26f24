"""Media takes what the providers publish for its size in pixels, never what its base64 is long."""

from __future__ import annotations

import base64
import struct

import pytest

from app.chat.media import of_media
from app.chat.model import Media
from app.chat.pictures import dimensions


def png(width: int, height: int, padding: int = 0) -> bytes:
    """The head of a PNG, and something behind it."""
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)
    return head + b"\x08\x06\0\0\0" + b"\x5a" * padding


def jpeg(width: int, height: int, profile: int = 16) -> bytes:
    """A JPEG whose frame header stands behind three segments of `profile` bytes."""
    segment = b"\xff\xe1" + struct.pack(">H", profile + 2) + b"\x11" * profile
    return b"\xff\xd8" + segment * 3 + b"\xff\xff\xc2\0\x11\x08" + struct.pack(">HH", height, width) + b"\x03" * 12


def gif(width: int, height: int) -> bytes:
    """The head of a GIF."""
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\xf7\0\0"


def webp(kind: bytes, width: int, height: int) -> bytes:
    """The head of a WebP: lossy, lossless or extended."""
    bodies = {
        b"VP8 ": b"\x30\x01\0\x9d\x01\x2a" + struct.pack("<HH", width, height),
        b"VP8L": b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14) + b"\0" * 8,
        b"VP8X": b"\x10\0\0\0" + struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3],
    }
    return b"RIFF\0\0\0\0WEBP" + kind + b"\0\0\0\0" + bodies[kind] + b"\0" * 8


def encoded(raw: bytes) -> str:
    """As base64."""
    return base64.b64encode(raw).decode()


def picture(width: int, height: int, detail: str = "") -> Media:
    """A picture of this size."""
    return Media("image", "image/png", encoded(png(width, height)), detail=detail)


@pytest.mark.parametrize(
    "raw",
    [
        png(640, 480),
        gif(640, 480),
        jpeg(640, 480),
        jpeg(640, 480, profile=65_000),
        *(webp(kind, 640, 480) for kind in (b"VP8 ", b"VP8L", b"VP8X")),
    ],
    ids=["png", "gif", "jpeg", "jpeg behind a large profile", "webp lossy", "webp lossless", "webp extended"],
)
def test_a_pictures_size_is_read_from_its_head(raw: bytes) -> None:
    assert dimensions(encoded(raw)) == (640, 480)
    assert dimensions(base64.urlsafe_b64encode(raw).decode().rstrip("=")) == (640, 480)
    assert dimensions("\r\n".join(encoded(raw)[at : at + 76] for at in range(0, len(encoded(raw)), 76))) == (640, 480)


@pytest.mark.parametrize(
    "raw", [b"", b"\xff\xd8", b"\xff\xd8" + b"\xff\xe1\0\x02" * 5_000, png(0, 5), b"RIFF\0\0\0\0WEBPVP9 "]
)
def test_a_broken_picture_has_no_size(raw: bytes) -> None:
    assert dimensions(encoded(raw)) is None
    assert dimensions("é" * 50) is None


@pytest.mark.parametrize("data", [encoded(png(1, 1))[:18], "not base64 at all!", "A"])
def test_a_cut_picture_takes_the_ceiling(data: str) -> None:
    assert of_media(Media("image", "image/png", data), "claude", "claude-opus-5-5") == 4_784


@pytest.mark.parametrize(
    ("model", "width", "height", "published"),
    [
        ("claude-sonnet-4-5", 1_000, 1_000, 1_296),
        ("claude-opus-5-5", 1_000, 1_000, 1_296),
        ("claude-sonnet-4-5-20250929", 1_920, 1_080, 1_560),
        ("claude-opus-4-7", 1_920, 1_080, 2_691),
        ("claude-haiku-4-5", 3_840, 2_160, 1_560),
        ("claude-fable-5", 3_840, 2_160, 4_784),
    ],
)
def test_claudes_pictures_take_what_is_published(model: str, width: int, height: int, published: int) -> None:
    assert of_media(picture(width, height), "claude", model) == pytest.approx(published, rel=0.01)


@pytest.mark.parametrize(
    ("model", "detail", "tokens"),
    [
        ("gpt-4o", "", 85 + 4 * 170),
        ("gpt-4o", "low", 85),
        ("gpt-4o-mini", "high", 2_833 + 4 * 5_667),
        ("gpt-5", "", 70 + 4 * 140),
        ("gpt-5.2", "", 70 + 4 * 140),
        ("o3", "", 75 + 4 * 150),
        ("gpt-5-mini", "", 1_659),
        ("gpt-6", "", 1_229),
    ],
)
def test_openais_pictures_take_tiles_or_patches_by_generation(model: str, detail: str, tokens: int) -> None:
    assert of_media(picture(1_024, 1_024, detail), "openai", model) == tokens


def test_a_phones_photo_goes_whole_to_the_newest_models() -> None:
    photo = picture(4_032, 3_024)
    assert of_media(photo, "openai", "gpt-6.1") == 14_364
    assert of_media(photo, "openai", "gpt-5.4") <= 3_000
    assert of_media(photo, "openai", "gpt-4o") == 85 + 4 * 170


@pytest.mark.parametrize(
    ("model", "size", "detail", "tokens"),
    [
        ("gemini-3.8-flash", 1_024, "", 1_120),
        ("gemini-3.8-flash", 1_024, "low", 280),
        ("gemini-3-pro", 1_024, "MEDIA_RESOLUTION_MEDIUM", 560),
        ("gemini-2.5-flash", 384, "", 258),
        ("gemini-2.5-flash", 1_024, "", 4 * 258),
        ("gemma-3-27b", 1_024, "", 258),
    ],
)
def test_geminis_pictures_take_what_is_published(model: str, size: int, detail: str, tokens: int) -> None:
    assert of_media(picture(size, size, detail), "gemini", model) == tokens


def test_a_pictures_bytes_do_not_matter() -> None:
    small, large = (Media("image", "image/png", encoded(png(800, 600, padding))) for padding in (0, 3_000_000))
    assert of_media(small, "claude") == of_media(large, "claude")


@pytest.mark.parametrize(
    ("detail", "model", "tokens"), [("high", "gpt-6", 3_000), ("original", "gpt-6", 12_000), ("low", "gpt-6", 308)]
)
def test_a_picture_by_address_takes_a_ceiling(detail: str, model: str, tokens: int) -> None:
    assert of_media(Media("image", url="https://example.org/a.png", detail=detail), "openai", model) == tokens


def test_sound_and_film_are_counted_by_the_second() -> None:
    minute = encoded(b"\0" * 60 * 4_000)
    assert of_media(Media("audio", "audio/mpeg", minute), "gemini", "gemini-3-flash") == 60 * 32
    assert of_media(Media("audio", "audio/wav", minute), "gemini", "gemini-3-flash") == 15 * 32
    film = Media("video", file_id="files/abc")
    assert of_media(film, "gemini", "gemini-3-flash") == 600 * (70 + 32)
    assert of_media(film, "gemini", "gemini-2.5-flash") == 600 * (263 + 32)


def test_a_pdf_is_counted_by_its_pages_and_never_above_a_hundred() -> None:
    ten = Media("file", "application/pdf", encoded(b"%PDF" + b"\0" * 195_000))
    assert of_media(ten, "gemini", "gemini-2.5-pro") == 10 * 258
    assert of_media(ten, "claude") == 10 * 4_560
    scan = Media("file", "application/pdf", encoded(b"\0" * 5_000_000))
    assert of_media(scan, "gemini", "gemini-3-pro") == 100 * 560
    assert of_media(Media("file", file_id="file-1"), "openai", "gpt-6") == 20 * 2_500


def test_any_other_file_has_a_ceiling() -> None:
    assert of_media(Media("file", "text/plain", encoded(b"hello" * 200)), "openai") == 501
    assert of_media(Media("file", "application/zip", "A" * 3_000_000), "openai") == 50_000
