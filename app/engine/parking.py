"""Bulky tool results of this process's turns: how they are addressed, where they are kept, and how one is found."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace

from app.chat.family import family_of
from app.chat.model import Chat
from app.context.plan import Plan
from app.context.policy import Policy
from app.context.tool_results import Compacted, Parked
from app.context.tool_results.handles import Handles
from app.context.tool_results.step import Compaction, parked_of
from app.engine.beside import beside
from app.engine.fetching import Fetching
from app.state.keys import Session
from app.state.store import Store
from app.tools.fetch_rows import Bounds
from app.tools.offer import name_for, offer

LOG = logging.getLogger(__name__)

MOST_SESSIONS = 512
"""Sessions whose small forms are kept, so that a result is made small once and not on every turn."""

MOST_FORMS = 200
"""Small forms of one session."""

SURE = 60.0
"""Seconds in which a result that was stored is taken to be there: then a turn that brings it looks again. Sessions are
forgotten, stores are emptied, and the oldest results make room."""

_HANDLE_BYTES = 15
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(Parked).decode

Made = dict[bytes, Compacted | None]


class Bounded(dict[bytes, Compacted | None]):
    """Small forms of one session; the oldest make room. Long chats are planned in threads, several at once."""

    _one_at_a_time = threading.Lock()

    def __setitem__(self, key: bytes, value: Compacted | None) -> None:
        """Keep one more."""
        with self._one_at_a_time:
            super().__setitem__(key, value)
            if len(self) > MOST_FORMS:
                del self[next(iter(self))]


class Parking:
    """What turns of this process know of parked results."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._made: OrderedDict[Session, Bounded] = OrderedDict()
        self._parked: OrderedDict[tuple[Session, str], float] = OrderedDict()  # until when it is taken to be there
        self._tasks: set[asyncio.Task[None]] = set()

    def handles(self, session: Session, chat: Chat) -> Handles:
        """How results of this chat are addressed."""
        made = self._made.setdefault(session, Bounded())
        self._made.move_to_end(session)
        if len(self._made) > MOST_SESSIONS:
            self._made.popitem(last=False)
        return Handles(handle_maker(self._store.secret(), session), name_for(chat.tools), made)

    def keep(self, session: Session, parked: Mapping[str, Parked]) -> None:
        """Store what is not stored yet, or no longer, while nobody waits for it. What is there lives on."""
        now = self._clock()
        unsure = {handle: each for handle, each in parked.items() if self._parked.get((session, handle), 0) <= now}
        if not unsure:
            return
        task = asyncio.create_task(self._keep(session, unsure), name="parking")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _keep(self, session: Session, unsure: Mapping[str, Parked]) -> None:
        store = self._store.parking
        known = [handle for handle in unsure if (session, handle) in self._parked]
        gone = await store.touch(session, known) if known else frozenset[str]()
        new = {
            handle: await beside(len(each.text), _pack, each)
            for handle, each in unsure.items()
            if handle in gone or handle not in known
        }
        if new and (why := await store.park(session, new, self._clock())):
            LOG.debug("tool results were not parked: %s", why)
            return
        until = self._clock() + SURE
        for handle in unsure:
            self._parked[session, handle] = until
            self._parked.move_to_end((session, handle))
        while len(self._parked) > MOST_SESSIONS * MOST_FORMS:
            self._parked.popitem(last=False)

    async def settled(self) -> None:
        """Wait until all that was to be stored is, or could not be."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def fetching(self, session: Session, chat: Chat, plan: Plan, policy: Policy) -> Fetching | None:
        """What answers the model's fetches in this turn; None where it is not offered the tool.

        Args:
            chat: the client's own, which the plan was made for.
        """
        name = offered(plan, chat)
        if not name:
            return None
        here = parked_in(chat, plan)

        async def find(handle: str) -> Parked | None:
            if handle in here:
                return here[handle]
            found = await self._store.parking.find(session, handle)
            return await beside(len(found), _unpack, found) if found is not None else None

        bounds = Bounds(policy.fetch_rows_limit, policy.tool_result_tokens, family_of(chat.model))
        return Fetching(name, bounds, find)


def handle_maker(secret: bytes, session: Session) -> Callable[[bytes], str]:
    """Gives a text's handle: the same for the same text, unguessable, and of this session alone."""
    key = hmac.digest(secret, f"parked|{session.tenant}|{session.root}".encode(), "sha256")

    def handle_of(text: bytes) -> str:
        digest = hmac.digest(key, hashlib.sha256(text).digest(), "sha256")[:_HANDLE_BYTES]
        return "res_" + base64.b32encode(digest).decode().rstrip("=").lower()

    return handle_of


def parked_in(chat: Chat, plan: Plan) -> dict[str, Parked]:
    """The whole of each result that the plan made small, by its handle."""
    found = next((each for each in plan.decisions if isinstance(each, Compaction)), None)
    return parked_of(chat, found) if found is not None else {}


def offered(plan: Plan, chat: Chat) -> str:
    """The name under which the model is offered our tool in this plan; empty if it is not."""
    if len(plan.chat.tools) != len(chat.tools) + 1:
        return ""
    return plan.chat.tools[-1].name


def with_offer(plan: Plan, name: str) -> Plan:
    """The plan whose chat offers the tool, if a result was made small and the client lets the model choose."""
    choice = plan.chat.sampling.tool_choice
    free = choice is None or (choice.mode != "none" and not choice.names)
    if not free or not any(isinstance(each, Compaction) for each in plan.decisions):
        return plan
    chat = plan.chat
    return replace(plan, chat=replace(chat, tools=(*chat.tools, offer(name))))
