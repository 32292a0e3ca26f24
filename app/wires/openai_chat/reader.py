"""A Chat Completions answer → events, streamed or whole.

Tolerates what compatible servers do: no [DONE], comments, `data:` without a space, usage in any chunk, deltas without
an index. Does not tolerate a stream that ends without a finish reason: that is a broken answer, never a short one.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from app.chat.events import (
    Event,
    Failed,
    Finished,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCalled,
    Unknown,
    Usage,
)
from app.chat.model import Chat, Native, ToolCall
from app.errors import UpstreamError
from app.wires.envelope import ANYTHING, as_object, as_text, encode
from app.wires.forgetful import Forgetful
from app.wires.framing import FramedReader
from app.wires.openai_chat.citing import Citations
from app.wires.openai_chat.errors import stream_failure
from app.wires.openai_chat.names import FINISH_IN, MESSAGE_EXTRAS, NAME, reverse


class Function(msgspec.Struct):
    """The function part of a call or of its delta."""

    name: str | None = None
    arguments: str | None = None


class Call(msgspec.Struct):
    """A tool call, whole or a piece of it."""

    index: int | None = None
    id: str | None = None
    function: Function | None = None
    custom: dict[str, Any] | None = None
    extra_content: Any = None
    provider_specific_fields: Any = None


class Said(msgspec.Struct):
    """A message or a delta."""

    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: list[Call] | None = None
    function_call: Function | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[dict[str, Any]] | None = None
    thinking_blocks: list[dict[str, Any]] | None = None
    extra_content: Any = None
    annotations: Any = None


class Choice(msgspec.Struct):
    """One choice; only the first is read."""

    index: int | None = 0
    delta: Said | None = None
    message: Said | None = None
    finish_reason: str | None = None


class Tokens(msgspec.Struct):
    """The usage object."""

    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    prompt_tokens_details: dict[str, Any] | None = None
    completion_tokens_details: dict[str, Any] | None = None


class Body(msgspec.Struct):
    """A chunk or a completion."""

    id: str | None = ""
    model: str | None = ""
    choices: list[Choice] | None = None
    usage: Tokens | None = None
    error: Any = None


BODY = msgspec.json.Decoder(Body)


class _Answer:
    """What one answer has said so far; shared by the streamed and the whole form."""

    __slots__ = ("_calls", "_citations", "_extras", "_finish", "_free", "_length", "_names", "_started", "_usage")

    def __init__(self, chat: Chat) -> None:
        self._names = reverse(chat)
        self._free = {tool.name for tool in chat.tools if tool.kind == "custom"}
        self._started = False
        self._finish = ""
        self._usage: Usage | None = None
        self._calls: dict[int, Call] = {}
        self._extras: dict[str, Any] = {}
        self._citations = Citations()
        self._length = 0  # code points of visible words

    def take(self, body: Body, native: Native | None) -> list[Event]:
        """The events of one chunk (or of the whole completion)."""
        events: list[Event] = []
        if body.error is not None:
            return [Failed(stream_failure(body.error))]
        if not self._started and (body.id or body.choices):
            self._started = True
            events.append(Started(body.id or "", body.model or "", native))
        if body.usage is not None:
            self._usage = _usage(body.usage, native)
        for choice in body.choices or ():
            if choice.index:
                events.append(Unknown(native or Native(NAME, None)))
                continue
            if (said := choice.delta or choice.message) is not None:
                events.extend(self._said(said, native))
            if choice.finish_reason:
                self._finish = choice.finish_reason
        return events

    def _said(self, said: Said, native: Native | None) -> list[Event]:
        events: list[Event] = []
        if thought := said.reasoning_content or said.reasoning:
            events.append(ThinkingDelta(thought, native))
        content, refusal = _text(said.content) if said.content else "", said.refusal or ""
        self._length += len(content) + len(refusal)
        if content:
            events.append(TextDelta(content, native))
        if refusal:
            events.append(TextDelta(refusal, native, refusal=True))
        if said.annotations:
            events.extend(self._citations.take(said.annotations, self._length))
        for position, call in enumerate(said.tool_calls or ()):
            events.extend(self._call(position, call, native))
        if said.function_call:
            events.extend(self._call(0, Call(0, function=said.function_call), native))
        self._keep(said)
        return events

    def _call(self, position: int, piece: Call, native: Native | None) -> list[Event]:
        """Pieces of one call share an index; a server that gives none begins a new call with each new id.

        A custom tool's call is told once it is whole: only then is its kind said too.
        """
        index = piece.index if piece.index is not None else self._unnumbered(position, piece)
        arguments = (piece.function.arguments if piece.function else "") or ""
        name = (piece.function.name if piece.function else "") or ""
        name = self._names.get(name, name)
        known = self._calls.get(index)
        if known is None:
            self._calls[index] = Call(
                index,
                piece.id,
                Function(name, arguments),
                piece.custom,
                piece.extra_content,
                piece.provider_specific_fields,
            )
            if piece.custom is not None or name in self._free:
                return []
            return [ToolCallDelta(index, piece.id or "", name, arguments, native)]
        if known.custom is not None:
            more = as_text((piece.custom or {}).get("input"))
            known.custom = {**known.custom, "input": as_text(known.custom.get("input")) + more}
            return []
        function = known.function or Function()
        known.function = Function(function.name or name, (function.arguments or "") + arguments)
        known.extra_content = known.extra_content or piece.extra_content
        return [] if known.function.name in self._free else [ToolCallDelta(index, arguments=arguments, native=native)]

    def _unnumbered(self, position: int, piece: Call) -> int:
        for index, known in self._calls.items():
            if piece.id and known.id == piece.id:
                return index
        return len(self._calls) if piece.id or not self._calls else max(position, len(self._calls) - 1)

    def _keep(self, said: Said) -> None:
        """Fields outside OpenAI's own that the client may drop: strings grow, lists of numbered blocks merge."""
        for name in MESSAGE_EXTRAS:
            value = getattr(said, name)
            if not value:
                continue
            if isinstance(value, str):
                self._extras[name] = self._extras.get(name, "") + value
            elif isinstance(value, list):
                self._extras[name] = _merged(self._extras.get(name, []), value)  # pyright: ignore[reportUnknownArgumentType] (JSON)
            else:
                self._extras[name] = value

    def finish(self) -> list[Event]:
        """The closing events; Failed if the answer has no end."""
        if not self._finish:
            return [Failed(UpstreamError("The provider's answer broke off before its end. Send the request again."))]
        events: list[Event] = [*self._citations.rest(self._length)]
        events += [
            ToolCalled(index, _tool_call(call, self._free))
            for index, call in sorted(self._calls.items(), key=lambda item: item[0])
        ]
        if self._usage:
            events.append(self._usage)
        reason = FINISH_IN.get(self._finish, "stop")
        events.append(Finished("tool_calls" if self._calls and reason == "stop" else reason))
        return events

    def sealed(self) -> bytes:
        """Vendor fields of the message and its calls; see encode.restore."""
        calls = [_call_extras(call) for _, call in sorted(self._calls.items(), key=lambda item: item[0])]
        if not self._extras and not any(calls):
            return b""
        return encode({"message": self._extras, "calls": calls})


