"""What a row of the conformance table is: how each format says a concept, and how to see that it says it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from tests.any_to_any.clients import Format, Json

Wanted: TypeAlias = Callable[[Any], bool] | str | float | dict[str, Any]
Sign: TypeAlias = tuple[str, Wanted] | str
"""Where a concept stands in a body: a path (`a.b`; lists are looked through), and what must stand there (a value, a
test of it, or by the path alone: anything)."""

HELLO: dict[Format, Json] = {
    "chat": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    "responses": {"model": "m", "input": [{"role": "user", "content": "hi"}]},
    "anthropic": {"model": "m", "max_tokens": 5000, "messages": [{"role": "user", "content": "hi"}]},
    "generate": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
    "interactions": {
        "model": "m",
        "input": [{"type": "user_input", "content": [{"type": "text", "text": "hi"}]}],
    },
}
"""The least request of each format."""


@dataclass(frozen=True)
class Row:
    """A concept.

    Attributes:
        asks: a body of each format that can say it, on top of HELLO.
        signs: by which it is known in a body of each format that can.
        instead: by which what stands in for it is known.
        moot: formats in which nothing needs to be said, as their providers do so anyway.
    """

    name: str
    asks: Mapping[Format, Json]
    signs: Mapping[Format, Sign]
    instead: Mapping[Format, Sign] = field(default_factory=dict[Format, Sign])
    moot: frozenset[Format] = frozenset()

    def body(self, client: Format) -> bytes:
        """The client's request."""
        return json.dumps(HELLO[client] | self.asks[client]).encode()


def stands(sign: Sign | None, body: Any) -> bool:
    """Whether a body holds it."""
    if sign is None:
        return False
    path, wanted = (sign, None) if isinstance(sign, str) else sign
    found = list(values(body, path.split(".")))
    if wanted is None:
        return bool(found)
    if callable(wanted):
        return any(wanted(value) for value in found)
    return wanted in found


def values(body: Any, path: list[str]) -> Iterable[Any]:
    """What stands at a path; several values where lists are on the way."""
    if isinstance(body, list):
        for one in cast("list[Any]", body):
            yield from values(one, path)
    elif not path:
        yield body
    elif isinstance(body, dict) and path[0] in body:
        yield from values(cast("Json", body)[path[0]], path[1:])


def holds(words: str) -> Callable[[Any], bool]:
    """A test for text that has these words in it."""
    return lambda value: words in (value if isinstance(value, str) else json.dumps(value))


EVERYWHERE: dict[Format, str] = {
    "chat": "messages",
    "responses": "input",
    "anthropic": "messages",
    "generate": "contents",
    "interactions": "input",
}
"""The field in which the conversation stands."""


def said(words: str, *formats: Format) -> dict[Format, Sign]:
    """The words anywhere in the conversation."""
    return {name: (EVERYWHERE[name], holds(words)) for name in formats or tuple(EVERYWHERE)}
