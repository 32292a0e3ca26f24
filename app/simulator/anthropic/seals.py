"""Seals: what the simulator writes under one it knows again, byte for byte, without keeping it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable

from app.simulator.shapes import is_list

_KEY = b"foldline simulator"
_MARK = b"\x12\xa8\x01"  # what is sealed begins with "Eq", as true signatures do
_LONG = 16  # bytes


def sealed(values: Iterable[object]) -> str:
    """Values as base64 that is opaque to clients."""
    said = json.dumps(list(values), separators=(",", ":")).encode()
    return base64.b64encode(_MARK + _seal(said) + said).decode()


def opened(given: str) -> list[object] | None:
    """The values; None if the text was not sealed here, or was changed."""
    try:
        raw = base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        return None
    seal, said = raw[len(_MARK) : len(_MARK) + _LONG], raw[len(_MARK) + _LONG :]
    if raw[: len(_MARK)] != _MARK or seal != _seal(said):
        return None
    values: object = json.loads(said)
    return values if is_list(values) else None


def _seal(said: bytes) -> bytes:
    return hashlib.blake2b(said, key=_KEY, digest_size=_LONG).digest()
