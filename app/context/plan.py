"""A plan is data: the chat to send, one decision a step with its reason, what still has to be made, what was lost.

`plan` runs the steps of app.context.steps in order. A step is a pure function (Draft, Known, Policy) → Draft; it never
sees a wire, a client or a clock. The report, the dry run, the response header and the tests all read the same Plan.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from app.chat.model import Chat, Loss
from app.context.known import Known
from app.context.policy import Policy


class Decision(msgspec.Struct, frozen=True):
    """What one step did and why.

    Args:
        step: the step's name, as in the x-foldline-plan header.
        applied: what it did in short (`2`, `1-24`, `continue`), empty if it changed nothing.
        reason: one sentence that a user could read.
        before, after: tokens, 0 where they do not matter.
    """

    step: str
    applied: str
    reason: str
    before: int = 0
    after: int = 0


class Need(msgspec.Struct, frozen=True):
    """An effect, as data: something that a step wants made before (or after) the turn, such as a summary.

    Args:
        kind: what is wanted.
        address: the prefix that it is for.
        messages: how many messages that prefix has.
        urgent: the turn cannot go out without it.
    """

    kind: Literal["summary"]
    address: bytes
    messages: int
    urgent: bool = False


class Draft(msgspec.Struct, frozen=True):
    """A plan in the making, handed from step to step."""

    chat: Chat
    decisions: tuple[Decision, ...] = ()
    needs: tuple[Need, ...] = ()
    losses: tuple[Loss, ...] = ()

    def decided(self, decision: Decision, chat: Chat | None = None) -> Draft:
        """The draft after one more decision, with the chat as that decision leaves it."""
        return Draft(chat or self.chat, (*self.decisions, decision), self.needs, self.losses)


class Plan(msgspec.Struct, frozen=True):
    """What will be sent, and why. `losses` is what the target format cannot say."""

    chat: Chat
    decisions: tuple[Decision, ...] = ()
    needs: tuple[Need, ...] = ()
    losses: tuple[Loss, ...] = ()


Step: TypeAlias = Callable[[Draft, Known, Policy], Draft]


def plan(chat: Chat, known: Known, policy: Policy, steps: tuple[Step, ...]) -> Plan:
    """Run the steps in order. With `off` in the policy the chat goes out as it came."""
    draft = Draft(chat)
    if not policy.off:
        for step in steps:
            draft = step(draft, known, policy)
    return Plan(draft.chat, draft.decisions, draft.needs, draft.losses)
