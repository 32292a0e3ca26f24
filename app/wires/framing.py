"""What the readers of all formats share: an answer that comes as server-sent events, read frame by frame.

A reader never raises. An event of another shape than we know goes on as Unknown; one that cannot be read at all is the
provider's failure. The answer is over with its Finished or its Failed: whatever still comes is not looked at.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import msgspec

from app.chat.events import Event, Failed, Finished, Unknown
from app.chat.model import Native
from app.errors import UpstreamError
from app.wires.sse import Frames, TooLargeError


class FramedReader(ABC):
    """Each format adds `_take`, and `_end` if its stream may end without a terminal event."""

    wire = ""
    who = "The provider"

    def __init__(self) -> None:
        self._frames = Frames()
        self._over = False

    @abstractmethod
    def _take(self, data: bytes) -> list[Event]:
        """The events of one frame. May raise msgspec.ValidationError for a shape that is not known."""

    def _marked(self) -> list[Event]:
        """The stream's end marker, `[DONE]`: most formats do without."""
        return []

    def _end(self) -> list[Event]:
        """The bytes ended before the answer did."""
        return self._fail("'s answer broke off before its end. Send the request again.")

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete."""
        if self._over:
            return []
        try:
            frames = self._frames.feed(data)
        except TooLargeError:
            return self._fail(" sent an event too large to read.")
        return [event for frame in frames for event in self._frame(frame.data)]

    def _frame(self, data: bytes) -> list[Event]:
        if self._over or not data:
            return []
        if data.startswith(b"[DONE]"):
            return self._told(self._marked())
        try:
            return self._told(self._take(data))
        except msgspec.ValidationError:
            return [Unknown(Native(self.wire, data))]
        except Exception as error:  # noqa: BLE001 (any unreadable event: the stream fails, the proxy does not)
            return self._fail(f" sent an event that cannot be read ({type(error).__name__}).")

    def _told(self, events: list[Event]) -> list[Event]:
        self._over = any(isinstance(event, Failed | Finished) for event in events)
        return events

    def _fail(self, words: str) -> list[Event]:
        self._over = True
        return [Failed(UpstreamError(self.who + words))]

    def close(self) -> list[Event]:
        """The bytes ended."""
        if self._over:
            return []
        events = [event for frame in self._frames.close() for event in self._frame(frame.data)]
        return events if self._over else [*events, *self._told(self._end())]
