"""The link behind a circuit breaker: trouble becomes one exception with a short reason, and is counted."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from redis import exceptions as errors

from app.state.breaker import Breaker
from app.state.link import Command, Link, reason

# The server is there and answers, only not as we wish: no reason to leave it alone.
_ANSWERED = frozenset({"read-only", "full", "wrong type", "error"})

_log = logging.getLogger(__name__)


class Away(Exception):  # noqa: N818 - a state that is handled, not a mistake
    """The store gave nothing. `reason` says why, in a few words: timeout, refused, busy, breaker open, full …"""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class GuardedLink:
    """One link with its breaker and its counters.

    Args:
        link: the way to the store.
        timeout: seconds for one trip, everything included.
    """

    def __init__(self, link: Link, timeout: float) -> None:
        self.link = link
        self.breaker = Breaker()
        self.failures: dict[str, int] = {}
        self.timeout = timeout

    async def trip(self, *commands: Command) -> list[Any]:
        """All replies; errors of single commands stand in their places, except those that concern the whole store.

        Raises:
            Away: there is no answer.
        """
        if not self.breaker.allows(time.monotonic()):
            self.count("breaker open")
            raise Away("breaker open")
        try:
            replies = await self.link.run(*commands, within=self.timeout)
        except asyncio.CancelledError:
            self.breaker.abandoned()
            raise
        except (errors.RedisError, OSError) as error:
            raise self._failed(error) from None
        for reply in replies:
            if isinstance(reply, Exception) and reason(reply) not in _ANSWERED:
                raise self._failed(reply)
        self.breaker.worked()
        return replies

    def count(self, why: str) -> None:
        """One more step that the store did not serve, by its reason."""
        self.failures[why] = self.failures.get(why, 0) + 1

    def _failed(self, error: Exception) -> Away:
        why = reason(error)
        self.count(why)
        before = self.breaker.openings
        self.breaker.failed(time.monotonic())
        if self.breaker.openings > before:
            # Once for each opening, never for each request.
            _log.warning("the store at %s is left alone for a moment: %s", self.link.describe(), why)
        return Away(why)
