"""An interaction request joined to what its chain holds, and checked against that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.simulator.chains import ChainLostError, Chains, Turn
from app.simulator.gemini import interactions_tokens
from app.simulator.gemini.interactions_order import check_order, check_thoughts
from app.simulator.gemini.interactions_problems import lost, owner, refused
from app.simulator.gemini.interactions_rules import checked
from app.simulator.gemini.interactions_steps import steps_of
from app.simulator.gemini.interactions_tokens import Stop
from app.simulator.gemini.models import Model
from app.simulator.reply import RefusalError
from app.simulator.shapes import Json, as_text, digest, is_object

if TYPE_CHECKING:
    from app.simulator.desk import Asked


@dataclass(frozen=True, slots=True)
class Joined:
    """A request with all that its chain holds.

    Attributes:
        owner: whose it is.
        line: the turns that it continues, oldest first.
        new: the steps that it brings.
        stop: where the answer that it goes on with had stopped; None if it asks for a new one.
    """

    owner: str
    body: Json
    model: Model
    line: tuple[Turn, ...]
    new: tuple[Json, ...]
    stop: Stop | None

    @property
    def inherited(self) -> tuple[Json, ...]:
        """The steps that the provider holds."""
        return tuple(step for turn in self.line for step in (*turn.given, *turn.made))

    @property
    def asked_for(self) -> tuple[Json, ...]:
        """The steps that are answered: where an answer goes on, those before its first portion."""
        if self.stop is None or self.new:
            return (*self.inherited, *self.new)
        line = list(self.line)
        asked: tuple[Json, ...] = ()
        while line and not asked:
            asked = line.pop().given
        return (*(step for turn in line for step in (*turn.given, *turn.made)), *asked)


def join(asked: Asked, chains: Chains) -> Joined:
    """The request with its chain; RefusalError if it breaks one of Google's rules, or the chain is lost."""
    whose = owner(asked)
    if not is_object(asked.body):
        raise refused("The body must be a JSON object.")
    body = asked.body
    model = checked(body, asked.path.strip("/").partition("/")[0])
    token = as_text(body.get("continuation_token"))
    stop = interactions_tokens.read(token) if token else None
    if "input" not in body and stop is None:
        raise refused("input: is required.")
    new = steps_of(body["input"]) if "input" in body else ()
    previous = as_text(body.get("previous_interaction_id"))
    if stop is not None and ((previous != stop.of or new) if stop.of else not new):
        raise refused("continuation_token: is not valid for this request.")
    joined = Joined(whose, body, model, _line(chains, whose, previous), new, stop)
    if stop is None or new:
        check_order(joined.inherited, new)
        check_thoughts(new)
    return joined


def ground(body: Json) -> str:
    """Names what stands before the history in the prompt of this request."""
    return digest([body.get(name) for name in ("model", "agent", "system_instruction", "tools")])


def given_anyhow(body: Json) -> tuple[Json, ...]:
    """The input of a request that a script answers although it breaks a rule; nothing if it cannot be read."""
    try:
        return steps_of(body.get("input"))
    except RefusalError:
        return ()


def _line(chains: Chains, whose: str, previous: str) -> tuple[Turn, ...]:
    try:
        line = chains.line(whose, previous) if previous else ()
    except ChainLostError as error:
        raise lost(error) from None
    if line and line[-1].status in ("failed", "cancelled"):
        raise refused(f"previous_interaction_id: the interaction {previous} has {line[-1].status}.")
    return line
