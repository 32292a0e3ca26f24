"""What a turn would do, as data: the dry run's answer."""

from __future__ import annotations

import msgspec

from app.chat.model import Message
from app.context.known import Known
from app.context.plan import Plan


class Asked(msgspec.Struct, frozen=True):
    """The request as it would go to a provider: the path below its base URL, and the body, JSON."""

    path: str
    body: bytes


class Preview(msgspec.Struct, frozen=True):
    """One turn, seen before it is run.

    Args:
        format: the client's format, as people call it.
        wanted: the model that the client named.
        session: the session's id; empty if no store was asked, as ids hold only where their secret is.
        named: whether the client named the session; otherwise it follows from the conversation's beginning.
        recalled: whether a store was asked for what it knows.
        known: what it knew.
        plan: decisions with reasons, and all that would be lost.
        messages: the client's own, without leading system texts.
        system: how many leading system texts there are.
        kept: how many of `messages` go on just as they came.
        others: how many messages go on beside those: written anew, joined, or added.
        upstream, model: where the request goes, and the model that is asked for there.
        fallbacks: (upstream, model) of those tried when that one cannot.
        received, sent: tokens, estimated.
        untouched: whether the client's own bytes would go out.
        refused: why the client would get an error instead; empty if nothing stands against it.
        asked: the request; None if none could be made.
    """

    format: str
    wanted: str
    session: str
    named: bool
    recalled: bool
    known: Known
    plan: Plan
    messages: tuple[Message, ...]
    system: int
    kept: int
    others: int
    upstream: str
    model: str
    fallbacks: tuple[tuple[str, str], ...] = ()
    received: int = 0
    sent: int = 0
    untouched: bool = False
    refused: str = ""
    asked: Asked | None = None

    @property
    def broke(self) -> str:
        """Where the chat left what is known, in a sentence; empty if all of it is known, or nothing."""
        prefix = self.known.deepest()
        last = len(self.messages) - 1
        if not prefix:
            return ""
        for index in range(prefix, last):  # a turn that ends the request is one that the model is to go on with
            if self.messages[index].role == "assistant" and self.messages[index + 1].role != "assistant":
                first, end = prefix + 1, index + 1
                if first == end:
                    return f"message {end} differs from what was answered there, or its answer was not remembered"
                which = f"message {first} or {end}" if end == first + 1 else f"one of the messages {first} to {end}"
                return f"{which} differs from what was sent, or the answer there was not remembered"
        return ""
