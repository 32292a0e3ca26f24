"""What a critical token is: its kinds, how much each kind weighs, and the values that go in and out."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import msgspec

Kind: TypeAlias = Literal[
    "url", "email", "path", "id", "money", "date", "time", "number", "code", "name", "quote", "rule"
]

KIND_WEIGHT: dict[Kind, float] = {
    "url": 1.0,
    "email": 1.0,
    "path": 1.0,
    "id": 1.0,
    "money": 1.0,
    "date": 0.9,
    "time": 0.8,
    "code": 0.7,
    "name": 0.7,
    "number": 0.7,
    "quote": 0.4,
    "rule": 0.6,
}

LONGEST = 300
"""Characters of the longest token: what is longer is data (base64, minified code), not a fact."""


class Said(msgspec.Struct, frozen=True):
    """Something that one speaker said; `summary`: an earlier summary, of whoever said what is in it."""

    role: Literal["system", "user", "assistant", "tool", "summary"]
    text: str


class Critical(msgspec.Struct, frozen=True):
    """A token that a summary must keep.

    Args:
        kind: what it is. value: as first written.
        key: its normal form; equal keys are the same fact.
        weight: how much its loss would hurt; a user's id weighs about 1, noise of a log below 0.2.
        context: the clause around it, one line, about 160 characters at most (more only if the value is longer). A
            rule's is the rule as reported speech.
    """

    kind: Kind
    value: str
    key: str
    weight: float
    context: str


class Found(NamedTuple):
    """A token where it stands in one text: `weak` if it may be a name only because it begins a sentence."""

    kind: Kind
    start: int
    end: int
    key: str
    weight: float
    weak: bool = False
