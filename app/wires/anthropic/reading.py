"""What one Messages answer has said so far: chunk by chunk into events.

A stream is message_start, blocks one after another, message_delta with the reason and the usage, message_stop; pings
and unknown events may stand anywhere. What only Anthropic's own clients understand (signatures, server tools) comes as
Unknown, with the chunk as its native. Citations are told when their block ends: then it is known what rests on them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from app.chat.events import (
    Cited,
    Event,
    Failed,
    Finished,
    Searched,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCalled,
    Unknown,
    Usage,
)
from app.chat.model import Chat, Message, Native, Part, Text, ToolCall
from app.wires.anthropic.assembly import Assembly
from app.wires.anthropic.bundle import Sealed
from app.wires.anthropic.citing import FOUND, SEARCH, citation, found_in
from app.wires.anthropic.errors import stream_failure
from app.wires.anthropic.names import FINISH_IN, NAME, PAUSED, legal_id, reverse
from app.wires.envelope import ANYTHING, as_list, as_object, as_text, compact, encode

PLAIN: Mapping[str, tuple[str, ...]] = {"text": ("type", "text"), "tool_use": ("type", "id", "name", "input")}
"""Blocks of which a client of any format sends everything back, and their fields."""


NOTHING = msgspec.Raw(b"{}")


class Tokens(msgspec.Struct):
    """usage. `input_tokens` is what no cache had to do with; a later one in a stream says only what is new."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens_details: dict[str, Any] | None = None


class Whole(msgspec.Struct):
    """The message object."""

    id: str | None = ""
    model: str | None = ""
    content: list[msgspec.Raw] | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: Any = None
    usage: Tokens | None = None


