"""What providers keep of a session on their side, so that it can be deleted there too."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from app.context.known import Checkpoint


class Kept(msgspec.Struct, frozen=True):
    """One thing that a provider keeps: the upstream's name in our settings, and the provider's id."""

    upstream: str
    handle: str


_read = msgspec.json.Decoder(list[Kept]).decode
pack = msgspec.json.Encoder().encode


def kept_in(checkpoints: Iterable[Checkpoint]) -> list[Kept]:
    """What these checkpoints say that a provider keeps, each once, in their order."""
    found = {
        Kept(each.upstream, handle): None for each in checkpoints for handle in (*each.passed, each.handle) if handle
    }
    return list(found)


def unpacked(stored: bytes | None) -> list[Kept]:
    """What was noted when the session was forgotten; nothing if nothing was, or if it cannot be read."""
    try:
        return _read(stored) if stored else []
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []
