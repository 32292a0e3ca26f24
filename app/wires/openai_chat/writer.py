"""Events → a Chat Completions answer, streamed or whole.

Kept from the official SDKs' stream helpers, which concatenate what repeats: id and name of a call are said once,
indexes start at 0 without gaps, citations come in one piece behind the words, the usage chunk comes only if it was
asked for and has empty choices, one [DONE] ends it all.
"""

from __future__ import annotations

from typing import Any

from app.chat.citations import Citation
from app.chat.events import (
    Cited,
    Event,
    Failed,
    Finished,
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
from app.wires.openai_chat import functions
from app.wires.openai_chat.citing import annotated
from app.wires.openai_chat.errors import error_object
from app.wires.openai_chat.names import FINISH_OUT
from app.wires.whole import WholeWriter
from app.wires.wire import Stamp


class ChunkWriter:
    """Writes a stream of chunks."""

    content_type = "text/event-stream; charset=utf-8"
    keepalive = b": keep-alive\n"

    def __init__(self, chat: Chat, stamp: Stamp) -> None:
        self._chat = chat
        self._stamp = stamp
        self._tail = (
            b',"logprobs":null,"finish_reason":null}]' + (b',"usage":null' if chat.include_usage else b"") + b"}\n\n"
        )
        self._head = b""
        self._older = functions.asked(chat)
        self._indexes: dict[int, int] = {}
        self._argued: set[int] = set()
        self._usage: Usage | None = None
        self._finish: Finished | None = None
        self._citations: list[Citation] = []

    def write(self, event: Event) -> bytes:
        """The chunk for this event; citations, the finish and the usage wait for close."""
        match event:
            case TextDelta():
                said = b'{"refusal":' if event.refusal else b'{"content":'
                return self._delta(said + encode(event.text) + b"}") if event.text else b""
            case ThinkingDelta():
                return self._delta(b'{"reasoning_content":' + encode(event.text) + b"}") if event.text else b""
            case ToolCallDelta():
                return self._call_piece(event)
            case ToolCalled():
                return self._whole_call(event)
            case Started():
                return self._start(event.model)
            case Cited():
                self._citations.append(event.citation)
            case Usage():
                self._usage = event
            case Finished():
                self._finish = event
            case Failed():
                return self.fail(event.error)
            case _:  # Unknown: belongs to its own wire
                pass
        return b""

    def _start(self, model: str) -> bytes:
        if self._head:
            return b""
        stamp = encode(
            {"id": "chatcmpl-" + self._stamp.id, "object": "chat.completion.chunk", "created": self._stamp.created}
        )
        self._head = b"data: " + stamp[:-1] + b',"model":' + encode(model or self._chat.model) + b',"choices":'
        return self._delta(b'{"role":"assistant","content":""}')

    def _delta(self, delta: bytes) -> bytes:
        first = b"" if self._head else self._start("")
        return first + self._head + b'[{"index":0,"delta":' + delta + self._tail

    def _call_piece(self, piece: ToolCallDelta) -> bytes:
        if piece.arguments:
            self._argued.add(piece.index)
        if piece.index not in self._indexes:
            index = self._indexes[piece.index] = len(self._indexes)
            function = {"name": piece.name, "arguments": piece.arguments}
            call: dict[str, Any] = {"index": index, "id": piece.id, "type": "function", "function": function}
        else:
            call = {"index": self._indexes[piece.index], "function": {"arguments": piece.arguments}}
        if self._older:
            return b"" if call["index"] else self._delta(encode(functions.piece(piece.name, piece.arguments)))
        return self._delta(encode({"tool_calls": [call]}))

    def _whole_call(self, event: ToolCalled) -> bytes:
        call = event.call
        if event.index in self._indexes:
            if event.index in self._argued:
                return b""
            return self._call_piece(ToolCallDelta(event.index, arguments=call.arguments or "{}"))
        if call.kind == "custom":
            index = self._indexes[event.index] = len(self._indexes)
            return self._delta(encode({"tool_calls": [{"index": index, **_call(call)}]}))
        return self._call_piece(ToolCallDelta(event.index, call.id, call.name, call.arguments or "{}"))

    def close(self) -> bytes:
        """Citations, finish chunk, usage chunk if asked for, end marker."""
        reason = _finish(self._finish, self._older)
        first = b"" if self._head else self._start("")
        if cited := annotated(self._citations):
            first += self._delta(encode({"annotations": cited}))
        usage = b',"usage":null' if self._chat.include_usage else b""
        ends = self._head + b'[{"index":0,"delta":{},"logprobs":null,"finish_reason":"' + reason.encode() + b'"}]'
        ends += usage + b"}\n\n"
        if self._chat.include_usage:
            ends += self._head + b'[],"usage":' + encode(usage_object(self._usage)) + b"}\n\n"
        return first + ends + b"data: [DONE]\n\n"

    def fail(self, error: ProxyError) -> bytes:
        """The error as a data line: the SDKs raise APIError on it."""
        return b"data: " + encode({"error": error_object(error)}) + b"\n\n"


class CompletionWriter(WholeWriter):
    """Writes an answer in one piece."""

    def close(self) -> bytes:
        """The completion."""
        reply = self._reply
        calls = [_call(call) for call in reply.calls]
        content = reply.content
        message: dict[str, Any] = {
            "role": "assistant",
            "content": None if (calls or reply.refusal) and not content else content,
            "refusal": reply.refusal or None,
            "annotations": annotated(reply.citations),
        }
        if reply.thinking:
            message["reasoning_content"] = reply.thinking
        if older := functions.asked(self._chat) and bool(calls):
            message["function_call"] = functions.whole(reply.calls[0])
        elif calls:
            message["tool_calls"] = calls
        finish = _finish(reply.finished, older)
        return encode(
            {
                "id": "chatcmpl-" + self._stamp.id,
                "object": "chat.completion",
                "created": self._stamp.created,
                "model": reply.model or self._chat.model,
                "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
                "usage": usage_object(reply.usage),
            }
        )

    def fail(self, error: ProxyError) -> bytes:
        """An error body."""
        return encode({"error": error_object(error)})


def _finish(finished: Finished | None, older: bool) -> str:
    """Why the answer ended; `older`: in the words of clients that know `functions` only."""
    reason = FINISH_OUT[finished.reason] if finished else "stop"
    return functions.FINISH if older and reason == "tool_calls" else reason


def usage_object(usage: Usage | None) -> dict[str, Any]:
    """Tokens as this format counts them: prompt includes cached, completion includes reasoning."""
    used = usage or Usage()
    return {
        "prompt_tokens": used.input,
        "completion_tokens": used.output,
        "total_tokens": used.input + used.output,
        "prompt_tokens_details": {"cached_tokens": used.cached, "cache_write_tokens": used.cache_written},
        "completion_tokens_details": {"reasoning_tokens": used.reasoning},
    }


def _call(call: ToolCall) -> dict[str, Any]:
    if call.kind == "custom":
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.arguments}}
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments or "{}"}}
