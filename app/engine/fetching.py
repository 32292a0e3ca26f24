"""The tool that the proxy answers itself, in one turn: the model's calls to it are held back from the client, answered
from what is parked, and the model is asked again within the same answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from app.chat.events import Event, Finished, ToolCallDelta, ToolCalled
from app.chat.model import Chat, Message, ToolCall, ToolChoice, ToolResult
from app.chat.reply import Reply
from app.context.tool_results import Parked
from app.engine.beside import beside
from app.errors import StateError
from app.tools.fetch_rows import Bounds
from app.tools.gate import FETCHES, handles_of, results
from app.wires.wire import Reader, Wire

Find = Callable[[str], Awaitable[Parked | None]]
"""Gives what is parked under a handle; None if nothing is. Raises StateError if the store is away."""


class Fetching:
    """One turn's fetches.

    Args:
        name: what the model calls the tool by.
        find: looks a handle up.
    """

    def __init__(self, name: str, bounds: Bounds, find: Find) -> None:
        self.name = name
        self.answered = 0
        self._bounds = bounds
        self._find = find
        self._ours: set[int] = set()
        self._theirs: dict[int, int] = {}
        self._going: bool | None = None

    @property
    def spent(self) -> bool:
        """Whether the model was told to stop and goes on asking."""
        return self.answered >= 2 * FETCHES

    def begin(self) -> None:
        """A new hop begins."""
        self._ours.clear()
        self._theirs.clear()
        self._going = None

    def shown(self, events: list[Event]) -> list[Event]:
        """What of these events is the client's to see. An end stays behind while only calls of ours are open."""
        return [shown for event in events if (shown := self._shown(event)) is not None]

    def _shown(self, event: Event) -> Event | None:
        match event:
            case ToolCallDelta():
                if event.index in self._ours or event.name == self.name:
                    self._ours.add(event.index)
                    return None
                place = self._place(event.index)
                return event if event.index == place else ToolCallDelta(place, event.id, event.name, event.arguments)
            case ToolCalled():
                if event.call.name == self.name:
                    self._ours.add(event.index)
                    return None
                return ToolCalled(self._place(event.index), event.call)
            case Finished():
                return None if self.goes_on(event) else self._end(event)
            case _:
                return event

    def _end(self, finished: Finished) -> Finished:
        """The end as the client hears it: no calls are open for one that got none."""
        alone = bool(self._ours) and not self._theirs
        return Finished("stop") if alone and finished.reason == "tool_calls" else finished

    def _place(self, index: int) -> int:
        """The client's calls are counted without ours."""
        return self._theirs.setdefault(index, len(self._theirs))

    def goes_on(self, finished: Finished) -> bool:
        """Whether the model waits for us alone. Decided once a hop: the client has heard of an end, or has not."""
        if self._going is None:
            waits = bool(self._ours) and not self._theirs and finished.reason in ("tool_calls", "stop")
            self._going = waits and not self.spent
        return self._going

    def ours(self, hop: Reply) -> tuple[ToolCall, ...]:
        """The calls of a hop that are ours to answer."""
        return tuple(call for call in hop.calls if call.name == self.name)

    async def results(self, hop: Reply) -> tuple[ToolResult, ...]:
        """The results of our calls in a hop."""
        calls = self.ours(hop)
        parked: dict[str, Parked | None] = {}
        away: list[str] = []
        for handle in handles_of(calls):
            try:
                parked[handle] = await self._find(handle)
            except StateError:
                away.append(handle)
        size = sum(len(each.text) for each in parked.values() if each is not None)
        given = await beside(size, results, calls, parked.get, self._bounds, answered=self.answered, away=away)
        self.answered += len(given)
        return given

    def onward(self, chat: Chat, hop: Reply, reader: Reader, wire: Wire, given: tuple[ToolResult, ...]) -> Chat:
        """The request that brings the results: behind what the provider keeps of this hop, else with all before it.

        A model that does not stop asking is asked without tools.
        """
        sealed = reader.sealed()
        said = wire.restore(hop.message, sealed, True) if sealed else hop.message
        messages = (*chat.messages, said, Message("user", given))
        if handle := reader.handle():
            chat = replace(chat, messages=messages, after=handle, since=len(messages) - 1)
        else:
            chat = replace(chat, messages=messages)
        chat = replace(chat, continues="", plain=False)
        if self.answered <= FETCHES:
            return chat
        return replace(chat, sampling=replace(chat.sampling, tool_choice=ToolChoice("none")))
