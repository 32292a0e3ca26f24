"""A plan is data: the chat to send, one decision a step with its reason, what still has to be made, what was lost.

`plan` runs the steps of app.context.steps in order. A step is a pure function (Draft, Known, Policy) → Draft; it never
sees a wire, a client or a clock. The report, the dry run, the response header and the tests all read the same Plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from app.chat.model import Chat, Loss, Message
from app.context.folds import Fold
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

    @property
    def key(self) -> tuple[str, bytes]:
        """Two needs with the same key want the same thing."""
        return self.kind, self.address


class Draft(msgspec.Struct, frozen=True):
    """A plan in the making, handed from step to step.

    Args:
        fold: what stands for the oldest messages, None if they go out as they came.
        tokens: of the whole prompt under that fold, estimated and corrected; 0 if nobody counted.
        guess: the same before correction, 0 if it rests on what a provider reported.
        refusal: why the chat cannot be sent at all; empty if it can.
        said: the client's messages as they came, one for each address; steps leave them alone.
        front: digest of what stands before and in place of the oldest messages (chaining.py).
    """

    chat: Chat
    decisions: tuple[Decision, ...] = ()
    needs: tuple[Need, ...] = ()
    losses: tuple[Loss, ...] = ()
    fold: Fold | None = None
    tokens: int = 0
    guess: int = 0
    refusal: str = ""
    said: tuple[Message, ...] = ()
    front: bytes = b""

    def decided(self, decision: Decision, chat: Chat | None = None) -> Draft:
        """The draft after one more decision, with the chat as that decision leaves it."""
        return replace(self, chat=chat or self.chat, decisions=(*self.decisions, decision))

    def with_chat(self, chat: Chat) -> Draft:
        """The same draft of another chat."""
        return replace(self, chat=chat)

    def folded(self, fold: Fold | None, tokens: int, guess: int, needs: tuple[Need, ...] = ()) -> Draft:
        """The draft with this fold, under which the prompt takes `tokens`; `needs` are added to its own."""
        return replace(self, fold=fold, tokens=tokens, guess=guess, needs=(*self.needs, *needs))

    def lost(self, losses: Iterable[Loss]) -> Draft:
        """The draft with more losses."""
        return replace(self, losses=(*self.losses, *losses))

    def refused(self, why: str) -> Draft:
        """The draft of a chat that cannot be sent."""
        return replace(self, refusal=why)


class Plan(msgspec.Struct, frozen=True):
    """What will be sent, and why. `losses` is what the target format cannot say; the other fields are Draft's."""

    chat: Chat
    decisions: tuple[Decision, ...] = ()
    needs: tuple[Need, ...] = ()
    losses: tuple[Loss, ...] = ()
    fold: Fold | None = None
    tokens: int = 0
    guess: int = 0
    refusal: str = ""
    front: bytes = b""


Step: TypeAlias = Callable[[Draft, Known, Policy], Draft]


def plan(chat: Chat, known: Known, policy: Policy, steps: tuple[Step, ...]) -> Plan:
    """Run the steps in order. With `off` in the policy the chat goes out as it came."""
    draft = Draft(chat, said=chat.messages)
    if not policy.off:
        for step in steps:
            draft = step(draft, known, policy)
    return Plan(
        draft.chat,
        draft.decisions,
        draft.needs,
        draft.losses,
        draft.fold,
        draft.tokens,
        draft.guess,
        draft.refusal,
        draft.front,
    )
