"""Store: recall, remember, memory, leases, and forgetting. What a turn needs never raises for the store's troubles."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Self

from app.context.known import Checkpoint
from app.errors import StateError
from app.state.cache import LIMIT, Cache
from app.state.connect import open_link
from app.state.crypto import make_seal
from app.state.guard import Away, GuardedLink
from app.state.kept import Kept, kept_in, pack, unpacked
from app.state.keys import (
    ADDRESS_BYTES,
    EPOCH,
    EVERY_SESSION,
    INFO,
    MEMORY,
    SECRET,
    TURN_SECONDS,
    VERSION,
    Session,
    turn_field,
)
from app.state.lease import lease
from app.state.link import Command, is_wrong_type, reason
from app.state.parking import Parking
from app.state.recalled import Recalled
from app.state.scripts import EVERYTHING, FORGET
from app.state.secret import Secret
from app.state.threads import Threads
from app.state.values import SessionInfo, Values


class Store:
    """The one door to what is stored. Made by `Store.open`.

    Counters and states that a metrics page may read are properties: `failures`, `broken`, `breaker` …
    """

    def __init__(
        self,
        link: GuardedLink,
        *,
        ttl_seconds: float,
        values: Values,
        secret: Secret,
        clock: Callable[[], float],
        cache: Cache,
    ) -> None:
        self._link = link
        self._ttl = max(int(ttl_seconds * 1000), 1000)
        self._turn_ttl = min(self._ttl, TURN_SECONDS * 1000)
        self._values = values
        self._clock = clock
        self._cache = cache
        self._secret = secret
        self.threads = Threads(link, values.seal, self._ttl)
        self.parking = Parking(link, values.seal, self._ttl)

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        ttl_seconds: float,
        timeout_seconds: float = 0.5,
        encryption_keys: str = "",
        secret: str = "",
        clock: Callable[[], float] = time.time,
        cache_bytes: int = LIMIT,
    ) -> Self:
        """Open the store at `url`. It may be away: then it is tried again in the background.

        Args:
            url: REDIS_URL; see url.py.
            ttl_seconds: SESSION_TTL.
            timeout_seconds: STORE_TIMEOUT, one deadline around each step.
            encryption_keys: ENCRYPTION_KEYS.
            secret: SECRET; empty: made once and kept in the store.
            clock: Unix seconds, for what is shown; lifetimes are the server's business.
            cache_bytes: what checkpoints may take in this process.

        Raises:
            ValueError: a setting is wrong; the message names it.
            EmbeddedError: there is no server to embed; the message says what to do.
        """
        values = Values(make_seal(encryption_keys))
        link = await open_link(url, options={"timeout": timeout_seconds})
        guarded = GuardedLink(link, timeout_seconds)
        store = cls(
            guarded,
            ttl_seconds=ttl_seconds,
            values=values,
            secret=Secret(guarded, secret),
            clock=clock,
            cache=Cache(cache_bytes),
        )
        await store._secret.settle()
        return store

    async def close(self) -> None:
        """Close connections; stop an embedded server that is ours."""
        await self._secret.close()
        await self._link.link.close()

    # ---- a turn

    async def recall(self, session: Session, addresses: Sequence[bytes]) -> Recalled:
        """What is known at `addresses` (16 bytes each), and the session's memory: one round trip. Never raises."""
        asked, under = self._cache.unknown(session, addresses)
        try:
            reply = (await self._link.trip(("HMGET", session.key, EPOCH, VERSION, INFO, MEMORY, *asked)))[0]
        except Away as away:
            return Recalled(bypassed=away.reason)
        if isinstance(reply, Exception):
            return await self._refused_recall(session, reply)
        epoch, version, info, memory, *values = reply
        found: dict[bytes, Checkpoint] = {}
        read = self._values.checkpoint
        for address, value in zip(asked, values, strict=True):
            if value is not None and (checkpoint := read(session, address, value)) is not None:
                found[address] = checkpoint
        usable = self._cache.answered(
            session, addresses, under=under, epoch=epoch, version=version, info=info, asked=asked, found=found
        )
        return Recalled(checkpoints=usable, memory=self._values.memory(session, memory))

    async def remember(
        self,
        session: Session,
        checkpoints: Sequence[Checkpoint],
        *,
        turn_id: str = "",
        turn: bytes = b"",
        info: Mapping[str, Any] | None = None,
        more: Sequence[Command] = (),
    ) -> str:
        """Keep a turn: one round trip. Never raises; returns why it was skipped, or an empty string.

        Args:
            session: whose.
            checkpoints: what is now known, by its address.
            turn_id: the turn's id; empty: there is no record to keep.
            turn: the turn's record, opaque to the store.
            info: `model`, `upstream` and what else the list of sessions may show; times and turns are counted here.
                None: this is no turn (a summary made behind one).
        """
        chance = os.urandom(16)
        candidate, version = chance[:8], chance[8:]
        about = self._about(session, info) if info is not None else None
        self._cache.given(session, checkpoints, candidate)
        commands = [*self._writes(session, checkpoints, candidate, version, about, turn_id, turn), *more]
        try:
            replies = await self._link.trip(*commands)
            if is_wrong_type(replies[0]):
                self._link.count("wrong type")
                replies = await self._link.trip(("DEL", session.key), *commands)
                del replies[0]
        except Away as away:
            self._cache.failed(session, candidate)
            return away.reason
        except BaseException:
            self._cache.failed(session, candidate)
            raise
        for reply in replies:
            if isinstance(reply, Exception):
                self._cache.failed(session, candidate)
                return self._skipped(reply)
        epoch, before = replies[1]
        self._cache.confirmed(
            session, checkpoints, candidate, epoch=epoch or candidate, before=before, after=version, info=about
        )
        return ""

    def lease(
        self, session: Session, name: str, token: str, lease_seconds: float, wait_seconds: float
    ) -> AbstractAsyncContextManager[bool]:
        """Hold the session's lease `name` while the body runs; see lease.py. Never raises.

        Args:
            session: whose.
            name: what is being made.
            token: the holder's own random text; the same token enters again.
            lease_seconds: how long it lasts if this process dies; it is renewed while the body runs.
            wait_seconds: after this the body runs without it.
        """
        return lease(self._link, session.lease_key(name), token, lease_seconds, wait_seconds)

    async def look(self, session: Session, address: bytes, name: str) -> tuple[Checkpoint | None, bool]:
        """What is stored at an address right now, past every cache, and whether `name` is paused. One round trip.

        Never raises; where the store is away there is nothing, and all is paused.
        """
        try:
            replies = await self._link.trip(("HGET", session.key, address), ("EXISTS", session.pause_key(name)))
        except Away:
            return None, True
        value, paused = replies
        if isinstance(value, Exception) or isinstance(paused, Exception):
            return None, True
        checkpoint = self._values.checkpoint(session, address, value) if value is not None else None
        return checkpoint, bool(paused)

    async def pause(self, session: Session, name: str, seconds: float) -> None:
        """Let nobody, on any worker or replica, make `name` for this session again before that. Never raises."""
        with suppress(Away):
            await self._link.trip(("SET", session.pause_key(name), b"", "PX", max(int(seconds * 1000), 1)))

    # ---- what has no other copy: these raise StateError when the store is away

    async def memory(self, session: Session) -> dict[str, Any] | None:
        """The session's sticky memory, None if it has none."""
        return self._values.memory(session, await self._ask(("HGET", session.key, MEMORY)))

    async def set_memory(self, session: Session, memory: Mapping[str, Any] | None) -> None:
        """Put `memory` in place of what was there; None removes it."""
        if memory is None:
            await self._ask(("HDEL", session.key, MEMORY))
            return
        value = self._values.of_memory(session, memory)
        await self._ask(
            ("HSETNX", session.key, EPOCH, os.urandom(8)),
            ("HSET", session.key, MEMORY, value),
            ("PEXPIRE", session.key, self._ttl),
        )

    async def turn(self, session: Session, turn_id: str) -> bytes | None:
        """The record of a turn, None if there is none (any more)."""
        return self._values.turn(session, turn_id, await self._ask(("GET", session.turn_key(turn_id))))

    async def sessions(self, limit: int = 100) -> list[tuple[Session, SessionInfo]]:
        """Some `limit` sessions of all tenants, the last used first. Walks the keys; there is no index to keep."""
        found: dict[Session, SessionInfo] = {}
        try:
            async for key in self._link.link.scan(EVERY_SESSION):
                session = Session.of_key(key)
                if session is not None and session not in found:
                    found[session] = await self.info(session) or SessionInfo()
                    if len(found) >= limit:
                        break
        except StateError:
            raise
        except Exception as error:  # noqa: BLE001 - redis-py's walk fails in many ways; translated at this door
            raise self._unavailable(reason(error)) from None
        return sorted(found.items(), key=lambda item: item[1].seen, reverse=True)

    async def info(self, session: Session) -> SessionInfo | None:
        """What is noted about the session; None if it is not stored."""
        value, epoch = await self._ask(("HMGET", session.key, INFO, EPOCH))
        return self._values.info(session, value) if value or epoch else None

    async def kept(self, session: Session) -> list[Kept]:
        """What providers keep of the session: of every answer that is stored, and what an earlier `forget` left."""
        fields, left = await self._both(("EVAL", EVERYTHING, 1, session.key), ("GET", session.kept_key))
        pairs = zip(fields[::2], fields[1::2], strict=True)
        read = self._values.checkpoint
        stored = (read(session, address, value) for address, value in pairs if len(address) == ADDRESS_BYTES)
        return list(dict.fromkeys((*unpacked(left), *kept_in(each for each in stored if each is not None))))

    async def forget(self, session: Session, left: Sequence[Kept] = ()) -> int:
        """Remove all that belongs to the session; return how many stored things that were. May be called again.

        `left` is what providers could not be made to delete: it is noted, for the next time.
        """
        self._cache.forget(session)
        prefix = session.key.removesuffix("s")
        note = ("SET", session.kept_key, pack(left), "PX", self._ttl) if left else ("DEL", session.kept_key)
        gone, _ = await self._both(("EVAL", FORGET, 1, session.key, prefix), note)
        self._cache.forget(session)
        return gone

    # ---- the server itself

    def secret(self) -> bytes:
        """What keys the tenant HMAC. While the store has never answered, a random one (`secret_is_temporary`)."""
        return self._secret.value

    @property
    def secret_is_temporary(self) -> bool:
        """Whether the store has yet to give the lasting secret."""
        return self._secret.temporary

    async def status(self) -> str | None:
        """None if the store answers now; else what is wrong, fit for /readyz."""
        try:
            reply = (await self._link.trip(("GET", SECRET)))[0]
        except Away as away:
            return f"the store at {self.describe()} is away: {away.reason}"
        if isinstance(reply, Exception):
            return f"the store at {self.describe()} refuses: {reason(reply)}"
        return None

    def describe(self) -> str:
        """Where the store is, without password."""
        return self._link.link.describe()

    @property
    def failures(self) -> Mapping[str, int]:
        """Steps that the store did not serve, by reason. Only grows."""
        return self._link.failures

    @property
    def broken(self) -> int:
        """Stored values that could not be read. Only grows."""
        return self._values.broken

    @property
    def breaker(self) -> str:
        """closed, open or probing."""
        return self._link.breaker.state

    @property
    def breaker_openings(self) -> int:
        """How often the breaker opened."""
        return self._link.breaker.openings

    @property
    def cache_bytes(self) -> int:
        """About what cached checkpoints take in this process."""
        return self._cache.size

    # ---- within

    def _writes(
        self,
        session: Session,
        checkpoints: Sequence[Checkpoint],
        candidate: bytes,
        version: bytes,
        about: bytes | None,
        turn_id: str,
        turn: bytes,
    ) -> list[Command]:
        """All of them may be applied twice: random values are chosen here, and nothing is counted up there."""
        key, values = session.key, self._values
        fields: list[bytes] = [VERSION, version]
        if about is not None:
            fields += (INFO, about)
        for checkpoint in checkpoints:
            fields += (checkpoint.address, values.of_checkpoint(session, checkpoint))
        commands: list[Command] = [
            ("HSETNX", key, EPOCH, candidate),
            ("HMGET", key, EPOCH, VERSION),
        ]
        if turn_id:
            fields += (turn_field(turn_id).encode(), b"")
            record = values.of_turn(session, turn_id, turn)
            commands.append(("SET", session.turn_key(turn_id), record, "PX", self._turn_ttl))
        commands += (("HSET", key, *fields), ("PEXPIRE", key, self._ttl))
        return commands

    def _about(self, session: Session, info: Mapping[str, Any]) -> bytes:
        known = self._values.info(session, self._cache.info(session))
        return self._values.of_info(session, known.after(info, self._clock()))

    async def _refused_recall(self, session: Session, refusal: Exception) -> Recalled:
        why = self._skipped(refusal)
        if not is_wrong_type(refusal):
            return Recalled(bypassed=why)
        # Something that is not ours sits on our key. The chat is the truth: begin the session anew.
        self._cache.forget(session)
        try:
            await self._link.trip(("DEL", session.key))
        except Away as away:
            return Recalled(bypassed=away.reason)
        return Recalled()

    def _skipped(self, refusal: Exception) -> str:
        why = reason(refusal)
        self._link.count(why)
        return why

    async def _ask(self, *commands: Command) -> Any:
        """The last reply of what only the store knows. Raises what `_both` raises."""
        return (await self._both(*commands))[-1]

    async def _both(self, *commands: Command) -> list[Any]:
        """The replies of what only the store knows.

        Raises:
            StateError: the store is away, or refuses.
        """
        try:
            replies = await self._link.trip(*commands)
        except Away as away:
            raise self._unavailable(away.reason) from None
        for reply in replies:
            if isinstance(reply, Exception):
                raise self._unavailable(self._skipped(reply))
        return replies

    def _unavailable(self, why: str) -> StateError:
        return StateError(f"the store cannot be used now ({why}); try again in a moment")
