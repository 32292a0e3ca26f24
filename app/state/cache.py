"""What this process knows of sessions, so that a long chat asks the store only for what is new.

The store stays the truth. Each session's hash carries an epoch, made with the hash and gone with it, and a version, new
with every write. Every recall reads both. Another epoch means that the session was forgotten or lost: nothing that was
kept under the old one is used. Another version means that somebody else wrote: what was absent may be there now.
What was given to `remember` is known at once, before the store has confirmed it; if it fails before the session has an
epoch, it is dropped again, as nothing could tell later whether the session was forgotten in between.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from app.context.known import Checkpoint
from app.state.keys import Session

LIMIT = 64 << 20  # bytes
# The newest addresses are asked for even if they were absent: another worker may just have answered there.
ALWAYS_ASKED = 8

_pack = msgspec.msgpack.Encoder().encode
_CHECKPOINT_COST = 400  # bytes of objects around the text
_ABSENT_COST = 100


class Entry:
    """What is known of one session.

    `settled` are the addresses of the last recall, each of them known or absent, and `usable` what is known at them: a
    chat that only grew costs no look at its old messages.
    """

    __slots__ = ("absent", "candidates", "checkpoints", "epoch", "info", "settled", "size", "usable", "version")

    def __init__(self, epoch: bytes | None = None) -> None:
        self.epoch = epoch
        self.version: bytes | None = None
        self.info: bytes | None = None
        self.checkpoints: dict[bytes, Checkpoint] = {}
        self.absent: set[bytes] = set()
        self.candidates: set[bytes] = set()
        self.settled: Sequence[bytes] = ()
        self.usable: dict[bytes, Checkpoint] = {}
        self.size = 0

    def add(self, checkpoints: Iterable[Checkpoint]) -> None:
        """Know these too."""
        for checkpoint in checkpoints:
            if checkpoint.address not in self.checkpoints:
                self.size += _cost(checkpoint)
            self.checkpoints[checkpoint.address] = checkpoint
            if checkpoint.address in self.absent or checkpoint.address in self.usable:
                self.settled, self.usable = (), {}

    def versioned(self, before: bytes | None, after: bytes | None) -> None:
        """The version is `after` now; what was absent stays so only if nobody else wrote since we looked."""
        if self.version != before:
            self.size -= _ABSENT_COST * len(self.absent)
            self.absent.clear()
            self.settled, self.usable = (), {}
        self.version = after

    def lacks(self, addresses: Iterable[bytes]) -> None:
        """The store has nothing at these."""
        before = len(self.absent)
        self.absent.update(addresses)
        self.size += _ABSENT_COST * (len(self.absent) - before)

    def unsettled(self, addresses: Sequence[bytes]) -> Sequence[bytes]:
        """What follows those of the last recall; all of them if they begin otherwise."""
        count = len(self.settled)
        return addresses[count:] if count and addresses[:count] == self.settled else addresses

    def at(self, addresses: Sequence[bytes]) -> dict[bytes, Checkpoint]:
        """What is known at them."""
        known, rest = self.checkpoints, self.unsettled(addresses)
        usable = self.usable.copy() if len(rest) < len(addresses) else {}
        usable.update((address, known[address]) for address in rest if address in known)
        return usable


class Cache:
    """Least recently used sessions go first.

    Args:
        limit: bytes that all checkpoints together may take.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._entries: OrderedDict[Session, Entry] = OrderedDict()
        self.size = 0

    def unknown(self, session: Session, addresses: Sequence[bytes]) -> tuple[list[bytes], bytes | None]:
        """The addresses to ask for, each once, and the epoch under which they are asked for."""
        entry = self._entries.get(session)
        if entry is None or entry.epoch is None:
            return list(dict.fromkeys(addresses)), None
        known, absent = entry.checkpoints, entry.absent
        asked = {address for address in entry.unsettled(addresses) if address not in absent}
        asked.update(addresses[-ALWAYS_ASKED:])
        return [address for address in asked if address not in known], entry.epoch

    def answered(
        self,
        session: Session,
        addresses: Sequence[bytes],
        *,
        under: bytes | None,
        epoch: bytes | None,
        version: bytes | None,
        info: bytes | None,
        asked: Sequence[bytes],
        found: Mapping[bytes, Checkpoint],
    ) -> dict[bytes, Checkpoint]:
        """Take in a recall's reply; return all that may be used for `addresses`. `under`: the epoch from `unknown`."""
        entry = self._entries.get(session)
        current = entry.epoch if entry is not None else None
        if current not in (under, epoch):
            # While the question was out, this process wrote or forgot: the reply is older than what is known here.
            return _at(entry, addresses) if under is epoch is None else dict(found)
        if entry is not None and not _goes_with(entry, epoch):
            self.forget(session)
            entry = None
        if epoch is None:
            return _at(entry, addresses)
        # Where nothing was known, all was asked for; else the rest is settled only if nobody else wrote since.
        complete = under is None or (entry is not None and entry.version == version)
        if entry is None:
            entry = Entry(epoch)
        before = entry.size if session in self._entries else 0
        entry.epoch = epoch
        entry.versioned(version, version)
        entry.info = info
        entry.add(found.values())
        if len(found) < len(asked):
            entry.lacks(address for address in asked if address not in found)
        usable = entry.at(addresses)
        if complete:
            entry.settled, entry.usable = addresses, usable.copy()
        self._put(session, entry, before)
        return usable

    def given(self, session: Session, checkpoints: Sequence[Checkpoint], candidate: bytes) -> None:
        """These are on their way to the store; `candidate` becomes the epoch if the session has none."""
        entry = self._entries.get(session) or Entry()
        before = entry.size if session in self._entries else 0
        entry.candidates.add(candidate)
        entry.add(checkpoints)
        self._put(session, entry, before)

    def confirmed(
        self,
        session: Session,
        checkpoints: Sequence[Checkpoint],
        candidate: bytes,
        *,
        epoch: bytes,
        before: bytes | None,
        after: bytes,
        info: bytes | None,
    ) -> None:
        """The store has them, under `epoch`; the session's version went from `before` to `after`."""
        entry = self._entries.get(session)
        if entry is None or entry.epoch not in (None, epoch):
            self.forget(session)
            entry = Entry(epoch)
        size = entry.size if session in self._entries else 0
        entry.epoch = epoch
        entry.candidates.discard(candidate)
        entry.versioned(before, after)
        entry.info = info if info is not None else entry.info
        entry.add(checkpoints)
        self._put(session, entry, size)

    def failed(self, session: Session, candidate: bytes) -> None:
        """They may not have arrived."""
        entry = self._entries.get(session)
        if entry is None:
            return
        entry.candidates.discard(candidate)
        if entry.epoch is None:
            self.forget(session)

    def info(self, session: Session) -> bytes | None:
        """What the list of sessions shows of it, if that is known."""
        entry = self._entries.get(session)
        return entry.info if entry is not None else None

    def forget(self, session: Session) -> None:
        """Know nothing of it."""
        entry = self._entries.pop(session, None)
        if entry is not None:
            self.size -= entry.size

    def _put(self, session: Session, entry: Entry, before: int) -> None:
        self._entries[session] = entry
        self._entries.move_to_end(session)
        self.size += entry.size - before
        while self.size > self._limit:
            _, oldest = self._entries.popitem(last=False)
            self.size -= oldest.size


def _goes_with(entry: Entry, epoch: bytes | None) -> bool:
    if entry.epoch is not None:
        return entry.epoch == epoch
    return epoch is None or epoch in entry.candidates


def _at(entry: Entry | None, addresses: Sequence[bytes]) -> dict[bytes, Checkpoint]:
    return entry.at(addresses) if entry is not None else {}


def _cost(checkpoint: Checkpoint) -> int:
    folded = len(_pack(checkpoint.fold)) if checkpoint.fold is not None else 0
    fetched = (checkpoint.hops, checkpoint.open, checkpoint.said)
    rows = len(_pack(fetched)) if checkpoint.hops or checkpoint.open else 0
    return _CHECKPOINT_COST + len(checkpoint.sealed) + 3 * folded + len(checkpoint.handle) + rows
