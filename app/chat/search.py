"""Web search as a tool that the provider runs: what a client asks of it, whatever its format calls it."""

from __future__ import annotations

import msgspec


class Place(msgspec.Struct, frozen=True):
    """Roughly where the user is. `country` is an ISO 3166-1 code of two letters, `timezone` an IANA name."""

    city: str = ""
    region: str = ""
    country: str = ""
    timezone: str = ""


class WebSearch(msgspec.Struct, frozen=True):
    """One search tool. What is empty was not said.

    Args:
        allowed, blocked: domains that results may, or must not, come from.
        place: where the user is.
        size: how much of what is found the model may read: low, medium or high.
        most: how many searches one answer may make.
        others: further settings, by the names that only the client's format has for them.
    """

    allowed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    place: Place | None = None
    size: str = ""
    most: int | None = None
    others: tuple[str, ...] = ()
