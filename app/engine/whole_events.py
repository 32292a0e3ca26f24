"""Passes server-sent events on byte for byte, but only whole ones: what follows the last blank line waits for its own.

No client can use a part of an event, so nothing is delayed by it; and if the provider breaks off inside one, the error
that is said instead is not glued to its torn half, and no keep-alive ever falls into it.
"""

from __future__ import annotations

BLANK_LINES = (b"\n\n", b"\n\r\n", b"\r\r")
"""How an event may end, by the last bytes (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""


class WholeEvents:
    """Bytes in, bytes out, cut at blank lines only."""

    __slots__ = ("_edge", "_held")

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._edge = b""  # the last bytes held: a blank line may be cut anywhere

    def feed(self, data: bytes) -> bytes:
        """What can go on now."""
        if not self._held and data.endswith(BLANK_LINES):
            return data
        window = self._edge + data
        cut = max(place + len(line) if (place := window.rfind(line)) >= 0 else 0 for line in BLANK_LINES) - len(
            self._edge
        )
        if cut <= 0:
            self._held.append(data)
            self._edge = window[-2:]
            return b""
        whole = b"".join((*self._held, data[:cut]))
        rest = data[cut:]
        self._held = [rest] if rest else []
        self._edge = rest[-2:]
        return whole

    def rest(self) -> bytes:
        """What was still waiting when the stream ended: some servers forget the last blank line."""
        return b"".join(self._held)
