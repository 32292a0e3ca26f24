"""Chats seen before, kept in this process so that the next turn reads and hashes only what is new.

Bounded by bytes, least recently used first out. Found by the bytes themselves: an entry counts only if the new body begins
with every byte of it, so nothing can be mixed up; entries are inside a tenant all the same.
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from app.chat.address import Chain
from app.chat.model import Chat
from app.wires.envelope import Envelope
from app.wires.prefix import WORTH_IT, Head

LIMIT = 48 * 1024 * 1024
"""Bytes of request heads that are kept. Messages and digests take about twice as much again."""

SAMPLE = 512
ALIKE = 4
"""Entries under one key: chats that share half of their bytes."""

Key = tuple[bytes, str, int, bytes]


class Seen(msgspec.Struct, frozen=True):
    """A chat as it was read, with the address of each message but the last, and the chain before that one."""

    chat: Chat
    addresses: tuple[bytes, ...]
    chain: Chain


class Memo:
    """The chats of one process. `size` is what is kept, in bytes of request heads."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self.size = 0
        self._entries: OrderedDict[Key, list[tuple[Head, Seen]]] = OrderedDict()

    def find(self, tenant: bytes, wire: str, body: bytes) -> Seen | None:
        """The longest chat seen that `body` begins with."""
        size = len(body)
        if size < WORTH_IT or not self._entries:
            return None
        mark = 1 << (size.bit_length() - 1)
        while mark >= WORTH_IT // 2:
            key = (tenant, wire, mark, body[mark - SAMPLE : mark])
            for head, seen in self._entries.get(key, ()):
                if body.startswith(head.raw):
                    self._entries.move_to_end(key)
                    return seen
            mark >>= 1
        return None

    def keep(self, tenant: bytes, wire: str, seen: Seen, instead: Seen | None) -> None:
        """Keep a chat; it takes the place of the one that it goes on from."""
        head = _head(seen)
        if head is None or len(head.raw) > self._limit // 4:
            return
        if instead is not None and (old := _head(instead)) is not None:
            self._drop(_key(tenant, wire, old), old)
        key = _key(tenant, wire, head)
        entries = self._entries.setdefault(key, [])
        entries.insert(0, (head, seen))
        self.size += len(head.raw)
        self._entries.move_to_end(key)
        for old, _ in entries[ALIKE:]:
            self.size -= len(old.raw)
        del entries[ALIKE:]
        while self.size > self._limit:
            _, gone = self._entries.popitem(last=False)
            self.size -= sum(len(old.raw) for old, _ in gone)

    def _drop(self, key: Key, head: Head) -> None:
        entries = self._entries.get(key, [])
        for position, (other, _) in enumerate(entries):
            if other is head:
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


def _key(tenant: bytes, wire: str, head: Head) -> Key:
    """The bytes before the largest power of two within the head: far enough in that chats differ there, and at a place
    that a longer body finds again."""
    mark = 1 << (len(head.raw).bit_length() - 1)
    return (tenant, wire, mark, head.raw[mark - SAMPLE : mark])
