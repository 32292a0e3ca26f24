"""A counter whose answers are kept by the provider, those that a script prescribes too."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Protocol

from app.simulator.desk import Asked, Counter, Desk, Dialect
from app.simulator.journal import Exchange
from app.simulator.reply import Reply
from app.simulator.script import data_of
from app.simulator.shapes import Json, as_object


class KeepingDialect(Dialect, Protocol):
    """A call whose answers can be asked for, or continued, later."""

    def settle(self, asked: Asked, reply: Reply, *, scripted: bool) -> None:
        """Keep what this request was answered with: the model's own answer, or the prescribed one in `reply`."""
        ...


class KeepingCounter(Counter):
    """A counter that tells its service which answer goes out."""

    def __init__(self, desk: Desk, service: KeepingDialect) -> None:
        super().__init__(desk, service, scripted=service)
        self._keeping = service

    def _answer(self, asked: Asked, exchange: Exchange, fault: str) -> Reply:
        reply = super()._answer(asked, exchange, fault)
        self._keeping.settle(asked, reply, scripted=exchange.scripted)
        return reply


def said_in_reply(reply: Reply, merged: Callable[[list[Json]], Json] | None) -> Json:
    """What a prescribed answer says, as one object; empty if it is packed, or broken on purpose.

    Args:
        merged: makes one object of a stream's events; None if the answer is whole.
    """
    try:
        text = b"".join(reply.pieces).decode()
        return as_object(json.loads(text)) if merged is None else merged(data_of(text.split("\n\n")))
    except ValueError:
        return {}
