"""Forgetting a conversation: here, and at the providers that keep it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from app.state.kept import Kept
from app.state.keys import Session
from app.upstreams.erasing import Eraser
from app.upstreams.upstream import Credential, Upstream

AT_ONCE = 8
"""Deletions under way at the same time."""

NOBODY = Credential()


class Keeper(Protocol):
    """Where sessions are stored."""

    async def kept(self, session: Session) -> list[Kept]:
        """What providers keep of the session."""
        ...

    async def forget(self, session: Session, left: Sequence[Kept] = ()) -> int:
        """Remove what is stored here, and note what is `left` there."""
        ...


class Left(msgspec.Struct, frozen=True):
    """What a provider still keeps, and why."""

    upstream: str
    id: str
    why: str


class Forgotten(msgspec.Struct, frozen=True):
    """What became of a session.

    Args:
        forgotten: stored things removed here.
        deleted: ids deleted at providers.
        left: what could not be deleted there; the same request may be sent again.
    """

    forgotten: int
    deleted: int = 0
    left: tuple[Left, ...] = ()


async def forget(
    store: Keeper, upstreams: Mapping[str, Upstream], session: Session, credential: Credential = NOBODY
) -> Forgotten:
    """Delete the session at its providers, then here. Safe to repeat.

    `credential` is the client's own key, for upstreams that hold none. Raises StateError if the store is away: nothing
    is deleted then, as nobody could note what is left.
    """
    kept = await store.kept(session)
    reasons = await _erased(kept, upstreams, credential) if kept else []
    left = [Left(each.upstream, each.handle, why) for each, why in zip(kept, reasons, strict=True) if why]
    gone = await store.forget(session, [Kept(each.upstream, each.id) for each in left])
    return Forgotten(gone, len(kept) - len(left), tuple(left))


async def _erased(kept: Sequence[Kept], upstreams: Mapping[str, Upstream], credential: Credential) -> list[str]:
    """For each: empty, or why it is still there."""
    gate = asyncio.Semaphore(AT_ONCE)
    async with Eraser() as eraser:

        async def one(each: Kept) -> str:
            named = upstreams.get(each.upstream)
            upstream = named.keeping if named else None
            if upstream is None:
                return f"the upstream {each.upstream} is no longer set up to keep conversations"
            async with gate:
                return await eraser.erase(upstream, each.handle, credential)

        return await asyncio.gather(*map(one, kept))
