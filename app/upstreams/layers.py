"""What is wrapped around `send this request`: which failures are tried again, and how many of them at the most.

Only before the first byte reached the client. A budget per upstream keeps a failing provider from being hammered: each
request earns a fifth of a retry, so that retries never become the main traffic. A 429 is not retried: the SDKs do that
themselves, and two layers multiply.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from app.errors import UpstreamError

RETRIED = frozenset((500, 502, 503, 504, 529))
EARNED = 0.2
SAVED_UP = 10.0
BASE_DELAY, LONGEST_DELAY = 0.1, 2.0


class RetryBudget:
    """Retries that an upstream has left."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = SAVED_UP

    def earn(self) -> None:
        """A request went out."""
        self._left = min(SAVED_UP, self._left + EARNED)

    def spend(self) -> bool:
        """Take one retry; False if none is left."""
        if self._left < 1:
            return False
        self._left -= 1
        return True


def worth_retrying(error: UpstreamError) -> bool:
    """Whether the same request may succeed at once: it never arrived, or the provider says that it failed by itself."""
    return error.repeat and (not error.sent or error.status in RETRIED)


def delay(attempt: int, jitter: Callable[[], float] = random.random) -> float:
    """Seconds before retry number `attempt` (from 0): doubling, with full jitter."""
    return min(LONGEST_DELAY, BASE_DELAY * 2**attempt) * jitter()
