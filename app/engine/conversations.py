"""Conversations of OpenAI's Responses: a name for where a thread has come to, with items of its own.

A conversation lives in the session that its id names. It ends with an answer, or with items that its client added:
those are kept as an answer is, only that nobody finds them by an id. All raise StateError when the store is away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from app.engine.answers import Place, places
from app.engine.continuing import MOST_BEFORE
from app.state.keys import Session
from app.state.threads import Card, Told, session_in
from app.wires.openai_responses.names import NAME
from app.wires.threads.thread import joined, list_of

if TYPE_CHECKING:
    from app.engine.engine import Engine

PREFIX, ADDED = "conv_", "added_"


class Conversation(msgspec.Struct, frozen=True):
    """A conversation, where it is kept, and the answer that it ends with; None: it has no items yet."""

    session: Session
    card: Card
    end: tuple[Session, Told] | None = None


async def begun(engine: Engine, tenant: str, metadata: bytes, items: Sequence[msgspec.Raw]) -> Conversation:
    """A new conversation."""
    session = Session(tenant, engine.new_id())
    card = Card(PREFIX + session.root + engine.new_id(), int(engine.clock()), metadata)
    told = [_added(engine, session, items)] if items else []
    await engine.store.threads.begin(session, card, told[0].id if told else "", told)
    return Conversation(session, card, (session, told[0]) if told else None)


async def found(engine: Engine, tenant: str, said: str) -> Conversation | None:
    """The conversation with this id; None if there is none."""
    threads, session = engine.store.threads, session_in(tenant, said)
    known = await threads.card(session, said) if session else None
    if session is None or known is None:
        return None
    card, head = known
    return Conversation(session, card, await threads.find(tenant, head) if head else None)


async def noted(engine: Engine, conversation: Conversation, metadata: bytes) -> Conversation:
    """The conversation with other metadata."""
    card = replace(conversation.card, metadata=metadata)
    await engine.store.threads.note(conversation.session, card)
    return replace(conversation, card=card)


async def listed(engine: Engine, conversation: Conversation) -> list[Place]:
    """All its items, oldest first."""
    return places(await _line(engine, conversation))


async def extended(engine: Engine, conversation: Conversation, items: Sequence[msgspec.Raw]) -> Told:
    """The items behind all others."""
    session, line = conversation.session, await _line(engine, conversation)
    told = _added(engine, session, items)
    if line and conversation.end is not None:
        if conversation.end[0] == session and len(line) < MOST_BEFORE:
            told = replace(told, before=tuple(one.id for one in line))
        else:
            told = replace(told, said=bytes(joined((*(one.history for one in line), told.said))))
    await engine.store.threads.keep(session, [told], (conversation.card.id, told.id))
    return told


async def without(engine: Engine, conversation: Conversation, told: Told, place: int) -> None:
    """Delete one item: nothing that goes on from here on says it."""
    if conversation.end is not None:
        hidden = replace(told, hidden=(*told.hidden, place))
        await engine.store.threads.keep(conversation.end[0], [hidden])


async def ended(engine: Engine, conversation: Conversation) -> None:
    """Delete the conversation. Its items stay with the answers that said them."""
    await engine.store.threads.end(conversation.session, conversation.card.id)


async def _line(engine: Engine, conversation: Conversation) -> tuple[Told, ...]:
    if conversation.end is None:
        return ()
    session, end = conversation.end
    return (*await engine.store.threads.load(session, end.before), end)


def _added(engine: Engine, session: Session, items: Sequence[msgspec.Raw]) -> Told:
    identity = ADDED + session.root + engine.new_id()
    return Told(identity, NAME, said=list_of(items), at=engine.clock())
