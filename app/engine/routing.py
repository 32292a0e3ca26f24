"""Which upstream serves a model, under which name, and which come next when it cannot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from app.chat.model import Chat
from app.errors import ClientError
from app.upstreams.upstream import Upstream


class Route(msgspec.Struct, frozen=True):
    """Models that match `match` go to `upstream`, asked for as `model` (by default under the client's own name)."""

    match: str
    upstream: str
    model: str = ""
    fallbacks: tuple[str, ...] = ()
    policy: Mapping[str, Any] = {}


class Candidate(msgspec.Struct, frozen=True):
    """An upstream to try, and the model to ask it for."""

    upstream: Upstream
    model: str


class Routes:
    """The routes, first match first."""

    def __init__(self, routes: Sequence[Route], upstreams: Mapping[str, Upstream]) -> None:
        self._routes = tuple(routes)
        self.upstreams = dict(upstreams)

    def pick(self, model: str, wire: str = "") -> tuple[list[Candidate], Mapping[str, Any]]:
        """The candidates in order, and the route's own policy numbers. Raises ClientError if no route takes it.

        `wire` is the client's format: an upstream that speaks it beside its usual one is spoken to in it.
        """
        route = self._find(model)
        if route is None:
            raise ClientError(f"No route takes the model {model!r}.", kind="model_not_found", param="model")
        candidates = [Candidate(self.upstreams[route.upstream].speaking(wire), route.model or model)]
        for fallback in route.fallbacks:
            other = self._find(fallback)
            if other is not None:
                candidates.append(Candidate(self.upstreams[other.upstream].speaking(wire), other.model or fallback))
        return candidates, route.policy

    def serving(self, chat: Chat, wire: str) -> tuple[list[Candidate], Mapping[str, Any]]:
        """The same for a chat. An agent is run by the provider alone whose format names it, whatever takes models of
        that name."""
        candidates, numbers = self.pick(chat.model, wire)
        if "agent" not in chat.rest or candidates[0].upstream.wire.name == wire:
            return candidates, numbers
        spoken = (upstream.speaking(wire) for upstream in self.reached)
        own = [Candidate(upstream, chat.model) for upstream in spoken if upstream.wire.name == wire]
        return (own[:1] or candidates), numbers

    @property
    def names(self) -> tuple[str, ...]:
        """The names that have a route of their own: clients may ask for them although no provider lists them."""
        return tuple(route.match for route in self._live() if not any(sign in route.match for sign in "*?["))

    @property
    def reached(self) -> tuple[Upstream, ...]:
        """The upstreams that some model leads to, each once."""
        return tuple({route.upstream: self.upstreams[route.upstream] for route in self._live()}.values())

    def _live(self) -> Iterator[Route]:
        """The routes that can match: nothing comes behind one that takes every model."""
        for route in self._routes:
            if route.upstream in self.upstreams:
                yield route
                if route.match == "*":
                    return

    def _find(self, model: str) -> Route | None:
        for route in self._routes:
            if (route.match == "*" or fnmatchcase(model, route.match)) and route.upstream in self.upstreams:
                return route
        return None
