"""Neutral messages → input items, by the API's own rules.

The rules (https://platform.openai.com/docs/api-reference/responses, and what it answers with 400): a call's result has
the call's `call_id` and its kind; reasoning stands right before what it led to, or is left out; what goes without its
reasoning carries no id. Where the provider holds the beginning (`Chat.after`), only the items behind it are written,
with the call ids that the provider itself gave.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from app.chat.model import Chat, Loss, Media, Message, Opaque, Part, Text, ToolCall, ToolResult
from app.wires.envelope import RAW_FIELDS
from app.wires.openai_responses.names import NAME, RESULTS, TOOL_ERROR, legal, sanitised
from app.wires.openai_responses.parts import content
from app.wires.openai_responses.sealed import SAID, call_ids, fit
from app.wires.toolnames import short_id

LEFT_OUT = "A part that only its own provider understands was left out."


class _Call(msgspec.Struct):
    """A call that was made: how the client names it, and how the provider does."""

    client_id: str
    name: str
    kind: str
    call_id: str
    answered: bool = False


def items(chat: Chat, losses: list[Loss]) -> list[Any]:
    """The input for this chat. Adds to `losses` what could not be said. Raises ClientError for content that the
    provider takes in no form."""
    writer = _Items(chat, losses)
    since = chat.since if chat.after else 0
    for message in chat.messages[:since]:
        writer.pass_over(message)
    written = [] if chat.after else [item for message in chat.system for item in _own(message)]
    for message in chat.messages[since:]:
        written.extend(writer.written(message))
    return written


def _own(message: Message) -> tuple[msgspec.Raw, ...]:
    return message.native.body if message.native and message.native.wire == NAME else ()


class _Items:
    """Writes one message after the other, and remembers the calls for their results."""

    def __init__(self, chat: Chat, losses: list[Loss]) -> None:
        self._stored = chat.store is not False
        self._losses = losses
        self._calls: list[_Call] = []
        self._by_id: dict[str, _Call] = {}
        self._count = 0

    def pass_over(self, message: Message) -> None:
        """A message that the provider holds: only its calls matter."""
        if message.role == "assistant":
            self._remember(message)
        else:
            for result in message.results:
                self._called(result)

    def written(self, message: Message) -> Iterable[Any]:
        """The items of a message."""
        own = message.native is not None and message.native.wire == NAME
        if message.role == "assistant":
            self._remember(message)
            return fit(_own(message), self._stored) if own else self._anew(message)
        if own:
            return self._client_items(message)
        return self._given(message)

    def _remember(self, message: Message) -> None:
        """The calls of an assistant message, by position: natives may name them otherwise than the client does."""
        calls = message.calls
        if not calls:
            return
        theirs = call_ids(_own(message))
        for position, call in enumerate(calls):
            if position < len(theirs):
                kind, identity = theirs[position]
            else:
                kind = "custom_tool_call" if call.kind == "custom" else "function_call"
                identity = short_id(call.id) if call.id else f"call_{self._count}"
            self._count += 1
            made = _Call(call.id, call.name, kind, identity)
            self._calls.append(made)
            if call.id:
                self._by_id[call.id] = made

    def _called(self, result: ToolResult) -> _Call | None:
        """The call that a result answers; older clients give no id, and mean the next one of that name."""
        call = self._by_id.get(result.call_id)
        if call is None:
            call = next((c for c in self._calls if not (c.answered or c.client_id) and c.name == result.name), None)
        if call is not None:
            call.answered = True
        return call

    def _client_items(self, message: Message) -> Iterable[Any]:
        """The client's own items; a result is put under the provider's own call id."""
        results = message.results
        for raw in _own(message):
            call = self._called(results[0]) if results else None
            if call is None or SAID.decode(raw).call_id == call.call_id:
                yield raw
            else:
                yield {**RAW_FIELDS.decode(raw), "call_id": call.call_id}

    def _anew(self, message: Message) -> Iterable[Any]:
        """An assistant message from another format, or one that was edited: reasoning belongs to what is no more."""
        words: list[Text] = []
        calls = iter(self._calls[len(self._calls) - len(message.calls) :])
        for part in message.parts:
            match part:
                case Text():
                    words.append(part)
                case ToolCall():
                    yield from _said(words)
                    yield _call(part, next(calls))
                    words = []
                case Opaque(native=native) if native.wire == NAME:
                    yield from _said(words)
                    yield native.body
                    words = []
                case Opaque():
                    self._losses.append(Loss("messages", LEFT_OUT))
                case Media():
                    reason = f"An assistant's item has no place for the {part.kind} that the model made."
                    self._losses.append(Loss("messages", reason))
                case _:  # reasoning
                    pass
        yield from _said(words)

    def _given(self, message: Message) -> Iterable[Any]:
        """A user's or system message: each result is an item, and all of them stand first."""
        for result in message.results:
            yield self._result(result)
        rest: list[Part] = []
        for part in message.parts:
            if isinstance(part, Opaque) and isinstance(part.native.body, msgspec.Raw) and part.native.wire == NAME:
                yield part.native.body  # an item of its own
            elif not isinstance(part, ToolResult):
                rest.append(part)
        if said := content(rest, self._losses):
            yield {"role": message.role, "content": said}

    def _result(self, result: ToolResult) -> dict[str, Any]:
        call = self._called(result)
        mark = TOOL_ERROR if result.is_error else ""
        output: Any = mark + result.text
        if any(not isinstance(part, Text) for part in result.content):
            parts: list[Part] = [*([Text(mark)] if mark else []), *result.content]
            output = content(parts, self._losses)
        kind = RESULTS[call.kind] if call else "function_call_output"
        return {"type": kind, "call_id": call.call_id if call else short_id(result.call_id), "output": output}


def _said(words: list[Text]) -> Iterable[Any]:
    text = "".join(part.text for part in words)
    if text:
        yield {"role": "assistant", "content": text}


def _call(call: ToolCall, made: _Call) -> Any:
    if call.native and call.native.wire == NAME:
        return sanitised(RAW_FIELDS.decode(call.native.body)) | {"call_id": made.call_id}
    if call.kind == "custom":
        return {
            "type": "custom_tool_call",
            "call_id": made.call_id,
            "name": legal(call.name),
            "input": call.arguments,
        }
    arguments = call.arguments or "{}"
    return {"type": "function_call", "call_id": made.call_id, "name": legal(call.name), "arguments": arguments}
