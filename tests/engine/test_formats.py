"""A body without its path is told by what only one format says, and else by whose model it asks for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.engine.formats import format_of
from app.errors import ClientError

HI = [{"role": "user", "content": "hi"}]
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}

BODIES: list[tuple[str, dict[str, Any]]] = [
    ("gemini", {"contents": [{"parts": [{"text": "hi"}]}]}),
    ("openai_chat", {"model": "gpt-x", "messages": HI}),
    ("openai_chat", {"model": "gpt-x", "messages": HI, "max_tokens": 9}),
    ("openai_chat", {"model": "claude-x", "messages": HI}),
    ("openai_chat", {"model": "claude-x", "messages": HI, "max_tokens": 9, "stream_options": {}}),
    ("openai_chat", {"model": "claude-x", "messages": [{"role": "developer", "content": "x"}, *HI], "max_tokens": 9}),
    (
        "openai_chat",
        {"model": "claude-x", "messages": [*HI, {"role": "assistant", "tool_calls": [CALL]}], "max_tokens": 9},
    ),
    ("openai_chat", {"messages": "nonsense"}),
    ("anthropic", {"model": "claude-x", "messages": HI, "max_tokens": 9}),
    ("anthropic", {"model": "gpt-x", "messages": HI, "system": "Be brief."}),
    ("anthropic", {"model": "gpt-x", "messages": HI, "max_tokens": 9, "tools": [{"name": "f", "input_schema": {}}]}),
    (
        "anthropic",
        {
            "model": "m",
            "max_tokens": 9,
            "messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}],
        },
    ),
    ("openai_responses", {"model": "gpt-x", "input": "hi"}),
    ("openai_responses", {"model": "gpt-x", "input": HI}),
    ("openai_responses", {"model": "gemini-x", "input": HI}),
    ("openai_responses", {"model": "gemini-x", "input": "hi", "previous_response_id": "resp_1"}),
    ("gemini_interactions", {"model": "gemini-x", "input": "hi"}),
    ("gemini_interactions", {"model": "gpt-x", "input": "hi", "system_instruction": "x"}),
    ("gemini_interactions", {"agent": "deep-research", "input": "hi"}),
    ("gemini_interactions", {"model": "gpt-x", "input": [{"type": "user_input", "content": []}]}),
    ("gemini_interactions", {"model": "gpt-x", "input": "hi", "previous_interaction_id": "v1_1"}),
]


@pytest.mark.parametrize(("named", "body"), BODIES)
def test_a_body_is_in_the_format_that_says_such_things(named: str, body: dict[str, Any]) -> None:
    assert format_of(json.dumps(body).encode()).wire.name == named


@pytest.mark.parametrize("named", ["openai_responses", "gemini_interactions"])
def test_a_body_that_fits_two_is_in_the_one_that_is_named(named: str) -> None:
    assert format_of(b'{"model":"lab","input":"hi"}', named).wire.name == named


def test_a_body_is_not_in_a_format_whose_field_it_lacks() -> None:
    with pytest.raises(ClientError, match="no messages"):
        format_of(b'{"model":"lab","input":"hi"}', "anthropic")
