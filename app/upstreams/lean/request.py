"""Where a request goes, and the bytes that stand before its body."""

from __future__ import annotations

import functools
import ipaddress
import urllib.parse
from collections.abc import Mapping

import msgspec

from app.errors import UpstreamError

SAFE = "/:@!$&'()*+,;=-._~%"  # RFC 3986, 3.3; a percent sign stands before what is quoted already
PORTS = {"http": 80, "https": 443}


class Origin(msgspec.Struct, frozen=True):
    """Whom a connection leads to: it is used again only for the very same."""

    host: str
    port: int
    tls: bool


class Place(msgspec.Struct, frozen=True):
    """An address, taken apart: whom to connect to, and how a POST to it begins (request line and host, in bytes)."""

    origin: Origin
    start: bytes


@functools.lru_cache(1024)  # a Gemini address holds the model's name, which is the client's word
def placed(url: str) -> Place:
    """The address taken apart. Raises UpstreamError if nothing can be sent there."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = _ascii(parts.hostname or ""), parts.port or PORTS[parts.scheme]
    except (ValueError, KeyError):
        raise _unusable() from None
    if not host:
        raise _unusable()
    target = urllib.parse.quote(parts.path or "/", safe=SAFE)
    if parts.query:
        target += "?" + urllib.parse.quote(parts.query, safe=SAFE + "?")
    named = f"[{host}]" if ":" in host else host
    if port != PORTS[parts.scheme]:
        named = f"{named}:{port}"
    start = f"POST {target} HTTP/1.1\r\nhost: {named}\r\naccept: */*\r\n"
    return Place(Origin(host, port, parts.scheme == "https"), start.encode("ascii"))


def head(place: Place, headers: Mapping[str, str], length: int) -> bytes:
    """Request line and headers for a body of `length` bytes. Raises UpstreamError for a header that cannot be sent."""
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    wanted = len(headers)
    if lines.count("\r") != wanted or lines.count("\n") != wanted or "\0" in lines:
        raise _unsendable()
    try:
        said = lines.encode("latin-1")
    except UnicodeEncodeError:
        raise _unsendable() from None
    return b"%b%bcontent-length: %d\r\n\r\n" % (place.start, said, length)


def _ascii(host: str) -> str:
    """The host as DNS and TLS know it. Raises ValueError (UnicodeError) for one that no DNS can hold."""
    if ":" in host:
        return str(ipaddress.IPv6Address(host.partition("%")[0])) + "".join(host.partition("%")[1:])
    return host if host.isascii() else host.encode("idna").decode("ascii")


def _unusable() -> UpstreamError:
    return UpstreamError("No connection to the provider: its base URL cannot be used.", sent=False, repeat=False)


def _unsendable() -> UpstreamError:
    words = "A header for the provider holds characters that HTTP cannot carry: look at the API key and extra headers."
    return UpstreamError(words, sent=False, repeat=False)
