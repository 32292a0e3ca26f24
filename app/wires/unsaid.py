"""What a client says between the lines, where no neutral value holds it: the formats that cannot say it report it."""

from __future__ import annotations

from app.chat.model import Chat, Loss
from app.wires.envelope import Envelope

_MARK = b'"cache_control"'
"""Anthropic's cache mark, which other formats' gateways take too. Inside a text its quotation marks are escaped."""


def lost_marks(chat: Chat) -> tuple[Loss, ...]:
    """The loss of cache marks, if the client set any."""
    envelope = chat.native.body if chat.native else None
    if isinstance(envelope, Envelope) and _MARK in envelope.raw:
        return (Loss("cache_control", "This format has no cache marks: the provider caches as it does by itself."),)
    return ()
