"""Tool names and call ids that another provider would refuse; reasoning effort and signatures by model family."""

from __future__ import annotations

from typing import Any

import pytest

from app.chat.events import ToolCalled
from app.chat.model import Thinking
from app.wires.gemini.names import BYPASS, legal, signs
from app.wires.openai_chat.names import legal as openai_legal
from app.wires.toolnames import short_id
from app.wires.wire import Target
from tests.wires.talking import HELLO, Json, decoded, events_of, sent, sse, tool_loop

PNG = "iVBORw0KGgo="
DATA_URL = f"data:image/png;base64,{PNG}"


# ---- names and ids


@pytest.mark.parametrize("name", ["f", "a.b", "a-b_C9", "x" * 64])
def test_a_name_that_gemini_takes_is_left_alone(name: str) -> None:
    assert legal(name) == name


@pytest.mark.parametrize("name", ["1f", "a b", "日本", "", "x" * 65, "a:b", "a/b", "-x", "\ud800"])
def test_a_name_that_is_not_legal_becomes_one_that_is_always_the_same(name: str) -> None:
    for rule, allowed in ((legal, "_.-"), (openai_legal, "_-")):
        changed = rule(name)
        assert rule(changed) == changed == rule(name)
        assert len(changed) <= 64
        assert all(c.isascii() and (c.isalnum() or c in allowed) for c in changed)


def test_two_names_never_fall_together() -> None:
    for rule in (legal, openai_legal):
        assert len({rule(name) for name in ("a b", "a/b", "a_b", "x" * 70, "x" * 71)}) == 5


