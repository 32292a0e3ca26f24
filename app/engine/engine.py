"""What all turns share: the store, the routes, the transport, the numbers, who watches."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from app.chat.model import Chat
from app.context.plan import Step
from app.context.steps import STEPS
from app.context.tool_results.handles import Handles
from app.engine.counting import Counting
from app.engine.memo import Memo
from app.engine.parking import Parking
from app.engine.refusals import Refusals
from app.engine.routing import Routes
from app.engine.summaries import Summaries
from app.engine.unfinished import Unfinished
from app.observe import SummaryDetails, TurnDetails
from app.state.keys import Session
from app.state.store import Store
from app.upstreams.layers import RetryBudget
from app.upstreams.limits import Limits
from app.upstreams.transport import Transport
from app.wires.threads.thread import in_background


class Observer(Protocol):
    """Is told of every turn when it is over."""

    def turn(self, details: TurnDetails) -> None:
        """Take note."""
        ...

    def summary(self, details: SummaryDetails) -> None:
        """Take note of a summary that was made, refused or not to be had."""
        ...


class Inflight:
    """How many turns run, and whether new ones are still taken (readiness)."""

    __slots__ = ("draining", "open")

    def __init__(self) -> None:
        self.open = 0
        self.draining = False


class Engine:
    """Everything that a turn needs. Time and ids come in as arguments, so that tests can fix them.

    Args:
        policy: the settings' policy numbers, by name; routes and requests override them.
        max_retries: further tries of one request at one upstream.
        exact_counts: near a threshold the provider is asked for its own count, if it has one.
    """

    def __init__(
        self,
        *,
        store: Store,
        routes: Routes,
        transport: Transport,
        policy: Mapping[str, Any] | None = None,
        max_retries: int = 2,
        strict: bool = False,
        observers: tuple[Observer, ...] = (),
        steps: tuple[Step, ...] = STEPS,
        limits: Limits | None = None,
        exact_counts: bool = False,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: secrets.token_hex(12),
        sleep: Callable[[float], Any] = asyncio.sleep,
    ) -> None:
        self.store = store
        self.routes = routes
        self.transport = transport
        self.policy: Mapping[str, Any] = policy or {}
        self.max_retries = max_retries
        self.strict = strict
        self.exact_counts = exact_counts
        self.observers = observers
        self.steps = steps
        self.clock = clock
        self.new_id = new_id
        self.sleep = sleep
        self.inflight = Inflight()
        self.memo = Memo()
        self.counting = Counting(limits or Limits(transport, clock))
        self.summaries = Summaries(self)
        self.parking = Parking(store, clock)
        self.unfinished = Unfinished(store)
        self.refusals = Refusals(clock)
        self._budgets = {name: RetryBudget() for name in routes.upstreams}

    def budget(self, upstream: str) -> RetryBudget:
        """The upstream's own retry budget."""
        return self._budgets[upstream]

    def handles(self, session: Session, chat: Chat) -> Handles | None:
        """How bulky tool results of this chat are addressed. None where nobody would be there to answer for them: an
        answer that is made in the background does not come by here."""
        return None if in_background(chat) else self.parking.handles(session, chat)

    def observe_summary(self, details: SummaryDetails) -> None:
        """Tell all observers of a summary."""
        for observer in self.observers:
            observer.summary(details)

    def observe(self, details: TurnDetails) -> None:
        """Tell all observers. One that fails does not stop the others, nor the turn."""
        for observer in self.observers:
            observer.turn(details)
