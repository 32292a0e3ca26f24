"""Chats seen before, kept in this process so that the next turn reads and hashes only what is new.

Bounded by bytes, least recently used first out. Found by a checksum of the bytes up to a power of two, so that a longer
body meets the key of a shorter one; the checksum only leads there, an entry counts only if the new body begins with
every byte of it. So nothing can be mixed up, and entries are inside a tenant all the same.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict

import msgspec

from app.chat.address import Chain
from app.chat.model import Chat
from app.wires.envelope import Envelope
from app.wires.prefix import WORTH_IT, Head

LIMIT = 16 * 1024 * 1024
"""Bytes of request heads that are kept. The messages that stand for them take four times as much."""

SHORTEST = WORTH_IT // 4
ALIKE = 4
"""Entries under one key: chats that share more than half of their bytes, such as branches of one."""

Key = tuple[bytes, str, int, int]


class Seen(msgspec.Struct, frozen=True):
    """A chat as it was read, with the address of each message but the last, and the chain before that one."""

    chat: Chat
    addresses: tuple[bytes, ...]
    chain: Chain


class Look(msgspec.Struct, frozen=True):
    """A body looked up: the longest chat seen that it begins with, where that is kept, and the body's own keys."""

    seen: Seen | None = None
    at: Key | None = None
    keys: tuple[Key, ...] = ()


NOTHING = Look()


class Memo:
    """The chats of one process. `size` is what is kept, in bytes of request heads."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self.size = 0
        self._entries: OrderedDict[Key, list[tuple[Head, Seen]]] = OrderedDict()

    def look(self, keys: tuple[Key, ...], body: bytes) -> Look:
        """The longest chat seen that `body`, which has these keys, begins with."""
        if not keys:
            return NOTHING
        for key in reversed(keys):
            for head, seen in self._entries.get(key, ()):
                if body.startswith(head.raw):
                    self._entries.move_to_end(key)
                    return Look(seen, key, keys)
        return Look(keys=keys)

    def keep(self, look: Look, seen: Seen) -> None:
        """Keep the chat that `look`'s body held; it takes the place of the one that it goes on from."""
        head = _head(seen)
        if head is None or len(head.raw) < SHORTEST or len(head.raw) > self._limit // 4:
            return
        if look.at is not None and look.seen is not None:
            self._drop(look.at, look.seen)
        key = look.keys[(len(head.raw) // SHORTEST).bit_length() - 1]
        entries = self._entries.setdefault(key, [])
        entries.insert(0, (head, seen))
        self.size += len(head.raw)
        self._entries.move_to_end(key)
        self.size -= sum(len(old.raw) for old, _ in entries[ALIKE:])
        del entries[ALIKE:]
        while self.size > self._limit:
            _, gone = self._entries.popitem(last=False)
            self.size -= sum(len(old.raw) for old, _ in gone)

    def _drop(self, key: Key, seen: Seen) -> None:
        entries = self._entries.get(key, [])
        for position, (head, other) in enumerate(entries):
            if other is seen:
                self.size -= len(head.raw)
                del entries[position]
                break
        if not entries:
            self._entries.pop(key, None)


def goes_on(chat: Chat, seen: Seen) -> bool:
    """Whether `chat` was read on from `seen`: its first messages are then the very same objects."""
    count = len(seen.addresses)
    return len(chat.messages) >= count and chat.messages[count - 1] is seen.chat.messages[count - 1]


def _head(seen: Seen) -> Head | None:
    envelope = seen.chat.native.body if seen.chat.native else None
    return envelope.head if isinstance(envelope, Envelope) else None


def keys_of(tenant: bytes, wire: str, body: bytes) -> tuple[Key, ...]:
    """One key for each power of two that the body reaches, in one pass; none for a body that is not worth looking up.

    Adler-32 is the fastest that the standard library has, and good enough for what is checked byte by byte afterwards.
    """
    if len(body) < WORTH_IT:
        return ()
    keys: list[Key] = []
    view, begun, mark, checksum = memoryview(body), 0, SHORTEST, 1
    while mark <= len(body):
        checksum = zlib.adler32(view[begun:mark], checksum)
        keys.append((tenant, wire, mark, checksum))
        begun, mark = mark, mark * 2
    return tuple(keys)
