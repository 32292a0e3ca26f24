"""A lease: who makes the expensive thing, so that the others need not. For economy, never for truth.

What it guards is written under content addresses, so two holders would write the same. That is why there is no fencing
number: nothing would ever compare it. Scripts go out whole each time (they are short), so a flushed script cache or a
failover cannot matter.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from app.state.guard import Away, GuardedLink

# Re-entrant for its own token: an acquire whose reply was lost may simply be asked again. 0: held; else ms to wait.
ACQUIRE = """local holder = redis.call('GET', KEYS[1])
if not holder or holder == ARGV[1] then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 0 end
return math.max(redis.call('PTTL', KEYS[1]), 1)"""

RENEW = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"

RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"

_LONGEST_PAUSE = 0.1  # seconds between two looks


@asynccontextmanager
async def lease(
    link: GuardedLink, key: str, token: str, lease_seconds: float, wait_seconds: float
) -> AsyncGenerator[bool]:
    """Hold `key` for `token` while the body runs, renewed every third of its life; True if it is held.

    After `wait_seconds`, or at once if the store is away, the body runs without it (False).
    """
    milliseconds = max(int(lease_seconds * 1000), 1)
    held = False
    try:
        held = await _acquire(link, key, token, milliseconds, wait_seconds)
    except asyncio.CancelledError:
        # The server may have granted it while we were being cancelled: nobody should wait for its whole life.
        _release_later(link, key, token)
        raise
    if not held:
        yield False
        return
    renewal = asyncio.create_task(_renew(link, key, token, milliseconds))
    try:
        yield True
    finally:
        renewal.cancel()
        await asyncio.shield(_release_later(link, key, token))


async def _acquire(link: GuardedLink, key: str, token: str, milliseconds: int, wait_seconds: float) -> bool:
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            left = (await link.trip(("EVAL", ACQUIRE, 1, key, token, milliseconds)))[0]
        except Away:
            return False
        if not isinstance(left, int):  # full, read-only: nobody gets it
            return False
        if left == 0:
            return True
        pause = min(left / 1000, _LONGEST_PAUSE) * random.uniform(0.5, 1)  # noqa: S311 - jitter, no secret
        if time.monotonic() + pause > deadline:
            return False
        await asyncio.sleep(pause)


async def _renew(link: GuardedLink, key: str, token: str, milliseconds: int) -> None:
    while True:
        await asyncio.sleep(milliseconds / 3000)
        with suppress(Away):
            await link.trip(("EVAL", RENEW, 1, key, token, milliseconds))


_releasing: set[asyncio.Task[None]] = set()  # a task that nobody holds may be collected while it runs


def _release_later(link: GuardedLink, key: str, token: str) -> asyncio.Task[None]:
    task = asyncio.create_task(_release(link, key, token))
    _releasing.add(task)
    task.add_done_callback(_releasing.discard)
    return task


async def _release(link: GuardedLink, key: str, token: str) -> None:
    with suppress(Away):
        await link.trip(("EVAL", RELEASE, 1, key, token))
