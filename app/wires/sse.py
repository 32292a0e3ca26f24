"""Server-sent events: bytes in, whole events out, incrementally.

Follows the WHATWG rules (https://html.spec.whatwg.org/multipage/server-sent-events.html): lines end in LF, CRLF or CR,
a space after the colon is optional, lines that begin with a colon are comments. Bytes may be cut anywhere, inside a
character or between CR and LF. Works on bytes throughout, so a cut character cannot be damaged.
"""

from __future__ import annotations

from typing import NamedTuple

LARGEST_EVENT = 64 * 1024 * 1024
"""Bytes. A provider that sends more without a blank line is broken; reading on would only fill memory."""

BOM = b"\xef\xbb\xbf"


class Frame(NamedTuple):
    """One event: its name (empty if it has none) and its data lines joined by LF."""

    name: bytes
    data: bytes


class TooLargeError(Exception):
    """An event grew past LARGEST_EVENT."""


class Frames:
    """Cuts a byte stream into frames. `open` is true while part of an event is waiting for its end."""

    __slots__ = ("_begun", "_held", "_waiting")

    def __init__(self) -> None:
        self._waiting: bytes = b""
        self._held = False  # a CR ended the last bytes: an LF that follows belongs to it
        self._begun = False

    @property
    def open(self) -> bool:
        """Whether bytes of an unfinished event are waiting."""
        return bool(self._waiting.strip(b"\n"))

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that these bytes complete. Raises TooLargeError."""
        if not self._begun:
            data, self._waiting = self._waiting + data, b""
            if len(data) < len(BOM) and BOM.startswith(data):
                self._waiting = data
                return []
            self._begun = True
            data = data.removeprefix(BOM)
        data = self._waiting + self._newlines(data)
        if b"\n\n" not in data:
            if len(data) > LARGEST_EVENT:
                raise TooLargeError
            self._waiting = data
            return []
        *blocks, self._waiting = data.split(b"\n\n")
        return [frame for block in blocks if block and (frame := _frame(block))]

    def close(self) -> list[Frame]:
        """The stream ended. An event without its blank line is given all the same: some servers forget the last."""
        block, self._waiting = self._waiting.strip(b"\n"), b""
        frame = _frame(block) if block else None
        return [frame] if frame else []

    def _newlines(self, data: bytes) -> bytes:
        """Every line end as LF."""
        if self._held and data[:1] == b"\n":
            data, self._held = data[1:], False
        if data:
            self._held = data[-1:] == b"\r"
        if b"\r" not in data:
            return data
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _frame(block: bytes) -> Frame | None:
    """One block of lines as a frame; None if it only held comments or fields without data."""
    if block.startswith(b"data: ") and b"\n" not in block:
        return Frame(b"", block[6:])
    name = b""
    data: list[bytes] = []
    found = False
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
            found = True
        elif field == b"event":
            name = value
    return Frame(name, b"\n".join(data)) if found else None
