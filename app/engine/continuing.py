"""A client that sends only what is new, behind the id of an earlier answer: its chat is made whole from what was kept.

From then on it is a chat like any other: known by its prefix, folded, chained, sent to whatever upstream serves it. So
the client's id outlives a fold and a change of the upstream; what the provider itself holds is another matter, decided
by the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from app.chat.events import Event, Finished, Started, TextDelta, ThinkingDelta, ToolCalled, Usage
from app.chat.model import Chat, Message, Native
from app.engine.background import settled
from app.engine.beside import beside
from app.engine.relay import Relay
from app.errors import ClientError
from app.state.keys import Session
from app.state.threads import Told, session_in
from app.upstreams.upstream import Credential
from app.wires.openai_chat.names import NAME as CHAT
from app.wires.openai_chat.sound import confined as confined_to_sound
from app.wires.threads import THREADS, references
from app.wires.threads.thread import joined
from app.wires.wire import Inbound, Stamp, Wire

if TYPE_CHECKING:
    from app.engine.engine import Engine
    from app.engine.planning import Planned

NOBODY = Credential()
CONFINED: Mapping[str, Callable[[Chat], ClientError | None]] = {CHAT: confined_to_sound}
"""Why a chat can be answered in its client's own format only, by the format, where clients do not go on by an id."""

MOST_BEFORE = 4096
"""Answers in one thread; what would come before them is kept as one piece."""


class Thread(msgspec.Struct, frozen=True):
    """What a request goes on from.

    Args:
        asked: the request as the client sent it: what is new alone.
        before: the ids of the answers that it goes on from, oldest first.
        session: where they are kept; None: this request begins.
        history: what was said before, for a session that does not have it.
        whole: all that was said, where the request itself must go out as it came.
        foreign: the id is none of ours: the provider is asked, by the client's own key.
    """

    asked: Chat
    before: tuple[str, ...] = ()
    session: Session | None = None
    history: tuple[bytes, ...] = ()
    foreign: bool = False
    whole: tuple[Message, ...] = ()


async def continued(
    engine: Engine, wire: Wire, inbound: Inbound, chat: Chat, tenant: str, credential: Credential | None = NOBODY
) -> tuple[Chat, Thread]:
    """The whole chat, and the thread that it is part of. `credential` is for a provider that still makes its end; None:
    no provider may be asked.

    Raises:
        ClientError: the id names nothing, or an answer that is not complete.
        StateError: the store, which holds the one copy, is away.
    """
    threads = THREADS[wire.name]
    if named := await beside(len(inbound.body), threads.referred, inbound.body):
        inbound = await _with_items(engine, inbound, named, tenant)
        chat = wire.decode(inbound)
    if not (chat.continues or chat.conversation):
        return (_untouched(chat) if chat.resume else chat), Thread(chat)
    found = await _end_of(engine, wire, chat, tenant)
    if found is None:
        return _foreign(engine, wire, chat), Thread(chat, foreign=True)
    session, end = found
    if end is not None and end.running:
        end = await settled(engine, session, end, credential) if credential is not None else end
        if end.running:
            raise threads.unended(chat.continues or chat.conversation, _named_by(chat, wire))
    before = [*await engine.store.threads.load(session, end.before), end] if end else []
    history = tuple(told.history for told in before)
    thread = Thread(chat, tuple(told.id for told in before), session, history)
    body = await beside(len(inbound.body) + sum(map(len, history)), threads.whole, inbound.body, history)
    whole = await beside(len(body), wire.decode, Inbound(body, inbound.model, inbound.stream, inbound.framing))
    if chat.resume:
        return _untouched(chat), Thread(chat, thread.before, session, history, whole=whole.messages)
    chat = whole
    return replace(chat, continues=thread.asked.continues, conversation=thread.asked.conversation), thread


async def _with_items(engine: Engine, inbound: Inbound, named: Mapping[str, str], tenant: str) -> Inbound:
    """The request with the items that it names by their ids; those that are gone stay named."""
    places: dict[Session, list[str]] = {}
    for answer in dict.fromkeys(named.values()):
        if session := session_in(tenant, answer):
            places.setdefault(session, []).append(answer)
    found = [told for place in places.items() for told in await engine.store.threads.load(*place)]
    items = references.told(told.answered for told in found if told.resource)
    body = references.resolved(inbound.body, {identity: items[identity] for identity in named if identity in items})
    return Inbound(body, inbound.model, inbound.stream, inbound.framing)


