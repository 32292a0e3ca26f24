"""A Messages answer → events, streamed or whole. A stream without message_stop is broken, never a short answer."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from app.chat.events import Event, Failed
from app.chat.model import Chat
from app.errors import UpstreamError
from app.wires.anthropic.errors import stream_failure
from app.wires.anthropic.names import NAME
from app.wires.anthropic.reading import ANSWER, Answer, Reading, Tokens
from app.wires.envelope import encode
from app.wires.forgetful import Forgetful
from app.wires.framing import FramedReader


class _Reader(Forgetful):
    """What both forms share."""

    def __init__(self, chat: Chat, new_id: Callable[[], str]) -> None:
        self._reading = Reading(chat, new_id)

    def sealed(self) -> bytes:
        """What a client may drop."""
        return self._reading.sealed()

    def onward(self, chat: Chat) -> Chat | None:
        """The request for the rest of a paused answer."""
        return self._reading.onward(chat)


class StreamReader(FramedReader, _Reader):
    """Reads a stream of server-sent events."""

    wire, who = NAME, "Anthropic"

    def __init__(self, chat: Chat, new_id: Callable[[], str]) -> None:
        FramedReader.__init__(self)
        _Reader.__init__(self, chat, new_id)

    def _take(self, data: bytes) -> list[Event]:
        return self._reading.take(data)


class AnswerReader(_Reader):
    """Reads an answer in one piece, as the stream that it would have been."""

    def __init__(self, chat: Chat, new_id: Callable[[], str]) -> None:
        super().__init__(chat, new_id)
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> list[Event]:
        """Nothing yet: the body is read at its end."""
        self._data.append(data)
        return []

    def close(self) -> list[Event]:
        """All events of the answer."""
        data = b"".join(self._data)
        try:
            answer = ANSWER.decode(data)
            if answer.error is not None:
                return [Failed(stream_failure(answer.error))]
            if answer.content is None or answer.stop_reason is None:
                return [Failed(UpstreamError("Anthropic's answer is not a whole message."))]
            return [event for chunk in _chunks(answer, answer.content) for event in self._reading.take(chunk)]
        except Exception as error:  # noqa: BLE001 (an unreadable body is the provider's failure, said as such)
            return [Failed(UpstreamError(f"Anthropic's answer cannot be read ({type(error).__name__})."))]


def _chunks(answer: Answer, content: list[msgspec.Raw]) -> list[bytes]:
    """The stream of which this answer is the sum; every block comes whole in its start."""
    head = {"id": answer.id, "model": answer.model, "usage": answer.usage}
    chunks = [encode({"type": "message_start", "message": head})]
    for index, block in enumerate(content):
        chunks.append(encode({"type": "content_block_start", "index": index, "content_block": block}))
        chunks.append(encode({"type": "content_block_stop", "index": index}))
    end = {"stop_reason": answer.stop_reason, "stop_sequence": answer.stop_sequence}
    if answer.stop_details is not None:
        end["stop_details"] = answer.stop_details
    chunks.append(encode({"type": "message_delta", "delta": end, "usage": answer.usage or Tokens()}))
    chunks.append(encode({"type": "message_stop"}))
    return chunks
