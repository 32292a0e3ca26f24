"""What requests cost at list price, with each provider's own rules for cached prompts.

US dollars a million tokens, as listed by genai-prices 0.2.3 on 2026-11-30. Caches are taken to live through the whole
conversation: a chat that pauses for longer than a cache lives pays more, under every policy alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.memory.bodies import Body

LISTED = "2026-11-30"
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """One model's list price and caching.

    Attributes:
        least: tokens that a shared beginning must have to be cached. step: it counts in multiples of this.
        writes: what is written to the cache is paid at `write`, and only whole earlier requests are found again.
    """

    model: str
    input: float
    cached: float
    output: float
    write: float = 0
    least: int = 1024
    step: int = 1

    @property
    def writes(self) -> bool:
        """Whether writing to the cache costs something."""
        return self.write > 0


PRICES: dict[str, Price] = {
    # automatic from 1,024 tokens on, in steps of 128 (https://platform.openai.com/docs/guides/prompt-caching)
    "OpenAI": Price("gpt-5.4", 2.5, 0.25, 15, step=128),
    # implicit from 1,024 tokens on for Flash (https://ai.google.dev/gemini-api/docs/caching)
    "Gemini": Price("gemini-2.5-flash", 0.3, 0.03, 2.5),
    # written at 1.25 times, read at a tenth (https://docs.claude.com/en/docs/build-with-claude/prompt-caching);
    # breakpoints behind the system text and behind the last message
    "Anthropic": Price("claude-sonnet-5", 2, 0.2, 10, write=2.5),
}


@dataclass(frozen=True, slots=True)
class Paid:
    """Tokens of one request by what they cost: plain, read from the cache, written to it, answered."""

    plain: int
    read: int
    written: int
    answered: int


def paid(price: Price, prompt: int, shared: int, whole: int, answered: int) -> Paid:
    """How the tokens of one request are charged.

    Args:
        prompt: tokens of the request. shared: of the longest beginning shared with an earlier one.
        whole: of the longest beginning that is a whole earlier request, or its system text: where a breakpoint stood.
        answered: tokens of the answer.
    """
    if price.writes:
        read = whole if whole >= price.least else 0
        written = prompt - read if prompt >= price.least else 0
        return Paid(prompt - read - written, read, written, answered)
    read = shared // price.step * price.step
    read = read if read >= price.least else 0
    return Paid(prompt - read, read, 0, answered)


def cost(price: Price, given: Paid) -> float:
    """US dollars."""
    charged = given.plain * price.input + given.read * price.cached + given.written * price.write
    return (charged + given.answered * price.output) / MILLION


class Breakpoints:
    """Where a client that sets Anthropic's breakpoints finds its earlier requests again."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def whole(self, sent: Body) -> int:
        """Tokens of the longest beginning of `sent` at which a breakpoint stood before; then `sent` sets its own."""
        mark, told, found = hash(sent.tools), sent.tools_tokens, 0
        marks: list[int] = []
        for message, size in zip(sent.marks, sent.sizes, strict=True):
            mark, told = hash((mark, message)), told + size
            marks.append(mark)
            if mark in self._seen:
                found = told
        system = sum(1 for role in sent.roles if role in ("system", "developer"))
        self._seen.update(marks[-1:], marks[system - 1 : system] if system else ())
        return found


def total(price: Price, requests: Sequence[tuple[Body, int, int]]) -> float:
    """US dollars for requests in order, each with its shared and its answered tokens."""
    seen = Breakpoints()
    return sum(
        cost(price, paid(price, sent.tokens, shared, seen.whole(sent), answered)) for sent, shared, answered in requests
    )
