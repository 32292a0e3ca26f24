"""Answers that are kept for clients which go on from them by their ids: found, listed, deleted.

All raise StateError when the store is away: it holds the one copy.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from app.engine import background
from app.engine.played import unpacked
from app.state.keys import Session
from app.state.threads import Told
from app.upstreams.erasing import Eraser
from app.upstreams.upstream import Credential, Upstream

if TYPE_CHECKING:
    from app.engine.engine import Engine

LOG = logging.getLogger(__name__)

Place = tuple[Told, int, msgspec.Raw]
"""An item, and where it stands: the answer that it was said with, and its number there."""


class Found(msgspec.Struct, frozen=True):
    """An answer, and the session that it is kept in."""

    session: Session
    told: Told

    @property
    def deleted(self) -> bool:
        """It is only history by now."""
        return not self.told.resource


async def found(engine: Engine, wire: str, tenant: str, said: str) -> Found | None:
    """The answer that a client of this format knows by this id, `deleted` or not; None if it is none of ours."""
    place = await engine.store.threads.find(tenant, said)
    return Found(*place) if place is not None and place[1].wire == wire else None


async def settled(engine: Engine, answer: Found, credential: Credential) -> Found:
    """The answer as its provider has it now, if it still makes it. Raises what background.settled raises."""
    return Found(answer.session, await background.settled(engine, answer.session, answer.told, credential))


async def played(engine: Engine, answer: Found) -> bytes:
    """The events of its stream as they went to the client; empty if there was none, or they are not kept."""
    packed = await engine.store.threads.played(answer.session, answer.told.id)
    return unpacked(packed) if packed else b""


def provider(engine: Engine, wire: str) -> Upstream | None:
    """Who may keep answers of this format that are none of ours. Only a provider that is asked with the client's own
    key, as behind one of ours the answer could be another tenant's; and only where there is no other whose key it could
    be: an id does not tell its provider."""
    spoken = (upstream.speaking(wire) for upstream in engine.routes.reached)
    own = [upstream for upstream in spoken if upstream.wire.name == wire and upstream.keeps and not upstream.keyed]
    return own[0] if len(own) == 1 else None


async def asked(engine: Engine, answer: Found) -> list[Place]:
    """All items that an answer was given, oldest first: those of its whole thread, and those of its own request."""
    own = replace(answer.told, answered=b"[]")
    return places((*await engine.store.threads.load(answer.session, answer.told.before), own))


def places(tolds: tuple[Told, ...]) -> list[Place]:
    """The items of these answers, in their order."""
    return [(told, place, raw) for told in tolds for place, raw in told.items]


async def delete(engine: Engine, answer: Found, credential: Credential) -> None:
    """Nobody finds the answer by its id any more, here or at its provider; what went on from it still has its history.

    `credential` is the client's own key, for a provider that we hold none of.
    """
    told = answer.told
    await engine.store.threads.keep(answer.session, [replace(told, resource=b"", handles=())])
    await engine.store.threads.unplay(answer.session, told.id)
    upstream = engine.routes.upstreams.get(told.upstream)
    holder = upstream.keeping if upstream else None
    if told.handles and holder is not None:
        async with Eraser() as eraser:
            reasons = await asyncio.gather(*(eraser.erase(holder, each, credential) for each in told.handles))
        for why in filter(None, reasons):  # a provider need not offer it: the client's own id is gone all the same
            LOG.warning("upstream %s still keeps a deleted answer: %s", told.upstream, why)