async def _end_of(engine: Engine, wire: Wire, chat: Chat, tenant: str) -> tuple[Session, Told | None] | None:
    """The answer that the request goes on from, and its session; no answer where a conversation has none yet, and None
    if the id names nothing."""
    store = engine.store.threads
    if not chat.conversation:
        found = await store.find(tenant, chat.continues)
        return found if found and found[1].wire == wire.name and found[1].resource else None
    session = session_in(tenant, chat.conversation)
    head = await store.head(session, chat.conversation) if session else None
    if session is None or head is None:
        return None
    return (await store.find(tenant, head) or (session, None)) if head else (session, None)


def _untouched(chat: Chat) -> Chat:
    """The request as it came, for the provider that knows the id itself."""
    return replace(chat, after=chat.continues or chat.conversation, options={**chat.options, "off": True})


def _foreign(engine: Engine, wire: Wire, chat: Chat) -> Chat:
    """The request as it came, for a provider that may know the id. Only by the client's own key: behind one of ours
    the id could be another tenant's. Raises ClientError where there is no such provider."""
    upstream = engine.routes.serving(chat, wire.name)[0][0].upstream
    if upstream.wire.name == wire.name and not upstream.keyed:
        return _untouched(chat)
    raise THREADS[wire.name].unknown(chat.continues or chat.conversation, _named_by(chat, wire))


def _named_by(chat: Chat, wire: Wire) -> str:
    """The field that names what a request goes on from."""
    return "conversation" if chat.conversation else PARAMS[wire.name]


PARAMS = {"openai_responses": "previous_response_id", "gemini_interactions": "previous_interaction_id"}


def told(wire: Wire, thread: Thread, session: Session, chat: Chat, relay: Relay, stamp: Stamp) -> Told:
    """What is to be kept of an answer that is complete, for a client that may go on from it by its id."""
    threads, reply = THREADS[wire.name], relay.reply
    finished = reply.finished
    if relay.passing and finished is not None and finished.native is not None:
        resource = threads.passed(bytes(finished.native.body), relay.sealed, reply)
        resource = threads.named(resource, thread.asked) if thread.session is not None else resource
        identity = reply.id
    else:
        resource, identity = threads.written(chat, stamp, events_of(relay)), threads.prefix + stamp.id
    upstream, handles = relay.sent.candidate.upstream, (*relay.hops.handles, relay.reader.handle())
    return replace(
        said_for(wire, thread, session, identity),
        answered=threads.answered(resource),
        resource=resource,
        at=stamp.created,
        upstream=upstream.name,
        handles=tuple(filter(None, handles)) if upstream.keeps is not None else (),
        passed=relay.passing,
    )


def said_for(wire: Wire, thread: Thread, session: Session, identity: str) -> Told:
    """What a request said, and what it goes on from, to be kept in `session` under the id of its answer."""
    before, said = thread.before, [THREADS[wire.name].said(thread.asked)]
    if thread.history and (thread.session != session or len(before) >= MOST_BEFORE):
        before, said = (), [*thread.history, *said]
    return Told(identity, wire.name, before, said[0] if len(said) == 1 else bytes(joined(said)))


def events_of(relay: Relay) -> list[Event]:
    """An answer that is complete, as the fewest events."""
    reply = relay.reply
    events: list[Event] = [Started(reply.id, reply.model)]
    if reply.thinking:
        events.append(ThinkingDelta(reply.thinking, Native(relay.sent.candidate.upstream.wire.name, b"")))
    if reply.content:
        events.append(TextDelta(reply.content))
    if reply.refusal:
        events.append(TextDelta(reply.refusal, refusal=True))
    events += [ToolCalled(index, call) for index, call in enumerate(reply.calls)]
    return [*events, reply.usage or Usage(), reply.finished or Finished("stop")]


def refuse_confined(client: str, upstream: str, chat: Chat) -> None:
    """Raises ClientError for a request that only a provider of its own format can answer."""
    confined = THREADS[client].confined if client in THREADS else CONFINED.get(client)
    error = confined(chat) if confined is not None and upstream != client else None
    if error is not None:
        raise error


def as_asked(thread: Thread | None, made: Planned, chat: Chat) -> Chat | None:
    """The request as the client sent it, if it goes on from the very answer that the plan's `chat` goes on from and
    nothing is changed in it, nor to be added to it."""
    if thread is None or not chat.after or not chat.since or thread.asked.continues != chat.after:
        return None
    whole, before = made.chat, made.checkpoints.get(id(chat.messages[chat.since - 1]))
    if chat.tools is not whole.tools or (before is not None and before.open):
        return None
    new, said = chat.messages[chat.since :], whole.messages[len(whole.messages) - len(thread.asked.messages) :]
    if len(new) != len(said) or any(one is not other for one, other in zip(new, said, strict=True)):
        return None
    after, store, chat = chat.after, chat.store, thread.asked
    return replace(chat, after=after, store=store)
