"""Answers that a client may go on from by their id alone: the one copy of what was said before.

An id that we made names its session; one that a provider made, which the client got byte for byte, is looked up. Each
answer is a field of the session's hash, so that it lives and is forgotten with it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from app.errors import StateError
from app.state.crypto import Seal
from app.state.guard import Away, GuardedLink
from app.state.keys import ADDRESS_BYTES, Session
from app.state.link import Command

OURS = re.compile(r"[a-z0-9]+_([0-9a-f]{24})[0-9a-f]{24}")
_pack = msgspec.msgpack.Encoder().encode


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer, and what was asked for it.

    Args:
        id: as the client knows it.
        wire: the client's format, which all that follows is written in.
        before: the answers that it goes on from, oldest first.
        said: what the request itself said, a JSON list. answered: what the answer says, the same.
        resource: the answer as that format's resource; empty once it was deleted: then it is only history.
        at: Unix seconds.
        upstream: the upstream that answered. handles: what its provider keeps of the answer, by its own ids.
        hidden: the places of items that were deleted, counted through what was said and answered.
        running: its provider had not ended it when last asked. passed: it is in its provider's own words.
    """

    id: str
    wire: str = ""
    before: tuple[str, ...] = ()
    said: bytes = b"[]"
    answered: bytes = b"[]"
    resource: bytes = b""
    at: float = 0
    upstream: str = ""
    handles: tuple[str, ...] = ()
    hidden: tuple[int, ...] = ()
    running: bool = False
    passed: bool = False

    @property
    def items(self) -> list[tuple[int, msgspec.Raw]]:
        """What was said and answered, item by item, each with its place; without those that were deleted."""
        listed = enumerate((*_items(self.said), *_items(self.answered)))
        return [(place, raw) for place, raw in listed if place not in self.hidden]

    @property
    def history(self) -> bytes:
        """The same as one JSON list."""
        if self.hidden:
            return b"[" + b",".join(bytes(raw) for _, raw in self.items) + b"]"
        inner = (each.strip()[1:-1].strip() for each in (self.said, self.answered))
        return b"[" + b",".join(each for each in inner if each) + b"]"


class Card(msgspec.Struct, frozen=True, omit_defaults=True):
    """A conversation as its client made it.

    Args:
        created: Unix seconds. metadata: the client's own notes on it, a JSON object.
    """

    id: str
    created: int = 0
    metadata: bytes = b"{}"


_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_told = msgspec.msgpack.Decoder(Told).decode
_card = msgspec.msgpack.Decoder(Card).decode


