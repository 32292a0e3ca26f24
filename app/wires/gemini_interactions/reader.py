"""The bytes of an Interactions answer → events: a stream of server-sent events, or one JSON object.

The beginning of a step may stand in step.start, a signature comes as a delta, and arguments are pieces of JSON text.
The end is interaction.completed; the marker behind it is not needed. An error may come as an event of a stream whose
status was 200.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from app.chat.events import Event, Failed, Unknown
from app.chat.model import Chat, Native
from app.errors import UpstreamError
from app.wires.framing import FramedReader
from app.wires.gemini_interactions.answer import Answer, Interaction
from app.wires.gemini_interactions.names import NAME

MISSING = msgspec.Raw(b"")


class Body(msgspec.Struct):
    """One event of a stream. Some servers call `event_type` just `type`."""

    event_type: str | None = ""
    type: str | None = ""
    interaction: Interaction | None = None
    interaction_id: str | None = ""
    index: int | None = None
    step: msgspec.Raw = MISSING
    delta: msgspec.Raw = MISSING
    error: Any = None


EVENT = msgspec.json.Decoder(Body)
WHOLE = msgspec.json.Decoder(Interaction)


class _Reader:
    """What both forms answer alike once they have read."""

    def __init__(self, chat: Chat, new_id: Callable[[], str], *, whole: bool) -> None:
        self._answer = Answer(chat, new_id, whole=whole)

    def sealed(self) -> bytes:
        """What a client may drop."""
        return self._answer.sealed()

    def handle(self) -> str:
        """The id to continue from."""
        return self._answer.handle()

    def onward(self, chat: Chat) -> Chat | None:
        """The request for the rest of an answer that was paused."""
        return self._answer.onward(chat)


class StreamReader(FramedReader, _Reader):
    """Reads a stream of events. Without interaction.completed it is broken, whatever else came."""

    wire, who = NAME, "Gemini"

    def __init__(self, chat: Chat, new_id: Callable[[], str]) -> None:
        FramedReader.__init__(self)
        _Reader.__init__(self, chat, new_id, whole=False)

    def _take(self, data: bytes) -> list[Event]:
        return self._event(EVENT.decode(data), Native(NAME, data))

    def _event(self, said: Body, native: Native) -> list[Event]:
        answer, index = self._answer, said.index or 0
        match said.event_type or said.type:
            case "interaction.created" if said.interaction:
                return answer.start(said.interaction, native)
            case "step.start" if said.step is not MISSING:
                return answer.begin(index, said.step, native)
            case "step.delta" if said.delta is not MISSING:
                return answer.go_on(index, said.delta, native)
            case "step.stop":
                return answer.stop(index)
            case "interaction.completed" if said.interaction:
                return answer.complete(said.interaction, native)
            case "error":
                return answer.failed(said.error, native)
            case "interaction.status_update":
                return []
            case _ if said.error is not None:  # the error of a front end, without an event's name
                return answer.failed(said.error, native)
            case _:
                return [Unknown(native)]


class WholeReader(_Reader):
    """Reads an answer in one piece."""

    def __init__(self, chat: Chat, new_id: Callable[[], str]) -> None:
        super().__init__(chat, new_id, whole=True)
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> list[Event]:
        """Nothing yet: the body is read at its end."""
        self._data.append(data)
        return []

    def close(self) -> list[Event]:
        """All events of the answer."""
        data = b"".join(self._data)
        try:
            return self._events(WHOLE.decode(data), Native(NAME, data))
        except Exception as error:  # noqa: BLE001 (an unreadable body is the provider's failure, said as such)
            return [Failed(UpstreamError(f"Gemini's answer cannot be read ({type(error).__name__})."))]

    def _events(self, said: Interaction, native: Native) -> list[Event]:
        if not said.status:
            if said.error is not None:
                return self._answer.failed(said.error, native)
            return [Failed(UpstreamError("Gemini's answer is not an interaction."))]
        return self._answer.complete(said, native)
