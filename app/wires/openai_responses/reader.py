"""A Responses answer → events, streamed or whole.

Any order of events is taken, and any may be missing: what an item's deltas left unsaid is said when the item is done,
and what was never announced when the whole response comes. A stream without that last event is broken, never short.
"""

from __future__ import annotations

from typing import Any

import msgspec

from app.chat.events import Event, Failed, Finished, FinishReason, Started, Unknown, Usage
from app.chat.model import Chat, Native
from app.errors import UpstreamError
from app.wires.envelope import as_object
from app.wires.framing import FramedReader
from app.wires.openai_responses.errors import stream_failure
from app.wires.openai_responses.names import NAME
from app.wires.openai_responses.output import Output
from app.wires.openai_responses.sealed import seal

ENDS = frozenset(("completed", "incomplete", "failed", "cancelled"))
REASONS: dict[str, FinishReason] = {
    "max_output_tokens": "length",
    "max_messages": "length",
    "content_filter": "content_filter",
}
"""incomplete_details.reason → why it ended; `steered` and what is newer count as `stop`."""

WORDS = "response.output_text.delta"
REPEATS = ("output_text", "refusal", "content_part", "reasoning_", "function_call_", "custom_tool_call_")
"""Beginnings and ends of an item's parts: deltas and the whole item say the same."""


class Tokens(msgspec.Struct):
    """The usage object: input includes what was cached, output includes reasoning."""

    input_tokens: int | None = 0
    output_tokens: int | None = 0
    input_tokens_details: dict[str, Any] | None = None
    output_tokens_details: dict[str, Any] | None = None


class Response(msgspec.Struct):
    """What is read of a response object."""

    id: str | None = ""
    model: str | None = ""
    status: str | None = ""
    output: list[msgspec.Raw] | None = None
    usage: Tokens | None = None
    error: Any = None
    incomplete_details: dict[str, Any] | None = None
    store: bool | None = None


class Piece(msgspec.Struct):
    """One event of a stream; which fields are there depends on its type."""

    type: str = ""
    response: msgspec.Raw = msgspec.Raw(b"")
    item: msgspec.Raw = msgspec.Raw(b"")
    item_id: str | None = None
    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None
    delta: Any = None
    annotation: Any = None
    error: Any = None
    code: Any = None
    message: Any = None
    param: Any = None


PIECE = msgspec.json.Decoder(Piece)
RESPONSE = msgspec.json.Decoder(Response)


