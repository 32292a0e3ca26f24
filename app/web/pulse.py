"""Keeps silent streams alive, and gives up those whose client takes nothing any more.

One task for all of them, as a timer for each would cost more than the streams.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Protocol

PATIENCE = 1.0
"""Seconds that a keep-alive may wait for a client to take it."""

STALL = 120.0
"""Seconds for which a client may take nothing of what waits for it. Then it is gone, whatever TCP still believes: the
provider must not be held for it."""


class Stream(Protocol):
    """An open stream."""

    def silent_since(self) -> float:
        """Monotonic seconds of its last byte."""
        ...

    def stuck_since(self) -> float:
        """Monotonic seconds since when the client has taken nothing; now, if nothing waits for it."""
        ...

    async def keep_alive(self) -> None:
        """Send its dialect's keep-alive."""
        ...

    def give_up(self) -> None:
        """End its turn, as if the client had hung up."""
        ...


class Pulse:
    """Looks a few times in `after` seconds at all open streams, and wakes those that were silent for so long."""

    def __init__(self, after: float) -> None:
        self._after = after
        self._streams: dict[Stream, None] = {}
        self._task: asyncio.Task[None] | None = None

    def watch(self, stream: Stream) -> None:
        """A stream has opened."""
        self._streams[stream] = None
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._beat())

    def forget(self, stream: Stream) -> None:
        """A stream has ended."""
        self._streams.pop(stream, None)

    async def stop(self) -> None:
        """The server ends."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._after / 4)
            now = time.monotonic()
            for stream in [s for s in self._streams if now - s.stuck_since() >= STALL]:
                stream.give_up()
            silent = [s for s in self._streams if now - s.silent_since() >= self._after]
            # all at once: a client that takes nothing must not hold up the others
            await asyncio.gather(*(_wake(stream) for stream in silent))


async def _wake(stream: Stream) -> None:
    with contextlib.suppress(Exception):
        async with asyncio.timeout(PATIENCE):
            await stream.keep_alive()
