"""What one Interactions answer has said so far: its steps, and what its status means, streamed or whole.

Failed and incomplete answers complete too: only the status tells. The list of statuses is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
from app.chat.model import Chat, Native, ToolCall
from app.errors import UpstreamError
from app.wires.envelope import ANYTHING, RAW_FIELDS, as_list, as_object, as_text
from app.wires.gemini_interactions.assembly import Step
from app.wires.gemini_interactions.citing import CALL, RESULT, citations, queries_of, suggestions_of
from app.wires.gemini_interactions.errors import blocked, stream_failure
from app.wires.gemini_interactions.names import CONTINUED, FINISH_IN, NAME, UNFINISHED, reverse

BEGINNINGS = {
    "text": msgspec.Raw(b'{"type":"model_output"}'),
    "thought_summary": msgspec.Raw(b'{"type":"thought"}'),
    "thought_signature": msgspec.Raw(b'{"type":"thought"}'),
}
"""A delta whose step.start never came → the step that it must belong to."""


class Interaction(msgspec.Struct):
    """The resource: whole, or as the events of a stream carry it."""

    id: str | None = ""
    status: str | None = ""
    model: str | None = ""
    agent: str | None = ""
    steps: list[msgspec.Raw] | None = None
    usage: dict[str, Any] | None = None
    continuation_token: str | None = ""
    errors: list[Any] | None = None
    error: Any = None


class Delta(msgspec.Struct):
    """What a step goes on with. Each kind has one of these fields; steps that Google runs have others."""

    type: str | None = ""
    text: Any = None
    content: Any = None
    signature: Any = None
    arguments: Any = None
    annotations: Any = None


DELTA = msgspec.json.Decoder(Delta)


class Answer:
    """What one answer has said so far; shared by the streamed and the whole form."""

    def __init__(self, chat: Chat, new_id: Callable[[], str], *, whole: bool) -> None:
        """`whole`: it comes as one resource, which a client of this format is better shown than an error about it."""
        self._whole = whole
        self._names = reverse(chat)
        self._custom = {tool.name for tool in chat.tools if tool.kind == "custom"}
        self._kept = chat.store is not False
        self._new_id = new_id
        self._ids: set[str] = set()
        self._started = False
        self._calls = 0
        self._steps: dict[int, Step] = {}
        self._open: set[int] = set()
        self._length = 0  # code points of visible words, and how many there were before each step
        self._starts: dict[int, int] = {}
        self._queries: tuple[str, ...] = ()
        self._literal: list[msgspec.Raw] = []
        self._id = ""
        self._status = ""
        self._token = ""
        self.done = False

    # ---- the resource

    def start(self, said: Interaction, native: Native | None) -> list[Event]:
        """The provider began."""
        self._id = said.id or self._id
        if self._started:
            return []
        self._started = True
        return [Started(self._id, said.model or said.agent or "", native)]

    def complete(self, said: Interaction, native: Native | None) -> list[Event]:
        """The provider ended: what is open is closed, and the status tells the rest."""
        events = self.start(said, native)
        for index in sorted(self._open):
            events.extend(self.stop(index))
        if said.steps:
            self._literal = said.steps
            events.extend([] if self._steps else self._all(said.steps, native))
        self._status, self._token = said.status or "completed", said.continuation_token or ""
        if said.usage:
            events.append(_usage(said.usage, native))
        self.done = True
        return [*events, self._end(said, native)]

    def _all(self, steps: Iterable[msgspec.Raw], native: Native | None) -> Iterable[Event]:
        """The steps of an answer that says them only at its end."""
        for index, raw in enumerate(steps):
            yield from self.begin(index, raw, native)
            yield from self.stop(index)

    def _end(self, said: Interaction, native: Native | None) -> Event:
        if self._status == "failed":
            fault = _fault(said)
            return (
                Finished("content_filter", native)
                if blocked(fault)
                else Failed(stream_failure(fault, quoted=not self._whole))
            )
        if self._status == "cancelled":
            words = "The interaction was cancelled before its answer was complete."
            return Failed(UpstreamError(words, kind="cancelled"))
        if self._status in UNFINISHED:
            words = "Gemini answers this request in the background, which only clients of its own format can follow."
            return Failed(UpstreamError(words))
        reason = FINISH_IN.get(self._status, "stop")
        if reason in ("stop", "tool_calls"):
            reason = "tool_calls" if self._calls else "stop"
        return Finished(reason, native)

    def failed(self, error: Any, native: Native | None) -> list[Event]:
        """An error: output that was held back is an end of its own kind."""
        self.done, self._status = True, "failed"
        if blocked(error):
            return [Finished("content_filter", native)]
        return [Failed(stream_failure(error))]

    # ---- its steps

    def begin(self, index: int, raw: msgspec.Raw, native: Native | None) -> list[Event]:
        """A step begins, maybe with its first words."""
        step = self._steps[index] = Step(raw, self._calls)
        self._open.add(index)
        self._starts[index] = self._length
        match step.kind:
            case "model_output":
                return self._text(step.beginning, native)
            case "thought":
                return [ThinkingDelta(step.beginning, native)] if step.beginning else []
            case "function_call":
                self._calls += 1
                step.call = self._named(step)
                if step.call.kind == "custom":
                    return []
                return [ToolCallDelta(step.number, step.call.id, step.call.name, "", native)]
            case _:  # told as an event of its own, whether it came in a stream or not
                return [Unknown(Native(NAME, b'{"event_type":"step.start","step":' + bytes(raw) + b"}"))]

    def go_on(self, index: int, raw: msgspec.Raw, native: Native | None) -> list[Event]:
        """More of a step."""
        step = self._steps.get(index)
        said = DELTA.decode(raw)
        if step is None:  # its beginning was left out: what the delta is tells what the step is
            if (kind := BEGINNINGS.get(said.type or "")) is None:
                return [Unknown(Native(NAME, native.body if native else raw))]
            return [*self.begin(index, kind, native), *self.go_on(index, raw, native)]
        match said.type:
            case "text":
                words = as_text(said.text)
                step.say(words)
                return self._text(words, native)
            case "thought_summary":
                content = as_object(said.content)
                step.add(content)
                words = as_text(content.get("text"))
                return [ThinkingDelta(words, native)] if words else []
            case "thought_signature":
                step.sign(as_text(said.signature))
                return []
            case "arguments_delta":
                return self._argue(step, as_text(said.arguments), native)
            case "text_annotation_delta":
                step.annotate(as_list(said.annotations))
                return []  # told when the step ends: then all the words are there
            case _ if step.kind == "model_output":
                step.add(as_object(ANYTHING.decode(raw)))
            case _:
                step.merge(RAW_FIELDS.decode(raw))
        return [Unknown(Native(NAME, native.body if native else raw))]

    def _argue(self, step: Step, piece: str, native: Native | None) -> list[Event]:
        step.argue(piece)
        if not piece or step.call is None or step.call.kind == "custom":
            return []
        return [ToolCallDelta(step.number, arguments=piece, native=native)]

    def stop(self, index: int) -> list[Event]:
        """A step is complete."""
        if index not in self._open:
            return []
        self._open.discard(index)
        step = self._steps[index]
        call = step.call
        if call is None:
            return self._sources(step, self._starts[index])
        if call.kind == "custom":
            words = _free_text(step.arguments)
            return [ToolCalled(step.number, ToolCall(call.id, call.name, words, call.signature, "custom"))]
        arguments = step.arguments
        rest: list[Event] = [] if step.pieces else [ToolCallDelta(step.number, arguments=arguments)]
        whole = ToolCall(call.id, call.name, arguments, call.signature)
        return [*rest, ToolCalled(step.number, whole)]

    def _text(self, words: str, native: Native | None) -> list[Event]:
        self._length += len(words)
        return [TextDelta(words, native)] if words else []

    def _sources(self, step: Step, start: int) -> list[Event]:
        """What the words of a step rest on; or what a search looked for, told with its result."""
        match step.kind:
            case "model_output":
                return [Cited(citation) for citation in citations(step.contents, start)]
            case name if name == CALL:
                self._queries += queries_of(as_object(ANYTHING.decode(step.whole())))
            case name if name == RESULT:
                queries, self._queries = self._queries, ()
                suggestions = suggestions_of(as_object(ANYTHING.decode(step.whole())))
                return [Searched(queries, (), suggestions, Native(NAME, step.kind))]
            case _:
                pass
        return []

    def _named(self, step: Step) -> ToolCall:
        """The call as the client knows it: its own name for the tool, an id that no other call of this answer has."""
        said = step.text_of("name")
        name = self._names.get(said, said)
        own = step.text_of("id")
        identity = own if _plain_id(own) and own not in self._ids else "call_" + self._new_id()
        self._ids.add(identity)
        return ToolCall(identity, name, "", step.text_of("signature"), "custom" if name in self._custom else "function")

    # ---- what the provider keeps, and what the client may drop

    def handle(self) -> str:
        """The interaction's id, where the next one may name it."""
        return self._id if self._kept and self._status in CONTINUED else ""

    def onward(self, chat: Chat) -> Chat | None:
        """The next hop of an answer that was paused: with the id of this one and no input, or, where nothing is
        stored, with the same input again (https://ai.google.dev/gemini-api/docs/interactions)."""
        if FINISH_IN.get(self._status) != "paused" or not self._token:
            return None
        if chat.store is False or not self._id:
            return msgspec.structs.replace(chat, resume=self._token)
        return msgspec.structs.replace(chat, resume=self._token, after=self._id, since=len(chat.messages))

    def sealed(self) -> bytes:
        """Gemini's own steps, if they hold more than words: thoughts, call ids, its own tools, annotations."""
        steps = [self._steps[index] for index in sorted(self._steps) if self._steps[index].kind != "user_input"]
        if not any(step.adorned for step in steps):
            return b""
        wholes = [bytes(raw) for raw in self._literal] or [step.whole() for step in steps]
        return b"[" + b",".join(wholes) + b"]"


