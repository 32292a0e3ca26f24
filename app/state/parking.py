"""Whole tool results, parked in their session under unguessable handles: each once, compressed, and not for ever.

A result is a cache too: the client sends it again on every turn. What a session may hold is bounded; the oldest go
first.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Collection, Mapping

from app.errors import StateError
from app.state.crypto import Seal
from app.state.guard import Away, GuardedLink
from app.state.keys import Session
from app.state.link import Command

MOST = 32 * 2**20
"""Bytes that the parked results of one session may take, compressed."""

LARGE = 256 * 1024
"""Bytes from which on compressing is done beside the event loop."""

_LARGEST = 256 * 2**20

# Notes a parked result and its size, in order; drops the oldest of the session while all together are too large.
# KEYS: the index, a sorted set of `size:handle` by time. ARGV: where results are, handle, size, now, budget, ttl (ms).
PARK = """local member = ARGV[3] .. ':' .. ARGV[2]
redis.call('ZADD', KEYS[1], ARGV[4], member)
redis.call('PEXPIRE', KEYS[1], ARGV[6])
local all = redis.call('ZRANGE', KEYS[1], 0, -1)
local total = 0
for _, each in ipairs(all) do total = total + tonumber(string.match(each, '^(%d+):')) end
for _, each in ipairs(all) do
  if total <= tonumber(ARGV[5]) or each == member then break end
  total = total - tonumber(string.match(each, '^(%d+):'))
  redis.call('DEL', ARGV[1] .. string.match(each, ':(.*)$'))
  redis.call('ZREM', KEYS[1], each)
end
return total"""


class Parking:
    """The parked results of all sessions."""

    def __init__(self, link: GuardedLink, seal: Seal, ttl_ms: int, most: int = MOST) -> None:
        self._link = link
        self._seal = seal
        self._ttl = ttl_ms
        self._most = most

    async def park(self, session: Session, results: Mapping[str, bytes], now: float) -> str:
        """Keep these, by handle. Never raises; why it was skipped, or an empty string. One that is larger than the
        whole budget is left out: its client brings it again."""
        commands: list[Command] = []
        for handle, result in results.items():
            value = await _packed(result)
            if len(value) > self._most:
                continue
            sealed = self._seal.close(session, _field(handle), value)
            commands.append(("SET", session.parked_key(handle), sealed, "PX", self._ttl))
            place = (session.parked_key(""), handle, len(sealed), now, self._most, self._ttl)
            commands.append(("EVAL", PARK, 1, session.parking_key, *place))
        try:
            replies = await self._link.trip(*commands) if commands else []
        except Away as away:
            return away.reason
        return "refused" if any(isinstance(reply, Exception) for reply in replies) else ""

    async def touch(self, session: Session, handles: Collection[str]) -> frozenset[str]:
        """Let these live on; those of them that are not there (any more). None, while the store is away."""
        commands: list[Command] = [("PEXPIRE", session.parked_key(handle), self._ttl) for handle in handles]
        try:
            replies = await self._link.trip(*commands, ("PEXPIRE", session.parking_key, self._ttl))
        except Away:
            return frozenset()
        return frozenset(handle for handle, there in zip(handles, replies, strict=False) if not there)

    async def find(self, session: Session, handle: str) -> bytes | None:
        """What is parked under a handle of this session; None if nothing is. It lives on when it is used.

        Raises StateError if the store is away.
        """
        try:
            value = (await self._link.trip(("GETEX", session.parked_key(handle), "PX", self._ttl)))[0]
        except Away as away:
            raise StateError(f"the store cannot be used now ({away.reason}); try again in a moment") from None
        if value is None or isinstance(value, Exception):
            return None
        packed = self._seal.open(session, _field(handle), value)
        if packed is None:
            return None
        return await asyncio.to_thread(_unpacked, packed) if len(packed) > LARGE else _unpacked(packed)


def _field(handle: str) -> bytes:
    return b"p:" + handle.encode("utf-8", "surrogatepass")


async def _packed(result: bytes) -> bytes:
    return await asyncio.to_thread(zlib.compress, result, 1) if len(result) > LARGE else zlib.compress(result, 1)


def _unpacked(packed: bytes) -> bytes | None:
    try:
        return zlib.decompressobj().decompress(packed, _LARGEST)
    except zlib.error:
        return None
