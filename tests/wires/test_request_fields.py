"""Every request field of both formats: kept on its own wire, and on the other mapped, met, refused, or said to be lost.

"Met" means that there is nothing to say: the other format does so anyway, or we do it ourselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from app.chat.model import Chat, Message, Text
from app.errors import ClientError
from app.wires.openai_chat.options import SamplingFields
from app.wires.wire import Target
from tests.wires.talking import HELLO, OLDER, TARGETS, WIRES, Json, decoded, sent

TOOL: Json = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}
SCHEMA: Json = {"type": "object", "properties": {"a": {"type": "string"}}}
CALLABLE: Json = {"functionDeclarations": [{"name": "f"}]}


@dataclass(frozen=True)
class Row:
    """`said` is merged into a plain body. `becomes` is path → value in the other body."""

    name: str
    said: Json
    becomes: Json = field(default_factory=dict[str, Any])
    lost: str = ""
    refused: str = ""
    target: Target | None = None


def lost(name: str, value: Any) -> Row:
    return Row(name, {name: value}, lost=name)


OPENAI = [
    Row("messages", {}, {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
    Row("stream_options", {"stream": True, "stream_options": {"include_usage": True, "include_obfuscation": False}}),
    Row(
        "max_completion_tokens", {"max_completion_tokens": 9, "max_tokens": 5}, {"generationConfig.maxOutputTokens": 9}
    ),
    Row("max_tokens", {"max_tokens": 5}, {"generationConfig.maxOutputTokens": 5}),
    Row("temperature", {"temperature": 0.5}, {"generationConfig.temperature": 0.5}, target=OLDER),
    Row("temperature of Gemini 3", {"temperature": 0.5}, lost="temperature"),
    Row("top_p", {"top_p": 0.5}, {"generationConfig.topP": 0.5}, target=OLDER),
    Row("top_k", {"top_k": 5}, {"generationConfig.topK": 5}, target=OLDER),
    Row("presence_penalty", {"presence_penalty": 1}, {"generationConfig.presencePenalty": 1}),
    Row("frequency_penalty", {"frequency_penalty": 1}, {"generationConfig.frequencyPenalty": 1}),
    Row("seed", {"seed": 7}, {"generationConfig.seed": 7}),
    Row("stop", {"stop": "END"}, {"generationConfig.stopSequences": ["END"]}),
    Row("stop, many", {"stop": list("abcdef")}, lost="stop"),
    Row("n of 1", {"n": 1}),
    Row("n", {"n": 2}, refused="n"),
    Row("tools", {"tools": [TOOL]}, {"tools.0.functionDeclarations.0.name": "f"}),
    Row("functions", {"functions": [TOOL["function"]]}, {"tools.0.functionDeclarations.0.name": "f"}),
    Row(
        "tool_choice auto", {"tools": [TOOL], "tool_choice": "auto"}, {"toolConfig.functionCallingConfig.mode": "AUTO"}
    ),
    Row(
        "tool_choice none", {"tools": [TOOL], "tool_choice": "none"}, {"toolConfig.functionCallingConfig.mode": "NONE"}
    ),
    Row(
        "tool_choice required",
        {"tools": [TOOL], "tool_choice": "required"},
        {"toolConfig.functionCallingConfig.mode": "ANY"},
    ),
    Row(
        "tool_choice by name",
        {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "f"}}},
        {"toolConfig.functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
    ),
    Row(
        "tool_choice allowed",
        {
            "tools": [TOOL],
            "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [TOOL]}},
        },
        {"toolConfig.functionCallingConfig": {"mode": "VALIDATED", "allowedFunctionNames": ["f"]}},
    ),
    Row(
        "strict tools",
        {"tools": [{"type": "function", "function": {"name": "f", "strict": True}}]},
        {"toolConfig.functionCallingConfig.mode": "VALIDATED"},
    ),
    Row(
        "function_call",
        {"functions": [TOOL["function"]], "function_call": {"name": "f"}},
        {"toolConfig.functionCallingConfig.mode": "ANY"},
    ),
    Row("parallel_tool_calls", {"tools": [TOOL], "parallel_tool_calls": False}, lost="parallel_tool_calls"),
    Row("parallel_tool_calls on", {"tools": [TOOL], "parallel_tool_calls": True}),
    Row("response_format text", {"response_format": {"type": "text"}}),
    Row(
        "response_format json_object",
        {"response_format": {"type": "json_object"}},
        {"generationConfig.responseMimeType": "application/json"},
    ),
    Row(
        "response_format json_schema",
        {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA, "strict": True}}},
        {"generationConfig.responseMimeType": "application/json", "generationConfig.responseJsonSchema.type": "object"},
    ),
    Row(
        "response_format beside tools of Gemini 2.5",
        {"tools": [TOOL], "response_format": {"type": "json_object"}},
        lost="response_format",
        target=OLDER,
    ),
    Row("response_format of tomorrow", {"response_format": {"type": "grammar"}}, lost="response_format"),
    Row("reasoning_effort", {"reasoning_effort": "low"}, {"generationConfig.thinkingConfig.thinkingLevel": "LOW"}),
    Row("reasoning_effort of tomorrow", {"reasoning_effort": "ultra"}, lost="reasoning_effort"),
    Row(
        "extra_body.google.thinking_config",
        {"extra_body": {"google": {"thinking_config": {"thinking_level": "low", "include_thoughts": True}}}},
        {"generationConfig.thinkingConfig": {"thinkingLevel": "LOW", "includeThoughts": True}},
    ),
    Row("extra_body", {"extra_body": {"google": {"cached_content": "cachedContents/1"}}}, lost="extra_body"),
    Row(
        "google",
        {"google": {"thinking_config": {"thinking_budget": 512}}},
        {"generationConfig.thinkingConfig.thinkingBudget": 512},
    ),
    lost("logit_bias", {"50256": -100}),
    lost("logprobs", True),
    lost("top_logprobs", 3),
    lost("verbosity", "low"),
    lost("metadata", {"a": "b"}),
    lost("store", True),
    lost("user", "u"),
    lost("safety_identifier", "u"),
    lost("prompt_cache_key", "k"),
    lost("prompt_cache_options", {"mode": "implicit"}),
    lost("prompt_cache_retention", "24h"),
    lost("service_tier", "flex"),
    lost("modalities", ["text", "audio"]),
    lost("audio", {"format": "wav", "voice": "v"}),
    lost("prediction", {"type": "content", "content": "x"}),
    lost("moderation", {"model": "m"}),
    lost("reasoning", {"effort": "low"}),
    lost("enable_thinking", False),
    lost("made_up", 1),
]


def config(name: str, value: Any, path: str = "", becomes: Any = None) -> Row:
    return Row(name, {"generationConfig": {name: value}}, {path: value if becomes is None else becomes} if path else {})


def lost_config(name: str, value: Any) -> Row:
    return Row(name, {"generationConfig": {name: value}}, lost=f"generationConfig.{name}")


GEMINI = [
    Row("contents", {}, {"messages": [{"role": "user", "content": "hi"}]}),
    Row(
        "systemInstruction",
        {"systemInstruction": {"role": "user", "parts": [{"text": "s"}]}},
        {"messages.0": {"role": "system", "content": "s"}},
    ),
    Row("system_instruction", {"system_instruction": {"parts": [{"text": "s"}]}}, {"messages.0.content": "s"}),
    Row("tools.functionDeclarations", {"tools": [CALLABLE]}, {"tools.0.function.name": "f"}),
    Row("tools.googleSearch", {"tools": [{"googleSearch": {}}]}, lost="tools.googleSearch"),
    Row("tools.codeExecution", {"tools": [{"codeExecution": {}}]}, lost="tools.codeExecution"),
    Row(
        "mode AUTO",
        {"tools": [CALLABLE], "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}},
        {"tool_choice": "auto"},
    ),
    Row(
        "mode ANY",
        {"tools": [CALLABLE], "toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
        {"tool_choice": "required"},
    ),
    Row(
        "mode NONE",
        {"tools": [CALLABLE], "toolConfig": {"functionCallingConfig": {"mode": "NONE"}}},
        {"tool_choice": "none"},
    ),
    Row(
        "mode VALIDATED",
        {"tools": [CALLABLE], "tool_config": {"function_calling_config": {"mode": "VALIDATED"}}},
        {"tool_choice": "auto"},
        lost="tools.f",  # a function without a schema cannot be strict there
    ),
    Row(
        "allowedFunctionNames",
        {"tools": [CALLABLE], "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}},
        {"tool_choice": {"type": "function", "function": {"name": "f"}}},
    ),
    Row("retrievalConfig", {"toolConfig": {"retrievalConfig": {}}}, lost="toolConfig.retrievalConfig"),
    Row(
        "includeServerSideToolInvocations",
        {"toolConfig": {"includeServerSideToolInvocations": True}},
        lost="toolConfig.includeServerSideToolInvocations",
    ),
    config("maxOutputTokens", 5, "max_completion_tokens"),
    Row(
        "maxOutputTokens elsewhere",
        {"generationConfig": {"maxOutputTokens": 5}},
        {"max_tokens": 5},
        target=Target("x", "m", own=False),
    ),
    config("temperature", 0.5, "temperature"),
    config("topP", 0.5, "top_p"),
    Row("topK", {"generationConfig": {"topK": 4}}, lost="top_k"),
    Row("topK elsewhere", {"generationConfig": {"topK": 4}}, {"top_k": 4}, target=Target("x", "m", own=False)),
    Row(
        "topK of a model that reasons",
        {"generationConfig": {"topK": 4}},
        lost="top_k",
        target=Target("x", "gpt-5", own=False),
    ),
    Row("candidateCount", {"generationConfig": {"candidateCount": 2}}, refused="candidateCount"),
    config("stopSequences", ["a"], "stop"),
    Row("stopSequences, many", {"generationConfig": {"stopSequences": list("abcde")}}, lost="stop"),
    config("presencePenalty", 1, "presence_penalty"),
    config("frequencyPenalty", 1, "frequency_penalty"),
    config("seed", 3, "seed"),
    config("responseMimeType", "text/plain"),
    Row(
        "responseMimeType JSON",
        {
            "generationConfig": {"responseMimeType": "application/json"},
            "systemInstruction": {"parts": [{"text": "Say it in JSON."}]},
        },
        {"response_format": {"type": "json_object"}},
    ),
    Row(
        "responseMimeType JSON, unsaid",
        {"generationConfig": {"responseMimeType": "application/json"}},
        {"response_format": {"type": "json_object"}, "messages.0": {"role": "system", "content": "Answer with JSON."}},
        lost="response_format",
    ),
    lost_config("responseMimeType", "text/x.enum"),
    Row(
        "responseSchema",
        {"generationConfig": {"responseMimeType": "application/json", "responseSchema": {"type": "OBJECT"}}},
        {"response_format.json_schema.schema": {"type": "object"}},
    ),
    Row(
        "responseJsonSchema",
        {"generationConfig": {"response_mime_type": "application/json", "response_json_schema": SCHEMA}},
        {"response_format.json_schema.schema": SCHEMA},
    ),
    Row(
        "thinkingLevel",
        {"generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH", "includeThoughts": True}}},
        {"reasoning_effort": "high"},
        lost="reasoning",  # nothing shows it there
    ),
    Row("thinkingBudget", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 9000}}}, lost="reasoning"),
    lost_config("responseLogprobs", True),
    lost_config("logprobs", 3),
    lost_config("responseFormat", []),
    lost_config("responseModalities", ["AUDIO"]),
    lost_config("mediaResolution", "MEDIA_RESOLUTION_LOW"),
    lost_config("speechConfig", {}),
    lost_config("imageConfig", {}),
    lost_config("enableEnhancedCivicAnswers", True),
    lost_config("audioTranscriptionConfig", {}),
    lost_config("translationConfig", {}),
    lost_config("routingConfig", {}),
    lost_config("modelSelectionConfig", {}),
    lost_config("audioTimestamp", True),
    lost("safetySettings", []),
    lost("labels", {"k": "v"}),
    lost("serviceTier", "flex"),
    lost("store", True),
    lost("continuationToken", "dG9r"),
    lost("madeUp", 1),
]
ROWS = [
    *(pytest.param("openai", "gemini", row, id=f"openai-{row.name}") for row in OPENAI),
    *(pytest.param("gemini", "openai", row, id=f"gemini-{row.name}") for row in GEMINI),
]


def _at(body: Any, path: str) -> Any:
    for step in path.split("."):
        body = body[int(step)] if step.isdigit() else body[step]
    return body


@pytest.mark.parametrize(("client", "upstream", "row"), ROWS)
def test_a_field_reaches_the_other_format_or_is_said_to_be_lost(client: str, upstream: str, row: Row) -> None:
    body = HELLO[client] | row.said
    if row.refused:
        with pytest.raises(ClientError) as refusal:
            sent(client, upstream, body, row.target)
        assert refusal.value.param == row.refused
        return
    got, outbound = sent(client, upstream, body, row.target)
    for path, value in row.becomes.items():
        assert _at(got, path) == value
    assert {loss.field for loss in outbound.losses} == ({row.lost} if row.lost else set())
    assert all(loss.reason.endswith(".") for loss in outbound.losses), "a reason is a sentence"
    assert not outbound.untouched


@pytest.mark.parametrize(("client", "_upstream", "row"), ROWS)
def test_a_field_is_kept_on_its_own_wire_byte_for_byte(client: str, _upstream: str, row: Row) -> None:
    raw = msgspec.json.format(msgspec.json.encode(HELLO[client] | row.said), indent=2)
    outbound = WIRES[client].encode(decoded(client, raw), TARGETS[client])
    assert outbound.body is raw or outbound.body == raw
    assert outbound.untouched
    assert outbound.losses == ()


@pytest.mark.parametrize(("client", "_upstream", "row"), ROWS)
def test_a_field_is_kept_on_its_own_wire_when_a_step_changed_the_messages(
    client: str, _upstream: str, row: Row
) -> None:
    chat = decoded(client, HELLO[client] | row.said)
    more = (*chat.messages, Message("user", (Text("and now?"),)))
    outbound = WIRES[client].encode(_with(chat, more), TARGETS[client])
    got = msgspec.json.decode(outbound.body)
    listed = "messages" if client == "openai" else "contents"
    system = got.pop("systemInstruction", None) or got.pop("system_instruction", None)
    assert "and now?" in str(got.pop(listed))
    wanted = {name: value for name, value in (HELLO[client] | row.said).items() if name != listed}
    assert system == (wanted.pop("systemInstruction", None) or wanted.pop("system_instruction", None))
    assert got == wanted


def _with(chat: Chat, messages: tuple[Message, ...]) -> Chat:
    return msgspec.structs.replace(chat, messages=messages)


def test_no_field_that_the_openai_wire_reads_is_missing_from_the_table() -> None:
    names = {name for row in OPENAI for name in row.said} | {"stream"}
    assert {f.name for f in msgspec.structs.fields(SamplingFields)} - {"foldline"} <= names


@pytest.mark.parametrize(("client", "upstream"), [(a, b) for a in WIRES for b in WIRES])
def test_our_own_options_never_reach_a_provider(client: str, upstream: str) -> None:
    body = HELLO[client] | {"foldline": {"session": "s"}}
    got, outbound = sent(client, upstream, body)
    assert "foldline" not in got
    assert outbound.losses == ()
    assert decoded(client, body).options == {"session": "s"}


@pytest.mark.parametrize("client", WIRES)
def test_only_our_own_options_are_taken_out_of_a_body_that_is_otherwise_untouched(client: str) -> None:
    raw = msgspec.json.encode(HELLO[client] | {"foldline": {}, "big": 10**25})
    outbound = WIRES[client].encode(decoded(client, raw), TARGETS[client])
    assert msgspec.json.decode(outbound.body) == HELLO[client] | {"big": 10**25}


@pytest.mark.parametrize("upstream", WIRES)
def test_a_field_that_is_null_is_one_that_was_not_said_to_gemini(upstream: str) -> None:
    part = {"text": "hi", "thought": None, "thoughtSignature": None, "inlineData": None}
    none = dict.fromkeys(("systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "labels"))
    got, outbound = sent("gemini", upstream, {"contents": [{"role": None, "parts": [part]}], **none})
    assert outbound.losses == ()
    if upstream == "openai":
        assert got == HELLO["openai"]
