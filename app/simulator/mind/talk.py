"""A conversation as the mind reads it, whatever the provider's format, and what it answers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from app.simulator.mind.searching import Search
from app.simulator.shapes import Json

Role: TypeAlias = Literal["system", "user", "model", "tool"]

_SURROUNDINGS = re.compile(
    r"<(system-reminder|environment_context|session_context|user_instructions)>.*?</\1>\s*", re.DOTALL
)
"""What agents put beside the user's words, in the user's name: dates, folders, rules. Nobody asked that."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; `id` is empty where the format has none."""

    name: str
    arguments: Json
    id: str = ""


@dataclass(frozen=True, slots=True)
class Utterance:
    """One thing said. A tool's result is an utterance of role `tool`, with the tool's name."""

    role: Role
    text: str
    calls: tuple[Call, ...] = ()
    pictures: int = 0
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call; `schema` describes its arguments."""

    name: str
    description: str = ""
    schema: Json = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class Talk:
    """All that the mind may know of a request.

    Attributes:
        choice: `required` means that a tool must be called, one of `allowed` if that is not empty.
        schema: the answer must be an instance of it; an empty one asks for any JSON object; None for plain text.
        max_tokens: cap on reasoning and answer together, in estimated tokens.
        thinks: the model reasons before it answers.
        searches: it may search the web, which its provider does for it.
        received: the request's body, for [[echo]].
    """

    said: tuple[Utterance, ...]
    tools: tuple[Tool, ...] = ()
    choice: Literal["auto", "none", "required"] = "auto"
    allowed: tuple[str, ...] = ()
    parallel: bool = True
    schema: Json | None = None
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None
    thinks: bool = False
    searches: bool = False
    received: object = None

    @property
    def asked(self) -> str:
        """The last text that the user wrote; empty if there is none."""
        return next((words for one in reversed(self.said) if (words := _words(one))), "")

    @property
    def turn(self) -> tuple[Utterance, ...]:
        """What was said after the user's last text: the steps of the running tool loop."""
        last = max((at for at, one in enumerate(self.said) if _words(one)), default=-1)
        return self.said[last + 1 :]


def _words(one: Utterance) -> str:
    """What the user really wrote; empty for what others say, and for surroundings alone."""
    if one.role != "user":
        return ""
    words = _SURROUNDINGS.sub("", one.text) if "<" in one.text else one.text
    return words if words.strip() else ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says. `cut` tells that the cap on tokens ended it, `search` what the text rests on."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str = ""
    cut: bool = False
    search: Search | None = None
