"""How many tokens a picture, a sound, a film or a file takes, by its provider's published rule.

Never by the length of its base64: a photo of four megabytes is about as many tokens as a page of text. A picture's size
in pixels is read from its head; the length of a sound or a film and the pages of a PDF are guessed from its bytes,
with a low rate, so that the guess leans upwards. What came by address or by a provider's id is not at hand: it takes
the ceilings below.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from app.chat.family import Family
from app.chat.model import Media
from app.chat.pictures import dimensions

UNKNOWN_PAGES = 20
UNKNOWN_SECONDS = 600
PDF_BYTES_PER_PAGE = 20_000
"""A page of set text without pictures; scans have fifty times as many bytes, hence the limit of pages."""

MOST_PAGES = 100
AUDIO_BYTES_PER_SECOND = 4_000
"""32 kbit/s: speech, packed hard. Music has four times as many."""

VIDEO_BYTES_PER_SECOND = 60_000
"""Half a megabit a second."""

FILE_CEILING = 50_000
"""Tokens of any other file: office documents are packed, so their bytes say little."""

AUDIO_PER_SECOND: Mapping[Family, int] = {"openai": 10, "gemini": 32, "claude": 32, "other": 32}
"""Gemini publishes 32 a second, OpenAI one per 100 ms; the others take no sound, and are given the higher rate."""

PDF_PAGE: Mapping[Family, int] = {"openai": 2_500, "gemini": 560, "claude": 4_560, "other": 2_500}
"""Gemini 3 at its medium resolution; Claude up to 3,000 of text and the page as a picture."""

GEMINI_LEVELS: Mapping[str, int] = {"low": 280, "medium": 560, "high": 1_120, "ultra_high": 2_240, "original": 2_240}
"""Gemini 3, a picture by media resolution; 1,120 if none is asked for."""

_GEMINI_OLD = re.compile(r"gemini-(1|2)|gemma")
_CLAUDE_OLD = re.compile(r"claude-(2|3|instant)|claude-(opus|sonnet|haiku)-4(-[0-6]\b|\.[0-6]|-?\d{8}|$|@)")


class _Patches(NamedTuple):
    """OpenAI's newer rule: squares of 32 pixels times a factor, after shrinking to both limits."""

    factor: float
    most: int
    longest: int


_NEWEST = _Patches(1.2, 30_000, 0)
"""gpt-5.6 and later take a picture as it is, and refuse one above 30,000 patches."""

_HIGH = _Patches(1.2, 2_500, 2_048)
_ORIGINAL = _Patches(1.2, 10_000, 6_000)
_LOW_PATCHES = 256

_PATCHES: tuple[tuple[re.Pattern[str], _Patches], ...] = (
    (re.compile(r"gpt-5(\.4)?-mini|gpt-4\.1-mini"), _Patches(1.62, 1_536, 2_048)),
    (re.compile(r"gpt-5(\.4)?-nano|gpt-4\.1-nano"), _Patches(2.46, 1_536, 2_048)),
    (re.compile(r"o4-mini"), _Patches(1.72, 1_536, 2_048)),
)
_OPENAI_MIDDLE = re.compile(r"gpt-5\.[45]\b")
_TILES: tuple[tuple[re.Pattern[str], tuple[int, int]], ...] = (
    (re.compile(r"gpt-4o-mini"), (2_833, 5_667)),
    (re.compile(r"gpt-4o|gpt-4\.1|gpt-4|chatgpt-4o"), (85, 170)),
    (re.compile(r"gpt-5([-.][1-3])?(?![.\d])"), (70, 140)),
    (re.compile(r"\bo[13]\b"), (75, 150)),
)
"""OpenAI's older rule: (base, per tile of 512 pixels)."""


