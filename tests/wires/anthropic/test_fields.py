"""What is asked of the model: each Claude gets the fields that it takes, and what it cannot do is said as a loss."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat.model import Chat, Message, Reasoning, Sampling, Text
from app.errors import ClientError
from app.wires.anthropic import ANTHROPIC, count_body
from app.wires.anthropic.models import claude
from app.wires.anthropic.shape import UnsayableError, for_output
from app.wires.wire import Target
from tests.wires.anthropic.saying import (
    MIDDLE,
    NEWEST,
    OLD,
    Json,
    ask,
    decoded,
    fields_lost,
    openai,
    openai_calls,
    openai_tool,
    result,
    said,
    thought,
    to_claude,
    tool,
    touched,
    use,
    user,
)

SCHEMA: Json = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}


def sent(model: str, **more: Any) -> tuple[Json, list[str]]:
    """What a Claude gets of an OpenAI body with these fields, and what was lost."""
    body, outbound = to_claude(decoded("openai", openai(**more)), model)
    return body, fields_lost(outbound)


# ---- generations


@pytest.mark.parametrize(
    ("model", "mode", "sampling", "inside", "prefill", "forced"),
    [
        ("claude-3-5-haiku-20241022", "none", True, False, True, True),
        ("claude-3-7-sonnet-latest", "enabled", True, False, True, True),
        ("claude-sonnet-4-20250514", "enabled", True, False, True, True),
        ("claude-haiku-4-5-20251001", "enabled", True, False, True, True),
        ("anthropic.claude-sonnet-4-5-20250929-v1:0", "enabled", True, False, True, True),
        ("claude-opus-4-6", "adaptive", True, False, False, True),
        ("claude-opus-4.7", "adaptive", False, False, False, True),
        ("claude-opus-4-8", "adaptive", False, True, False, True),
        ("claude-opus-5", "adaptive", False, True, False, True),
        ("claude-sonnet-5", "adaptive", False, False, False, True),
        ("claude-sonnet-5-5", "adaptive", False, True, False, False),
        ("claude-opus-5-5-20260901", "adaptive", False, True, False, False),
        ("claude-fable-5", "adaptive", False, True, False, True),
        ("claude-fable-5-2", "adaptive", False, True, False, False),
        ("claude-haiku-5-5", "adaptive", False, False, False, True),
        ("claude-epos-7", "adaptive", False, False, False, False),
        ("kimi-k3", "enabled", True, False, True, True),
    ],
)
def test_each_generation_has_its_own_rules(
    model: str, mode: str, sampling: bool, inside: bool, prefill: bool, forced: bool
) -> None:
    rules = claude(model)
    assert (rules.mode, rules.sampling, rules.inside, rules.prefill, rules.forced) == (
        mode,
        sampling,
        inside,
        prefill,
        forced,
    )


@pytest.mark.parametrize(
    ("model", "effort", "thinking", "config"),
    [
        ("claude-3-5-haiku-latest", "high", None, None),
        (OLD, "low", {"type": "enabled", "budget_tokens": 4096}, None),
        (OLD, "none", None, None),
        ("claude-opus-4-6", "xhigh", {"type": "adaptive"}, {"effort": "high"}),
        ("claude-opus-4-6", "max", {"type": "adaptive"}, {"effort": "max"}),
        ("claude-opus-4-7", "xhigh", {"type": "adaptive"}, {"effort": "xhigh"}),
        (MIDDLE, "minimal", {"type": "adaptive"}, {"effort": "low"}),
        (MIDDLE, "none", None, None),
        ("claude-opus-5", "none", {"type": "disabled"}, None),
        ("claude-sonnet-5-5", "none", {"type": "between_tools"}, None),
        (NEWEST, "none", None, {"effort": "low"}),
        ("claude-haiku-5-5", "max", {"type": "adaptive"}, {"effort": "high"}),
    ],
)
def test_effort_is_said_as_the_model_understands_it(
    model: str, effort: str, thinking: Json | None, config: Json | None
) -> None:
    body, _ = sent(model, reasoning_effort=effort)
    assert body.get("thinking") == thinking
    assert body.get("output_config") == config


def test_a_budget_is_kept_where_there_are_budgets_and_becomes_an_effort_elsewhere() -> None:
    chat = Chat("m", (Message("user", (Text("x"),)),), sampling=Sampling(reasoning=Reasoning(budget=10_000, show=True)))
    assert to_claude(chat, OLD)[0]["thinking"] == {"type": "enabled", "budget_tokens": 10_000}
    body, outbound = to_claude(chat, NEWEST)
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert body["output_config"] == {"effort": "medium"}
    assert fields_lost(outbound) == ["reasoning"]


# ---- lengths


def test_max_tokens_is_always_there_and_never_more_than_the_model_gives() -> None:
    assert sent(OLD)[0]["max_tokens"] == 32_000
    assert sent("claude-3-5-haiku-latest")[0]["max_tokens"] == 8_192
    body, lost = sent(OLD, max_completion_tokens=500_000)
    assert (body["max_tokens"], lost) == (64_000, ["max_tokens"])
    assert sent(OLD, max_tokens=5)[0]["max_tokens"] == 5


def test_a_thinking_budget_always_lies_below_max_tokens() -> None:
    for effort in ("low", "medium", "high", "max"):
        for limit in (None, 1, 256, 5_000, 40_000, 64_000):
            body, _ = sent(OLD, reasoning_effort=effort, max_tokens=limit)
            assert 1024 <= body["thinking"]["budget_tokens"] < body["max_tokens"] <= 64_000
            assert limit is None or body["max_tokens"] >= limit


def test_a_small_limit_does_not_leave_a_thinking_model_without_a_word() -> None:
    assert sent(NEWEST, max_tokens=200)[0]["output_config"] == {"effort": "low"}
    assert "output_config" not in sent(MIDDLE, max_tokens=200)[0], "it does not think unless asked"
    assert "output_config" not in sent(NEWEST, max_tokens=20_000)[0]


# ---- sampling


def test_sampling_is_sent_only_where_it_is_taken() -> None:
    body, lost = sent(OLD, temperature=1.5, top_p=0.5, top_k=3, stop=["a", " "], seed=1, frequency_penalty=0.1)
    assert (body["temperature"], body["top_k"], body["stop_sequences"]) == (1.0, 3, ["a"])
    assert "top_p" not in body
    assert set(lost) == {"temperature", "top_p", "stop", "seed", "frequency_penalty"}
    body, lost = sent(NEWEST, temperature=0.2)
    assert "temperature" not in body
    assert lost == ["temperature"]
    body, lost = sent(OLD, temperature=0.2, reasoning_effort="low")
    assert "temperature" not in body, "nor while it thinks"
    assert sent(OLD, top_p=0.5)[0]["top_p"] == 0.5


def test_fields_that_claude_does_not_have_are_losses_each_once() -> None:
    _, lost = sent(OLD, logit_bias={"1": 1}, user="u", store=True)
    assert len(lost) == len(set(lost))
    assert {"logit_bias", "user"} <= set(lost)
    with pytest.raises(ClientError, match="more than one answer"):
        sent(OLD, n=2)


# ---- tools


def test_tools_and_the_choice_among_them() -> None:
    tools = [openai_tool("f", properties={"a": {"type": "integer"}}), openai_tool("my.g")]
    body, _ = sent(OLD, tools=tools, tool_choice="required", parallel_tool_calls=False)
    assert body["tools"][0] == {"name": "f", "input_schema": tools[0]["function"]["parameters"]}
    assert body["tools"][1]["name"].startswith("my_g_")
    assert body["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}
    named = {"type": "function", "function": {"name": "my.g"}}
    assert sent(OLD, tools=tools, tool_choice=named)[0]["tool_choice"] == {
        "type": "tool",
        "name": body["tools"][1]["name"],
    }
    assert sent(OLD, tools=tools, tool_choice="none")[0]["tool_choice"] == {"type": "none"}
    assert "tool_choice" not in sent(OLD, tools=tools)[0]
    single = sent(OLD, tools=tools, parallel_tool_calls=False)[0]["tool_choice"]
    assert single == {"type": "auto", "disable_parallel_tool_use": True}


def test_a_forced_tool_and_thinking_are_never_sent_together() -> None:
    body, lost = sent(OLD, tools=[openai_tool("f")], tool_choice="required", reasoning_effort="high", temperature=0.1)
    assert "thinking" not in body
    assert body["tool_choice"] == {"type": "any"}
    assert body["temperature"] == 0.1
    assert lost == ["reasoning"]
    body, lost = sent(NEWEST, tools=[openai_tool("f")], tool_choice="required")
    assert body["tool_choice"] == {"type": "auto"}
    assert lost == ["tool_choice"]


def test_a_renamed_models_forced_tool_is_refitted_too() -> None:
    chat = decoded("anthropic", ask(tools=[tool()], tool_choice={"type": "tool", "name": "f"}))
    body, outbound = to_claude(chat, NEWEST)
    assert body["tool_choice"] == {"type": "auto"}
    assert "tool_choice" in fields_lost(outbound)


def test_a_history_with_calls_declares_them_even_if_the_client_no_longer_does() -> None:
    history = [user("go"), openai_calls(("c1", "f", "{}")), {"role": "tool", "tool_call_id": "c1", "content": "r"}]
    body, _ = to_claude(decoded("openai", openai(*history)))
    assert body["tools"] == [{"name": "f", "input_schema": {"type": "object"}}]
    assert body["tool_choice"] == {"type": "none"}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "anyOf": [{"required": ["a"]}], "properties": {"a": {}}},
        {"oneOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "object"}]},
        {"type": ["object", "null"]},
    ],
)
def test_a_tools_arguments_are_one_object_at_the_root(schema: Json) -> None:
    declared = {"type": "function", "function": {"name": "f", "parameters": schema}}
    written = sent(OLD, tools=[declared])[0]["tools"][0]["input_schema"]
    assert written["type"] == "object"
    assert not written.keys() & {"anyOf", "oneOf", "allOf"}


def test_strict_stays_on_only_for_schemas_that_claude_can_be_held_to() -> None:
    def strict(schema: Json) -> tuple[Any, list[str]]:
        declared = {"type": "function", "function": {"name": "f", "parameters": schema, "strict": True}}
        body, lost = sent(OLD, tools=[declared])
        return body["tools"][0].get("strict"), lost

    assert strict(SCHEMA) == (True, [])
    bounded = SCHEMA | {"properties": {"a": {"type": "integer", "minimum": 1}}}
    assert strict(bounded) == (None, ["tools.f"])
    assert strict(SCHEMA | {"additionalProperties": True}) == (None, ["tools.f"])


def test_the_running_loop_goes_without_a_thinking_budget_where_its_thinking_is_lost() -> None:
    history = [user("go"), openai_calls(("c1", "f", "{}")), {"role": "tool", "tool_call_id": "c1", "content": "r"}]
    body, outbound = to_claude(decoded("openai", openai(*history, tools=[openai_tool("f")], reasoning_effort="low")))
    assert "thinking" not in body
    assert "reasoning" in fields_lost(outbound)
    kept = ask(
        user("go"),
        said(thought("x"), use("c1")),
        user([result("c1")]),
        thinking={"type": "enabled", "budget_tokens": 1024},
    )
    assert to_claude(touched(decoded("anthropic", kept)))[0]["thinking"] == kept["thinking"]
    lost = ask(user("go"), said(use("c1")), user([result("c1")]), thinking={"type": "enabled", "budget_tokens": 1024})
    assert "thinking" not in to_claude(touched(decoded("anthropic", lost)))[0]


# ---- structured output


def test_a_schema_is_enforced_where_that_is_possible_and_asked_for_in_words_elsewhere() -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
    body, lost = sent(OLD, response_format=wanted, reasoning_effort="low")
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
    assert lost == []
    both = sent(MIDDLE, response_format=wanted, reasoning_effort="low")[0]["output_config"]
    assert both.keys() == {"effort", "format"}
    body, lost = sent("claude-3-7-sonnet-latest", response_format=wanted)
    assert "output_config" not in body
    assert '"additionalProperties":false' in body["system"]
    assert lost == ["response_format"]
    body, lost = sent(OLD, response_format={"type": "json_object"})
    assert "JSON" in body["system"]
    assert lost == ["response_format"]


def test_bounds_become_words_and_objects_are_closed() -> None:
    schema = {
        "$schema": "x",
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 1, "description": "how many"},
            "s": {"type": "string", "pattern": "^a+$", "maxLength": 3},
            "l": {
                "type": "array",
                "minItems": 1,
                "maxItems": 2,
                "items": {"oneOf": [{"type": "string"}, {"type": "null"}]},
            },
            "o": {"type": "object", "properties": {"x": {"type": "string", "format": "uri"}}},
        },
        "required": ["n"],
    }
    written, losses = for_output(schema)
    n, s, many, o = (written["properties"][name] for name in "nslo")
    assert written["additionalProperties"] is False
    assert "$schema" not in written
    assert n == {"type": "integer", "description": "how many (minimum: 1)"}
    assert s == {"type": "string", "pattern": "^a+$", "description": "maxLength: 3"}
    assert many["items"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert (many["minItems"], many["description"]) == (1, "maxItems: 2")
    assert o["additionalProperties"] is False
    assert len(losses) == 1
    assert for_output(SCHEMA) == (SCHEMA, ())


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/T", "$defs": {"T": {"type": "object", "properties": {"t": {"$ref": "#/$defs/T"}}}}},
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
        {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"items": {"$ref": "#/$defs/A"}}}, "$ref": "#/$defs/A"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(25)}},
    ],
)
def test_a_schema_that_no_closed_one_can_stand_for_is_asked_for_in_words(schema: Json) -> None:
    with pytest.raises(UnsayableError):
        for_output(schema)
    body, lost = sent(OLD, response_format={"type": "json_schema", "json_schema": {"schema": schema}})
    assert "output_config" not in body
    assert json.dumps(schema, separators=(",", ":")) in body["system"]
    assert lost == ["response_format"]


# ---- counting


def test_a_body_for_counting_leaves_out_what_that_endpoint_refuses() -> None:
    chat = decoded(
        "anthropic", ask(system="s", tools=[tool()], temperature=1, stream=True, metadata={}, stop_sequences=["x"])
    )
    body = json.loads(count_body(chat, Target("a", OLD)))
    assert body == {"model": OLD, "messages": [user("hi")], "system": "s", "tools": [tool()]}
    assert json.loads(count_body(decoded("openai", openai(stream=True)), Target("a", OLD))).keys() == {
        "model",
        "messages",
    }


def test_a_chat_of_another_format_asks_for_a_stream_where_its_client_does() -> None:
    assert sent(OLD, stream=True)[0]["stream"] is True
    assert "stream" not in sent(OLD)[0]
    assert ANTHROPIC.encode(decoded("openai", openai()), Target("a", OLD)).path == "/messages"
