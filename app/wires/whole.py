"""An answer in one piece: events are collected, and written when the last one is there."""

from __future__ import annotations

from app.chat.events import Event
from app.chat.model import Chat
from app.chat.reply import Reply
from app.wires.wire import Stamp


class WholeWriter:
    """What the writers of all formats share; each adds `close` and `fail`."""

    content_type = "application/json"
    keepalive = b"\n"

    def __init__(self, chat: Chat, stamp: Stamp) -> None:
        self._chat = chat
        self._stamp = stamp
        self._reply = Reply()

    def write(self, event: Event) -> bytes:
        """Nothing yet: the answer goes out at its end."""
        self._reply.add(event)
        return b""
