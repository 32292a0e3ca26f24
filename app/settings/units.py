"""How people write a setting's value (30d, 64MiB, 0.9) and what it becomes (seconds, bytes, a share).

Each parser takes whatever a source gave, text from an environment or a number from a TOML file, and raises ValueError
with the accepted forms as its message, so that the line a user sees ends in the mend.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import cast
from urllib.parse import urlsplit

SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
BYTES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
BYTES.update(k=2**10, m=2**20, g=2**30)
TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")

_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


def _quantity(value: object, units: dict[str, float] | dict[str, int]) -> float | None:
    found = _QUANTITY.fullmatch(str(value).strip().lower())
    if isinstance(value, bool) or found is None or found[2] not in units:
        return None
    return float(found[1]) * units[found[2]]


def duration(low: float = 0.001, high: float = 366 * 86400.0) -> Callable[[object], float]:
    """A parser of durations into seconds, from `low` to `high` seconds."""

    def parse(value: object) -> float:
        seconds = _quantity(value, SECONDS)
        if seconds is None or not low <= seconds <= high:
            shape = "a duration such as 500ms, 5s, 15m, 12h or 30d, or plain seconds"
            raise ValueError(f"{shape}, from {spoken_duration(low)} to {spoken_duration(high)}")
        return seconds

    return parse


def size(low: int = 1024, high: int = 4 * 2**30) -> Callable[[object], int]:
    """A parser of sizes into bytes, from `low` to `high` bytes."""

    def parse(value: object) -> int:
        count = _quantity(value, BYTES)
        if count is None or not low <= count <= high:
            shape = "a size such as 512KiB, 64MiB or 1GiB, or plain bytes"
            raise ValueError(f"{shape}, from {spoken_size(low)} to {spoken_size(high)}")
        return int(count)

    return parse


def whole(low: int, high: int) -> Callable[[object], int]:
    """A parser of whole numbers from `low` to `high`."""

    def parse(value: object) -> int:
        text = str(value).strip()
        if isinstance(value, bool) or not re.fullmatch(r"\d{1,12}", text) or not low <= int(text) <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return int(text)

    return parse


def share(value: object) -> float:
    """A share from 0 to 1; 90% is 0.9."""
    text = str(value).strip()
    found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(%?)", text)
    number = float(found[1]) / (100 if found[2] else 1) if found else -1.0
    if isinstance(value, bool) or not 0 <= number <= 1:
        raise ValueError("a share from 0 to 1, such as 0.9 or 90%")
    return number


def switch(value: object) -> bool:
    """A switch: true or false, and the usual ways to write them."""
    text = str(value).strip().lower()
    if text not in TRUE + FALSE:
        raise ValueError("true or false")
    return text in TRUE


def choice(*options: str) -> Callable[[object], str]:
    """A parser that accepts one of `options`, whatever its case."""

    def parse(value: object) -> str:
        text = str(value).strip().lower()
        if text not in options:
            raise ValueError(f"{listed(options)}{did_you_mean(text, options)}")
        return text

    return parse


def keys(value: object) -> object:
    """Comma-separated keys, or a TOML array of them. An empty key would let in whoever presents none."""
    entries: object = value
    if isinstance(value, str):
        entries = [entry.strip() for entry in value.split(",") if entry.strip()]
    if entries == [] or (isinstance(entries, list) and "" in entries):
        raise ValueError("keys that are not empty, with commas between them")
    return cast("object", entries)


def address(value: object) -> str:
    """An http or https base URL without credentials, query or fragment; a closing slash is dropped."""
    text = str(value).strip().rstrip("/")
    accepted = "a base URL such as https://api.example.com/v1, without user name, query or fragment"
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        raise ValueError(accepted) from None
    if not usable or "@" in parts.netloc or parts.query or parts.fragment or " " in text:
        raise ValueError(accepted)
    return text


def did_you_mean(written: str, known: tuple[str, ...] | list[str]) -> str:
    """` (did you mean X?)` if a known name is close to what was written, else nothing."""
    close = get_close_matches(written, known, n=1, cutoff=0.6)
    return f" (did you mean {close[0]}?)" if close else ""


def listed(options: tuple[str, ...] | list[str]) -> str:
    """`a, b or c`."""
    return " or ".join(filter(None, (", ".join(options[:-1]), options[-1])))


def spoken_duration(seconds: float) -> str:
    """Seconds in the largest unit that says them exactly and is no single one: 2592000 is 30d, 60 is 60s."""
    for unit in ("d", "h", "m", "s"):
        if seconds >= 2 * SECONDS[unit] and seconds % SECONDS[unit] == 0:
            return f"{int(seconds // SECONDS[unit])}{unit}"
    return f"{seconds:g}s"


def spoken_size(count: int) -> str:
    """Bytes in the largest binary unit that says them exactly: 67108864 is 64MiB."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= factor and count % factor == 0:
            return f"{count // factor}{unit}"
    return f"{count}B"
