"""What readers of formats without server-side state have in common: there is nothing to continue from."""

from __future__ import annotations

from app.chat.model import Chat


class Forgetful:
    """A reader whose provider keeps nothing of an answer, and pauses none."""

    __slots__ = ()

    def handle(self) -> str:
        """No id: the next request brings the whole chat."""
        return ""

    def onward(self, chat: Chat) -> Chat | None:
        """None: an answer that stopped is not gone on with."""
        return None
