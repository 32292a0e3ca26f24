"""What is decided before anything is sent: the route, the policy, what is known, and the plan.

A turn and its dry run both come through here, so that the one shows what the other does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from app.chat.address import setup
from app.chat.family import family_of
from app.chat.model import Chat, Loss
from app.context.folds import fold_address, fold_ends
from app.context.known import Chains, Checkpoint, Known
from app.context.plan import Decision, Need, Plan, Step, plan
from app.context.policy import Policy, policy_of
from app.context.steps import RESUMING
from app.context.tool_results.handles import Handles
from app.engine.beside import beside
from app.engine.counting import Counting
from app.engine.parking import handle_maker, with_offer
from app.engine.routing import Candidate, Routes
from app.engine.unbinding import binds
from app.state.keys import Session
from app.state.store import Recalled
from app.tools.offer import name_for

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

    @property
    def counting(self) -> Counting:
        """What tokens are counted by."""
        ...

    def handles(self, session: Session, chat: Chat) -> Handles | None:
        """How bulky tool results are addressed; None where they cannot be parked."""
        ...


class FixedRules(msgspec.Struct, frozen=True):
    """Rules by themselves, where there is no engine."""

    routes: Routes
    policy: Mapping[str, Any]
    steps: tuple[Step, ...]
    strict: bool
    clock: Callable[[], float]
    counting: Counting

    def handles(self, session: Session, chat: Chat) -> Handles | None:
        """As a server would, by another secret."""
        return Handles(handle_maker(b"", session), name_for(chat.tools))


class Planned(msgspec.Struct, frozen=True):
    """A plan, and what it was made from.

    Args:
        chat: the client's.
        candidates: the upstreams to try, in order.
        checkpoints: what may be put back, by identity of the message that ends the turn; none where nothing may be.
        steps: the steps that made the plan.
    """

    chat: Chat
    candidates: list[Candidate]
    policy: Policy
    known: Known
    plan: Plan
    checkpoints: Mapping[int, Checkpoint]
    steps: tuple[Step, ...]

    def marks(self, wire: str) -> bool:
        """Whether marks for a provider's prompt cache are set where the client, of this format, set none."""
        wish = self.policy.cache_marks
        return wish == "always" or (wish == "auto" and self.candidates[0].upstream.wire.name != wire)

    @property
    def urgent(self) -> Need | None:
        """What must be made before the turn can go out."""
        return next((need for need in self.plan.needs if need.urgent), None) if self.known.waits else None

    def again(self, known: Known) -> Planned:
        """The same turn, planned anew with what is known by now."""
        return replace(self, known=known, plan=_plan(self.chat, known, self.policy, self.steps))

    def knowing(self, found: Mapping[bytes, Checkpoint]) -> Planned:
        """Planned anew with more checkpoints."""
        return self.again(replace(self.known, checkpoints={**self.known.checkpoints, **found}))

    def without(self, handle: str) -> Planned:
        """Planned anew, knowing that the provider no longer has this handle."""
        return self.again(replace(self.known, lost=self.known.lost | {handle}))

    def final(self) -> Planned:
        """Planned anew, to do without what could not be made."""
        return self.again(replace(self.known, waits=False))


async def planned(
    rules: Rules, recall: Recall, session: Session, chat: Chat, addresses: tuple[bytes, ...], size: int, wire: str
) -> Planned:
    """The plan for `chat`, whose messages end at `addresses`.

    Args:
        size: bytes of the client's request. wire: the format that it came in.

    Raises ClientError for a model or an option that is not known.
    """
    candidates, route_policy = rules.routes.serving(chat, wire)
    window = rules.counting.window(candidates[0])
    policy = policy_of(rules.policy, route_policy, chat.options, agent=bool(chat.tools), window=window)
    resumed = bool(RESUMED & chat.rest.keys())
    scale, digest = None, b""
    bound, counts = binds(candidates[0]), worth_counting(policy, size, window)
    if bound or counts:
        digest = await beside(size, setup, chat.system, chat.tools)
    if counts:
        scale = await beside(size, rules.counting.scale, chat, digest, candidates[0], size // 4, window)
    asked = asked_for(chat, addresses, folds=scale is not None)
    recalled = await recall(session, asked)
    known = Known(
        addresses,
        recalled.checkpoints,
        recalled.memory,
        rules.clock(),
        recalled.bypassed,
        scale,
        waits=not resumed,
        chains=_chains(candidates[0], chat),
        handles=None if chat.plain or recalled.bypassed or policy.off else rules.handles(session, chat),
        bound_to=digest if bound else b"",
    )
    steps = RESUMING if resumed else rules.steps
    made = await beside(size, _plan, chat, known, policy, steps)
    by_message = {} if policy.off or resumed else _by_message(chat, known)
    return Planned(chat, candidates, policy, known, made, by_message, steps)


def _plan(chat: Chat, known: Known, policy: Policy, steps: tuple[Step, ...]) -> Plan:
    made = plan(chat, known, policy, steps)
    return with_offer(made, known.handles.fetch) if known.handles is not None else made


def _chains(candidate: Candidate, chat: Chat) -> Chains | None:
    """How the upstream keeps conversations, as a plan needs to know it."""
    keeps = candidate.upstream.keeps
    if keeps is None:
        return None
    return Chains(
        candidate.upstream.name,
        candidate.model,
        family_of(candidate.model),
        keeps.across_models,
        keeps.cached_price,
        keeps.cache_seconds,
        keeps.inherits(chat),
    )


def worth_counting(policy: Policy, size: int, window: int) -> bool:
    """Whether a request of `size` bytes may be large enough to be folded: no text has more tokens than bytes."""
    if policy.off or not policy.fold_at_tokens:
        return False
    return size > min(policy.fold_at_tokens, policy.fold_to_tokens, window // 2 or policy.fold_at_tokens)


def asked_for(chat: Chat, addresses: tuple[bytes, ...], *, folds: bool) -> list[bytes]:
    """The addresses at which something may be stored: where answers end, and, if asked for, where folds do.

    In the order of the messages, so that a chat that grew asks for what it asked for before, and then for more.
    """
    if not folds:
        return [mark for mark, message in zip(addresses, chat.messages, strict=True) if message.role == "assistant"]
    ends = fold_ends(chat.messages)
    end = next(ends, 0)
    asked: list[bytes] = []
    for count, (mark, message) in enumerate(zip(addresses, chat.messages, strict=True), 1):
        if message.role == "assistant":
            asked.append(mark)
        if count == end:
            asked.append(fold_address(mark))
            end = next(ends, 0)
    return asked


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
    return replace(plan, decisions=decisions, losses=(*plan.losses, *losses))
