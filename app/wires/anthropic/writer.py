"""Events → a Messages answer, streamed or whole (what is said in which order: ceremony.py).

Every event has its `event:` line: the official SDK passes over events without one, and the stream comes out empty.
"""

from __future__ import annotations

from typing import Any

import msgspec

from app.chat.citations import Citation
from app.chat.events import Cited, Event, Failed, TextDelta
from app.chat.model import Chat
from app.errors import ProxyError
from app.wires.anthropic.assembly import Assembly
from app.wires.anthropic.ceremony import Ceremony
from app.wires.anthropic.citing import resting
from app.wires.anthropic.errors import body_of, error_object
from app.wires.anthropic.names import NAME
from app.wires.envelope import as_object, encode
from app.wires.wire import Stamp

_MORE_WORDS = (
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,'
    b'"delta":{"type":"text_delta","text":%b}}\n\n'
)


class EventWriter:
    """Writes a stream of server-sent events."""

    content_type = "text/event-stream; charset=utf-8"
    keepalive = b'event: ping\ndata: {"type": "ping"}\n\n'

    def __init__(self, chat: Chat, stamp: Stamp) -> None:
        self._ceremony = Ceremony(chat, stamp)

    def write(self, event: Event) -> bytes:
        """The events to send now. More words of the open block, which is nearly everything, take the short way."""
        if isinstance(event, TextDelta) and (index := self._ceremony.further(event)) >= 0:
            return _MORE_WORDS % (index, encode(event.text))
        if isinstance(event, Failed):
            return self.fail(event.error)
        return b"".join(map(_frame, self._ceremony.take(event)))

    def close(self) -> bytes:
        """What ends the answer well."""
        return b"".join(map(_frame, self._ceremony.close()))

    def fail(self, error: ProxyError) -> bytes:
        """The error event, on which the SDK raises."""
        return _frame({"type": "error", "error": error_object(error)})


class MessageWriter:
    """Writes an answer in one piece: the sum of the stream that it would have been."""

    content_type = "application/json"
    keepalive = b"\n"

    def __init__(self, chat: Chat, stamp: Stamp) -> None:
        self._ceremony = Ceremony(chat, stamp)
        self._blocks = Assembly()
        self._message: dict[str, Any] = {}
        self._citations: list[Citation] = []

    def write(self, event: Event) -> bytes:
        """Nothing yet: the answer goes out at its end, its texts cut where they rest on other providers' citations."""
        if isinstance(event, Cited) and (event.citation.native is None or event.citation.native.wire != NAME):
            self._citations.append(event.citation)
            return b""
        self._take(self._ceremony.take(event))
        return b""

    def close(self) -> bytes:
        """The message."""
        self._take(self._ceremony.close())
        blocks = self._blocks.blocks
        content = resting(blocks, self._citations) if self._citations else list(map(msgspec.Raw, blocks))
        return encode(self._message | {"content": content})

    def fail(self, error: ProxyError) -> bytes:
        """An error body."""
        return encode(body_of(error))

    def _take(self, events: list[dict[str, Any]]) -> None:
        for event in events:
            match event["type"]:
                case "message_start":
                    self._message = as_object(event["message"])
                case "content_block_start":
                    block = as_object(event["content_block"])
                    self._blocks.start(encode(block), block)
                case "content_block_delta":
                    self._blocks.delta(as_object(event["delta"]))
                case "content_block_stop":
                    self._blocks.stop()
                case "message_delta":
                    self._message |= {**as_object(event["delta"]), "usage": event["usage"]}
                case _:
                    pass


def _frame(event: dict[str, Any]) -> bytes:
    return b"event: " + str(event["type"]).encode() + b"\ndata: " + encode(event) + b"\n\n"
