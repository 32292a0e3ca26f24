"""The server's secret: the one that is set, else one made once and kept in the store, else a temporary one.

It keys the tenants' HMAC, so a temporary secret sees nobody's earlier state. The store is asked again in the background
until it gives the lasting one; whoever comes first offers their own.
"""

from __future__ import annotations

import asyncio
import os
import random

from app.state.guard import Away, GuardedLink
from app.state.keys import SECRET

_PAUSES = (0.5, 5.0)  # seconds between two tries: the first, and the longest


class Secret:
    """What `Store.secret` gives.

    Args:
        link: the way to the store.
        given: SECRET, or empty.
    """

    def __init__(self, link: GuardedLink, given: str) -> None:
        self._link = link
        self._asking: asyncio.Task[None] | None = None
        self.temporary = not given
        self.value = given.encode() or os.urandom(32)

    async def settle(self) -> None:
        """Ask the store once; if it is away, go on asking in the background. One that is set needs no store."""
        if not await self._settled():
            self._asking = asyncio.create_task(self._ask_again())

    async def close(self) -> None:
        """Ask no more."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    async def _ask_again(self) -> None:
        pause = _PAUSES[0]
        while True:
            await asyncio.sleep(pause * random.uniform(0.5, 1))  # noqa: S311 - jitter, no secret
            if await self._settled():
                return
            pause = min(pause * 2, _PAUSES[1])

    async def _settled(self) -> bool:
        if not self.temporary:
            return True
        try:
            # A read-only replica refuses the first and answers the second.
            kept = (await self._link.trip(("SET", SECRET, self.value, "NX"), ("GET", SECRET)))[1]
        except Away:
            return False
        if not isinstance(kept, bytes) or not kept:
            return False
        self.value, self.temporary = kept, False
        return True
