"""Orders about what the provider keeps, in the user's text like the others: `[[lose]] [[running=2]] [[continue=5]]`.

They hold for the request in which the user says them, and not for later steps of the same turn. docs/simulator.md says
the same to users.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from app.simulator.chains import Chains, Way
from app.simulator.directives import Directives
from app.simulator.mind.talk import Talk

CHAIN_ORDERS: Mapping[str, str] = {
    "lose": "forget this answer once it is given; `all`: all that this key made; `stream`, `400`: how that is said",
    "running": "let this answer seem unfinished to the next N who ask for it; to all if N is not given",
    "continue": "Gemini Interactions: stop after every N words, to be continued with a token",
}
_ORDER = re.compile(r"\[\[\s*(lose|running|continue)\s*(?:=\s*([^\]\s]*)\s*)?\]\]")
_EDGE = 2000  # characters, as for the other orders
_WAYS: Mapping[str, Way] = {"stream": "stream", "400": "refused"}


def read(talk: Talk) -> Directives:
    """The orders of this request; none if the user's words are not the newest thing in the talk."""
    if talk.turn:
        return Directives({})
    text = talk.asked
    looked = text if len(text) <= 2 * _EDGE else text[:_EDGE] + "\n" + text[-_EDGE:]
    return Directives(dict(_ORDER.findall(looked)))


def without(talk: Talk) -> Talk:
    """The talk as the model reads it: these orders taken out."""
    said = (
        dataclasses.replace(one, text=_ORDER.sub("", one.text).strip()) if _ORDER.search(one.text) else one
        for one in talk.said
    )
    return dataclasses.replace(talk, said=tuple(said))


def obey(orders: Directives, chains: Chains, owner: str, identity: str) -> None:
    """Do to a turn that was just kept what its orders say."""
    if "running" in orders:
        chains.hold(owner, identity, orders.number("running"))
    if "lose" in orders:
        how = orders.text("lose")
        chains.lose("" if how == "all" else identity, owner=owner, way=_WAYS.get(how, "gone"))
