"""Width and height of a picture, read from the first bytes of its base64; the picture itself is never decoded."""

from __future__ import annotations

import base64
import binascii

MOST_SEGMENTS = 200
"""A JPEG's colour profile and thumbnail stand before its size, in segments of at most 64 kB."""

_URL_SAFE = str.maketrans("-_", "+/")
_SOFS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_STANDALONE = frozenset((0x01, *range(0xD0, 0xD9)))


def dimensions(data: str) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, JPEG, GIF or WebP in base64; None if it is none of these, or broken."""
    if any(blank in data[:200] for blank in "\n\r "):
        data = "".join(data[:1_000_000].split())
    head = _bytes_at(data, 0, 32)
    size = None
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        size = int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    elif head[:6] in (b"GIF87a", b"GIF89a") and len(head) >= 10:
        size = int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    elif head[:4] == b"RIFF" and head[8:12] == b"WEBP" and len(head) >= 30:
        size = _webp(head)
    elif head[:2] == b"\xff\xd8":
        size = _jpeg(data)
    return size if size and min(size) > 0 else None


def _webp(head: bytes) -> tuple[int, int] | None:
    """Three forms: lossy, lossless, extended (RFC 9649)."""
    match head[12:16]:
        case b"VP8 ":
            return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF
        case b"VP8L":
            bits = int.from_bytes(head[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
        case _:
            return None


def _jpeg(data: str) -> tuple[int, int] | None:
    """Jumps from segment to segment to the frame header, which says height, then width (ITU-T T.81 B.2.2)."""
    at = 2
    for _ in range(MOST_SEGMENTS):
        segment = _bytes_at(data, at, 9)
        if len(segment) < 4 or segment[0] != 0xFF:
            return None
        marker = segment[1]
        if marker == 0xFF:  # a fill byte
            at += 1
        elif marker in _STANDALONE:
            at += 2
        elif marker in _SOFS:
            return (int.from_bytes(segment[7:9], "big"), int.from_bytes(segment[5:7], "big")) if segment[8:] else None
        else:
            at += 2 + int.from_bytes(segment[2:4], "big")
    return None


def _bytes_at(data: str, offset: int, length: int) -> bytes:
    """Some bytes from the middle of base64: every four characters are three bytes."""
    first = offset // 3
    last = (offset + length + 2) // 3
    piece = data[first * 4 : last * 4].translate(_URL_SAFE).rstrip("=")
    try:
        raw = base64.b64decode(piece + "=" * (-len(piece) % 4))
    except (binascii.Error, ValueError):
        return b""
    skipped = offset - first * 3
    return raw[skipped : skipped + length]
