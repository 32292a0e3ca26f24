"""What an answer costs where the provider keeps the history: the whole chain is input again, a part of it cached.

The cached part is what the turn before already sent or said, if the request stands on the same ground (model,
instructions, tools) and it is long enough. OpenAI documents 1024 tokens and steps of 128; Google's implicit cache is
taken to be alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.simulator.estimate import MESSAGE, PICTURE, tokens, tokens_of
from app.simulator.mind.talk import Answer, Utterance

_LEAST_CACHED = 1024
_CACHE_STEP = 128


@dataclass(frozen=True, slots=True)
class Bill:
    """The cost of one answer, in estimated tokens.

    Attributes:
        id: the turn's, also if it was not kept.
        input: all that the model read: instructions, tools, the history that was kept, and what is new.
        cached: the part of `input` that was in the provider's cache.
        media: the part of `input` that pictures and the like take.
        output: what it said, without its reasoning.
        thought: its reasoning.
    """

    id: str
    input: int
    cached: int = 0
    media: int = 0
    output: int = 0
    thought: int = 0

    @property
    def total(self) -> int:
        """All tokens."""
        return self.input + self.output + self.thought


def read(said: Iterable[Utterance]) -> int:
    """Estimated tokens of what was said: texts, calls, pictures, and something for each utterance."""
    return sum(
        tokens(one.text)
        + MESSAGE
        + PICTURE * one.pictures
        + sum(tokens(call.name) + tokens_of(call.arguments) for call in one.calls)
        for one in said
    )


def media(said: Iterable[Utterance]) -> int:
    """Estimated tokens of pictures and other media."""
    return sum(PICTURE * one.pictures for one in said)


def spoken(answer: Answer) -> int:
    """Estimated tokens of an answer, without its reasoning."""
    return tokens(answer.text) + sum(tokens(call.name) + tokens_of(call.arguments) for call in answer.calls)


def cached(count: int) -> int:
    """How much of so many tokens that were sent before a cache has."""
    return count // _CACHE_STEP * _CACHE_STEP if count >= _LEAST_CACHED else 0
