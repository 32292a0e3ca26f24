"""The chats that are played: light talk, talk with tools of medium results, and talk with three bulky results."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.memory import tokens
from bench.memory.talk import talk
from bench.memory.upstream import reply
from bench.tools.cases import cases

Message = dict[str, Any]
BULKY = 50_000
"""Tokens of each bulky result."""

BULKY_KINDS = ("reviews", "orders", "log")
BULKY_AT = (0.1, 0.4, 0.7)
"""Where in the chat they come."""

MEDIUM = (20, 90)
"""Rows of a medium result: about 400 to 1,800 tokens, below what counts as heavy."""

SHORT = 12
"""Words of a short chat's message."""

TOOL_NAME = "look_up"
TOOL: Message = {
    "type": "function",
    "function": {
        "name": TOOL_NAME,
        "description": "Looks something up in the shop's books.",
        "parameters": {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]},
    },
}


@dataclass(frozen=True, slots=True)
class Turn:
    """The user's words, the result of the tool that the model calls (empty: it calls none), and its answer."""

    said: str
    result: str
    answer: str


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of chat.

    Attributes:
        tools: as a client offers them.
    """

    name: str
    system: str
    turns: tuple[Turn, ...]
    tools: tuple[Message, ...] = ()

    def calls(self, number: int) -> Message:
        """The model's message that calls the tool in this turn."""
        function = {"name": TOOL_NAME, "arguments": json.dumps({"what": f"books of day {number}"})}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}


def kinds(seed: int, turns: int) -> Mapping[str, Kind]:
    """All kinds by name; the same arguments always give the same words."""
    rng = random.Random(f"{seed} chains")
    said = talk(seed, "en", turns).said
    brief = [" ".join(one.split()[:SHORT]) for one in said]
    medium = [_rows(rng, number) for number in range(turns)]
    bulky = dict(zip((int(turns * part) for part in BULKY_AT), _bulky(), strict=True))
    heavy = [bulky.get(number, "") for number in range(turns)]
    none = [""] * turns
    return {
        "short": _kind("short", brief, none),
        "light": _kind("light", said, none),
        "medium tools": _kind("medium tools", said, medium, TOOL),
        "bulky tools": _kind("bulky tools", said, heavy, TOOL),
    }


def _kind(name: str, said: Sequence[str], results: Sequence[str], *tools: Message) -> Kind:
    turns = (Turn(words, result, reply(words)) for words, result in zip(said, results, strict=True))
    return Kind(name, "You help a shop with its daily work. Be brief.", tuple(turns), tools)


def _rows(rng: random.Random, day: int) -> str:
    """A medium result: some rows of JSON."""
    return json.dumps(
        [
            {"order": f"A-{day:03}{at:02}", "amount": rng.randrange(900, 20_000) / 100, "paid": rng.random() < 0.8}
            for at in range(rng.randrange(*MEDIUM))
        ]
    )


def _bulky() -> Iterator[str]:
    """Three results of about BULKY tokens: two of rows, and a log."""
    plain = {case.name: tokens.of_text(case.text) for case in cases()}
    for name in BULKY_KINDS:
        yield next(case.text for case in cases(BULKY / plain[name]) if case.name == name)