@pytest.mark.parametrize(
    ("client", "upstream", "name"),
    [("openai", "gemini", "1st tool"), ("gemini", "openai", "geo:find"), ("gemini", "openai", "y" * 100)],
)
def test_a_renamed_tool_answers_under_its_own_name(client: str, upstream: str, name: str) -> None:
    tools: Json = (
        {"tools": [{"type": "function", "function": {"name": name}}]}
        if client == "openai"
        else {"tools": [{"functionDeclarations": [{"name": name}]}]}
    )
    body = HELLO[client] | tools
    got, _ = sent(client, upstream, body)
    there = (
        got["tools"][0]["functionDeclarations"][0]["name"]
        if upstream == "gemini"
        else got["tools"][0]["function"]["name"]
    )
    assert there != name
    call = {"id": "c", "index": 0, "function": {"name": there, "arguments": "{}"}}
    answers = {
        "gemini": sse(
            {"candidates": [{"content": {"parts": [{"functionCall": {"name": there}}]}, "finishReason": "STOP"}]}
        ),
        "openai": sse(
            {"id": "r", "choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
        ),
    }
    events = events_of(upstream, [answers[upstream]], chat=decoded(client, body))
    assert [event.call.name for event in events if isinstance(event, ToolCalled)] == [name]


def test_a_tool_that_came_in_the_providers_own_format_keeps_its_name() -> None:
    body = HELLO["gemini"] | {"tools": [{"functionDeclarations": [{"name": "geo:find"}]}]}
    stream = sse(
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": "geo:find"}}]}, "finishReason": "STOP"}]}
    )
    events = events_of("gemini", [stream], chat=decoded("gemini", body))
    assert [event.call.name for event in events if isinstance(event, ToolCalled)] == ["geo:find"]


def test_an_id_that_is_too_long_for_openai_is_shortened_the_same_way_in_call_and_result() -> None:
    long = "x" * 60
    contents: list[Json] = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [{"functionCall": {"id": long, "name": "f"}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": long, "name": "f", "response": {}}}]},
    ]
    messages = sent("gemini", "openai", {"contents": contents})[0]["messages"]
    assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"] == short_id(long)
    assert len(short_id(long)) <= 40
    assert short_id("call_1") == "call_1"


# ---- reasoning

EFFORTS: dict[str, tuple[Any, Any, Any, Any]] = {
    # effort: gemini-3-flash, gemini-3.8-flash (no minimal), gemini-2.5-flash, gemini-2.5-pro
    "none": ("MINIMAL", "LOW", 0, 128),
    "minimal": ("MINIMAL", "LOW", 1024, 1024),
    "low": ("LOW", "LOW", 1024, 1024),
    "medium": ("MEDIUM", "MEDIUM", 8192, 8192),
    "high": ("HIGH", "HIGH", 24576, 24576),
    "xhigh": ("HIGH", "HIGH", 24576, 24576),
    "max": ("HIGH", "HIGH", -1, -1),
}
FAMILIES = ("gemini-3-flash-preview", "gemini-3.8-flash", "gemini-2.5-flash", "models/gemini-2.5-pro")


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("family", range(4))
def test_effort_becomes_a_level_or_a_budget_as_the_model_family_wants_it(effort: str, family: int) -> None:
    body = HELLO["openai"] | {"reasoning_effort": effort}
    config = sent("openai", "gemini", body, Target("gemini", FAMILIES[family]))[0]["generationConfig"]["thinkingConfig"]
    assert config == {("thinkingLevel" if family < 2 else "thinkingBudget"): EFFORTS[effort][family]}


@pytest.mark.parametrize(
    ("budget", "effort"), [(0, "none"), (512, "low"), (4096, "medium"), (12288, "high"), (-1, None)]
)
def test_a_budget_becomes_the_nearest_effort(budget: int, effort: str | None) -> None:
    body = HELLO["gemini"] | {"generationConfig": {"thinkingConfig": {"thinkingBudget": budget}}}
    assert sent("gemini", "openai", body)[0].get("reasoning_effort") == effort


@pytest.mark.parametrize("level", ["MINIMAL", "low", "Medium", "HIGH", "XHIGH"])
def test_a_level_becomes_an_effort(level: str) -> None:
    body = HELLO["gemini"] | {"generationConfig": {"thinking_config": {"thinking_level": level}}}
    assert sent("gemini", "openai", body)[0]["reasoning_effort"] == level.lower()


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        ("gemini-3-flash", True),
        ("gemini-3.1-pro-preview", True),
        ("gemini-4", True),
        ("gemini-flash-latest", True),
        ("gemini-2.5-pro", False),
        ("gemini-2.0-flash", False),
        ("gemma-3-27b", False),
    ],
)
def test_signatures_are_asked_of_the_models_that_demand_them(model: str, wanted: bool) -> None:
    assert signs(model) is wanted
    parts = sent("openai", "gemini", tool_loop("{}"), Target("gemini", model))[0]["contents"][1]["parts"]
    assert (parts[0].get("thoughtSignature") == BYPASS) is wanted


def test_a_signature_that_an_openai_client_carried_for_gemini_is_used() -> None:
    for where in (
        {"extra_content": {"google": {"thought_signature": "c2ln"}}},
        {"provider_specific_fields": {"thought_signature": "c2ln"}},
    ):
        body = tool_loop("{}")
        body["messages"][1]["tool_calls"][0] |= where
        assert sent("openai", "gemini", body)[0]["contents"][1]["parts"][0]["thoughtSignature"] == "c2ln"


@pytest.mark.parametrize("client", ["openai", "gemini"])
def test_another_providers_reasoning_is_not_sent_on(client: str) -> None:
    bodies: dict[str, Json] = {
        "openai": {
            "model": "m",
            "messages": [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": "a", "reasoning_content": "SECRET"},
                {"role": "user", "content": "q"},
            ],
        },
        "gemini": {
            "contents": [
                {"parts": [{"text": "q"}]},
                {
                    "role": "model",
                    "parts": [{"text": "SECRET", "thought": True, "thoughtSignature": "c2ln"}, {"text": "a"}],
                },
                {"parts": [{"text": "q"}]},
            ]
        },
    }
    chat = decoded(client, bodies[client])
    assert any(isinstance(part, Thinking) for part in chat.messages[1].parts)
    assert b"SECRET" not in sent(client, "gemini" if client == "openai" else "openai", bodies[client])[1].body
