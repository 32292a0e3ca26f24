"""How large a chat would be under one fold or another, counted only as far as anybody asks.

What a provider reported for the newest known turn is taken as it is, if that turn was folded in the same way and its
report is believable; only what came after is estimated. Else all that stays is estimated, and corrected by the model's
running ratio.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from functools import cached_property

from app.chat import size
from app.chat.calibration import BELIEVABLE
from app.chat.model import Chat, Message, Text
from app.context import memory
from app.context.budget import Budget, budget_of
from app.context.carry import front
from app.context.cuts import Cuts, cuts
from app.context.folds import Fold, Span, ends_of, fold_address, stretches
from app.context.known import Checkpoint, Known, Scale
from app.context.policy import Policy


class Sight:
    """One chat, what is known of it, and its budget. Tokens are corrected throughout."""

    def __init__(self, chat: Chat, known: Known, policy: Policy, scale: Scale) -> None:
        self.messages = chat.messages
        self.known = known
        self.policy = policy
        self.scale = scale
        self._sizes = scale.tails

    @cached_property
    def ends(self) -> dict[bytes, int]:
        """How many messages the prefix has that ends at an address."""
        return ends_of(self.known.addresses)

    @cached_property
    def fixed(self) -> int:
        """Tokens of what is never folded."""
        reminded = self.known.memory
        words = size.of_message(_text(memory.text_of(reminded)), self.scale.family) if reminded else 0
        return self._corrected(self.scale.fixed + words)

    @cached_property
    def budget(self) -> Budget:
        """What this prompt may take."""
        return budget_of(self.policy, self.fixed, self.scale.window)

    @cached_property
    def newest(self) -> Checkpoint | None:
        """The newest turn of this chat that was answered here."""
        index = self.known.deepest()
        return self.known.checkpoints[self.known.addresses[index - 1]] if index else None

    @cached_property
    def before(self) -> Fold | None:
        """The fold that the newest known turn went out with; None if it was not folded, or its fold is gone."""
        turn = self.newest
        if turn is None or not turn.folded:
            return None
        fold = turn.fold or self._summary_at(turn.folded)
        return fold if fold is not None and stretches(fold, self.ends) else None

    @cached_property
    def summaries(self) -> list[tuple[int, Fold]]:
        """The known folds of this chat, each with its line: how many messages it stands for."""
        found: list[tuple[int, Fold]] = []
        if self.known.checkpoints:
            for address, end in self.ends.items():
                fold = self._summary_at(address)
                if fold is not None and end < len(self.messages) and stretches(fold, self.ends):
                    found.append((end, fold))
        return sorted(found, key=lambda each: each[0])

    @cached_property
    def refused(self) -> dict[int, int]:
        """The lines up to which a summary was made that is not to be used, and how many tokens it stood for."""
        if not self.known.checkpoints:
            return {}
        found = (self.known.checkpoints.get(fold_address(address)) for address in self.known.addresses)
        return {
            line: checkpoint.fold.check.tokens if checkpoint.fold.check else 0
            for line, checkpoint in enumerate(found, 1)
            if checkpoint is not None and checkpoint.fold is not None and checkpoint.fold.refused
        }

    def promising(self, base: Fold | None, line: int) -> bool:
        """Whether a summary up to `line`, going on from `base`, is worth its price: not where one of about as many
        tokens was refused. What it could not hold, a longer one cannot either; one of half as much may, as long as it
        is shorter than what it stands for, and where twice as much was said, something else may be what matters."""
        if not self.refused:
            return True
        if line in self.refused:
            return False
        start = self.line(base)
        whole = self.tail(start) - self.tail(line)
        sizes = (
            max(told, self.tail(start) - self.tail(other)) for other, told in self.refused.items() if other > start
        )
        shortens = whole > self.budget.summary + self.budget.facts
        return shortens and all(whole * 2 <= size or whole >= size * 2 for size in sizes)

    def line(self, fold: Fold | None) -> int:
        """How many messages the fold stands for."""
        return self.ends[fold.upto] if fold is not None else 0

    def deeper(self, line: int) -> Fold | None:
        """The first known summary behind a line."""
        at = bisect.bisect_right(self.summaries, line, key=lambda each: each[0])
        return self.summaries[at][1] if at < len(self.summaries) else None

    def base(self, line: int) -> Fold | None:
        """The deepest known summary in front of a line: what a new one goes on from."""
        return next((fold for end, fold in reversed(self.summaries) if end < line), None)

    def cuts(self, line: int) -> Cuts:
        """The legal cuts behind a line."""
        return cuts(self.messages, line)

    def verbatim(self, spans: Sequence[Span], first: int = 0) -> tuple[Message, ...]:
        """The messages that stay as they are inside a cover, from its span `first` on."""
        starts = [0, *(self.ends[span.upto] for span in spans)]
        return tuple(
            message
            for index in range(first, len(spans))
            if spans[index].kind == "verbatim"
            for message in self.messages[starts[index] : starts[index + 1]]
        )

    def exchange(self, found: Cuts) -> int:
        """Tokens of the newest exchange, which no budget takes away: the user's last words, and inside a task of an
        agent its newest step."""
        if not found.loop:
            return self.tail(found.newest)
        return self.tail(found.newest) - self.tail(found.task_end) + self.tail(found.loop[-1])

    def tail(self, start: int) -> int:
        """Tokens of the messages from `start` on."""
        return self._corrected(self._tail(start))

    def carried(self, fold: Fold | None) -> int:
        """Tokens of what stands in place of the folded messages."""
        if fold is None:
            return 0
        there = front(fold, self.messages, self.ends)
        return self._corrected(sum(map(self.size_of, there)))

    def prompt(self, fold: Fold | None) -> int:
        """Tokens of the whole prompt under a fold."""
        base = self.reported(fold)
        if base is not None:
            return base
        return self.fixed + self.carried(fold) + self.tail(self.line(fold))

    def guess(self, fold: Fold | None, tokens: int) -> int:
        """The uncorrected estimate that `prompt` gave, 0 if that rests on a report: it can teach nothing then."""
        return 0 if self.reported(fold) is not None else round(tokens / self.scale.ratio)

    def _summary_at(self, address: bytes) -> Fold | None:
        checkpoint = self.known.checkpoints.get(fold_address(address))
        fold = checkpoint.fold if checkpoint is not None else None
        return fold if fold is not None and not fold.refused else None

    def reported(self, fold: Fold | None) -> int | None:
        """What the newest known turn took, as reported, plus all from its answer on; None if it was another prompt."""
        turn = self.newest
        if turn is None or not turn.estimated_tokens:
            return None
        same = (turn.setup, turn.model, turn.folded) == (self.scale.setup, self.scale.model, fold.upto if fold else b"")
        if not same:
            return None
        low, high = BELIEVABLE
        believable = low <= turn.input_tokens / turn.estimated_tokens <= high
        sent = turn.input_tokens if believable else turn.estimated_tokens
        return sent + self.tail(self.known.deepest() - 1)

    def _tail(self, start: int) -> int:
        """Uncorrected. Sums from the end are kept: a plan looks at some cuts, and never twice at a message."""
        wanted = len(self.messages) - start
        while len(self._sizes) < wanted:
            message = self.messages[-1 - len(self._sizes)]
            self._sizes.append((self._sizes[-1] if self._sizes else 0) + self.size_of(message))
        return self._sizes[wanted - 1] if wanted else 0

    def size_of(self, message: Message) -> int:
        """Tokens of one message, uncorrected."""
        return size.of_message(message, self.scale.family, self.scale.model)

    def _corrected(self, tokens: int) -> int:
        return round(tokens * self.scale.ratio)


def _text(words: str) -> Message:
    return Message("user", (Text(words),))
