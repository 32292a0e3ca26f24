"""Events → a generateContent answer: server-sent events, a JSON array, or one object.

The official SDK's parser takes `data: ` lines and blank lines only: no comments, no event names, no end marker. Calls
go out whole. No continuation token is ever made up: the SDK would loop on it.
"""

from __future__ import annotations

from typing import Any

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
    ToolCalled,
    Usage,
)
from app.chat.model import Chat, ToolCall
from app.errors import ProxyError
from app.wires.envelope import encode
from app.wires.gemini.citing import grounding
from app.wires.gemini.contents import wrapped
from app.wires.gemini.errors import error_object
from app.wires.gemini.names import FINISH_OUT
from app.wires.whole import WholeWriter
from app.wires.wire import Stamp


class StreamWriter:
    """Writes server-sent events."""

    content_type = "text/event-stream"
    keepalive = b"\r\n"

    def __init__(self, chat: Chat, stamp: Stamp) -> None:
        self._chat = chat
        self._stamp = stamp
        self._model = ""
        self._usage: Usage | None = None
        self._finish: Finished | None = None
        self._said: list[str] = []
        self._citations: list[Citation] = []
        self._searches: list[Searched] = []

    def write(self, event: Event) -> bytes:
        """The chunk for this event; sources, finish reason and usage wait for close."""
        match event:
            case TextDelta(text=text):
                self._said.append(text)
                return self._parts([{"text": text}]) if text else b""
            case ThinkingDelta(text=text):
                return self._parts([{"text": text, "thought": True}]) if text else b""
            case ToolCalled(call=call):
                return self._parts([call_part(call)])
            case Cited():
                self._citations.append(event.citation)
            case Searched():
                self._searches.append(event)
            case Started():
                self._model = event.model
            case Usage():
                self._usage = event
            case Finished():
                self._finish = event
            case Failed():
                return self.fail(event.error)
            case _:  # pieces of calls, which ToolCalled repeats whole; Unknown belongs to its own wire
                pass
        return b""

    def _parts(self, parts: list[dict[str, Any]]) -> bytes:
        return self._chunk({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}]})

    def _chunk(self, body: dict[str, Any]) -> bytes:
        return self.frame(
            encode(body | {"modelVersion": self._model or self._chat.model, "responseId": self._stamp.id})
        )

    def frame(self, chunk: bytes) -> bytes:
        """One chunk on the wire."""
        return b"data: " + chunk + b"\r\n\r\n"

    def close(self) -> bytes:
        """The last chunk: sources, finish reason and usage."""
        reason = FINISH_OUT[self._finish.reason] if self._finish else "STOP"
        candidate = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": reason, "index": 0}
        if sources := grounding(self._citations, self._searches, "".join(self._said)):
            candidate["groundingMetadata"] = sources
        return self._chunk({"candidates": [candidate], "usageMetadata": usage_object(self._usage)})

    def fail(self, error: ProxyError) -> bytes:
        """The error as a chunk of its own."""
        return self.frame(encode({"error": error_object(error)}))


class ArrayWriter(StreamWriter):
    """Writes the JSON array that a stream without `alt=sse` is."""

    content_type = "application/json"
    keepalive = b"\n"

    def __init__(self, chat: Chat, stamp: Stamp) -> None:
        super().__init__(chat, stamp)
        self._begun = False

    def frame(self, chunk: bytes) -> bytes:
        """One element of the array, with what stands before it."""
        before = b",\r\n" if self._begun else b"["
        self._begun = True
        return before + chunk

    def close(self) -> bytes:
        """The last element and the bracket."""
        return super().close() + b"]"

    def fail(self, error: ProxyError) -> bytes:
        """The error as the last element."""
        return super().fail(error) + b"]"


class AnswerWriter(WholeWriter):
    """Writes an answer in one piece."""

    def close(self) -> bytes:
        """The answer."""
        reply = self._reply
        parts: list[dict[str, Any]] = []
        if reply.thinking:
            parts.append({"text": reply.thinking, "thought": True})
        if reply.text:
            parts.append({"text": reply.text})
        parts.extend(call_part(call) for call in reply.calls)
        reason = FINISH_OUT[reply.finished.reason] if reply.finished else "STOP"
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": reason, "index": 0}
        if sources := grounding(reply.citations, reply.searches, reply.text, int(bool(reply.thinking))):
            candidate["groundingMetadata"] = sources
        return encode(
            {
                "candidates": [candidate],
                "usageMetadata": usage_object(reply.usage),
                "modelVersion": reply.model or self._chat.model,
                "responseId": self._stamp.id,
            }
        )

    def fail(self, error: ProxyError) -> bytes:
        """An error body."""
        return encode({"error": error_object(error)})


def call_part(call: ToolCall) -> dict[str, Any]:
    """A call as a part; arguments that are no JSON object are carried under a key of their own."""
    return {"functionCall": {"id": call.id, "name": call.name, "args": wrapped(call)}}


def usage_object(usage: Usage | None) -> dict[str, Any]:
    """Tokens as this format counts them: candidates exclude thoughts."""
    used = usage or Usage()
    return {
        "promptTokenCount": used.input,
        "candidatesTokenCount": used.output - used.reasoning,
        "thoughtsTokenCount": used.reasoning,
        "cachedContentTokenCount": used.cached,
        "totalTokenCount": used.input + used.output,
    }
