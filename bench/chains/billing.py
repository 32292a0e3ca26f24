"""What a provider bills: every token that the model reads, the beginning that its prompt cache holds for less.

Assumptions, the same for whoever asks. A prompt's beginning is cached if it stood at the beginning of a prompt at most
five minutes ago, whether it was sent or held in a chain, up to the end of a message, if that is 1,024 tokens or more;
each use keeps it for five minutes more. System text and tools stand in front. Neither a resent message nor an inherited
one is billed differently: the model reads the same. An answer is cached once it was part of a prompt. Answers cost the
same however they came about, so only those of the summariser are counted. What a token costs is in prices.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.chains.prices import Rates
from bench.memory.bodies import Body
from bench.memory.tokens import PER_CHAT

LEAST = 1024
LIVES = 300.0
"""Seconds that a cached prompt lives after its last use."""


@dataclass
class PromptCache:
    """One provider's prompt cache: which beginnings it holds, each until when."""

    held: dict[int, float] = field(default_factory=dict[int, float])

    def read(self, sent: Body, now: float) -> int:
        """How many tokens of this prompt are cached at `now` (seconds); then all of it is."""
        mark, told, found = hash((sent.model, sent.tools)), sent.tools_tokens, 0
        for role, text, size in zip(sent.roles, sent.texts, sent.sizes, strict=True):
            mark, told = hash((mark, role, text)), told + size
            if (until := self.held.get(mark)) is not None and until >= now:
                found = told
            self.held[mark] = now + LIVES
        return found if found >= LEAST else 0


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens so far: that the chat's model read, and of those cached; that the summariser read, cached, and wrote."""

    read: int = 0
    cached: int = 0
    summed: int = 0
    summed_cached: int = 0
    written: int = 0

    def chat(self, rates: Rates) -> float:
        """What the chat cost, in input tokens of its model at full price."""
        return self.read - self.cached * (1 - rates.cached)

    def summaries(self, rates: Rates) -> float:
        """What summaries cost, in the same tokens."""
        given = self.summed - self.summed_cached * (1 - rates.summary_cached)
        return given * rates.summary_input + self.written * rates.summary_output

    def weighted(self, rates: Rates) -> float:
        """Both."""
        return self.chat(rates) + self.summaries(rates)


@dataclass
class Bill:
    """What a whole chat cost under one rhythm.

    Attributes:
        spent: tokens so far. wired: bytes sent.
        requests: of the chat. continued: those that went on from a chain. asked: questions to the summariser.
        path: what was spent after each turn.
    """

    spent: Spent = Spent()
    wired: int = 0
    requests: int = 0
    continued: int = 0
    asked: int = 0
    path: list[Spent] = field(default_factory=list[Spent])
    cache: PromptCache = field(default_factory=PromptCache)

    def take(self, sent: Body, now: float, *, summary: bool, answered: int) -> None:
        """One more request, and how many tokens its answer had."""
        tokens = sum(sent.sizes) + sent.tools_tokens + PER_CHAT
        cached = self.cache.read(sent, now)
        old = self.spent
        self.wired += sent.size
        if summary:
            summed, summed_cached = old.summed + tokens, old.summed_cached + cached
            self.spent = Spent(old.read, old.cached, summed, summed_cached, old.written + answered)
            self.asked += 1
            return
        self.spent = Spent(old.read + tokens, old.cached + cached, old.summed, old.summed_cached, old.written)
        self.requests += 1
        self.continued += bool(sent.before)

    def turn(self) -> None:
        """A turn is over."""
        self.path.append(self.spent)
