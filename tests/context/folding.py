"""Short ways to say a chat, what is known of it, and how it goes on from turn to turn, for tests of folding.

    talk = Talk(Policy(fold_at_tokens=1000, fold_to_tokens=500))
    talk.says("u100")           # the user says about 100 tokens; the plan of that turn comes back
    talk.answers("a50")         # the answer, remembered as a turn would

A chat is told as a story: `u` words of the user, `a` of the assistant, `s` a system message, each with its size in
tokens behind it; `+x,y` the assistant calls x and y at once, `=x` the result of x (`=x:500` one of 500 tokens).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import msgspec

from app.chat import size
from app.chat.address import addresses
from app.chat.model import Chat, Message, Part, Text, Thinking, ToolCall, ToolResult
from app.context.errand import Errand, errand
from app.context.folds import Fold, Span, fold_address
from app.context.known import Checkpoint, Known, Scale
from app.context.plan import Draft, Plan, plan
from app.context.policy import Policy
from app.context.sight import Sight
from app.context.steps import STEPS
from app.engine.planning import asked_for

TENANT = b"tenant-1"
MODEL = "m"
SETUP = b"setup-of-16-byte"
SMALL = Policy(fold_at_tokens=1000, fold_to_tokens=500, keep_recent=2, summary_tokens=120)
"""Folds at 1,000 tokens, down to 500."""


@cache
def words(tokens: int, seed: int = 0) -> str:
    """Words of about `tokens` tokens, never fewer; another seed says something else."""
    if not tokens:
        return ""
    chance = random.Random(f"{tokens}/{seed}")
    said = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(tokens)]
    low, high = 1, len(said)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if size.of_text(" ".join(said[:middle]), "other") >= tokens else (middle + 1, high)
    return " ".join(said[:low])


def told(story: str, seed: int = 0) -> tuple[Message, ...]:
    """The messages of a story; each says something else, and something else again under another seed."""
    return tuple(_message(step, 1000 * seed + number) for number, step in enumerate(story.split()))


def _message(step: str, number: int) -> Message:
    kind, rest = step[0], step[1:]
    match kind:
        case "u":
            return Message("user", (Text(words(int(rest or 10), number)),))
        case "s":
            return Message("system", (Text(words(int(rest or 10), number)),))
        case "a":
            return Message("assistant", (Text(words(int(rest or 10), number)),))
        case "t":
            return Message("assistant", (Thinking(f"thought {number}", "sig"), Text(words(int(rest or 10), number))))
        case "+":
            parts: list[Part] = [ToolCall(name, f"f_{name}", f'{{"n":{number}}}') for name in rest.split(",")]
            return Message("assistant", tuple(parts))
        case "=":
            return Message("user", tuple(_result(each, number) for each in rest.split(",")))
        case _:
            raise AssertionError(step)


def _result(said: str, number: int) -> ToolResult:
    name, _, tokens = said.partition(":")
    return ToolResult(name, (Text(words(int(tokens or 10), number)),))


def text_of(message: Message) -> str:
    """All words of a message."""
    return "".join(part.text for part in message.parts if isinstance(part, Text | ToolResult))


def marks(messages: Sequence[Message]) -> tuple[bytes, ...]:
    """The addresses of the messages."""
    return addresses(messages, TENANT)


def fold_of(messages: Sequence[Message], *ends: int | tuple[int, str], facts: Iterable[Any] = (), **more: Any) -> Fold:
    """A fold whose spans end behind so many messages: `4` a summary, `(4, "verbatim")`, `(4, "dropped")`."""
    found = marks(messages)
    spans: list[Span] = []
    for each in ends:
        end, kind = each if isinstance(each, tuple) else (each, "summary")
        text = f"summary up to {end}" if kind == "summary" else ""
        spans.append(Span(found[end - 1], kind, text))  # type: ignore[arg-type] # the kinds are what tests are about
    return Fold(spans[-1].upto, tuple(spans), tuple(facts), **more)


def kept(fold: Fold) -> dict[bytes, Checkpoint]:
    """The fold as it is stored."""
    address = fold_address(fold.upto)
    return {address: Checkpoint(address, fold=fold)}


def answered(messages: Sequence[Message], count: int, **fields: Any) -> dict[bytes, Checkpoint]:
    """A known turn: its answer is the last of the first `count` messages."""
    address = marks(messages)[count - 1]
    given: dict[str, Any] = {"model": MODEL, "setup": SETUP, **fields}
    return {address: Checkpoint(address, **given)}


def received(messages: Sequence[Message]) -> int:
    """Tokens of all messages, uncorrected."""
    return sum(size.of_message(message, "other") for message in messages)


def scale_of(messages: Sequence[Message], **fields: Any) -> Scale:
    """What a chat of these messages is counted by."""
    whole = received(messages) + fields.get("fixed", 0)
    given: dict[str, Any] = {"model": MODEL, "setup": SETUP, "received": whole, **fields}
    return Scale(**given)


def known_of(
    messages: Sequence[Message], *stored: dict[bytes, Checkpoint], scale: dict[str, Any] | None = None, **fields: Any
) -> Known:
    """What is known: the addresses, what is stored, and what it is counted by."""
    checkpoints = {address: each for found in stored for address, each in found.items()}
    return Known(marks(messages), checkpoints, scale=scale_of(messages, **(scale or {})), **fields)


def sight_of(messages: Sequence[Message], known: Known, policy: Policy = SMALL) -> Sight:
    """The chat as steps see it."""
    assert known.scale is not None
    return Sight(Chat(MODEL, tuple(messages)), known, policy, known.scale)


def planned(messages: Sequence[Message], known: Known, policy: Policy = SMALL, **chat: Any) -> Plan:
    """The plan of all steps."""
    return plan(Chat(MODEL, tuple(messages), **chat), known, policy, STEPS)


def draft_of(messages: Sequence[Message], **fields: Any) -> Draft:
    """A draft of these messages."""
    return Draft(Chat(MODEL, tuple(messages)), **fields)


def line_of(made: Plan | Draft, messages: Sequence[Message]) -> int:
    """How many messages the plan's fold stands for; 0 if there is none."""
    return 0 if made.fold is None else {mark: end + 1 for end, mark in enumerate(marks(messages))}[made.fold.upto]


