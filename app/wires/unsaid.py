"""What a client says between the lines, where no neutral value holds it: the formats that cannot say it report it."""

from __future__ import annotations

from collections.abc import Container

from app.chat.model import Chat, Loss
from app.errors import ClientError
from app.wires.envelope import Envelope

_MARK = b'"cache_control"'
"""Anthropic's cache mark, which other formats' gateways take too. Inside a text its quotation marks are escaped."""


def lost_marks(chat: Chat) -> tuple[Loss, ...]:
    """The loss of cache marks, if the client set any."""
    envelope = chat.native.body if chat.native else None
    if isinstance(envelope, Envelope) and _MARK in envelope.raw:
        return (Loss("cache_control", "This format has no cache marks: the provider caches as it does by itself."),)
    return ()


_CACHED = (
    "Cached content is stored at Google, with instructions, tools and messages in it: only generateContent reads it. "
    "Send what it holds, or ask a Gemini model with GEMINI_API=generate."
)
HELD = {
    "cachedContent": _CACHED,
    "cached_content": _CACHED,
    "compaction": "Only Claude makes compaction blocks. Leave it out: Foldline folds long conversations by itself.",
}
"""Root fields without which the request would be another one, though it could be sent: by name, what to do instead."""


def refuse_held(chat: Chat, known: Container[str] = ()) -> None:
    """Raises ClientError for a field that only the client's own provider can make anything of, and that the answer
    depends on. `known` are those that this one understands too."""
    for name in chat.rest:
        if name in HELD and name not in known:
            raise ClientError(f"{name}: {HELD[name]}", param=name)
