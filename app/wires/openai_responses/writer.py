"""Events → a Responses answer, streamed or whole.

The official SDK's stream helper demands the full ceremony: the response is created before anything is in it, an item is
added before its parts, a part before its words, and each is done in turn; `sequence_number` rises by one.
"""

from __future__ import annotations

from typing import Any

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
    Usage,
)
from app.chat.model import Chat, ToolCall
from app.errors import ProxyError
from app.wires.envelope import encode
from app.wires.openai_responses.citing import SEARCH, annotated, annotation, search_item
from app.wires.openai_responses.errors import error_object, failed_object
from app.wires.openai_responses.names import spaces
from app.wires.openai_responses.response import (
    INCOMPLETE,
    Form,
    Json,
    call_item,
    message_item,
    reasoning_item,
    refusal_part,
    tag,
    text_part,
    usage_object,
)
from app.wires.whole import WholeWriter
from app.wires.wire import Stamp

PREFIXES = {"message": "msg", "reasoning": "rs", "refusal": "msg", "function": "fc", "custom": "ctc", "search": "ws"}


class _Open(msgspec.Struct):
    """An item that has begun: its place in the output, its id, and what it holds so far.

    `start` is where its words begin among all visible words of the answer.
    """

    kind: str
    index: int
    id: str
    call: ToolCall | None = None
    wire: str = ""
    words: list[str] = []
    place: bytes = b""
    start: int = 0
    annotations: list[Json] = []


