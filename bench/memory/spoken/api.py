"""What one API needs so that the bench's upstream can speak it: reading a request, and writing its answer."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.memory.bodies import Body, Said

Item = dict[str, Any]
History = Callable[[str], tuple[Said, ...] | None]
"""What is held under an id: all messages of the chain, its answers too; None if nothing is."""


class UnreadableError(ValueError):
    """A request that is none of this API; the message says why."""


class UnknownError(LookupError):
    """The request goes on from an id that is not known."""


@dataclass(frozen=True, slots=True)
class Told:
    """One answer on its way out.

    Attributes:
        id: the answer's; empty if it is not kept. message: as Chat Completions has it.
        cached: tokens of the prompt that a prompt cache held. answered: tokens of the answer.
    """

    id: str
    asked: Body
    message: Item
    cached: int
    answered: int

    @property
    def text(self) -> str:
        """The answer's words."""
        return words_of(self.message)

    @property
    def calls(self) -> list[tuple[str, str, str]]:
        """Id, name and arguments (JSON text) of each call."""
        return calls_of(self.message)


@dataclass(frozen=True, slots=True)
class Api:
    """One API.

    Attributes:
        path: where it is asked, as a route of aiohttp; `{model}` is a part of it where the body does not name it.
        kind, setting, value: the upstream's kind in Foldline's settings, and the setting that makes it speak this API.
        model: what the client asks for.
        read: bytes, the model in the path, and what is held, to a Body. Raises UnreadableError and UnknownError.
        whole: the answer in one piece. kept: the answer as it stands in the next request.
        streamed: its events, for an API that Foldline asks for streams here.
    """

    name: str
    path: str
    kind: str
    setting: str
    value: str
    model: str
    read: Callable[[bytes, str, History], Body]
    whole: Callable[[Told], Item]
    kept: Callable[[Item], Sequence[Said]] = lambda _: ()
    streamed: Callable[[Told], Iterable[Item]] | None = None

    @property
    def chains(self) -> bool:
        """Whether it keeps conversations."""
        return self.name in ("interactions", "responses")

    def settings(self, origin: str) -> dict[str, str]:
        """Foldline's settings that make it ask the upstream at `origin` in this API."""
        base = f"{origin}/v1" if self.kind == "openai" else origin
        return {f"{self.kind}_base_url": base, self.setting: self.value}


def words_of(message: Item) -> str:
    """What a message in the form of Chat Completions says."""
    return message.get("content") or ""


def calls_of(message: Item) -> list[tuple[str, str, str]]:
    """Id, name and arguments (JSON text) of each call of a message in the form of Chat Completions."""
    called: list[Item] = message.get("tool_calls") or []
    return [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in called]


def raw(value: Any) -> bytes:
    """JSON as the bench writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def joined(said: Iterable[Said]) -> list[Said]:
    """What the model said in one go as one message, however many items it is written as."""
    found: list[Said] = []
    for speaks, group in itertools.groupby(said, key=lambda one: one.role == "assistant"):
        every = list(group)
        if not speaks:
            found += every
            continue
        found.append(
            Said(
                b",".join(one.raw for one in every),
                "assistant",
                "\n".join(one.words for one in every if one.words),
                tuple(call for one in every for call in one.calls),
            )
        )
    return found


def text_of(content: Any) -> str:
    """The words of a content: a text, or parts of which some have one."""
    if isinstance(content, list):
        return "\n".join(text_of(part) for part in content)  # pyright: ignore[reportUnknownVariableType] (any JSON)
    return str(content.get("text") or "") if isinstance(content, dict) else str(content or "")  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] (any JSON)


def before(history: History, identity: str) -> tuple[Said, ...]:
    """What is held under that id; nothing if there is none. Raises UnknownError."""
    if not identity:
        return ()
    if (held := history(identity)) is None:
        raise UnknownError(identity)
    return held
