"""An answer in several hops, of which the client sees one: the provider paused it and was asked for the rest, or the
model asked for rows that are parked here and went on with them."""

from __future__ import annotations

from collections.abc import Sequence

from app.chat.events import Cited, Event, Started, ToolCallDelta, ToolCalled, Usage
from app.chat.model import ToolCall, ToolResult
from app.chat.reply import Reply
from app.context.known import Fetch, Hop
from app.wires.wire import Reader

MOST_HOPS = 64
"""Hops of one answer: beyond it the provider makes no progress."""


CLIENTS = Fetch("", "", "", "")
"""Stands where a call of the client's own stood among ours."""


class Hops:
    """The hops that are over. What comes behind them goes on where they ended: indices, places in the text and usage
    are running totals."""

    __slots__ = ("_calls", "_said", "_sealed", "_spent", "count", "fetched", "handles")

    def __init__(self) -> None:
        self.count = 0
        self.handles: list[str] = []
        self.fetched: list[Hop] = []
        self._sealed: list[bytes] = []
        self._spent = Usage()
        self._calls = 0
        self._said = 0

    def add(self, reader: Reader, reply: Reply, after: str = "") -> None:
        """One more hop is over; `reply` is what the client has seen so far, `after` what the next one goes on from."""
        self.count += 1
        self._calls = len(reply.calls)
        self._said = len(reply.text)
        self._spent = reply.usage or self._spent
        reply.finished = None
        if sealed := reader.sealed():
            self._sealed.append(sealed)
        if handle := reader.handle() or after:
            self.handles.append(handle)

    def fetch(self, hop: Reply, results: Sequence[ToolResult]) -> None:
        """The hop that was just added ended with calls of ours, which got these results."""
        self.fetched.append(Hop(hop.text, fetches_of(hop, results), self.sealed(b"")))
        self._sealed = []

    def behind(self, events: list[Event]) -> list[Event]:
        """The events of the hop that runs, as they stand in the whole answer."""
        return [self._behind(event) for event in events if not isinstance(event, Started)] if self.count else events

    def _behind(self, event: Event) -> Event:
        match event:
            case ToolCallDelta():
                return ToolCallDelta(event.index + self._calls, event.id, event.name, event.arguments)
            case ToolCalled():
                return ToolCalled(event.index + self._calls, event.call)
            case Cited():
                return Cited(event.citation.moved(self._said))
            case Usage():
                spent = self._spent
                return Usage(
                    event.input + spent.input,
                    event.output + spent.output,
                    event.cached + spent.cached,
                    event.cache_written + spent.cache_written,
                    event.reasoning + spent.reasoning,
                )
            case _:
                return event

    def sealed(self, last: bytes) -> bytes:
        """What the hops since the last fetch sealed, `last` included, as one: each is a JSON array where answers come
        in hops."""
        whole = [*self._sealed, last] if last else self._sealed
        if len(whole) <= 1:
            return whole[0] if whole else b""
        return b"[" + b",".join(inner for each in whole if (inner := each[1:-1].strip())) + b"]"


def fetches_of(hop: Reply, results: Sequence[ToolResult]) -> tuple[Fetch, ...]:
    """The calls of a hop up to the last one of ours, as they are remembered, in the order of the provider.

    A call of the client's has no result here: CLIENTS keeps its place, as a provider's own words for its calls are told
    apart by the place where they stand.
    """
    found = {result.call_id: result for result in results}
    kept = [_fetch(call, found[call.id]) if call.id in found else CLIENTS for call in hop.calls]
    while kept and kept[-1] is CLIENTS:
        kept.pop()
    return tuple(kept)


def _fetch(call: ToolCall, result: ToolResult) -> Fetch:
    return Fetch(result.call_id, result.name, call.arguments, result.text, result.is_error)