class StreamWriter:
    """Writes a stream of events."""

    content_type = "text/event-stream; charset=utf-8"
    keepalive = b": keep-alive\n"

    def __init__(self, chat: Chat, stamp: Stamp) -> None:
        self._form = Form(chat, stamp)
        self._stamp = stamp
        self._spaces = spaces(chat)
        self._custom = {tool.name for tool in chat.tools if tool.kind == "custom"}
        self._model = ""
        self._sequence = 0
        self._output: dict[int, Json] = {}
        self._speaking: _Open | None = None
        self._messages: list[_Open] = []
        self._said = 0  # code points of visible words
        self._calls: dict[int, _Open | None] = {}  # None: free text, which is told when it is whole
        self._usage: Usage | None = None
        self._finish: Finished | None = None

    def write(self, event: Event) -> bytes:
        """The events for this one; the end waits for close."""
        match event:
            case TextDelta():
                return self._speak("refusal" if event.refusal else "message", event.text, "") if event.text else b""
            case ThinkingDelta():
                wire = event.native.wire if event.native else ""
                return self._speak("reasoning", event.text, wire) if event.text else b""
            case ToolCallDelta():
                return self._call_piece(event)
            case ToolCalled():
                return self._whole_call(event)
            case Cited():
                return self._cite(event.citation)
            case Searched():
                return self._search(event)
            case Started():
                return self._start(event.model)
            case Usage():
                self._usage = event
            case Finished():
                self._finish = event
            case Failed():
                return self.fail(event.error)
            case _:  # Unknown: belongs to its own wire
                pass
        return b""

    def close(self) -> bytes:
        """Every open item is done, then the response."""
        reason = INCOMPLETE.get(self._finish.reason, "") if self._finish else ""
        status = "incomplete" if reason else "completed"
        ends = self._start("") + self._hush(status)
        for item in list(self._calls.values()):
            if item is not None:
                ends += self._call_done(item, status)
        response = self._form.response(
            status, self._model, list(self._output.values()), usage_object(self._usage), incomplete=reason
        )
        return ends + self._event("response." + status, {"response": response})

    def fail(self, error: ProxyError) -> bytes:
        """The failed response, as OpenAI says it, and an error event: on the first alone the SDK raises nothing."""
        output = [item for _, item in sorted(self._output.items())]
        usage = usage_object(self._usage) if self._usage else None
        response = self._form.response("failed", self._model, output, usage, failed_object(error))
        return self._start("") + self._event("response.failed", {"response": response}) + self.interrupt(error)

    def interrupt(self, error: ProxyError) -> bytes:
        """The error event alone: in an answer that OpenAI began, a response of ours would have another's id."""
        said = error_object(error)
        flat = {name: said[name] for name in ("code", "message", "param")}
        return self._event("error", flat | {"error": said})

    def _event(self, kind: str, body: Json) -> bytes:
        data = encode({"type": kind, "sequence_number": self._sequence, **body})
        self._sequence += 1
        return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"

    def _start(self, model: str) -> bytes:
        if self._sequence:
            return b""
        self._model = model
        begun = {"response": self._form.response("in_progress", model)}
        return self._event("response.created", begun) + self._event("response.in_progress", begun)

    def _added(self, kind: str, call: ToolCall | None = None, wire: str = "") -> tuple[_Open, bytes]:
        index = len(self._output)
        identity = f"{PREFIXES[kind]}_{self._stamp.id}_{index}"
        item = _Open(kind, index, identity, call, wire, words=[], start=self._said, annotations=[])
        item.place = b',"item_id":' + encode(item.id) + b',"output_index":' + str(index).encode()
        self._output[index] = body = self._body(item, "in_progress")
        return item, self._start("") + self._event("response.output_item.added", {"output_index": index, "item": body})

    def _done(self, item: _Open, status: str, seal: str = "") -> bytes:
        self._output[item.index] = body = self._body(item, status, seal)
        return self._event("response.output_item.done", {"output_index": item.index, "item": body})

    def _body(self, item: _Open, status: str, signature: str = "") -> Json:
        """The item as it stands."""
        words = "".join(item.words)
        if item.kind == "message":
            return message_item(
                item.id, status, [] if status == "in_progress" else [text_part(words, item.annotations)]
            )
        if item.kind == "refusal":
            return message_item(item.id, status, [] if status == "in_progress" else [refusal_part(words)])
        if item.kind == "reasoning":
            return reasoning_item(item.id, words, tag(item.wire, signature))
        call = item.call or ToolCall("", "", "")
        return call_item(item.id, status, ToolCall(call.id, call.name, words, kind=call.kind), self._spaces)

    def _at(self, item: _Open, **more: Any) -> Json:
        return {"item_id": item.id, "output_index": item.index, **more}

    def _speak(self, kind: str, words: str, wire: str) -> bytes:
        first = b""
        item = self._speaking
        if item is None or item.kind != kind:
            first = self._hush()
            item, added = self._added(kind, wire=wire)
            self._speaking = item
            if kind == "message":
                self._messages.append(item)
            first += added + self._part("added", item, "")
        item.words.append(words)
        if kind != "reasoning":
            self._said += len(words)
        return first + self._delta(item, *SPOKEN[kind], words)

    def _delta(self, item: _Open, kind: bytes, tail: bytes, words: str) -> bytes:
        """The event of which there are most: put together by hand."""
        number = str(self._sequence).encode()
        self._sequence += 1
        head = b"event: " + kind + b'\ndata: {"type":"' + kind + b'","sequence_number":' + number
        return head + item.place + tail + b',"delta":' + encode(words) + b"}\n\n"

    def _part(self, what: str, item: _Open, text: str) -> bytes:
        if item.kind != "reasoning":
            part = refusal_part(text) if item.kind == "refusal" else text_part(text, item.annotations)
            return self._event("response.content_part." + what, self._at(item, content_index=0, part=part))
        part = {"type": "summary_text", "text": text}
        return self._event("response.reasoning_summary_part." + what, self._at(item, summary_index=0, part=part))

    def _cite(self, cited: Citation) -> bytes:
        """The annotation of the message that says the words. If that one is over by now, the response still has it."""
        behind = [item for item in self._messages if item.start < cited.end or item is self._messages[0]]
        if not behind:
            return b""
        item = behind[-1]
        if not (written := annotation(cited, item.start, sum(map(len, item.words)))):
            return b""
        number = len(item.annotations)
        item.annotations.append(written)
        told = self._at(item, content_index=0, annotation_index=number, annotation=written)
        return self._event("response.output_text.annotation.added", told)

    def _search(self, search: Searched) -> bytes:
        """A search that is over: an item of its own."""
        first = self._hush()
        index = len(self._output)
        item = search_item(f"{PREFIXES['search']}_{self._stamp.id}_{index}", "in_progress", search)
        first += self._start("") + self._event("response.output_item.added", {"output_index": index, "item": item})
        for step in ("in_progress", "searching", "completed"):
            first += self._event(f"response.{SEARCH}.{step}", {"output_index": index, "item_id": item["id"]})
        self._output[index] = done = {**item, "status": "completed"}
        return first + self._event("response.output_item.done", {"output_index": index, "item": done})

    def _hush(self, status: str = "completed", signature: str = "") -> bytes:
        """Words or reasoning end here."""
        item, self._speaking = self._speaking, None
        if item is None:
            return b""
        text = "".join(item.words)
        if item.kind == "message":
            done = self._at(item, content_index=0, text=text, logprobs=[])
            said = self._event("response.output_text.done", done)
        elif item.kind == "refusal":
            said = self._event("response.refusal.done", self._at(item, content_index=0, refusal=text))
        else:
            done = self._at(item, summary_index=0, text=text)
            said = self._event("response.reasoning_summary_text.done", done)
        return said + self._part("done", item, text) + self._done(item, status, signature)

    def _call_piece(self, piece: ToolCallDelta) -> bytes:
        if piece.index not in self._calls:
            if piece.name in self._custom:
                self._calls[piece.index] = None
                return b""
            first = self._hush()
            call = ToolCall(piece.id or self._made_id(piece.index), piece.name, "")
            item, added = self._added("function", call)
            self._calls[piece.index] = item
            first += added
        else:
            first, item = b"", self._calls[piece.index]
        if item is None or not piece.arguments:
            return first
        item.words.append(piece.arguments)
        return first + self._delta(item, b"response.function_call_arguments.delta", b"", piece.arguments)

    def _made_id(self, index: int) -> str:
        return f"call_{self._stamp.id}_{index}"

    def _whole_call(self, event: ToolCalled) -> bytes:
        call = event.call
        item = self._calls.get(event.index)
        first = b""
        if item is None:
            first = self._signed(call)
            said = ToolCall(call.id or self._made_id(event.index), call.name, "", kind=call.kind)
            item, added = self._added(call.kind, said)
            words = call.arguments if call.kind == "custom" else call.arguments or "{}"
            kind = CUSTOM_DELTA if call.kind == "custom" else b"response.function_call_arguments.delta"
            item.words.append(words)
            first += added + self._delta(item, kind, b"", words)
        self._calls[event.index] = None
        return first + self._call_done(item, "completed")

    def _signed(self, call: ToolCall) -> bytes:
        """Reasoning before a call ends here, and carries the call's signature for a client that keeps no state here."""
        wire = call.native.wire if call.native else ""
        if not call.signature:
            return self._hush()
        if self._speaking is None or self._speaking.kind != "reasoning":
            first = self._hush()
            item, added = self._added("reasoning", wire=wire)
            return first + added + self._done(item, "completed", call.signature)
        self._speaking.wire = wire
        return self._hush(signature=call.signature)

    def _call_done(self, item: _Open, status: str) -> bytes:
        words = "".join(item.words)
        first = b""
        if item.kind == "function" and not words:
            words = "{}"
            item.words.append(words)
            first = self._delta(item, b"response.function_call_arguments.delta", b"", words)
        if item.kind == "custom":
            said = self._event("response.custom_tool_call_input.done", self._at(item, input=words))
        else:
            said = self._event("response.function_call_arguments.done", self._at(item, arguments=words))
        return first + said + self._done(item, status)


