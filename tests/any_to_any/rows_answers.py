"""The rows about answers: how each provider says a thing, and how a client of each format gets it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.any_to_any.clients import Format, Json
from tests.any_to_any.rows import Sign

SEAL = "U0VBTEVEU0VBTEVE"
"""Stands for whatever a provider wants back and a simple client drops: a signature, encrypted reasoning."""


@dataclass(frozen=True)
class AnswerRow:
    """A thing in an answer: as each provider says it in a whole answer, and the signs of it in each client's."""

    name: str
    says: Mapping[Format, Json]
    signs: Mapping[Format, Sign]


def chat(finish: str = "stop", usage: Json | None = None, **message: Any) -> Json:
    """A chat completion."""
    said = {"role": "assistant", "content": "Hello."} | message
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": said, "finish_reason": finish}],
    } | ({"usage": usage} if usage else {})


def responses(*output: Json, status: str = "completed", **more: Any) -> Json:
    """A response."""
    part: Json = {"type": "output_text", "text": "Hello.", "annotations": []}
    hello: Json = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": status,
        "output": list(output) or [hello],
        **more,
    }


def anthropic(*content: Json, stop: str = "end_turn", usage: Json | None = None) -> Json:
    """A message."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(content) or [{"type": "text", "text": "Hello."}],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage or {"input_tokens": 1, "output_tokens": 1},
    }


def generate(*parts: Json, finish: str = "STOP", usage: Json | None = None, **more: Any) -> Json:
    """A generateContent response."""
    content = {"role": "model", "parts": list(parts) or [{"text": "Hello."}]}
    candidate = {"index": 0, "content": content, "finishReason": finish} | more
    return {"candidates": [candidate], "responseId": "r", "modelVersion": "m"} | (
        {"usageMetadata": usage} if usage else {}
    )


def interactions(*steps: Json, status: str = "completed", **more: Any) -> Json:
    """An interaction."""
    hello: Json = {"type": "model_output", "content": [{"type": "text", "text": "Hello."}]}
    return {
        "id": "v1_1",
        "object": "interaction",
        "model": "m",
        "status": status,
        "created": "2026-11-29T00:00:00Z",
        "steps": list(steps) or [hello],
        **more,
    }


LINK = "https://example.com/source"
CITED: dict[Format, Json] = {
    "chat": chat(
        annotations=[
            {"type": "url_citation", "url_citation": {"url": LINK, "title": "S", "start_index": 0, "end_index": 5}}
        ]
    ),
    "responses": responses(
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [
                {
                    "type": "output_text",
                    "text": "Hello.",
                    "annotations": [
                        {"type": "url_citation", "url": LINK, "title": "S", "start_index": 0, "end_index": 5}
                    ],
                }
            ],
        }
    ),
    "anthropic": anthropic(
        {
            "type": "text",
            "text": "Hello.",
            "citations": [
                {
                    "type": "web_search_result_location",
                    "url": LINK,
                    "title": "S",
                    "encrypted_index": "x",
                    "cited_text": "y",
                }
            ],
        }
    ),
    "generate": generate(groundingMetadata={"groundingChunks": [{"web": {"uri": LINK, "title": "S"}}]}),
    "interactions": interactions(
        {
            "type": "model_output",
            "content": [
                {
                    "type": "text",
                    "text": "Hello.",
                    "annotations": [{"type": "url_citation", "url": LINK, "start_index": 0, "end_index": 5}],
                }
            ],
        }
    ),
}

CALLED: dict[Format, Json] = {
    "chat": chat(
        "tool_calls",
        content=None,
        reasoning_details=[{"type": "reasoning.encrypted", "data": SEAL, "index": 0}],
        tool_calls=[{"id": "t1", "type": "function", "function": {"name": "f", "arguments": '{"town":"Oslo"}'}}],
    ),
    "responses": responses(
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": SEAL},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "t1",
            "name": "f",
            "arguments": '{"town":"Oslo"}',
            "status": "completed",
        },
    ),
    "anthropic": anthropic(
        {"type": "thinking", "thinking": "hm", "signature": SEAL},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"town": "Oslo"}},
        stop="tool_use",
    ),
    "generate": generate(
        {"functionCall": {"id": "t1", "name": "f", "args": {"town": "Oslo"}}, "thoughtSignature": SEAL}
    ),
    "interactions": interactions(
        {"type": "thought", "signature": SEAL},
        {"type": "function_call", "id": "t1", "name": "f", "arguments": {"town": "Oslo"}},
        status="requires_action",
    ),
}

USED: dict[Format, Json] = {
    "chat": chat(
        usage={
            "prompt_tokens": 10,
            "completion_tokens": 6,
            "total_tokens": 16,
            "prompt_tokens_details": {"cached_tokens": 7},
            "completion_tokens_details": {"reasoning_tokens": 2},
        }
    ),
    "responses": responses(
        usage={
            "input_tokens": 10,
            "output_tokens": 6,
            "total_tokens": 16,
            "input_tokens_details": {"cached_tokens": 7},
            "output_tokens_details": {"reasoning_tokens": 2},
        }
    ),
    "anthropic": anthropic(
        usage={
            "input_tokens": 3,
            "cache_read_input_tokens": 7,
            "cache_creation_input_tokens": 0,
            "output_tokens": 6,
            "output_tokens_details": {"thinking_tokens": 2},
        }
    ),
    "generate": generate(
        usage={
            "promptTokenCount": 10,
            "cachedContentTokenCount": 7,
            "candidatesTokenCount": 4,
            "thoughtsTokenCount": 2,
            "totalTokenCount": 16,
        }
    ),
    "interactions": interactions(
        usage={
            "total_input_tokens": 10,
            "total_cached_tokens": 7,
            "total_output_tokens": 4,
            "total_thought_tokens": 2,
            "total_tokens": 16,
        }
    ),
}

HELLOS: dict[Format, Json] = {
    "chat": chat(),
    "responses": responses(),
    "anthropic": anthropic(),
    "generate": generate(),
    "interactions": interactions(),
}

ANSWER_ROWS = (
    AnswerRow(
        "text",
        HELLOS,
        {
            "chat": ("choices.message.content", "Hello."),
            "responses": ("output.content.text", "Hello."),
            "anthropic": ("content.text", "Hello."),
            "generate": ("candidates.content.parts.text", "Hello."),
            "interactions": ("steps.content.text", "Hello."),
        },
    ),
    AnswerRow(
        "reasoning shown",
        {
            "chat": chat(reasoning_content="hm"),
            "responses": responses(
                {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}
            ),
            "anthropic": anthropic(
                {"type": "thinking", "thinking": "hm", "signature": SEAL}, {"type": "text", "text": "Hello."}
            ),
            "generate": generate({"text": "hm", "thought": True}, {"text": "Hello."}),
            "interactions": interactions(
                {"type": "thought", "signature": SEAL, "summary": [{"type": "text", "text": "hm"}]},
                {"type": "model_output", "content": [{"type": "text", "text": "Hello."}]},
            ),
        },
        {
            "chat": ("choices.message.reasoning_content", "hm"),
            "responses": ("output.summary.text", "hm"),
            "anthropic": ("content.thinking", "hm"),
            "generate": ("candidates.content.parts", {"text": "hm", "thought": True}),
            "interactions": ("steps.summary.text", "hm"),
        },
    ),
    AnswerRow(
        "tool call",
        CALLED,
        {
            "chat": ("choices.message.tool_calls.function", {"name": "f", "arguments": '{"town":"Oslo"}'}),
            "responses": ("output", lambda one: one.get("name") == "f" and one["arguments"] == '{"town":"Oslo"}'),
            "anthropic": ("content", lambda one: one.get("name") == "f" and one["input"] == {"town": "Oslo"}),
            "generate": ("candidates.content.parts.functionCall.args", {"town": "Oslo"}),
            "interactions": ("steps.arguments", {"town": "Oslo"}),
        },
    ),
    AnswerRow(
        "end: tool calls",
        CALLED,
        {
            "chat": ("choices.finish_reason", "tool_calls"),
            "responses": ("status", "completed"),
            "anthropic": ("stop_reason", "tool_use"),
            "generate": ("candidates.finishReason", "STOP"),
            "interactions": ("status", "requires_action"),
        },
    ),
    AnswerRow(
        "end: length",
        {
            "chat": chat("length"),
            "responses": responses(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            "anthropic": anthropic(stop="max_tokens"),
            "generate": generate(finish="MAX_TOKENS"),
            "interactions": interactions(status="incomplete"),
        },
        {
            "chat": ("choices.finish_reason", "length"),
            "responses": ("incomplete_details.reason", "max_output_tokens"),
            "anthropic": ("stop_reason", "max_tokens"),
            "generate": ("candidates.finishReason", "MAX_TOKENS"),
            "interactions": ("status", "incomplete"),
        },
    ),
    AnswerRow(
        "end: refusal or filter",
        {
            "chat": chat("content_filter"),
            "responses": responses(status="incomplete", incomplete_details={"reason": "content_filter"}),
            "anthropic": anthropic(stop="refusal"),
            "generate": generate(finish="SAFETY"),
        },
        {
            "chat": ("choices.finish_reason", "content_filter"),
            "responses": ("incomplete_details.reason", "content_filter"),
            "anthropic": ("stop_reason", "refusal"),
            "generate": ("candidates.finishReason", "SAFETY"),
            "interactions": ("status", "failed"),
        },
    ),
    AnswerRow(
        "usage",
        USED,
        {
            "chat": ("usage", lambda u: (u["prompt_tokens"], u["completion_tokens"]) == (10, 6)),
            "responses": ("usage", lambda u: (u["input_tokens"], u["output_tokens"]) == (10, 6)),
            "anthropic": (
                "usage",
                lambda u: (
                    (
                        u["input_tokens"] + u["cache_read_input_tokens"] + (u.get("cache_creation_input_tokens") or 0),
                        u["output_tokens"],
                    )
                    == (10, 6)
                ),
            ),
            "generate": (
                "usageMetadata",
                lambda u: (u["promptTokenCount"], u["candidatesTokenCount"] + u["thoughtsTokenCount"]) == (10, 6),
            ),
            "interactions": (
                "usage",
                lambda u: (u["total_input_tokens"], u["total_output_tokens"] + u["total_thought_tokens"]) == (10, 6),
            ),
        },
    ),
    AnswerRow(
        "usage: cached",
        USED,
        {
            "chat": ("usage.prompt_tokens_details.cached_tokens", 7),
            "responses": ("usage.input_tokens_details.cached_tokens", 7),
            "anthropic": ("usage.cache_read_input_tokens", 7),
            "generate": ("usageMetadata.cachedContentTokenCount", 7),
            "interactions": ("usage.total_cached_tokens", 7),
        },
    ),
    AnswerRow(
        "usage: reasoning",
        USED,
        {
            "chat": ("usage.completion_tokens_details.reasoning_tokens", 2),
            "responses": ("usage.output_tokens_details.reasoning_tokens", 2),
            "anthropic": ("usage.output_tokens_details.thinking_tokens", 2),
            "generate": ("usageMetadata.thoughtsTokenCount", 2),
            "interactions": ("usage.total_thought_tokens", 2),
        },
    ),
    AnswerRow(
        "citations",
        CITED,
        {
            "chat": "choices.message.annotations.url_citation",
            "responses": "output.content.annotations.url",
            "anthropic": "content.citations.url",
            "generate": "candidates.groundingMetadata.groundingChunks.web.uri",
            "interactions": "steps.content.annotations.url",
        },
    ),
)