def _fault(said: Interaction) -> Any:
    """Why an interaction failed: among its faults, or on the output that was cut."""
    for error in (said.error, *(said.errors or ())):
        if as_object(error):
            return error
    for raw in reversed(said.steps or []):
        if error := as_object(ANYTHING.decode(raw)).get("error"):
            return error
    return {"message": "Gemini could not complete its answer."}


def _free_text(arguments: str) -> str:
    """What a tool of free text was given."""
    try:
        return as_text(as_object(ANYTHING.decode(arguments)).get("input"))
    except (msgspec.DecodeError, RecursionError):
        return arguments


def _plain_id(identity: str) -> bool:
    return 0 < len(identity) <= 40 and all(c.isascii() and (c.isalnum() or c in "_-") for c in identity)


def _usage(used: dict[str, Any], native: Native | None) -> Usage:
    """Tokens: the input counts what was cached, thoughts stand beside the output."""

    def count(name: str) -> int:
        value = used.get(name)
        return value if isinstance(value, int) else 0

    thoughts = count("total_thought_tokens")
    return Usage(
        input=count("total_input_tokens") + count("total_tool_use_tokens"),
        output=count("total_output_tokens") + thoughts,
        cached=count("total_cached_tokens"),
        reasoning=thoughts,
        native=native,
    )