class Threads:
    """What is told, by id. All but `writes` raise StateError when the store is away: it has no other copy."""

    def __init__(self, link: GuardedLink, seal: Seal, ttl_ms: int) -> None:
        self._link = link
        self._seal = seal
        self._ttl = ttl_ms

    def writes(
        self, session: Session, told: Sequence[Told], head: tuple[str, str] | None = None, played: bytes = b""
    ) -> list[Command]:
        """What keeps these answers.

        Args:
            head: a conversation's id, and the answer that it ends with from now on.
            played: the events of the last of these answers. They stand apart: only whoever wants them reads them.
        """
        fields: list[bytes] = []
        for each in told:
            fields += (_field(each.id), self._seal.close(session, _field(each.id), _pack(each)))
        if played and told:
            field = _named("p:", told[-1].id)
            fields += (field, self._seal.close(session, field, played))
        if head is not None:
            fields += (_head(head[0]), self._seal.close(session, _head(head[0]), head[1].encode()))
        return [("HSET", session.key, *fields), ("PEXPIRE", session.key, self._ttl)] if fields else []

    async def keep(self, session: Session, told: Sequence[Told], head: tuple[str, str] | None = None) -> None:
        """Keep them now."""
        await self.write(self.writes(session, told, head))

    async def write(self, commands: Sequence[Command]) -> None:
        """Do what `writes` gave."""
        if commands:
            await self._ask(*commands)

    async def point(self, session: Session, said: str) -> None:
        """Let an id that a provider made lead to its session."""
        await self._ask(("SET", _pointer(session.tenant, said), session.root, "PX", self._ttl))

    async def find(self, tenant: str, said: str) -> tuple[Session, Told] | None:
        """The answer with this id, and the session that it belongs to; None if it leads nowhere.

        A provider's id may look like one of ours: what it says of its session is tried, then what was noted of it.
        """
        if (ours := session_in(tenant, said)) and (found := await self.load(ours, [said])):
            return ours, found[0]
        root = (await self._ask(("GETEX", _pointer(tenant, said), "PX", self._ttl)))[0]
        if not root:
            return None
        session = Session(tenant, root.decode() if isinstance(root, bytes) else root)
        found = await self.load(session, [said])
        return (session, found[0]) if found else None

    async def load(self, session: Session, ids: Sequence[str]) -> list[Told]:
        """The answers with these ids, in this order; those that are gone are left out."""
        if not ids:
            return []
        values = (await self._ask(("HMGET", session.key, *map(_field, ids))))[0]
        found = (self._read(session, _field(each), value) for each, value in zip(ids, values, strict=True))
        return [_told(value) for value in found if value is not None]

    async def played(self, session: Session, said: str) -> bytes:
        """The events of an answer, as they were kept; empty if there are none."""
        field = _named("p:", said)
        return self._read(session, field, (await self._ask(("HGET", session.key, field)))[0]) or b""

    async def unplay(self, session: Session, said: str) -> None:
        """Forget the events of an answer."""
        await self._ask(("HDEL", session.key, _named("p:", said)))

    async def head(self, session: Session, conversation: str) -> str | None:
        """The answer that a conversation ends with; empty if it has none yet, None if there is no such one."""
        value = (await self._ask(("HGET", session.key, _head(conversation))))[0]
        read = self._read(session, _head(conversation), value)
        return read.decode() if read is not None else None

    async def begin(self, session: Session, card: Card, head: str, told: Sequence[Told] = ()) -> None:
        """Keep a conversation, what it says of itself included."""
        await self._ask(self._noted(session, card), *self.writes(session, told, (card.id, head)))

    async def note(self, session: Session, card: Card) -> None:
        """Keep what a conversation says of itself now."""
        await self._ask(self._noted(session, card), ("PEXPIRE", session.key, self._ttl))

    async def card(self, session: Session, conversation: str) -> tuple[Card, str] | None:
        """A conversation, and the answer that it ends with (empty: none yet); None if there is no such one."""
        field, end = _named("c:", conversation), _head(conversation)
        stored, head = (await self._ask(("HMGET", session.key, field, end)))[0]
        last = self._read(session, end, head)
        if last is None:
            return None
        said = self._read(session, field, stored)
        return (_card(said) if said is not None else Card(conversation)), last.decode()

    async def end(self, session: Session, conversation: str) -> bool:
        """Forget a conversation; whether it was there. Its answers go with the session."""
        gone = ("HDEL", session.key, _head(conversation), _named("c:", conversation))
        return bool((await self._ask(gone))[0])

    def _noted(self, session: Session, card: Card) -> Command:
        field = _named("c:", card.id)
        return "HSET", session.key, field, self._seal.close(session, field, _pack(card))

    def _read(self, session: Session, field: bytes, stored: bytes | None) -> bytes | None:
        return self._seal.open(session, field, stored) if stored else None

    async def _ask(self, *commands: Command) -> list[Any]:
        try:
            replies = await self._link.trip(*commands)
        except Away as away:
            raise StateError(f"the store cannot be used now ({away.reason}); try again in a moment") from None
        if any(isinstance(reply, Exception) for reply in replies):
            raise StateError("the store refused what this needs; try again in a moment")
        return replies


def session_in(tenant: str, said: str) -> Session | None:
    """The session that an id of ours names; None if it does not look like one."""
    ours = OURS.fullmatch(said)
    return Session(tenant, ours[1]) if ours else None


def _field(said: str) -> bytes:
    return _named("r:", said)


def _head(conversation: str) -> bytes:
    return _named("h:", conversation)


def _named(kind: str, said: str) -> bytes:
    """A field of the session's hash; never as long as an address."""
    field = (kind + said).encode("utf-8", "surrogatepass")
    return field if len(field) != ADDRESS_BYTES else field + b":"


def _pointer(tenant: str, said: str) -> str:
    digest = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return f"fl1:{{{tenant}.{digest}}}:i"
