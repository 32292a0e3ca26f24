"""The rows about how to answer: tools and their choice, reasoning, sampling, output, and what is told beside it."""

from __future__ import annotations

from typing import Any

from tests.any_to_any.clients import Format, Json
from tests.any_to_any.rows import Row, Sign, holds

SCHEMA: Json = {
    "type": "object",
    "properties": {"town": {"type": "string"}},
    "required": ["town"],
    "additionalProperties": False,
}


def tools(*names: str, strict: bool | None = None) -> dict[Format, Json]:
    """Functions, as each format declares them."""
    flag: Json = {} if strict is None else {"strict": strict}
    return {
        "chat": {
            "tools": [{"type": "function", "function": {"name": name, "parameters": SCHEMA} | flag} for name in names]
        },
        "responses": {
            "tools": [
                {"type": "function", "name": name, "parameters": SCHEMA, "strict": bool(strict)} for name in names
            ]
        },
        "anthropic": {"tools": [{"name": name, "input_schema": SCHEMA} | flag for name in names]},
        "generate": {"tools": [{"functionDeclarations": [{"name": n, "parametersJsonSchema": SCHEMA} for n in names]}]},
        "interactions": {"tools": [{"type": "function", "name": name, "parameters": SCHEMA} for name in names]},
    }


F = tools("f")
FG = tools("f", "g")


def config(**fields: Any) -> Json:
    """A generateContent request's generationConfig."""
    return {"generationConfig": fields}


def mode(**fields: Any) -> Json:
    """A generateContent request's function calling config."""
    return {"toolConfig": {"functionCallingConfig": fields}}


def interaction(**fields: Any) -> Json:
    """An Interactions request's generation_config."""
    return {"generation_config": fields}


