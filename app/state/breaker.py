"""A circuit breaker: after a run of failures the store is left alone for a moment.

    closed --(5 failures within 10 s)--> open --(2 s)--> one probe --> closed, or open again

A single blip does not open it: failures count only while they are fresh, and a success forgets them. Time is passed in.
"""

from __future__ import annotations

from collections import deque
from typing import Literal


class Breaker:
    """Decides whether to try. Not for threads: it belongs to one event loop.

    Args:
        failures: so many of them open it …
        within: … if they fall into so many seconds.
        rest: seconds for which an open breaker lets nothing through.
    """

    def __init__(self, *, failures: int = 5, within: float = 10.0, rest: float = 2.0) -> None:
        self._limit = failures
        self._within = within
        self._rest = rest
        self._failed: deque[float] = deque(maxlen=failures)
        self._opened: float | None = None
        self._probing = False
        self.openings = 0

    @property
    def state(self) -> Literal["closed", "open", "probing"]:
        """For metrics and the readiness report."""
        if self._opened is None:
            return "closed"
        return "probing" if self._probing else "open"

    def allows(self, now: float) -> bool:
        """Whether to try at `now`. A yes must be followed by `worked`, `failed` or `abandoned`."""
        if self._opened is None:
            return True
        if self._probing or now - self._opened < self._rest:
            return False
        self._probing = True
        return True

    def worked(self) -> None:
        """The server answered."""
        if self._opened is None and not self._failed:
            return
        self._failed.clear()
        self._opened = None
        self._probing = False

    def failed(self, now: float) -> None:
        """It refused, hung, or gave no connection."""
        if self._opened is not None:
            if self._probing:
                self._opened, self._probing = now, False
            return
        self._failed.append(now)
        if len(self._failed) == self._limit and now - self._failed[0] <= self._within:
            self._opened = now
            self.openings += 1

    def abandoned(self) -> None:
        """The caller left before there was an outcome: the next one may probe."""
        self._probing = False
