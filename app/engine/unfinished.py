"""Turns that ended before their answer did: looked up like others, and what the provider keeps of them is deleted with
their session.

A provider gives an answer its id when it begins, and keeps what it said by then although the stream broke, the answer
failed, or the client hung up. Such an id is never gone on from: it stands at an address that no chat has.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any

from app.chat.address import SIZE
from app.context.known import Checkpoint
from app.state.keys import Session
from app.state.store import Store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.engine.relay import Relay


class Unfinished:
    """Notes them while nobody waits: who hung up is gone, and who got an error may ask again at once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tasks: set[asyncio.Task[str]] = set()

    def note(
        self,
        session: Session,
        relay: Relay | None,
        turn_id: str = "",
        record: bytes = b"",
        info: Mapping[str, Any] | None = None,
    ) -> None:
        """What the provider keeps of an answer, as far as it came; and the turn's record, where that is not kept yet.

        Args:
            relay: the answer; None: none began.
            turn_id, record, info: as in Store.remember.
        """
        kept = _kept_of(relay) if relay is not None else []
        if not (kept or turn_id):
            return
        writing = self._store.remember(session, kept, turn_id=turn_id, turn=record, info=info)
        task = asyncio.create_task(writing, name="unfinished")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settled(self) -> None:
        """Wait until all that was to be noted is, or could not be."""
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _kept_of(relay: Relay) -> list[Checkpoint]:
    candidate, ids = relay.sent.candidate, relay.ids
    if not ids or candidate.upstream.keeps is None or relay.sent.chat.store is False:
        return []
    name = "\0".join(("unfinished", candidate.upstream.name, *ids))
    address = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:SIZE]
    return [Checkpoint(address, candidate.upstream.name, candidate.model, passed=ids)]
