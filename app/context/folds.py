"""A fold: what stands for the oldest messages of a chat, addressed by the prefix that it stands for.

A fold covers the prefix with spans, oldest first: a summary (a frozen segment), messages that stay verbatim (the task
of an agent that is still at work on it), or messages that were left out. It is a value like any checkpoint: made once,
the same for every request, branch and replica that shares the prefix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from app.chat.model import Message, ToolResult
from app.context.retention import Fact

SpanKind: TypeAlias = Literal["summary", "verbatim", "dropped"]

_APART = int.from_bytes(b"fold line here:.")


class Span(msgspec.Struct, frozen=True, omit_defaults=True):
    """A stretch of the prefix, from where the one before it ends.

    Args:
        upto: the address (16 bytes) at which it ends.
        kind: what became of its messages.
        text: the segment's words, if it is a summary.
    """

    upto: bytes
    kind: SpanKind = "summary"
    text: str = ""


class Check(msgspec.Struct, frozen=True):
    """How the newest segment of a fold was made, and what the retention gate found.

    Args:
        pinned: the model that was asked. served: the one that the response named.
        drifted: they are not the same model.
        found, kept: critical tokens in what was folded, and how many of them the summary's own text held at first.
        repaired: how many of the others the second answer or the verbatim facts brought back.
        score: the share (0 to 1, weighted) that text and facts hold together.
        asked: how often the model was asked.
        values: the critical tokens, as first written. lost: those that stand nowhere any more.
        tokens: estimated, of what was folded; made: of the segment.
    """

    pinned: str = ""
    served: str = ""
    drifted: bool = False
    found: int = 0
    kept: int = 0
    repaired: int = 0
    score: float = 0
    asked: int = 0
    values: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    tokens: int = 0
    made: int = 0


class Fold(msgspec.Struct, frozen=True, omit_defaults=True):
    """What stands for a prefix.

    Args:
        upto: the address (16 bytes) at which that prefix ends: the fold line.
        spans: its cover, oldest first; the last one ends at `upto`.
        facts: what is carried word for word because no summary holds it.
        check: how its newest summary was made; None if it was made without one.
        refused: why the summary for this prefix is not used; then there are no spans.
    """

    upto: bytes
    spans: tuple[Span, ...] = ()
    facts: tuple[Fact, ...] = ()
    check: Check | None = None
    refused: str = ""

    @property
    def summaries(self) -> tuple[str, ...]:
        """The texts of its segments, oldest first."""
        return texts_of(self.spans)

    @property
    def drops(self) -> bool:
        """Whether something was left out without a summary."""
        return any(span.kind == "dropped" for span in self.spans)


class Stretch(msgspec.Struct, frozen=True):
    """A span by the indices of its messages: `start` is the first, `end` the one behind its last."""

    start: int
    end: int
    kind: SpanKind
    text: str = ""


def texts_of(spans: Iterable[Span]) -> tuple[str, ...]:
    """The texts of the segments in a cover, oldest first."""
    return tuple(span.text for span in spans if span.kind == "summary")


def fold_address(prefix: bytes) -> bytes:
    """Where the fold that stands for a prefix (16 bytes) is kept: beside the checkpoint of its last message."""
    return (int.from_bytes(prefix) ^ _APART).to_bytes(16)


def fold_ends(messages: Sequence[Message]) -> Iterator[int]:
    """How many messages each prefix has that a fold may stand for: up to a user's words, or a finished exchange.

    All that `cuts` may find, and cheaper: a fold that no later turn asks the store for would be made again and again.
    """
    before = ""
    for index, message in enumerate(messages):
        role: str = message.role
        if role == "system":
            continue
        if role == "user":
            parts = message.parts
            if type(parts[0]) is ToolResult if len(parts) == 1 else any(type(part) is ToolResult for part in parts):
                role = "result"
            elif before:
                yield index
        elif before == "result":
            yield index
        before = role


def ends_of(addresses: Sequence[bytes]) -> dict[bytes, int]:
    """How many messages the prefix has that ends at an address; the longest, where a message says nothing."""
    return {address: index + 1 for index, address in enumerate(addresses)}


def stretches(fold: Fold, ends: Mapping[bytes, int]) -> tuple[Stretch, ...]:
    """The fold's spans by index; none if the fold is no cover of this chat's beginning."""
    found: list[Stretch] = []
    start = 0
    for span in fold.spans:
        end = ends.get(span.upto, 0)
        if end <= start:
            return ()
        found.append(Stretch(start, end, span.kind, span.text))
        start = end
    return tuple(found)