def summed_up(task: Errand) -> str:
    """What the summariser of these tests answers: about four fifths of what it may, and never the same twice."""
    return words(max(task.wish.limit * 4 // 5 - 3, 1), len(task.said) * 7919 + task.tokens)


@dataclass
class Talk:
    """A chat that grows turn by turn, as the engine would serve it, with a store that forgets nothing.

    Args:
        makes: what the summariser answers; "" is a failure.
        scale: fields of Scale other than the sizes of the chat.
        reports: what the provider reports for a prompt of so many tokens by our estimate.
        behind: whether summaries that a turn does not wait for are made behind it.
    """

    policy: Policy = SMALL
    makes: Callable[[Errand], str] = summed_up
    scale: dict[str, Any] = field(default_factory=dict[str, Any])
    reports: Callable[[int], int] = lambda tokens: tokens
    behind: bool = True
    messages: tuple[Message, ...] = ()
    stored: dict[bytes, Checkpoint] = field(default_factory=dict[bytes, Checkpoint])
    plans: list[Plan] = field(default_factory=list[Plan])
    errands: list[Errand] = field(default_factory=list[Errand])

    def says(self, story: str) -> Plan:
        """What the client adds; the plan that the turn goes out with."""
        self.messages += told(story, len(self.messages))
        return self.turn()

    def turn(self) -> Plan:
        """The plan of a turn of the messages as they are, with the summaries that it waits for."""
        made = self._plan(self.known())
        for _ in range(2):
            need = next((need for need in made.needs if need.urgent), None)
            if need is None:
                break
            self._fill(need)
            made = self._plan(self.known())
        if any(need.urgent for need in made.needs):
            made = self._plan(self.known(waits=False))
        self.plans.append(made)
        return made

    def answers(self, story: str = "a20") -> None:
        """The answer of the turn: it is remembered, and what it needs behind it is made."""
        self.messages += told(story, len(self.messages))
        self.remember()

    def remember(self) -> None:
        """Keep what is known of the turn whose answer is the last message; make what it needs behind it."""
        made = self.plans[-1]
        sent = received(made.chat.messages) + self.scale.get("fixed", 0)
        fields: dict[str, Any] = {
            "input_tokens": self.reports(sent),
            "estimated_tokens": made.tokens,
            "folded": made.fold.upto if made.fold else b"",
            "fold": made.fold if made.fold and made.fold.drops else None,
        }
        self.stored |= answered(self.messages, len(self.messages), **fields)
        if self.behind:
            for need in made.needs:
                if not need.urgent:
                    self._fill(need, self.messages[:-1])

    def known(self, messages: Sequence[Message] | None = None, **fields: Any) -> Known:
        """What a turn of these messages (all of them by default) finds in the store."""
        chat = Chat(MODEL, tuple(self.messages if messages is None else messages))
        found = marks(chat.messages)
        asked = asked_for(chat, found, folds=True)
        stored = {mark: self.stored[mark] for mark in asked if mark in self.stored}
        return known_of(chat.messages, stored, scale=self.scale, **fields)

    def again(self, messages: Sequence[Message], **fields: Any) -> Plan:
        """The plan of another chat with what this one left in the store."""
        return planned(messages, self.known(messages, **fields), self.policy)

    def _plan(self, known: Known) -> Plan:
        return planned(self.messages, known, self.policy)

    def _fill(self, need: Any, messages: Sequence[Message] | None = None) -> None:
        chat = Chat(MODEL, tuple(self.messages if messages is None else messages))
        known = self.known(chat.messages)
        assert fold_address(need.address) in asked_for(chat, known.addresses, folds=True)
        task = errand(chat, known, self.policy, need)
        self.errands.append(task)
        if text := self.makes(task):
            self.stored |= kept(msgspec.structs.replace(task.fold(text, task.facts)))