class Delta(msgspec.Struct):
    """The delta of a block, or of the message."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class Chunk(msgspec.Struct):
    """One event of a stream, as far as we read it."""

    type: str = ""
    message: Whole | None = None
    content_block: msgspec.Raw = NOTHING
    delta: msgspec.Raw = NOTHING
    usage: Tokens | None = None
    error: Any = None


class Answer(Whole):
    """An answer in one piece, or the error in its place."""

    type: str = ""
    error: Any = None


CHUNK = msgspec.json.Decoder(Chunk)
DELTA = msgspec.json.Decoder(Delta)
ANSWER = msgspec.json.Decoder(Answer)
OBJECT = msgspec.json.Decoder(dict[str, Any])


class Reading:
    """What one answer has said so far; shared by the streamed and the whole form."""

    def __init__(self, chat: Chat, new_id: Callable[[], str]) -> None:
        self._names = reverse(chat)
        self._tools = dict.fromkeys(tool.name for tool in chat.tools)
        self._custom = {tool.name for tool in chat.tools if tool.kind == "custom"}
        self._new_id = new_id
        self._before = _said_before(chat)
        self._blocks = Assembly()
        self._kind = ""
        self._previous = ""  # the kind of the block before
        self._length = 0  # code points of visible words, and how many there were before the open block
        self._begun = 0
        self._queries: dict[str, str] = {}
        self._call = ToolCall("", "", "")
        self._parts: list[Part] = []
        self._ids: set[str] = set()
        self._calls = 0
        self._usage = Usage()
        self._reason = ""
        self._end: Native | None = None
        self._worth_keeping = bool(self._before)
        self.finished: Finished | None = None

    def take(self, data: bytes) -> list[Event]:
        """The events of one chunk. Raises msgspec's errors for what cannot be read."""
        chunk = CHUNK.decode(data)
        native = Native(NAME, data)
        match chunk.type:
            case "content_block_delta":
                return self._grown(chunk.delta, native)
            case "content_block_start":
                return self._opened(chunk.content_block, native)
            case "content_block_stop":
                return self._closed(native)
            case "message_start":
                return self._started(chunk.message or Whole(), native)
            case "message_delta":
                return self._ending(chunk, native)
            case "message_stop":
                return [self._finish()]
            case "ping":
                return []
            case "error":
                return [Failed(stream_failure(chunk.error))]
            case _:
                return [Unknown(native)]

    def _started(self, message: Whole, native: Native) -> list[Event]:
        events: list[Event] = [Started(message.id or "", message.model or "", native)]
        if message.usage:
            events.append(self._used(message.usage, native))
        return events

    def _used(self, tokens: Tokens, native: Native) -> Usage:
        """Totals. What a later usage leaves out stands as it was."""
        before, told = self._usage, tokens.input_tokens is not None
        read = _or(tokens.cache_read_input_tokens, before.cached)
        written = _or(tokens.cache_creation_input_tokens, before.cache_written)
        fresh = _or(tokens.input_tokens, before.input - before.cached - before.cache_written)
        thinking = as_object(tokens.output_tokens_details).get("thinking_tokens")
        self._usage = Usage(
            input=fresh + read + written if told or before.input else 0,
            output=_or(tokens.output_tokens, before.output),
            cached=read,
            cache_written=written,
            reasoning=thinking if type(thinking) is int else before.reasoning,
            native=native,
        )
        return self._usage

    # ---- blocks

    def _opened(self, raw: msgspec.Raw, native: Native) -> list[Event]:
        body = bytes(raw)
        block = OBJECT.decode(body)
        self._blocks.start(body, block)
        self._kind = kind = as_text(block.get("type"))
        self._begun = self._length
        if any(value is not None for name, value in block.items() if name not in PLAIN.get(kind, ())):
            self._worth_keeping = True
        match kind:
            case "text":
                text = as_text(block.get("text"))
                self._length += len(text)
                self._parts.append(Text(text))
                apart: list[Event] = [Unknown(native)] if self._previous == "text" else []
                return [*apart, *([TextDelta(text, native)] if text else ())]
            case "thinking":
                text, signature = as_text(block.get("thinking")), as_text(block.get("signature"))
                events: list[Event] = [ThinkingDelta(text, native)] if text else []
                return [*events, *([Unknown(_delta("signature_delta", "signature", signature))] if signature else ())]
            case "tool_use":
                return self._called(block, body, native)
            case _:
                return [Unknown(native)]

    def _called(self, block: Mapping[str, Any], raw: bytes, native: Native) -> list[Event]:
        """A custom tool's call is told once it is whole: its words stand inside its arguments."""
        said, name = as_text(block.get("id")), as_text(block.get("name"))
        fit = legal_id(said) and said not in self._ids
        identity = said if fit else "toolu_" + self._new_id()
        self._worth_keeping |= not fit
        self._ids.add(identity)
        name = self._known(name)
        given = "" if not block.get("input") else compact(_field(raw, "input")).decode()
        kind = "custom" if name in self._custom else "function"
        self._call = ToolCall(identity, name, given, kind=kind)
        if kind == "custom":
            return []
        return [ToolCallDelta(self._calls, identity, name, given, native)]

    def _known(self, name: str) -> str:
        """The client's own name for the tool. Some models now and then write a name in other letter case."""
        own = self._names.get(name, name)
        if own in self._tools or not self._tools:
            return own
        fit = [tool for said, tool in self._names.items() if said.lower() == name.lower()]
        fit += [tool for tool in self._tools if tool.lower() == name.lower()]
        self._worth_keeping |= bool(fit)
        return fit[0] if fit else own

    def _grown(self, raw: msgspec.Raw, native: Native) -> list[Event]:
        delta = DELTA.decode(raw)
        match delta.type:
            case "text_delta":
                self._length += len(delta.text)
                self._blocks.delta({"type": "text_delta", "text": delta.text})
                return [TextDelta(delta.text, native)] if delta.text else []
            case "thinking_delta":
                self._blocks.delta({"type": "thinking_delta", "thinking": delta.thinking})
                return [ThinkingDelta(delta.thinking, native)] if delta.thinking else []
            case "input_json_delta" if self._kind == "tool_use":
                self._blocks.delta({"type": "input_json_delta", "partial_json": delta.partial_json})
                if self._call.kind == "custom" or not delta.partial_json:
                    return []
                return [ToolCallDelta(self._calls, arguments=delta.partial_json, native=native)]
            case _:
                self._worth_keeping = True
                self._blocks.delta(OBJECT.decode(raw))
                return [] if delta.type == "citations_delta" else [Unknown(native)]

    def _closed(self, native: Native) -> list[Event]:
        arguments = self._call.arguments or self._blocks.input
        block = self._blocks.stop()
        kind, self._kind, self._previous = self._kind, "", self._kind
        if kind == "tool_use":
            call = self._whole_call(arguments or "{}")
            self._parts.append(call)
            self._calls += 1
            return [ToolCalled(self._calls - 1, call)]
        if kind == "text":
            said = OBJECT.decode(block)
            self._parts[-1] = Text(as_text(said.get("text")))
            return self._cited(said)
        return [] if kind == "thinking" else [Unknown(native), *self._searched(kind, block)]

    def _cited(self, block: Mapping[str, Any]) -> list[Event]:
        sources = map(as_object, as_list(block.get("citations")))
        return [Cited(citation(source, self._begun, self._length)) for source in sources]

    def _searched(self, kind: str, block: bytes) -> Iterable[Event]:
        """A search is told with what it found: the query stands in the block before."""
        if kind == "server_tool_use":
            said = OBJECT.decode(block)
            if said.get("name") == SEARCH:
                self._queries[as_text(said.get("id"))] = as_text(as_object(said.get("input")).get("query"))
        elif kind == FOUND:
            said = OBJECT.decode(block)
            query = self._queries.pop(as_text(said.get("tool_use_id")), "")
            yield Searched((query,) if query else (), found_in(said), native=Native(NAME, block))

    def _whole_call(self, arguments: str) -> ToolCall:
        call = self._call
        if call.kind == "custom":
            with contextlib.suppress(msgspec.DecodeError):  # cut off: the words so far are better than none
                arguments = as_text(as_object(ANYTHING.decode(arguments)).get("input"))
        return ToolCall(call.id, call.name, arguments, kind=call.kind)

    # ---- the end

    def _ending(self, chunk: Chunk, native: Native) -> list[Event]:
        if reason := DELTA.decode(chunk.delta).stop_reason:
            self._reason, self._end = reason, native
        return [self._used(chunk.usage, native)] if chunk.usage else []

    def _finish(self) -> Finished:
        reason = FINISH_IN.get(self._reason, "stop")
        self.finished = Finished("tool_calls" if self._calls and reason == "stop" else reason, self._end)
        return self.finished

    def sealed(self) -> bytes:
        """Anthropic's own blocks, if they hold what a client may drop; a turn that was paused begins with its first."""
        if not self._worth_keeping or self.finished is None:
            return b""
        return b"[" + b",".join((*self._before, *self._proven())) + b"]"

    def _proven(self) -> list[bytes]:
        """The blocks without thinking that has no signature, as compatible servers give it: nobody takes it back."""
        return [block for block in self._blocks.blocks if not _is_unsigned(block)]

    def onward(self, chat: Chat) -> Chat | None:
        """The paused answer as the last message: Anthropic goes on behind it."""
        if self.finished is None or self.finished.reason != "paused":
            return None
        blocks = tuple(map(msgspec.Raw, self._proven()))
        said = Message("assistant", tuple(self._parts), Native(NAME, Sealed(blocks)))
        return msgspec.structs.replace(chat, messages=(*chat.messages, said), resume=PAUSED)


def _is_unsigned(block: bytes) -> bool:
    if b"thinking" not in block:
        return False
    fields = OBJECT.decode(block)
    return fields.get("type") == "thinking" and not fields.get("signature")


def _said_before(chat: Chat) -> tuple[bytes, ...]:
    """The blocks of the turn before its pause, if this answer goes on with one."""
    last = chat.messages[-1] if chat.messages else None
    if chat.resume != PAUSED or last is None or last.native is None or not isinstance(last.native.body, Sealed):
        return ()
    before: list[bytes] = []
    for message in reversed(chat.messages):  # paused more than once, it stands in several messages
        if message.role != "assistant" or message.native is None or not isinstance(message.native.body, Sealed):
            break
        before[:0] = map(bytes, message.native.body.blocks)
    return tuple(before)


def _delta(kind: str, field: str, value: Any) -> Native:
    """What stood in a block from its start, as the delta that would have brought it."""
    return Native(NAME, encode({"type": "content_block_delta", "delta": {"type": kind, field: value}}))


def _field(raw: bytes, name: str) -> msgspec.Raw:
    return msgspec.json.decode(raw, type=dict[str, msgspec.Raw])[name]


def _or(value: int | None, other: int) -> int:
    return other if value is None else value
