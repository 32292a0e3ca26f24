"""Odd input: a client gets an error that names the field, an odd provider's answer fails or is passed over."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, cast

import pytest

from app.chat.events import Failed, Finished
from app.errors import ClientError
from app.wires.anthropic import ANTHROPIC
from app.wires.wire import Target
from tests.wires.anthropic.saying import (
    TARGETS,
    WIRES,
    Json,
    ask,
    decoded,
    events_of,
    openai,
    result,
    said,
    text,
    thought,
    tool,
    touched,
    use,
    user,
)
from tests.wires.anthropic.test_streams import ANSWER, WHOLE
from tests.wires.talking import new_ids

ODD: list[Any] = [None, 0, -1, 1e300, "", "x", True, [], [None], {}, {"type": "text"}, [[{}]], {"type": 7}]
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
FULL = ask(
    user([text("a", cache_control={"type": "ephemeral"}), PICTURE]),
    said(thought("t"), "b", use("toolu_1", a=1)),
    user([result("toolu_1", [text("r"), PICTURE], is_error=True)]),
    {"role": "system", "content": "s"},
    system=[text("s")],
    tools=[tool("f", a={"type": "integer"}), {"type": "web_search_20260318", "name": "w"}],
    tool_choice={"type": "tool", "name": "f", "disable_parallel_tool_use": True},
    thinking={"type": "enabled", "budget_tokens": 1024},
    output_config={"effort": "low", "format": {"type": "json_schema", "schema": {"type": "object"}}},
    stop_sequences=["x"],
    metadata={"user_id": "u"},
    stream=True,
    temperature=1,
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place in a JSON value but the root."""
    if isinstance(value, dict):
        inside = list(cast(Json, value).items())
    else:
        inside = list(enumerate(cast("list[Any]", value))) if isinstance(value, list) else []
    for key, inner in inside:
        yield (*path, key)
        yield from places(inner, (*path, key))


def with_odd(value: Any, path: tuple[str | int, ...], odd: Any) -> Any:
    """A copy with the odd value at that place."""
    changed = copy.deepcopy(value)
    inside = changed
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = odd
    return changed


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_an_odd_value_anywhere_in_a_request_is_read_or_refused_by_name(odd: Any) -> None:
    refused = 0
    for path in places(FULL):
        try:
            chat = decoded("anthropic", with_odd(FULL, path, odd))
            for name, wire in WIRES.items():
                wire.encode(touched(chat), TARGETS.get(name, Target("a", "claude-opus-5-5")))
        except ClientError as error:
            refused += 1
            assert error.message  # noqa: PT017 (either outcome is right; what is not is any other exception)
    assert refused


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_an_odd_value_anywhere_in_an_answer_never_raises(odd: Any) -> None:
    for path in places(WHOLE):
        events = events_of("anthropic", [json.dumps(with_odd(WHOLE, path, odd)).encode()], streamed=False)
        assert isinstance(events[-1], Finished | Failed)
    chunks = [json.loads(line[6:]) for line in ANSWER.decode().split("\n") if line.startswith("data: ")]
    for at, chunk in enumerate(chunks):
        for path in places(chunk):
            reader = ANTHROPIC.reader(decoded("openai", openai()), True, new_ids())
            data = [*chunks[:at], with_odd(chunk, path, odd), *chunks[at + 1 :]]
            events = reader.feed(b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in data))
            assert isinstance([*events, *reader.close()][-1], Finished | Failed)
            reader.sealed()


def test_deep_nesting_is_refused_not_crashed_on() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    for body in (
        b'{"model":"m","messages":[{"role":"user","content":' + deep + b"}]}",
        b'{"model":"m","messages":[{"role":"user","content":[{"type":"new","x":' + deep + b"}]}]}",
        b'{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"i","name":"f","input":'
        + deep
        + b"}]}]}",
    ):
        with pytest.raises(ClientError):
            decoded("anthropic", body)