CUSTOM_DELTA = b"response.custom_tool_call_input.delta"
SPOKEN = {
    "message": (b"response.output_text.delta", b',"content_index":0,"logprobs":[]'),
    "refusal": (b"response.refusal.delta", b',"content_index":0'),
    "reasoning": (b"response.reasoning_summary_text.delta", b',"summary_index":0'),
}
"""Kind of item → the type of its deltas, and what they all hold."""


class AnswerWriter(WholeWriter):
    """Writes an answer in one piece: the response that a stream of the same events ends with."""

    def __init__(self, chat: Chat, stamp: Stamp) -> None:
        super().__init__(chat, stamp)
        self._form = Form(chat, stamp)
        self._thought_by = ""

    def write(self, event: Event) -> bytes:
        """Nothing yet: the answer goes out at its end."""
        if isinstance(event, ThinkingDelta) and event.native:
            self._thought_by = event.native.wire
        return super().write(event)

    def close(self) -> bytes:
        """The response."""
        reply = self._reply
        reason = INCOMPLETE.get(reply.finished.reason, "") if reply.finished else ""
        status = "incomplete" if reason else "completed"
        return encode(
            self._form.response(status, reply.model, self._items(status), usage_object(reply.usage), incomplete=reason)
        )

    def _items(self, status: str) -> list[Json]:
        reply, output = self._reply, list[Json]()
        names = spaces(self._chat)

        def identity(kind: str) -> str:
            return f"{PREFIXES[kind]}_{self._stamp.id}_{len(output)}"

        if reply.thinking:
            output.append(reasoning_item(identity("reasoning"), reply.thinking, tag(self._thought_by)))
        for search in reply.searches:
            output.append(search_item(identity("search"), "completed", search))
        if content := reply.content:
            part = text_part(content, annotated(reply.citations, content))
            output.append(message_item(identity("message"), status, [part]))
        if reply.refusal:
            output.append(message_item(identity("refusal"), status, [refusal_part(reply.refusal)]))
        for index, call in enumerate(reply.calls):
            if call.signature:
                seal = tag(call.native.wire if call.native else "", call.signature)
                output.append(reasoning_item(identity("reasoning"), "", seal))
            arguments = call.arguments if call.kind == "custom" else call.arguments or "{}"
            said = ToolCall(call.id or f"call_{self._stamp.id}_{index}", call.name, arguments, kind=call.kind)
            output.append(call_item(identity(call.kind), "completed", said, names))
        return output

    def fail(self, error: ProxyError) -> bytes:
        """An error body."""
        return encode({"error": error_object(error)})
