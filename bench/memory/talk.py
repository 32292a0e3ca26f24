"""A seeded talk: what the user says turn by turn, with facts planted among plain talk and asked for at the end."""

from __future__ import annotations

import random
from dataclasses import dataclass

from bench.memory.facts import MOST, Fact, facts
from bench.memory.filler import WORDS, Words, noisy, pasted, plain

FACTS = 60
LAST_PLANTED = 0.92
"""Facts are planted in the first part of a talk only: what is asked for at once shows nothing."""

LENGTHS = ((0.3, 1, 4), (0.45, 4, 10), (0.25, 10, 25))
"""Share of messages, and between how many sentences they have: most are short, some tell a whole story."""

PASTES = 0.3
"""Share of messages with a note pasted below."""


@dataclass(frozen=True, slots=True)
class Talk:
    """What one user says.

    Attributes:
        said: the user's messages in order; the last one asks for every fact.
        planted: the facts, in the order in which they were said.
    """

    language: str
    system: str
    said: tuple[str, ...]
    planted: tuple[Fact, ...]


def talk(seed: int, language: str, turns: int, noise: float = 0.5, count: int = FACTS) -> Talk:
    """The talk of a seed: the same arguments always give the same words.

    Args:
        turns: user messages in all, at least 2.
        noise: values a turn, on average, that nobody asks for.
        count: facts; fewer where a short talk has no turn for each.
    """
    rng = random.Random(f"{seed} {language}")
    words = WORDS[language]
    room = max(1, int((turns - 1) * LAST_PLANTED))
    planted = facts(rng, language, min(count, MOST, room))
    rng.shuffle(planted)
    where = sorted(rng.sample(range(room), len(planted)))
    by_turn = dict(zip(where, planted, strict=True))
    said = [_said(rng, words, by_turn.get(turn), noise) for turn in range(turns - 1)]
    questions = [f"{number}. {fact.question}" for number, fact in enumerate(planted, 1)]
    return Talk(language, words.system, (*said, "\n".join((words.closing, *questions))), tuple(planted))


def _said(rng: random.Random, words: Words, fact: Fact | None, noise: float) -> str:
    """One message: a few sentences, the fact somewhere among them, sometimes a pasted note below."""
    _, least, most = rng.choices(LENGTHS, [share for share, *_ in LENGTHS])[0]
    sentences = [plain(rng, words) for _ in range(rng.randrange(least, most))]
    for _ in range(int(noise) + (rng.random() < noise % 1)):
        sentences.insert(rng.randrange(len(sentences) + 1), noisy(rng, words))
    if fact is not None:
        sentences.insert(rng.randrange(len(sentences) + 1), fact.said)
    text = words.between.join(sentences)
    return f"{text}\n\n{pasted(rng, words)}" if rng.random() < PASTES else text