STRICT = tools("f", strict=True)
STRICT["generate"] = F["generate"] | mode(mode="VALIDATED")
STRICT["interactions"] = F["interactions"] | interaction(tool_choice="validated")
CHOICE = "toolConfig.functionCallingConfig"
FREE: dict[Format, Sign] = {
    "anthropic": ("tools.input_schema.properties", holds("input")),
    "generate": ("tools.functionDeclarations.parametersJsonSchema.properties", holds("input")),
    "interactions": ("tools.parameters.properties", holds("input")),
}
SEARCH: dict[Format, Json] = {
    "chat": {"web_search_options": {}},
    "responses": {"tools": [{"type": "web_search"}]},
    "anthropic": {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    "generate": {"tools": [{"googleSearch": {}}]},
    "interactions": {"tools": [{"type": "google_search"}]},
}

TOOL_ROWS = (
    Row(
        "tool definition",
        F,
        {
            "chat": ("tools.function.name", "f"),
            "responses": ("tools.name", "f"),
            "anthropic": ("tools.name", "f"),
            "generate": ("tools.functionDeclarations.name", "f"),
            "interactions": ("tools.name", "f"),
        },
    ),
    Row(
        "strict arguments",
        STRICT,
        {
            "chat": ("tools.function.strict", True),
            "responses": ("tools.strict", True),
            "anthropic": ("tools.strict", True),
            "generate": (f"{CHOICE}.mode", "VALIDATED"),
            "interactions": ("generation_config.tool_choice", holds("validated")),
        },
    ),
    Row(
        "choice: must call",
        {
            "chat": F["chat"] | {"tool_choice": "required"},
            "responses": F["responses"] | {"tool_choice": "required"},
            "anthropic": F["anthropic"] | {"tool_choice": {"type": "any"}},
            "generate": F["generate"] | mode(mode="ANY"),
            "interactions": F["interactions"] | interaction(tool_choice="any"),
        },
        {
            "chat": ("tool_choice", "required"),
            "responses": ("tool_choice", "required"),
            "anthropic": ("tool_choice.type", "any"),
            "generate": (f"{CHOICE}.mode", "ANY"),
            "interactions": ("generation_config.tool_choice", holds("any")),
        },
    ),
    Row(
        "choice: this tool",
        {
            "chat": FG["chat"] | {"tool_choice": {"type": "function", "function": {"name": "f"}}},
            "responses": FG["responses"] | {"tool_choice": {"type": "function", "name": "f"}},
            "anthropic": FG["anthropic"] | {"tool_choice": {"type": "tool", "name": "f"}},
            "generate": FG["generate"] | mode(mode="ANY", allowedFunctionNames=["f"]),
            "interactions": FG["interactions"]
            | interaction(tool_choice={"allowed_tools": {"mode": "any", "tools": ["f"]}}),
        },
        {
            "chat": ("tool_choice.function.name", "f"),
            "responses": ("tool_choice.name", "f"),
            "anthropic": ("tool_choice.name", "f"),
            "generate": (f"{CHOICE}.allowedFunctionNames", "f"),
            "interactions": ("generation_config.tool_choice.allowed_tools.tools", "f"),
        },
    ),
    Row(
        "choice: some of the tools",
        {
            "chat": FG["chat"]
            | {
                "tool_choice": {
                    "type": "allowed_tools",
                    "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}]},
                }
            },
            "responses": FG["responses"]
            | {
                "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
            },
            "generate": FG["generate"] | mode(mode="VALIDATED", allowedFunctionNames=["f"]),
            "interactions": FG["interactions"]
            | interaction(tool_choice={"allowed_tools": {"mode": "auto", "tools": ["f"]}}),
        },
        {
            "chat": ("tool_choice.allowed_tools.tools.function.name", "f"),
            "responses": ("tool_choice.tools.name", "f"),
            "generate": (f"{CHOICE}.allowedFunctionNames", "f"),
            "interactions": ("generation_config.tool_choice.allowed_tools.tools", "f"),
        },
    ),
    Row(
        "choice: no tool",
        {
            "chat": F["chat"] | {"tool_choice": "none"},
            "responses": F["responses"] | {"tool_choice": "none"},
            "anthropic": F["anthropic"] | {"tool_choice": {"type": "none"}},
            "generate": F["generate"] | mode(mode="NONE"),
            "interactions": F["interactions"] | interaction(tool_choice="none"),
        },
        {
            "chat": ("tool_choice", "none"),
            "responses": ("tool_choice", "none"),
            "anthropic": ("tool_choice.type", "none"),
            "generate": (f"{CHOICE}.mode", "NONE"),
            "interactions": ("generation_config.tool_choice", holds("none")),
        },
    ),
    Row(
        "one call at a time",
        {
            "chat": F["chat"] | {"parallel_tool_calls": False},
            "responses": F["responses"] | {"parallel_tool_calls": False},
            "anthropic": F["anthropic"] | {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        },
        {
            "chat": ("parallel_tool_calls", False),
            "responses": ("parallel_tool_calls", False),
            "anthropic": ("tool_choice.disable_parallel_tool_use", True),
        },
    ),
    Row(
        "custom tool (free text)",
        {
            "chat": {"tools": [{"type": "custom", "custom": {"name": "f"}}]},
            "responses": {"tools": [{"type": "custom", "name": "f"}]},
        },
        {"chat": ("tools.type", "custom"), "responses": ("tools.type", "custom")},
        FREE,
    ),
    Row(
        "hosted tool (web search)",
        SEARCH,
        {
            "chat": "web_search_options",
            "responses": ("tools.type", "web_search"),
            "anthropic": ("tools.name", "web_search"),
            "generate": "tools.googleSearch",
            "interactions": ("tools.type", "google_search"),
        },
    ),
)

HOW_ROWS = (
    Row(
        "reasoning effort",
        {
            "chat": {"reasoning_effort": "low"},
            "responses": {"reasoning": {"effort": "low"}},
            "anthropic": {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
            "generate": config(thinkingConfig={"thinkingLevel": "LOW"}),
            "interactions": interaction(thinking_level="low"),
        },
        {
            "chat": ("reasoning_effort", "low"),
            "responses": ("reasoning.effort", "low"),
            "anthropic": ("output_config.effort", "low"),
            "generate": ("generationConfig.thinkingConfig.thinkingLevel", "LOW"),
            "interactions": ("generation_config.thinking_level", "low"),
        },
        {"anthropic": "thinking.budget_tokens", "generate": "generationConfig.thinkingConfig.thinkingBudget"},
    ),
    Row(
        "reasoning budget in tokens",
        {
            "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 2000}},
            "generate": config(thinkingConfig={"thinkingBudget": 2000}),
        },
        {
            "anthropic": ("thinking.budget_tokens", 2000),
            "generate": ("generationConfig.thinkingConfig.thinkingBudget", 2000),
        },
        {
            "chat": ("reasoning_effort", "low"),
            "responses": ("reasoning.effort", "low"),
            "anthropic": ("output_config.effort", "low"),
            "interactions": ("generation_config.thinking_level", "low"),
        },
    ),
    Row(
        "reasoning to be shown",
        {
            "responses": {"reasoning": {"summary": "auto"}},
            "anthropic": {"thinking": {"type": "adaptive", "display": "summarized"}},
            "generate": config(thinkingConfig={"includeThoughts": True}),
            "interactions": interaction(thinking_summaries="auto"),
        },
        {
            "responses": ("reasoning.summary", "auto"),
            "anthropic": ("thinking.display", "summarized"),
            "generate": ("generationConfig.thinkingConfig.includeThoughts", True),
            "interactions": ("generation_config.thinking_summaries", "auto"),
        },
        {"anthropic": ("thinking.type", "enabled")},
    ),
    Row(
        "JSON mode",
        {
            "chat": {"response_format": {"type": "json_object"}},
            "responses": {"text": {"format": {"type": "json_object"}}},
            "generate": config(responseMimeType="application/json"),
            "interactions": {"response_format": {"type": "text", "mime_type": "application/json"}},
        },
        {
            "chat": ("response_format.type", "json_object"),
            "responses": ("text.format.type", "json_object"),
            "generate": ("generationConfig.responseMimeType", "application/json"),
            "interactions": ("response_format.mime_type", "application/json"),
        },
        {"anthropic": ("system", holds("JSON"))},
    ),
    Row(
        "JSON schema",
        {
            "chat": {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "a", "schema": SCHEMA, "strict": True},
                }
            },
            "responses": {"text": {"format": {"type": "json_schema", "name": "a", "schema": SCHEMA, "strict": True}}},
            "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
            "generate": config(responseMimeType="application/json", responseJsonSchema=SCHEMA),
            "interactions": {"response_format": {"type": "text", "mime_type": "application/json", "schema": SCHEMA}},
        },
        {
            "chat": ("response_format.json_schema.schema.required", "town"),
            "responses": ("text.format.schema.required", "town"),
            "anthropic": ("output_config.format.schema.required", "town"),
            "generate": ("generationConfig.responseJsonSchema.required", "town"),
            "interactions": ("response_format.schema.required", "town"),
        },
    ),
    Row(
        "limit of the answer",
        {
            "chat": {"max_completion_tokens": 5001},
            "responses": {"max_output_tokens": 5001},
            "anthropic": {"max_tokens": 5001},
            "generate": config(maxOutputTokens=5001),
            "interactions": interaction(max_output_tokens=5001),
        },
        {
            "chat": ("max_completion_tokens", 5001),
            "responses": ("max_output_tokens", 5001),
            "anthropic": ("max_tokens", 5001),
            "generate": ("generationConfig.maxOutputTokens", 5001),
            "interactions": ("generation_config.max_output_tokens", 5001),
        },
    ),
)

SAMPLING_ROWS = (
    Row(
        "temperature",
        {
            "chat": {"temperature": 0.5},
            "responses": {"temperature": 0.5},
            "anthropic": {"temperature": 0.5},
            "generate": config(temperature=0.5),
            "interactions": interaction(temperature=0.5),
        },
        {
            "chat": ("temperature", 0.5),
            "responses": ("temperature", 0.5),
            "anthropic": ("temperature", 0.5),
            "generate": ("generationConfig.temperature", 0.5),
            "interactions": ("generation_config.temperature", 0.5),
        },
    ),
    Row(
        "top_p",
        {
            "chat": {"top_p": 0.5},
            "responses": {"top_p": 0.5},
            "anthropic": {"top_p": 0.5},
            "generate": config(topP=0.5),
            "interactions": interaction(top_p=0.5),
        },
        {
            "chat": ("top_p", 0.5),
            "responses": ("top_p", 0.5),
            "anthropic": ("top_p", 0.5),
            "generate": ("generationConfig.topP", 0.5),
            "interactions": ("generation_config.top_p", 0.5),
        },
    ),
    Row(
        "top_k",
        {"anthropic": {"top_k": 5}, "generate": config(topK=5)},
        {"anthropic": ("top_k", 5), "generate": ("generationConfig.topK", 5)},
    ),
    Row(
        "stop sequences",
        {
            "chat": {"stop": ["END"]},
            "anthropic": {"stop_sequences": ["END"]},
            "generate": config(stopSequences=["END"]),
            "interactions": interaction(stop_sequences=["END"]),
        },
        {
            "chat": ("stop", "END"),
            "anthropic": ("stop_sequences", "END"),
            "generate": ("generationConfig.stopSequences", "END"),
            "interactions": ("generation_config.stop_sequences", "END"),
        },
    ),
    Row(
        "seed",
        {"chat": {"seed": 7}, "generate": config(seed=7), "interactions": interaction(seed=7)},
        {
            "chat": ("seed", 7),
            "generate": ("generationConfig.seed", 7),
            "interactions": ("generation_config.seed", 7),
        },
    ),
    Row(
        "several answers (n)",
        {"chat": {"n": 2}, "generate": config(candidateCount=2)},
        {"chat": ("n", 2), "generate": ("generationConfig.candidateCount", 2)},
    ),
    Row(
        "presence penalty",
        {"chat": {"presence_penalty": 0.5}, "generate": config(presencePenalty=0.5)},
        {"chat": ("presence_penalty", 0.5), "generate": ("generationConfig.presencePenalty", 0.5)},
    ),
    Row(
        "frequency penalty",
        {"chat": {"frequency_penalty": 0.5}, "generate": config(frequencyPenalty=0.5)},
        {"chat": ("frequency_penalty", 0.5), "generate": ("generationConfig.frequencyPenalty", 0.5)},
    ),
    Row(
        "log probabilities",
        {
            "chat": {"logprobs": True, "top_logprobs": 2},
            "responses": {"top_logprobs": 2},
            "generate": config(responseLogprobs=True, logprobs=2),
        },
        {
            "chat": "logprobs",
            "responses": "top_logprobs",
            "generate": "generationConfig.responseLogprobs",
        },
    ),
    Row("logit bias", {"chat": {"logit_bias": {"50256": -100}}}, {"chat": "logit_bias"}),
)

TOLD_ROWS = (
    Row(
        "verbosity",
        {"chat": {"verbosity": "low"}, "responses": {"text": {"verbosity": "low"}}},
        {"chat": ("verbosity", "low"), "responses": ("text.verbosity", "low")},
    ),
    Row(
        "service tier",
        {
            "chat": {"service_tier": "flex"},
            "responses": {"service_tier": "flex"},
            "anthropic": {"service_tier": "standard_only"},
            "generate": {"serviceTier": "flex"},
            "interactions": {"service_tier": "flex"},
        },
        {
            "chat": "service_tier",
            "responses": "service_tier",
            "anthropic": "service_tier",
            "generate": "serviceTier",
            "interactions": "service_tier",
        },
    ),
    Row(
        "user id",
        {
            "chat": {"safety_identifier": "u1"},
            "responses": {"safety_identifier": "u1"},
            "anthropic": {"metadata": {"user_id": "u1"}},
        },
        {
            "chat": ("safety_identifier", "u1"),
            "responses": ("safety_identifier", "u1"),
            "anthropic": ("metadata.user_id", "u1"),
        },
    ),
    Row(
        "metadata",
        {
            "chat": {"metadata": {"a": "b"}},
            "responses": {"metadata": {"a": "b"}},
            "generate": {"labels": {"a": "b"}},
            "interactions": {"labels": {"a": "b"}},
        },
        {
            "chat": ("metadata.a", "b"),
            "responses": ("metadata.a", "b"),
            "generate": ("labels.a", "b"),
            "interactions": ("labels.a", "b"),
        },
    ),
    Row(
        "store: false",
        {name: {"store": False} for name in ("chat", "responses", "generate", "interactions")},
        dict.fromkeys(("chat", "responses", "generate", "interactions"), ("store", False)),
        moot=frozenset(("anthropic",)),
    ),
    Row(
        "prompt cache key",
        {"chat": {"prompt_cache_key": "k"}, "responses": {"prompt_cache_key": "k"}},
        {"chat": ("prompt_cache_key", "k"), "responses": ("prompt_cache_key", "k")},
    ),
    Row(
        "cache marks",
        {
            "anthropic": {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}],
                    }
                ]
            },
        },
        {"anthropic": ("messages.content.cache_control.type", "ephemeral")},
    ),
    Row(
        "content cached at its provider",
        {"generate": {"cachedContent": "cachedContents/x"}},
        {"generate": "cachedContent"},
    ),
    Row(
        "unknown field",
        {
            "chat": {"brand_new": 1},
            "responses": {"brand_new": 1},
            "anthropic": {"brand_new": 1},
            "generate": {"brandNew": 1},
            "interactions": {"brand_new": 1},
        },
        {
            "chat": "brand_new",
            "responses": "brand_new",
            "anthropic": "brand_new",
            "generate": "brandNew",
            "interactions": "brand_new",
        },
    ),
)
