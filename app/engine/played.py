"""The events of a streamed answer as they went to the client, packed, so that a client which lost the stream goes on
from any of them: the numbers that it knows are the stream's own."""

from __future__ import annotations

import zlib

MOST = 1 << 20
"""Bytes of events that are kept; of a longer stream none are, and it is written anew for whoever asks for it."""


class Played:
    """What was sent so far. `wanted` is false where nobody could ask for it."""

    __slots__ = ("_pieces", "_size", "wanted")

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted
        self._pieces: list[bytes] = []
        self._size = 0

    def add(self, data: bytes) -> None:
        """Further bytes: whole events."""
        if not self.wanted:
            return
        self._size += len(data)
        if self._size > MOST:
            self.wanted = False
            self._pieces.clear()
        else:
            self._pieces.append(data)

    @property
    def packed(self) -> bytes:
        """All of it, much smaller: the events of one stream look alike. Empty if there is nothing to keep."""
        return zlib.compress(b"".join(self._pieces), 1) if self._pieces else b""


def unpacked(packed: bytes) -> bytes:
    """The events once more."""
    return zlib.decompress(packed)
