"""Refusals that a request is mended for and sent once more; a name that a model refused is left alone from then on, so
that only one request pays for it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from app.chat.model import Chat, Loss
from app.engine.routing import Candidate
from app.errors import UpstreamError
from app.wires.openai_fields import refused, renamed, spared
from app.wires.repairs import repaired
from app.wires.wire import Outbound

MOST_MENDS = 4
"""Times that one request is mended; each answers a refusal of another field."""

LEARNT = 3600.0
"""Seconds that a refusal is taken for the model's way. Then it is asked in the client's own words again."""

MOST_LEARNT = 1024


class Mended(msgspec.Struct, frozen=True):
    """A request in place of one that was refused, and what it lost."""

    chat: Chat
    outbound: Outbound
    losses: tuple[Loss, ...] = ()


class Refusals:
    """What models refused under an older name, by upstream and model."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until: dict[tuple[str, str, str], float] = {}

    def heeded(self, candidate: Candidate, outbound: Outbound) -> Outbound:
        """The request without the names that this model refused lately; the very same one if there are none."""
        if not self._until:
            return outbound
        upstream, now = candidate.upstream, self._clock()
        for (name, model, field), until in list(self._until.items()):
            if (name, model) == (upstream.name, candidate.model) and now < until:
                outbound = renamed(upstream.wire.name, outbound, field)
        return outbound

    def mended(
        self,
        candidate: Candidate,
        error: UpstreamError,
        chat: Chat,
        outbound: Outbound,
        encoded: Callable[[Chat], Outbound],
        strict: bool,
    ) -> Mended | None:
        """What to send in place of the request that was refused; None if nothing can be mended.

        Args:
            encoded: makes a request of another chat.
            strict: nothing may be lost by it.
        """
        wire = candidate.upstream.wire.name
        if field := refused(error):
            if (other := renamed(wire, outbound, field)) is not outbound:
                self._learn(candidate, field)
                return Mended(chat, other)
            other = spared(wire, outbound, field)
            return Mended(chat, other) if other is not outbound and not strict else None
        if outbound.untouched or (found := repaired(wire, error, chat)) is None:
            return None
        whole, loss = found
        return Mended(whole, encoded(whole), (loss,))

    def _learn(self, candidate: Candidate, field: str) -> None:
        if len(self._until) >= MOST_LEARNT:
            self._until.clear()
        self._until[candidate.upstream.name, candidate.model, field] = self._clock() + LEARNT
