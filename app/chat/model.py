"""What a conversation is: Chat, Message, the kinds of part, Tool.

All values are frozen. `native` keeps what the peer literally wrote, by reference and never edited, so that the same
format out re-emits it and unknown fields survive. The only way to change a message is `Message.edited`, which drops
its native: an edited message is rebuilt, an untouched one is never rewritten.

Frozen msgspec structs rather than dataclasses: a 2,000-message chat is thousands of these, and a struct is built about
eight times faster. They are out of the garbage collector's sight (gc=False): frozen values cannot form cycles. Part
fields are never replaced in place; build a new part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from app.chat.search import WebSearch

Role: TypeAlias = Literal["system", "user", "assistant"]
MediaKind: TypeAlias = Literal["image", "audio", "video", "file"]


class Native(msgspec.Struct, frozen=True, gc=False):
    """What a peer literally wrote: `wire` names the format, `body` is its value. Held by reference, never edited."""

    wire: str
    body: Any


class Text(msgspec.Struct, frozen=True, gc=False):
    """Words. `native` is the part as the peer wrote it, if it carried more than the words."""

    text: str
    native: Native | None = None


class Thinking(msgspec.Struct, frozen=True, gc=False):
    """Reasoning that the model showed. `signature` is the provider's opaque proof, meaningless to any other."""

    text: str
    signature: str = ""
    native: Native | None = None


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """The model asks for a tool. `arguments` is JSON text exactly as written (it may be invalid: models do that).

    A `custom` call carries free text instead. `signature` is the provider's thought signature on this call, if the
    peer carried one here.
    """

    id: str
    name: str
    arguments: str
    signature: str = ""
    kind: Literal["function", "custom"] = "function"
    native: Native | None = None


class Media(msgspec.Struct, frozen=True, gc=False):
    """An image, a sound, a film or a file: by value (`data`, base64), by address (`url`), or by a provider's id."""

    kind: MediaKind
    mime: str = ""
    data: str = ""
    url: str = ""
    file_id: str = ""
    name: str = ""
    detail: str = ""
    native: Native | None = None


class Opaque(msgspec.Struct, frozen=True, gc=False):
    """A part that we do not model. It goes only to the wire that it came from."""

    native: Native


class ToolResult(msgspec.Struct, frozen=True, gc=False):
    """What a tool answered. `name` may be empty: only some formats repeat it."""

    call_id: str
    content: tuple[Text | Media | Opaque, ...]
    name: str = ""
    is_error: bool = False
    native: Native | None = None

    @property
    def text(self) -> str:
        """The words of the result, without its media."""
        return "".join(part.text for part in self.content if isinstance(part, Text))


Part: TypeAlias = Text | Thinking | ToolCall | ToolResult | Media | Opaque


class Message(msgspec.Struct, frozen=True, gc=False):
    """One message. Tool results are parts of a user message, whatever the client's format calls their role."""

    role: Role
    parts: tuple[Part, ...]
    native: Native | None = None

    def edited(self, parts: tuple[Part, ...]) -> Message:
        """The same message saying something else: what the peer wrote no longer stands for it, so it is dropped."""
        return Message(self.role, parts)

    def carrying(self, native: Native) -> Message:
        """The same message with what another peer wrote for the very same content (see wires: restore)."""
        return Message(self.role, self.parts, native)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in this message, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results in this message, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolResult))


class Tool(msgspec.Struct, frozen=True):
    """A tool that the model may call. `schema` is the JSON Schema of its arguments.

    kind: `function` takes JSON, `custom` takes free text, `hosted` runs at the provider and belongs to its own wire.
    Only a web search that the provider runs is known to every wire: `search` says what is asked of it.
    """

    name: str
    description: str = ""
    schema: Mapping[str, Any] = {}
    kind: Literal["function", "custom", "hosted"] = "function"
    strict: bool | None = None
    native: Native | None = None
    search: WebSearch | None = None


class ToolChoice(msgspec.Struct, frozen=True):
    """Which tools the model may or must call. `names` limits them; empty means all."""

    mode: Literal["auto", "none", "required"] = "auto"
    names: tuple[str, ...] = ()


class Reasoning(msgspec.Struct, frozen=True):
    """How much the model should think. `budget` is in tokens; `show` asks for the thinking as text."""

    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max", ""] = ""
    budget: int | None = None
    show: bool | None = None


class OutputFormat(msgspec.Struct, frozen=True):
    """Structured output. `schema` is None for plain JSON mode."""

    name: str = ""
    schema: Mapping[str, Any] | None = None
    strict: bool | None = None
    description: str = ""


class Sampling(msgspec.Struct, frozen=True):
    """How to generate. None means: the client did not say, so the provider's default holds."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    candidates: int | None = None
    reasoning: Reasoning | None = None
    output: OutputFormat | None = None
    tool_choice: ToolChoice | None = None
    parallel_tools: bool | None = None


class Chat(msgspec.Struct, frozen=True):
    """One request, neutral.

    Args:
        model: as the client named it, or as a route renamed it.
        system: the leading system texts, in order; they stay outside the address chain.
        messages: everything after them. A later system message stays where it was said.
        stream: whether the client wants the answer piece by piece; `framing` says in which form.
        include_usage: whether its stream should report token usage, in formats where that must be asked for.
        after: the provider's handle to continue from: then only the messages from `since` on are sent.
        since: how many messages the provider holds under `after`. They stand in `messages` all the same: tool results
            behind them are matched to the calls in them.
        store: whether the provider may keep this turn; None: nobody said.
        resume: the provider's token for the rest of an answer that it paused.
        continues: the id that a client continues from which sends only what is new (a response or an interaction).
        conversation: the id of the conversation that such a client adds to.
        native: the client's own body as bytes, for the same format out.
        options: the body's `foldline` object, which never reaches a provider.
        rest: top-level fields that are not modelled, by the client's spelling; they survive on the same wire.
        plain: known to hold no tool call and no result, so that nobody need look for any.
    """

    model: str
    messages: tuple[Message, ...]
    system: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()
    sampling: Sampling = Sampling()
    stream: bool = False
    include_usage: bool = False
    framing: Literal["sse", "array"] = "sse"
    after: str = ""
    since: int = 0
    store: bool | None = None
    resume: str = ""
    continues: str = ""
    conversation: str = ""
    native: Native | None = None
    options: Mapping[str, Any] = {}
    rest: Mapping[str, Any] = {}
    plain: bool = False


class Loss(msgspec.Struct, frozen=True):
    """Something that the target format cannot say. `field` is where it stood, `reason` a sentence for the user."""

    field: str
    reason: str
