"""The prompt cache: prefixes that earlier requests marked, remembered by their names, so that usage reports hits.

Rules, from Anthropic's page on prompt caching: at most four marks, one hour before five minutes; a mark finds a prefix
that ends at it or up to nineteen positions before; short prefixes are silently not cached; a hit renews the lifetime.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from app.simulator.anthropic.kinds import fields_at, object_at, one_of
from app.simulator.anthropic.models import Model
from app.simulator.anthropic.problems import refused
from app.simulator.anthropic.prompt import Position, size_of
from app.simulator.shapes import Json

_SECONDS = {"5m": 300, "1h": 3600}
_MOST_MARKS = 4
_LOOKBACK = 20
_MOST_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Spent:
    """What a prompt takes, in tokens: not cached, newly cached for five minutes or an hour, and read from the cache."""

    fresh: int
    made_5m: int = 0
    made_1h: int = 0
    read: int = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """A prefix to be cached: its last position, and for how long."""

    at: int
    ttl: str


def marks_of(positions: tuple[Position, ...], automatic: object) -> list[Mark]:
    """The marks of a request in their order; RefusalError for a wrong one, the wrong order or too many.

    Args:
        automatic: `cache_control` of the request's root, which marks the last block that can be marked.
    """
    marks = [Mark(at, _ttl(path, mark)) for at, position in enumerate(positions) for path, mark in position.marks]
    if automatic is not None:
        ttl = _ttl("cache_control", object_at("cache_control", automatic))
        last = max((at for at, position in enumerate(positions) if position.markable), default=-1)
        if last >= 0 and not any(mark.at == last for mark in marks):
            marks.append(Mark(last, ttl))
    if len(marks) > _MOST_MARKS:
        raise refused(f"A maximum of {_MOST_MARKS} blocks with cache_control may be provided. Found {len(marks)}.")
    shorter = False
    for mark in marks:
        if shorter and mark.ttl == "1h":
            raise refused(
                f"{positions[mark.at].path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a "
                "ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, "
                "`system`, `messages`."
            )
        shorter = shorter or mark.ttl == "5m"
    return marks


class PromptCache:
    """The newest 10,000 prefixes.

    Args:
        clock: seconds since 1970, for their lifetime.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._ends: OrderedDict[str, int] = OrderedDict()

    def spent(self, positions: tuple[Position, ...], marks: list[Mark], model: Model) -> Spent:
        """What a prompt takes; its marked prefixes are known from now on."""
        total = size_of(positions)
        read = max((self._found(positions, mark) for mark in marks), default=0)
        made = {"5m": 0, "1h": 0}
        reached = read
        for mark in marks:
            end = positions[mark.at].end
            if end < model.least_cached:
                continue
            self._keep(positions[mark.at].name, mark.ttl)
            made[mark.ttl] += max(0, end - reached)
            reached = max(reached, end)
        return Spent(total - reached, made["5m"], made["1h"], read)

    def _found(self, positions: tuple[Position, ...], mark: Mark) -> int:
        now = self._clock()
        for at in range(mark.at, max(-1, mark.at - _LOOKBACK), -1):
            name = positions[at].name
            if self._ends.get(name, 0) > now:
                self._keep(name, mark.ttl)
                return positions[at].end
        return 0

    def _keep(self, name: str, ttl: str) -> None:
        self._ends[name] = max(self._ends.get(name, 0), self._clock() + _SECONDS[ttl])
        self._ends.move_to_end(name)
        while len(self._ends) > _MOST_KEPT:
            self._ends.popitem(last=False)


def _ttl(path: str, mark: Json) -> str:
    one_of(f"{path}.type", mark.get("type"), ("ephemeral",))
    fields_at(path, mark, (), ("ttl",))
    return "5m" if mark.get("ttl") is None else one_of(f"{path}.ttl", mark["ttl"], tuple(_SECONDS))
