"""What is decided before anything is sent: the route, the policy, what is known, and the plan.

A turn and its dry run both come through here, so that the one shows what the other does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from app.chat.model import Chat, Loss
from app.context.known import Checkpoint, Known
from app.context.plan import Decision, Plan, Step, plan
from app.context.policy import policy_of
from app.context.steps import RESUMING
from app.engine.routing import Candidate, Routes
from app.state.keys import Session
from app.state.store import Recalled

RESUMED = frozenset(("continuationToken",))
"""A Gemini client that resumes an answer sends a token that holds only for the very same contents: nothing may be
mended in them, nor put back (https://ai.google.dev/api/generate-content). They began with the session's memory, so that
stands there again."""

Recall = Callable[[Session, Sequence[bytes]], Awaitable[Recalled]]
"""Asks for what is stored in a session at these addresses: `Store.recall`, or something in its place."""


class Rules(Protocol):
    """What a plan goes by. The engine has it all."""

    @property
    def routes(self) -> Routes:
        """Which upstream serves which model."""
        ...

    @property
    def policy(self) -> Mapping[str, Any]:
        """The settings' policy numbers, by name."""
        ...

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of a plan."""
        ...

    @property
    def strict(self) -> bool:
        """Whether losses are refused."""
        ...

    @property
    def clock(self) -> Callable[[], float]:
        """Gives Unix seconds."""
        ...


class FixedRules(msgspec.Struct, frozen=True):
    """Rules by themselves, where there is no engine."""

    routes: Routes
    policy: Mapping[str, Any]
    steps: tuple[Step, ...]
    strict: bool
    clock: Callable[[], float]


class Planned(msgspec.Struct, frozen=True):
    """A plan, and what it was made from.

    Args:
        candidates: the upstreams to try, in order.
        checkpoints: what may be put back, by identity of the message that ends the turn; none where nothing may be.
    """

    candidates: list[Candidate]
    known: Known
    plan: Plan
    checkpoints: Mapping[int, Checkpoint]


async def planned(rules: Rules, recall: Recall, session: Session, chat: Chat, addresses: tuple[bytes, ...]) -> Planned:
    """The plan for `chat`, whose messages end at `addresses`. Raises ClientError for a model or an option not known."""
    candidates, route_policy = rules.routes.pick(chat.model)
    policy = policy_of(rules.policy, route_policy, chat.options, agent=bool(chat.tools))
    resumed = bool(RESUMED & chat.rest.keys())
    asked = [mark for mark, message in zip(addresses, chat.messages, strict=True) if message.role == "assistant"]
    recalled = await recall(session, asked)
    known = Known(addresses, recalled.checkpoints, recalled.memory, rules.clock(), recalled.bypassed)
    made = plan(chat, known, policy, RESUMING if resumed else rules.steps)
    return Planned(candidates, known, made, {} if policy.off or resumed else _by_message(chat, known))


def _by_message(chat: Chat, known: Known) -> dict[int, Checkpoint]:
    found = known.checkpoints
    if not found:
        return {}
    pairs = zip(known.addresses, chat.messages, strict=True)
    return {id(message): found[mark] for mark, message in pairs if mark in found and message.role == "assistant"}


def with_sending(plan: Plan, upstream: str, put_back: int, losses: tuple[Loss, ...]) -> Plan:
    """The plan, and what getting its chat ready for `upstream` added to it."""
    decisions = plan.decisions
    if put_back:
        turns, them = ("assistant turns", "them") if put_back > 1 else ("assistant turn", "it")
        reason = f"{put_back} {turns} went back as {upstream} itself wrote {them}."
        decisions = (*decisions, Decision("restore", str(put_back), reason))
    return Plan(plan.chat, decisions, plan.needs, (*plan.losses, *losses))
