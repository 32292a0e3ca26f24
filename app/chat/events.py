"""What a model says while it speaks. Readers make these from bytes, writers make bytes from these.

Every event keeps its native chunk where it stands for exactly one. A stream is: Started, then any deltas and calls,
then Usage (the last one counts, they are running totals), then exactly one of Finished or Failed. Citations and
searches stand among the deltas, a citation behind the words that rest on it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from app.chat.citations import Citation
from app.chat.model import Native, ToolCall
from app.errors import ProxyError

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "paused", "malformed_call"]


class Started(msgspec.Struct, frozen=True, gc=False):
    """The provider began to answer. `model` is the one that really serves; `id` is the provider's response id."""

    id: str = ""
    model: str = ""
    native: Native | None = None


class TextDelta(msgspec.Struct, frozen=True, gc=False):
    """More words of the answer; `refusal`: those by which the model declines, which OpenAI tells apart."""

    text: str
    native: Native | None = None
    refusal: bool = False


class ThinkingDelta(msgspec.Struct, frozen=True, gc=False):
    """More of the reasoning that the provider shows."""

    text: str
    native: Native | None = None


class ToolCallDelta(msgspec.Struct, frozen=True, gc=False):
    """A piece of a tool call. The first piece of an `index` carries id and name, later ones only arguments."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""
    native: Native | None = None


class ToolCalled(msgspec.Struct, frozen=True, gc=False):
    """A tool call is complete. It follows the deltas of the same index, or stands alone if it came whole."""

    index: int
    call: ToolCall


class Cited(msgspec.Struct, frozen=True, gc=False):
    """Words that were said before rest on this source."""

    citation: Citation


class Searched(msgspec.Struct, frozen=True, gc=False):
    """The provider searched the web by itself.

    Args:
        queries: what it looked for.
        sources: addresses that it found, where the provider tells them apart from what it cites.
        suggestions: HTML that Google wants shown with an answer that rests on its search.
        native: the search as the provider wrote it.
    """

    queries: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    suggestions: str = ""
    native: Native | None = None


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Tokens, as a running total of this request. `input` includes cached tokens, `output` includes reasoning."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cache_written: int = 0
    reasoning: int = 0
    native: Native | None = None


class Finished(msgspec.Struct, frozen=True, gc=False):
    """The answer is complete, for this reason."""

    reason: FinishReason
    native: Native | None = None


class Failed(msgspec.Struct, frozen=True):
    """The provider, or the way to it, failed after the answer had begun."""

    error: ProxyError


class Unknown(msgspec.Struct, frozen=True, gc=False):
    """Something that we do not model; it reaches clients of the same wire untouched."""

    native: Native


Event: TypeAlias = (
    Started
    | TextDelta
    | ThinkingDelta
    | ToolCallDelta
    | ToolCalled
    | Cited
    | Searched
    | Usage
    | Finished
    | Failed
    | Unknown
)