def of_media(part: Media, family: Family, model: str = "") -> int:
    """Tokens of one medium. `model` tells generations apart; empty is the newest, which never takes fewer."""
    if part.kind == "image":
        return _of_image(part, family, model.lower())
    if part.kind == "audio":
        return _seconds(part, _audio_rate(part)) * AUDIO_PER_SECOND[family]
    if part.kind == "video":
        return _seconds(part, VIDEO_BYTES_PER_SECOND) * _video_rate(model.lower(), part.detail)
    if "pdf" in part.mime or part.name.lower().endswith(".pdf") or not part.data:
        return _pages(part) * (258 if family == "gemini" and _GEMINI_OLD.search(model.lower()) else PDF_PAGE[family])
    return min(FILE_CEILING, max(1, _bytes(part) // 2))


def _of_image(part: Media, family: Family, model: str) -> int:
    size = dimensions(part.data) if part.data else None
    match family:
        case "gemini":
            return _gemini_image(size, part.detail, model)
        case "openai":
            return _openai_image(size, part.detail, model)
        case "claude":
            return _squares_of_28(size, *((1_568, 1_568) if _CLAUDE_OLD.search(model) else (2_576, 4_784)))
        case "other":  # Qwen's squares are of 28 pixels too, others take fewer tokens
            return _squares_of_28(size, 2_576, 4_784)


def _gemini_image(size: tuple[int, int] | None, detail: str, model: str) -> int:
    """Gemini 3: a number by resolution. Gemini 2: 258 for a small picture, else 258 a tile of 768 pixels."""
    if not _GEMINI_OLD.search(model):
        level = detail.lower().removeprefix("media_resolution_")
        return GEMINI_LEVELS.get(level, GEMINI_LEVELS["high"])
    if "gemma" in model:
        return 258
    if size is None:
        return 258 * 12  # a phone's photo at its full size would take 24
    width, height = size
    return 258 if max(size) <= 384 else 258 * math.ceil(width / 768) * math.ceil(height / 768)


def _squares_of_28(size: tuple[int, int] | None, longest: int, most: int) -> int:
    """Claude: one token a square of 28 pixels, after shrinking to both limits; an unknown size takes the most."""
    if size is None:
        return most
    shrunk = min(1.0, longest / max(size))
    width, height = (math.ceil(side * shrunk / 28) for side in size)
    return min(most, width * height)


def _openai_image(size: tuple[int, int] | None, detail: str, model: str) -> int:
    for pattern, patches in _PATCHES:
        if pattern.search(model):
            return _patches(size, patches, detail)
    if not _OPENAI_MIDDLE.search(model):
        for pattern, (base, tile) in _TILES:
            if pattern.search(model):
                return _tiles(size, base, tile, detail)
        return _patches(size, _HIGH if detail == "high" else _NEWEST, detail)
    return _patches(size, _ORIGINAL if detail == "original" else _HIGH, detail)


def _patches(size: tuple[int, int] | None, rule: _Patches, detail: str) -> int:
    """An unknown size: 3,000 at high detail, 12,000 where a picture is taken as it is."""
    most = min(rule.most, _LOW_PATCHES) if detail == "low" else rule.most
    if size is None:
        return math.ceil(min(most * rule.factor, 12_000 if most > _HIGH.most else 4_000))
    shrunk = min(1.0, rule.longest / max(size)) if rule.longest else 1.0
    width, height = (math.ceil(side * shrunk / 32) for side in size)
    return math.ceil(min(most, width * height) * rule.factor)


def _tiles(size: tuple[int, int] | None, base: int, tile: int, detail: str) -> int:
    """Shrunk into a square of 2,048 pixels, then to a shorter side of 768, then cut into tiles of 512."""
    if detail == "low":
        return base
    width, height = size or (768, 2_048)
    shrunk = min(1.0, 2_048 / max(width, height))
    shrunk = min(shrunk, 768 / min(width, height))
    return base + tile * math.ceil(width * shrunk / 512) * math.ceil(height * shrunk / 512)


def _bytes(part: Media) -> int:
    return len(part.data) * 3 // 4


def _pages(part: Media) -> int:
    if not part.data:
        return UNKNOWN_PAGES
    return min(MOST_PAGES, math.ceil(_bytes(part) / PDF_BYTES_PER_PAGE))


def _seconds(part: Media, bytes_per_second: int) -> int:
    return math.ceil(_bytes(part) / bytes_per_second) if part.data else UNKNOWN_SECONDS


def _audio_rate(part: Media) -> int:
    """Sound that is not packed has at least 16,000 bytes a second (8 kHz, 16 bits)."""
    return 16_000 if any(form in part.mime.lower() for form in ("wav", "pcm", "l16")) else AUDIO_BYTES_PER_SECOND


def _video_rate(model: str, detail: str) -> int:
    """Tokens a second. Gemini 3: 70 a frame (280 at high), one frame a second; Gemini 2: 263; sound: 32 more."""
    if _GEMINI_OLD.search(model):
        return 263 + AUDIO_PER_SECOND["gemini"]
    return (280 if "high" in detail.lower() else 70) + AUDIO_PER_SECOND["gemini"]