class _Answer:
    """What one answer has said so far; shared by the streamed and the whole form."""

    def __init__(self, chat: Chat) -> None:
        self._output = Output(chat)
        self._stored = chat.store is not False
        self._started = False
        self._id = ""
        self.done = False
        self._well = False

    def take(self, piece: Piece, native: Native) -> list[Event]:
        """The events of one piece of a stream."""
        if piece.type == WORDS and isinstance(piece.delta, str):  # nearly all pieces of a long answer
            return self._output.grew(
                "output_text", piece.output_index, piece.item_id, piece.content_index or 0, piece.delta, native
            )
        match piece.type.split("."):
            case ["response", end] if end in ENDS:
                return self.whole(RESPONSE.decode(piece.response), native, end)
            case ["response", "created" | "in_progress" | "queued"]:
                return self._start(RESPONSE.decode(piece.response), native)
            case ["error"]:
                said = {"code": piece.code, "message": piece.message, "param": piece.param}
                return self._fail(stream_failure(piece.error or said))
            case [""] if piece.error:
                return self._fail(stream_failure(piece.error))
            case ["response", "output_item", "added"]:
                return self._output.added(piece.output_index, piece.item, native)
            case ["response", "output_item", "done"]:
                return self._output.finished(piece.output_index, piece.item, native)
            case ["response", kind, "delta"] if isinstance(piece.delta, str):
                part = piece.summary_index if piece.summary_index is not None else piece.content_index
                return self._output.grew(kind, piece.output_index, piece.item_id, part or 0, piece.delta, native)
            case ["response", "output_text", "annotation", "added"]:
                said = as_object(piece.annotation)
                return self._output.annotated(piece.output_index, piece.item_id, piece.content_index or 0, said)
            case ["response", kind, "added" | "done"] if kind.startswith(REPEATS):
                return []
            case _:
                return [Unknown(native)]

    def _start(self, response: Response, native: Native) -> list[Event]:
        if self._started:
            return []
        self._started = True
        return [Started(response.id or "", response.model or "", native)]

    def whole(self, response: Response, native: Native, end: str) -> list[Event]:
        """The events of a whole response: all that was not said before, and its end."""
        events = self._start(response, native)
        if response.store is not None:
            self._stored = self._stored and response.store
        if end == "failed" or end == "cancelled" or response.error:
            said = response.error or {"message": f"The provider {end} the answer. Send the request again."}
            return [*events, *self._fail(stream_failure(said))]
        events += self._output.rest(response.output or [], native)
        if response.usage is not None:
            events.append(_usage(response.usage, native))
        self.done = self._well = True
        self._id = response.id or ""
        return [*events, Finished(self._reason(response, end), native)]

    def _reason(self, response: Response, end: str) -> FinishReason:
        """This format names no reason: it follows from what was said, and what is missing."""
        if end == "incomplete":
            details = response.incomplete_details or {}
            return REASONS.get(str(details.get("reason") or ""), "stop")
        return "tool_calls" if self._output.calls else "stop"

    def _fail(self, error: UpstreamError) -> list[Event]:
        self.done = True
        return [Failed(error)]

    def handle(self) -> str:
        return self._id if self._well and self._stored else ""

    def sealed(self) -> bytes:
        return seal(self._output.items, self._stored) if self._well else b""


class _Reader:
    """What both readers answer once the answer is there."""

    def __init__(self, chat: Chat) -> None:
        self._answer = _Answer(chat)

    def sealed(self) -> bytes:
        """OpenAI's own output items; see sealed.restore."""
        return self._answer.sealed()

    def handle(self) -> str:
        """The response's id, if it was stored."""
        return self._answer.handle()

    def onward(self, chat: Chat) -> Chat | None:
        """None: OpenAI pauses no answer."""
        return None


class StreamReader(FramedReader, _Reader):
    """Reads a stream of server-sent events."""

    wire = NAME

    def __init__(self, chat: Chat) -> None:
        FramedReader.__init__(self)
        _Reader.__init__(self, chat)

    def _take(self, data: bytes) -> list[Event]:
        return self._answer.take(PIECE.decode(data), Native(NAME, data))


class AnswerReader(_Reader):
    """Reads an answer in one piece."""

    def __init__(self, chat: Chat) -> None:
        super().__init__(chat)
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> list[Event]:
        """Nothing yet: the body is read at its end."""
        self._data.append(data)
        return []

    def close(self) -> list[Event]:
        """All events of the answer."""
        data = b"".join(self._data)
        try:
            response = RESPONSE.decode(data)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return [Failed(UpstreamError("The provider's answer is not a response."))]
        if response.output is None and not response.error:
            return [Failed(UpstreamError("The provider's answer has no output."))]
        if response.status in ("queued", "in_progress"):
            return [Failed(UpstreamError("The provider answers in the background: ask without `background`."))]
        return self._answer.whole(response, Native(NAME, data), response.status or "completed")


def _usage(tokens: Tokens, native: Native) -> Usage:
    read, made = as_object(tokens.input_tokens_details), as_object(tokens.output_tokens_details)
    return Usage(
        input=tokens.input_tokens or 0,
        output=tokens.output_tokens or 0,
        cached=read.get("cached_tokens") or 0,
        cache_written=read.get("cache_write_tokens") or 0,
        reasoning=made.get("reasoning_tokens") or 0,
        native=native,
    )
