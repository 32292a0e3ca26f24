"""Neutral messages → steps, by the API's own rules.

The rules (https://ai.google.dev/gemini-api/docs/interactions): steps stand in the order in which things were said; the
last is the user's or a tool's result; a thought goes back exactly as it came and directly before what it led to; a
result names its call by the id that Gemini gave it. What Gemini holds already (`Chat.since`) is not written again, but
the calls in it are known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from app.chat.model import Chat, Loss, Media, Message, Native, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from app.errors import ClientError
from app.wires.envelope import RAW_FIELDS, RAW_LIST
from app.wires.gemini.contents import wrapped
from app.wires.gemini.names import legal
from app.wires.gemini_interactions.media import content_of
from app.wires.gemini_interactions.names import NAME, Steps

GO_ON = "(Go on.)"
OPAQUE = "A part that only its own provider understands was left out."


class _CallStep(msgspec.Struct):
    """What is read of a step to see whether it calls."""

    type: str | None = ""
    id: str | None = ""
    name: str | None = ""


CALL_STEP = msgspec.json.Decoder(_CallStep)


class _Call(msgspec.Struct):
    """A call of the step that is open: how the client names it, and how Gemini does."""

    client_id: str
    name: str
    own_id: str
    own_name: str
    answered: bool = False


def restore(message: Message, sealed: bytes) -> Message:
    """The message carrying Gemini's own steps. The address vouches that they say what the client's copy says.

    A client that gave the thoughts back as they were has nothing missing: its message stays as it is.
    """
    if any(isinstance(part, Thinking) and part.signature and _own_steps(part.native) for part in message.parts):
        return message
    raws = tuple(RAW_LIST.decode(sealed))
    own = _own_steps(message.native)
    if own is not None and [bytes(raw) for raw in own.raws] == [bytes(raw) for raw in raws]:
        return message
    return message.carrying(Native(NAME, Steps(raws)))


def steps_of(chat: Chat) -> tuple[list[Any], list[Loss]]:
    """The steps of `chat.messages[chat.since:]`, and what could not be said.

    Raises ClientError for content that this format cannot hold at all, and where there is nothing to send.
    """
    builder = _Builder()
    for index in range(_first_needed(chat), len(chat.messages)):
        builder.add(index, chat.messages[index], written=index >= chat.since)
    if builder.out and chat.messages[-1].role == "assistant":
        builder.out.append({"type": "user_input", "content": [{"type": "text", "text": GO_ON}]})
        builder.losses.append(Loss("messages[-1]", "Gemini takes no prefilled answer: it is asked to go on instead."))
    if not (builder.out or chat.after or chat.resume):
        raise ClientError("The conversation holds no text, file or tool result to send.", param="messages")
    return builder.out, list(dict.fromkeys(builder.losses))


def _first_needed(chat: Chat) -> int:
    """Where to begin reading: at the step whose calls the new results may answer, if all ids from there on are Gemini's
    own. An id that is made up must be one that no call before it has."""
    messages = chat.messages
    first = chat.since
    while first > 0 and messages[first - 1].role != "assistant":
        first -= 1
    while first > 0 and messages[first - 1].role == "assistant":
        first -= 1
    own = all(_own_steps(message.native) for message in messages[first:] if message.calls)
    return first if own else 0


class _Builder:
    """Builds steps one message at a time; `losses` says what was left out."""

    def __init__(self) -> None:
        self.out: list[Any] = []
        self.losses: list[Loss] = []
        self._calls: list[_Call] = []
        self._ids: set[str] = set()
        self._speaking = False

    def add(self, index: int, message: Message, *, written: bool) -> None:
        """The next message; one that is not to be `written` is only looked through for its calls and results."""
        if message.role == "assistant":
            if not self._speaking:
                self._calls = []  # a new step; otherwise the same turn, cut in two by the client
            self._speaking = True
            self._note_calls(index, message)
            if written:
                self.out.extend(self._model_steps(message))
            return
        self._speaking = False
        answered = [(result, self._call_of(result)) for result in message.results]
        if written:
            self.out.extend(self._user_steps(message, answered))

    # ---- calls, and what answers them

    def _note_calls(self, index: int, message: Message) -> None:
        calls = message.calls
        if not calls:
            return
        own = _own_steps(message.native)
        given = list(_calls_in(own.raws)) if own else []
        for place, call in enumerate(calls):
            part = _own_steps(call.native)
            if place < len(given):
                identity, name = given[place]
            elif part:
                identity, name = next(iter(_calls_in(part.raws)))
            else:
                identity, name = self._unused(call.id or f"call_{index}_{place}"), legal(call.name)
            self._ids.add(identity)
            self._calls.append(_Call(call.id, call.name, identity, name))

    def _unused(self, identity: str) -> str:
        """Some clients count their calls anew each turn; here an id names one call of the whole history."""
        unused, again = identity, 2
        while unused in self._ids:
            unused, again = f"{identity}_{again}", again + 1
        return unused

    def _call_of(self, result: ToolResult) -> _Call | None:
        """The call that a result answers. Mending has paired them before; where Gemini holds the call there is none."""
        for call in self._calls:
            same = call.client_id == result.call_id if result.call_id and call.client_id else call.name == result.name
            if same and not call.answered:
                call.answered = True
                return call
        return None

    # ---- what is written

    def _model_steps(self, message: Message) -> list[Any]:
        if own := _own_steps(message.native):
            return list(own.raws)
        calls = iter(self._calls[-len(message.calls) :] if message.calls else ())
        written: list[Any] = []
        content: list[Any] = []
        for part in message.parts:
            made = self._content(part, system=False)
            if made is not None:
                content.append(made)
                continue
            step = self._model_step(part, calls)
            if step and content:
                written.append({"type": "model_output", "content": content})
                content = []
            written.extend(step)
        if content:
            written.append({"type": "model_output", "content": content})
        return written

    def _model_step(self, part: Part, calls: Iterable[_Call]) -> list[Any]:
        match part:
            case ToolCall():
                call = next(iter(calls))
                if own := _own_steps(part.native):
                    return list(own.raws)
                made = {"type": "function_call", "id": call.own_id, "name": call.own_name, "arguments": wrapped(part)}
                return [made]
            case Thinking() | Opaque() if own := _own_steps(part.native):
                return list(own.raws)
            case Opaque():
                self.losses.append(Loss("messages", OPAQUE))
            case _:  # empty text; reasoning without its proof, which no provider wants back
                pass
        return []

    def _user_steps(self, message: Message, answered: list[tuple[ToolResult, _Call | None]]) -> list[Any]:
        """Results first, as a step each, then everything else in one."""
        own = _own_steps(message.native)
        if own and not answered:
            return list(own.raws)
        if own and len(answered) == len(own.raws) == 1:
            result, call = answered[0]
            return [own.raws[0] if not call or call.own_id == result.call_id else _renamed(own.raws[0], call)]
        written = [self._result(result, call) for result, call in answered]
        content: list[Any] = []
        for part in message.parts:
            if (made := self._content(part, system=message.role == "system")) is not None:
                content.append(made)
            elif isinstance(part, Opaque) and (step := _own_steps(part.native)):
                written.extend(step.raws)
            elif isinstance(part, Opaque):
                self.losses.append(Loss("messages", OPAQUE))
        if content:
            written.append({"type": "user_input", "content": content})
        return written

    def _result(self, result: ToolResult, call: _Call | None) -> Any:
        identity = call.own_id if call else result.call_id or f"call_{legal(result.name or 'unknown')}"
        if own := _own_steps(result.native):
            return own.raws[0] if identity == result.call_id else _renamed(own.raws[0], call)
        name = call.own_name if call else legal(result.name) if result.name else ""
        step: dict[str, Any] = {"type": "function_result", "call_id": identity}
        if name:
            step["name"] = name
        if all(isinstance(part, Text) for part in result.content):
            step["result"] = result.text
        else:
            made = [self._content(part, system=False) for part in result.content]
            step["result"] = [each for each in made if each is not None]
            self.losses.extend(
                Loss("messages", OPAQUE) for part in result.content if isinstance(part, Opaque) and not _own(part)
            )
        if result.is_error:
            step["is_error"] = True
        return step

    def _content(self, part: Part, *, system: bool) -> Any:
        """One content of a step; None for a part that is none."""
        match part:
            case Text(text=text) if text and system:
                # said in the middle: moving it to the front would change the prefix for all that follows
                return {"type": "text", "text": f"<system-reminder>\n{text}\n</system-reminder>"}
            case Text(text=text):
                return (_own(part) or {"type": "text", "text": text}) if text else None
            case Media():
                return _own(part) or content_of(part)
            case Opaque():
                own = _own(part)
                return None if isinstance(own, Steps) else own
            case _:
                return None


def _own(part: Text | Media | Opaque) -> Any:
    return part.native.body if part.native and part.native.wire == NAME else None


def _own_steps(native: Native | None) -> Steps | None:
    body = native.body if native and native.wire == NAME else None
    return body if isinstance(body, Steps) else None


def _calls_in(raws: Iterable[msgspec.Raw]) -> Iterable[tuple[str, str]]:
    """Id and name of each call among steps that Gemini, or a client of it, wrote."""
    for step in map(CALL_STEP.decode, raws):
        if step.type == "function_call":
            yield step.id or "", step.name or ""


def _renamed(raw: msgspec.Raw, call: _Call | None) -> Any:
    """A result as the client wrote it, for the call under the id that Gemini knows."""
    return RAW_FIELDS.decode(raw) | ({"call_id": call.own_id} if call else {})
