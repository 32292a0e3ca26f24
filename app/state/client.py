"""The link over redis-py's own clients: for a cluster, whose routing is theirs to do, and for fakeredis.

A node that fails is not waited for: the trip fails, and the cluster's map is read again in the background for the
next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from redis import exceptions as errors
from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster

from app.state.lean import CONNECTIONS, POOL_WAIT
from app.state.link import BusyError, Command, no_lost_cancellation

# fakeredis keeps expired keys until something touches them; counting the keys sweeps them.
_SWEEP_EVERY = 2000


class ClientLink:
    """What both have in common: a pipeline, a bounded number of callers, one deadline."""

    def __init__(
        self, client: Redis | RedisCluster, place: str, *, timeout: float, connections: int = CONNECTIONS
    ) -> None:
        self._client: Any = client  # redis-py's pipelines are not typed strictly
        self._place = place
        self._timeout = timeout
        self._slots = asyncio.Semaphore(connections)

    async def run(self, *commands: Command, within: float | None = None) -> list[Any]:
        """See `Link`."""
        try:
            async with asyncio.timeout(self._timeout if within is None else within):
                await self._wait_for_slot()
                try:
                    with no_lost_cancellation():
                        return await self._trip(commands)
                finally:
                    self._slots.release()
        except TimeoutError:
            raise errors.TimeoutError("the store did not answer in time") from None

    async def _trip(self, commands: tuple[Command, ...]) -> list[Any]:
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        replies: list[Any] = await pipeline.execute(raise_on_error=False)
        for reply in replies:
            if isinstance(reply, errors.ConnectionError | errors.TimeoutError):
                raise reply
        return replies

    async def _wait_for_slot(self) -> None:
        if not self._slots.locked():
            await self._slots.acquire()
            return
        try:
            async with asyncio.timeout(POOL_WAIT):
                await self._slots.acquire()
        except TimeoutError:
            raise BusyError("all connections to the store are in use") from None

    async def ping(self, within: float | None = None) -> None:
        """See `Link`. Reads a key, as a pipeline needs one to know the node."""
        reply = (await self.run(("EXISTS", "fl1:ping"), within=within))[0]
        if isinstance(reply, errors.RedisError):
            raise reply

    async def scan(self, pattern: str) -> AsyncIterator[bytes]:
        """See `Link`. On a cluster redis-py walks every master."""
        async for key in self._client.scan_iter(match=pattern, count=500):
            yield key

    async def close(self) -> None:
        """See `Link`."""
        await self._client.aclose()

    def describe(self) -> str:
        """See `Link`."""
        return self._place


class MemoryLink(ClientLink):
    """fakeredis. It never waits, so it would starve every other task: each trip lets them run once."""

    _trips = 0

    async def _trip(self, commands: tuple[Command, ...]) -> list[Any]:
        await asyncio.sleep(0)
        self._trips += 1
        if self._trips % _SWEEP_EVERY == 0:
            await self._client.dbsize()
        return await super()._trip(commands)


class ClusterLink(ClientLink):
    """redis-py's RedisCluster. Its map of the nodes is read once for all callers, outside of any caller's deadline."""

    _reading: asyncio.Task[None] | None = None
    _known = False

    async def _trip(self, commands: tuple[Command, ...]) -> list[Any]:
        if not self._known:
            await asyncio.shield(self._read_map())
        try:
            return await super()._trip(commands)
        except (errors.ConnectionError, errors.TimeoutError, asyncio.CancelledError):
            self._read_map()
            raise
        except errors.RedisClusterException as error:
            self._read_map()
            raise errors.ConnectionError(str(error)) from None

    async def close(self) -> None:
        """See `Link`."""
        if self._reading is not None:
            self._reading.cancel()
        await super().close()

    def _read_map(self) -> asyncio.Task[None]:
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read_map_once())
            self._reading.add_done_callback(_outcome_is_seen)
        return self._reading

    async def _read_map_once(self) -> None:
        try:
            if self._known:
                await self._client.nodes_manager.initialize()
            else:
                await self._client.initialize()
                self._known = True
        except errors.RedisClusterException as error:
            raise errors.ConnectionError(str(error)) from None


def _outcome_is_seen(task: asyncio.Task[None]) -> None:
    # Those who wait get the error; where nobody waits, the next trip will tell.
    if not task.cancelled():
        task.exception()
