"""What a provider bills: every token that the model reads, the beginning that its prompt cache holds at a tenth.

Assumptions, the same for whoever asks. A prompt's beginning is cached if it stood at the beginning of a prompt at most
five minutes ago, whether it was sent or held in a chain, up to the end of a message, if that is 1,024 tokens or more;
each use keeps it for five minutes more. System text and tools stand in front. Neither a resent message nor an inherited
one is billed differently: the model reads the same. An answer is cached once it was part of a prompt. Answers cost the
same however they came about, so only those of the summariser are counted, at six times an input token. The summariser
costs what the chat's model costs, unless said otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.memory.bodies import Body
from bench.memory.tokens import PER_CHAT

LEAST = 1024
LIVES = 300.0
"""Seconds that a cached prompt lives after its last use."""

CACHED = 0.1
OUTPUT = 6.0


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


@dataclass
class Bill:
    """What a whole chat cost under one rhythm.

    Attributes:
        read: tokens that the model read. cached: of those. summary: weighted tokens of summaries. wired: bytes sent.
        requests: of the chat. continued: those that went on from a chain.
        path: what was paid after each turn, for the chat and for summaries.
    """

    read: int = 0
    cached: int = 0
    summary: float = 0
    wired: int = 0
    requests: int = 0
    continued: int = 0
    path: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    cache: PromptCache = field(default_factory=PromptCache)

    def take(self, sent: Body, now: float, *, summary: bool, answered: int) -> None:
        """One more request."""
        tokens = sum(sent.sizes) + sent.tools_tokens + PER_CHAT
        cached = self.cache.read(sent, now)
        self.wired += sent.size
        if summary:
            self.summary += tokens - cached * (1 - CACHED) + answered * OUTPUT
            return
        self.read += tokens
        self.cached += cached
        self.requests += 1
        self.continued += bool(sent.before)

    def turn(self) -> None:
        """A turn is over."""
        self.path.append((self.weighted - self.summary, self.summary))

    @property
    def weighted(self) -> float:
        """All that is paid, in input tokens at full price."""
        return self.read - self.cached * (1 - CACHED) + self.summary
