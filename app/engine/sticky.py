"""Changes a session's sticky memory, one change at a time.

A change reads, merges and writes under the session's lease, so that two at once lose none of each other's keys; for the
same key the last one wins. The store is the only copy: where it is away, that is an error and never silence.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from app.context.memory import compact, merged, patch_of, within_limit
from app.errors import StateError
from app.state.keys import Session
from app.state.store import Recalled, Store

LEASE = 5.0
"""Seconds after which the change of a process that died no longer stops others. A change takes four trips to the store,
each with a deadline far below this."""

WAIT = LEASE + 1
"""Seconds that a change waits for those before it."""

Memory = dict[str, Any]


async def changed(store: Store, session: Session, change: Callable[[Memory], Memory]) -> tuple[Memory, Memory]:
    """The session's memory before and after `change`, which is stored by then.

    Raises:
        ClientError: it would be too large.
        StateError: the store is away, or too many others change it.
    """
    async with store.lease(session, "memory", secrets.token_hex(8), LEASE, WAIT) as held:
        before = await store.memory(session) or {}
        if not held:
            raise StateError(
                "This session's memory cannot be changed now: others are changing it, or the store takes no writes. "
                "Try again in a moment."
            )
        after = within_limit(change(before))
        if compact(after) != compact(before):
            await store.set_memory(session, after or None)
    return before, after


async def told(store: Store, session: Session, recalled: Recalled, said: object) -> Memory | None:
    """The session's memory after what a request said of it (`foldline.memory`), merged in and stored.

    An empty object, or one that says nothing new, costs no trip to the store.

    Raises:
        ClientError: it is no object, or too large.
        StateError: the store is away.
    """
    patch = patch_of(said)
    if not patch:
        return recalled.memory
    if recalled.bypassed:
        raise StateError(
            f"foldline.memory cannot be kept now: the store cannot be used ({recalled.bypassed}). "
            "Send the request again in a moment, or without foldline.memory."
        )
    before = recalled.memory or {}
    if compact(merged(before, patch)) == compact(before):
        return recalled.memory
    return (await changed(store, session, lambda memory: merged(memory, patch)))[1]
