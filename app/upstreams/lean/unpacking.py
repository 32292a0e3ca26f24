"""Bodies that a provider compressed although nobody asked it to. We always ask for `identity`."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping

from app.errors import UpstreamError

LARGEST_PIECE = 2**20
"""Bytes that one piece is unpacked to at a time, so that a tiny body cannot fill the memory at once."""

_WINDOWS = {"gzip": 47, "x-gzip": 47, "deflate": 15}  # bits, for zlib; 32 more find the header by themselves


class Unpacker:
    """Unpacks one body, piece by piece."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._unpacks = zlib.decompressobj(bits)
        self._first = True

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What `data` unpacks to. Raises UpstreamError if it is not what the header said."""
        if self._first and self._bits == 15 and data[0] & 0x0F != 8:
            self._unpacks = zlib.decompressobj(-15)  # some servers call it deflate and leave out zlib's frame
        self._first = False
        try:
            while data:
                if self._unpacks.eof:  # the next member of several
                    self._unpacks = zlib.decompressobj(self._bits)
                if piece := self._unpacks.decompress(data, LARGEST_PIECE):
                    yield piece
                data = self._unpacks.unconsumed_tail or self._unpacks.unused_data
        except zlib.error:
            raise UpstreamError("The provider's answer could not be unpacked. Send the request again.") from None

    def end(self) -> None:
        """Raises UpstreamError if the body ended in its middle."""
        if not self._unpacks.eof:
            raise UpstreamError("The provider's answer broke off (compressed). Send the request again.")


def unpacker(headers: Mapping[str, str]) -> Unpacker | None:
    """What unpacks a body of these headers, None if nothing must be. Raises UpstreamError for an unknown coding."""
    if "content-encoding" not in headers:
        return None
    named = headers["content-encoding"].strip().lower()
    if named in ("", "identity"):
        return None
    if (bits := _WINDOWS.get(named)) is None:
        words = f"The provider compressed its answer as {named[:20]!r}, which was not asked for."
        raise UpstreamError(words, repeat=False)
    return Unpacker(bits)
