"""Events → an Interactions answer: server-sent events in Google's own order, or one resource.

Steps stand one after the other: what would begin while a call is still open waits until that call is whole. No
continuation token is ever made up: the official SDK would come back with it. It takes comments.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TypeAlias

import msgspec

from app.chat.citations import Citation
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
from app.errors import ProxyError
from app.wires.envelope import encode
from app.wires.gemini.contents import wrapped
from app.wires.gemini_interactions.citing import annotated, annotation
from app.wires.gemini_interactions.errors import error_object
from app.wires.gemini_interactions.names import FINISH_OUT, ID_PREFIX, NAME
from app.wires.whole import WholeWriter
from app.wires.wire import Stamp


class _Piece(msgspec.Struct):
    """An event of Google's own that we do not model: a step that it runs itself, or something inside one."""

    event_type: str = ""
    step: msgspec.Raw = msgspec.Raw(b"")
    delta: msgspec.Raw = msgspec.Raw(b"")


_Said: TypeAlias = TextDelta | ThinkingDelta | ToolCallDelta | ToolCalled | Cited | Unknown
PIECE = msgspec.json.Decoder(_Piece)
FOREIGN = "foreign"
DONE = b"event: done\ndata: [DONE]\n\n"


class StreamWriter:
    """Writes server-sent events."""

    content_type = "text/event-stream"
    keepalive = b": keep-alive\n"

    def __init__(self, chat: Chat, stamp: Stamp) -> None:
        self._chat = chat
        self._stamp = stamp
        self._model = ""
        self._events = 0
        self._begun = False
        self._index = -1
        self._open = ""  # the kind of step that is open
        self._call = -1  # the number of the call that is open
        self._argued = False
        self._told: set[int] = set()
        self._waiting: list[_Said] = []
        self._words_before = 0  # code points of visible words before the open step
        self._spoken: list[str] = []
        self._usage: Usage | None = None
        self._finish: Finished | None = None

    def write(self, event: Event) -> bytes:
        """The events of this format for this one; what ends the answer waits for close."""
        match event:
            case TextDelta() | ThinkingDelta() | ToolCallDelta() | ToolCalled() | Cited() | Unknown():
                return self._say(event)
            case Searched():  # Google's own came as steps; none is made up for another provider's
                return b""
            case Started():
                self._model = event.model
                return self._begin()
            case Usage():
                self._usage = event
            case Finished():
                self._finish = event
            case Failed():
                return self.fail(event.error)
        return b""

    def _say(self, event: _Said) -> bytes:
        own = isinstance(event, ToolCallDelta | ToolCalled) and event.index == self._call
        if self._open == "function_call" and not own:
            self._waiting.append(event)
            return b""
        match event:
            case TextDelta():
                return self._speak(event.text) if event.text else b""
            case ThinkingDelta():
                content = {"type": "text", "text": event.text}
                return self._words("thought", {"type": "thought_summary", "content": content}) if event.text else b""
            case ToolCallDelta():
                first = b"" if own else self._begin_call(event.index, event.id, event.name)
                return first + self._argue(event.arguments)
            case ToolCalled():
                return self._called(event, own)
            case Cited():
                return self._cite(event.citation)
            case Unknown():
                return self._hand_on(event.native)

    def _hand_on(self, native: Native) -> bytes:
        """Google's own step or delta under this stream's numbers; what came in another format belongs to that."""
        piece = piece_of(native)
        if piece is None:
            return b""
        if piece.event_type == "step.start":
            return self._start(piece.step, FOREIGN)
        if piece.event_type == "step.delta" and self._open in (FOREIGN, "model_output"):
            return self._event("step.delta", {"index": self._index, "delta": piece.delta})
        return b""

    def _speak(self, text: str) -> bytes:
        if self._open != "model_output":
            self._words_before += sum(map(len, self._spoken))
            self._spoken = []
        self._spoken.append(text)
        return self._words("model_output", {"type": "text", "text": text})

    def _cite(self, cited: Citation) -> bytes:
        """A citation of the open text. One that comes when that is over has no place any more."""
        if self._open != "model_output" or not self._spoken:
            return b""
        said = annotation(cited, "".join(self._spoken), self._words_before)
        delta = {"type": "text_annotation_delta", "annotations": [said]}
        return self._event("step.delta", {"index": self._index, "delta": delta}) if said else b""

    def _words(self, kind: str, delta: dict[str, Any]) -> bytes:
        first = b"" if self._open == kind else self._start({"type": kind}, kind)
        return first + self._event("step.delta", {"index": self._index, "delta": delta})

    def _begin_call(self, number: int, identity: str, name: str) -> bytes:
        step: dict[str, Any] = {"type": "function_call", "id": identity, "name": name, "arguments": {}}
        written = self._start(step, "function_call")
        self._call, self._argued = number, False
        self._told.add(number)
        return written

    def _argue(self, arguments: str) -> bytes:
        if not arguments:
            return b""
        self._argued = True
        delta = {"type": "arguments_delta", "arguments": arguments}
        return self._event("step.delta", {"index": self._index, "delta": delta})

    def _called(self, event: ToolCalled, own: bool) -> bytes:
        """A call is whole: with its deltas before it, or all at once. Then whatever waited for it."""
        call = event.call
        if not own and event.index in self._told:
            return b""
        written = b"" if own else self._begin_call(event.index, call.id, call.name)
        if not self._argued:
            written += self._argue(encode(wrapped(call)).decode())
        written += self._stop()
        waiting, self._waiting = self._waiting, []
        return written + b"".join(map(self._say, waiting))

    def _start(self, step: dict[str, Any] | msgspec.Raw, kind: str) -> bytes:
        first = self._begin() + self._stop()
        self._index += 1
        self._open = kind
        return first + self._event("step.start", {"index": self._index, "step": step})

    def _stop(self) -> bytes:
        if not self._open:
            return b""
        self._open, self._call = "", -1
        return self._event("step.stop", {"index": self._index})

    def _begin(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        created = self._event("interaction.created", {"interaction": self._resource("in_progress")})
        if self._chat.store is False:  # what is not kept has no id to report on
            return created
        update = {"interaction_id": ID_PREFIX + self._stamp.id, "status": "in_progress"}
        return created + self._event("interaction.status_update", update)

    def _resource(self, status: str) -> dict[str, Any]:
        return resource(self._chat, self._stamp, self._model, status)

    def _event(self, kind: str, body: dict[str, Any]) -> bytes:
        self._events += 1
        said = encode({"event_type": kind, **body, "event_id": str(self._events)})
        return b"event: " + kind.encode() + b"\ndata: " + said + b"\n\n"

    def close(self) -> bytes:
        """The end of what is open, interaction.completed, and the end marker."""
        rest = b""
        while self._open == "function_call":  # the provider never said that this call was whole
            rest += self._stop()
            waiting, self._waiting = self._waiting, []
            rest += b"".join(map(self._say, waiting))
        rest = self._begin() + rest + self._stop()
        ended = self._resource(status_of(self._finish)) | {"usage": usage_object(self._usage)}
        return rest + self._event("interaction.completed", {"interaction": ended | faults(self._finish)}) + DONE

    def fail(self, error: ProxyError) -> bytes:
        """The error as an event: the SDK hands it on as one."""
        return self._event("error", {"error": error_object(error)})


class WholeResourceWriter(WholeWriter):
    """Writes an answer in one piece."""

    def __init__(self, chat: Chat, stamp: Stamp) -> None:
        super().__init__(chat, stamp)
        self._foreign: list[msgspec.Raw] = []

    def write(self, event: Event) -> bytes:
        """Nothing yet; steps that Google ran itself are kept as they are."""
        if isinstance(event, Unknown) and (piece := piece_of(event.native)) and piece.event_type == "step.start":
            self._foreign.append(piece.step)
        return super().write(event)

    def close(self) -> bytes:
        """The resource."""
        reply = self._reply
        steps: list[Any] = []
        if reply.thinking:
            steps.append({"type": "thought", "summary": [{"type": "text", "text": reply.thinking}]})
        steps.extend(self._foreign)
        if reply.text:
            steps.append({"type": "model_output", "content": [annotated(reply.text, reply.citations)]})
        steps.extend(call_step(call) for call in reply.calls)
        written = resource(self._chat, self._stamp, reply.model, status_of(reply.finished))
        return encode(written | {"steps": steps, "usage": usage_object(reply.usage)} | faults(reply.finished))

    def fail(self, error: ProxyError) -> bytes:
        """An error body."""
        return encode({"error": error_object(error)})


def piece_of(native: Native) -> _Piece | None:
    """An event of this format that came from Google; None for anything else."""
    if native.wire != NAME or not isinstance(native.body, bytes):
        return None
    try:
        return PIECE.decode(native.body)
    except (msgspec.DecodeError, RecursionError):
        return None


def resource(chat: Chat, stamp: Stamp, model: str, status: str) -> dict[str, Any]:
    """The interaction without its steps. It has no id where nothing is stored."""
    moment = datetime.fromtimestamp(stamp.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    written: dict[str, Any] = {} if chat.store is False else {"id": ID_PREFIX + stamp.id}
    written |= {"object": "interaction", "status": status, "model": model or chat.model}
    written |= {"created": moment, "updated": moment}
    return written | ({"previous_interaction_id": chat.continues} if chat.continues else {})


def status_of(finished: Finished | None) -> str:
    """The status that says why the answer ended."""
    return FINISH_OUT[finished.reason] if finished else "completed"


def faults(finished: Finished | None) -> dict[str, Any]:
    """Why a completed answer failed, if it did."""
    match finished.reason if finished else "stop":
        case "content_filter":
            return {"errors": [{"code": "safety", "message": "The provider held the answer back."}]}
        case "malformed_call":
            words = "The model made a tool call that cannot be used."
            return {"errors": [{"code": "malformed_function_call", "message": words}]}
        case _:
            return {}


def call_step(call: ToolCall) -> dict[str, Any]:
    """A call as a step; arguments that are no JSON object are carried under a key of their own."""
    return {"type": "function_call", "id": call.id, "name": call.name, "arguments": wrapped(call)}


def usage_object(usage: Usage | None) -> dict[str, Any]:
    """Tokens as this format counts them: the output excludes thoughts."""
    used = usage or Usage()
    return {
        "total_input_tokens": used.input,
        "total_output_tokens": used.output - used.reasoning,
        "total_thought_tokens": used.reasoning,
        "total_cached_tokens": used.cached,
        "total_tool_use_tokens": 0,
        "total_tokens": used.input + used.output,
    }
