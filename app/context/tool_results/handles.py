"""How bulky tool results are addressed, and what was made of them already."""

from __future__ import annotations

from collections.abc import MutableMapping

import msgspec

from app.context.tool_results.compacting import Compacted, HandleOf


class Handles(msgspec.Struct, frozen=True):
    """Handed to a plan by whoever can park results.

    Args:
        handle_of: gives the handle of a text; keyed with a secret, the tenant and the session by who made it.
        fetch: the name under which the model is offered the tool that gives the rest; empty if it is not offered.
        made: small forms by what they depend on. A cache, and no part of the value: without it, the same comes out.
    """

    handle_of: HandleOf
    fetch: str = "fetch_rows"
    made: MutableMapping[bytes, Compacted | None] = msgspec.field(default_factory=dict[bytes, "Compacted | None"])
