"""A Messages request after all checks that creating and counting share: its model, its thinking, its prompt."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Generator
from dataclasses import dataclass

from app.simulator.anthropic.blocks import check_system
from app.simulator.anthropic.cache import Mark, marks_of
from app.simulator.anthropic.compaction import check_compacted, check_compaction
from app.simulator.anthropic.fields import check_fields, mode_of
from app.simulator.anthropic.loops import check_loop
from app.simulator.anthropic.models import Model
from app.simulator.anthropic.problems import refused
from app.simulator.anthropic.prompt import Position, positions_of, size_of
from app.simulator.anthropic.terms import Terms
from app.simulator.anthropic.thoughts import Judged, judge
from app.simulator.anthropic.tools import check_tools
from app.simulator.anthropic.turns import check_messages, running_turn
from app.simulator.shapes import Json, is_object, objects


@dataclass(frozen=True, slots=True)
class Asking:
    """A request that keeps the rules. `marks` are its cache marks, `positions` its prompt piece by piece."""

    body: Json
    terms: Terms
    model: Model
    judged: Judged
    positions: tuple[Position, ...]
    marks: list[Mark]

    @property
    def messages(self) -> list[Json]:
        """What was said, oldest first."""
        return objects(self.body["messages"])

    @property
    def size(self) -> int:
        """Tokens of the prompt."""
        return size_of(self.positions)


@contextlib.contextmanager
def nested_in_reason() -> Generator[None]:
    """Within it, a body that is nested deeper than Python looks is refused."""
    try:
        yield
    except RecursionError:
        raise refused("The request is nested too deeply.") from None


def object_of(body: object) -> Json:
    """The body, which must be an object."""
    if not is_object(body):
        raise refused("Input should be a valid dictionary or object to extract fields from")
    return body


def asking_of(body: Json, terms: Terms, known: Collection[str]) -> Asking:
    """The request; RefusalError if it breaks a rule. `known`: the fields that this call takes."""
    model = check_fields(body, terms, known)
    check_system(body.get("system"))
    check_messages(body, model, terms)
    check_tools(body)
    check_compaction(body, terms)
    messages = objects(body["messages"])
    check_compacted(messages, terms)
    judged = judge(body, model, terms, latest=running_turn(messages))
    check_loop(messages, mode_of(body, model))
    positions = positions_of(body, model, judged, terms.account)
    marks = marks_of(positions, body.get("cache_control"))
    return Asking(body, terms, model, judged, positions, marks)