class ChunkReader(FramedReader, Forgetful):
    """Reads a stream of chunks."""

    wire = NAME

    def __init__(self, chat: Chat) -> None:
        super().__init__()
        self._answer = _Answer(chat)

    def _take(self, data: bytes) -> list[Event]:
        return self._answer.take(BODY.decode(data), Native(NAME, data))

    def _marked(self) -> list[Event]:
        return self._answer.finish()

    def _end(self) -> list[Event]:
        """A finish reason without [DONE] is an end: some servers leave the marker out."""
        return self._answer.finish()

    def sealed(self) -> bytes:
        """What the client may drop."""
        return self._answer.sealed()


class CompletionReader(Forgetful):
    """Reads an answer in one piece."""

    __slots__ = ("_answer", "_data")

    def __init__(self, chat: Chat) -> None:
        self._data: list[bytes] = []
        self._answer = _Answer(chat)

    def feed(self, data: bytes) -> list[Event]:
        """Nothing yet: the body is read at its end."""
        self._data.append(data)
        return []

    def close(self) -> list[Event]:
        """All events of the answer."""
        data = b"".join(self._data)
        try:
            body = BODY.decode(data)
        except (msgspec.DecodeError, RecursionError):
            return [Failed(UpstreamError("The provider's answer is not a chat completion."))]
        events = self._answer.take(body, Native(NAME, data))
        if any(isinstance(event, Failed) for event in events):
            return events
        if not body.choices:
            return [Failed(UpstreamError("The provider's answer has no choices."))]
        return [*events, *self._answer.finish()]

    def sealed(self) -> bytes:
        """What the client may drop."""
        return self._answer.sealed()


def _text(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text") or "") for part in content)


def _tool_call(call: Call, free: AbstractSet[str]) -> ToolCall:
    """The whole call. One that a function stood in for (`free`) has its text inside the function's arguments."""
    if call.custom is not None:
        return ToolCall(
            call.id or "", str(call.custom.get("name") or ""), str(call.custom.get("input") or ""), kind="custom"
        )
    function = call.function or Function()
    if function.name in free:
        return ToolCall(call.id or "", function.name or "", _free_text(function.arguments or ""), kind="custom")
    return ToolCall(call.id or "", function.name or "", function.arguments or "")


def _free_text(arguments: str) -> str:
    try:
        given = as_object(ANYTHING.decode(arguments)).get("input")
    except (msgspec.DecodeError, RecursionError):
        given = None
    return given if isinstance(given, str) else arguments


def _call_extras(call: Call) -> dict[str, Any] | None:
    extras = {"extra_content": call.extra_content, "provider_specific_fields": call.provider_specific_fields}
    return {name: value for name, value in extras.items() if value} or None


def _merged(blocks: list[dict[str, Any]], more: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Streamed blocks with the same `index` and type are pieces of one: their strings are joined."""
    result = list(blocks)
    for block in more:
        last = result[-1] if result else None
        index = block.get("index")
        if last and index is not None and (last.get("index"), last.get("type")) == (index, block.get("type")):
            joined = dict(last)
            for name, value in block.items():
                grows = name in ("text", "summary", "data", "signature") and isinstance(value, str)
                joined[name] = (last.get(name) or "") + value if grows else value
            result[-1] = joined
        else:
            result.append(block)
    return result


def _usage(tokens: Tokens, native: Native | None) -> Usage:
    prompt, completion = as_object(tokens.prompt_tokens_details), as_object(tokens.completion_tokens_details)
    return Usage(
        input=tokens.prompt_tokens or 0,
        output=tokens.completion_tokens or 0,
        cached=prompt.get("cached_tokens") or 0,
        cache_written=prompt.get("cache_write_tokens") or 0,
        reasoning=completion.get("reasoning_tokens") or 0,
        native=native,
    )
