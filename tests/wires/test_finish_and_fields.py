"""Finish reasons and response fields: what crosses to the other format, and what is knowingly left behind."""

from __future__ import annotations

import json

import pytest

from app.chat.events import (
    Failed,
    Finished,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCalled,
    Usage,
)
from app.chat.model import ToolCall
from app.wires.gemini.names import FINISH_IN as GEMINI_FINISH
from app.wires.openai_chat.names import FINISH_IN as OPENAI_FINISH
from tests.wires.talking import (
    Json,
    events_of,
    gemini_chunk,
    lines,
    openai_chunk,
    plain,
    sse,
    written,
)

# ---- finish reasons

OPENAI_SEES = {"stop": "stop", "length": "length", "content_filter": "content_filter", "paused": "length"}
GEMINI_SEES = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY", "tool_calls": "STOP"}
SAID_BY_GEMINI = [
    "FINISH_REASON_UNSPECIFIED",
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "OTHER",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MALFORMED_FUNCTION_CALL",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_OTHER",
    "NO_IMAGE",
    "IMAGE_RECITATION",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MISSING_THOUGHT_SIGNATURE",
    "MALFORMED_RESPONSE",
    "ESCALATION",
    "PUP_LIMITED_DISABLED",
    "CONTINUATION",
    "MODEL_ARMOR",
]
SAFETY = {
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "MODEL_ARMOR",
}
MALFORMED = {
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MISSING_THOUGHT_SIGNATURE",
    "MALFORMED_RESPONSE",
}


@pytest.mark.parametrize("reason", SAID_BY_GEMINI)
def test_every_finish_reason_of_gemini_means_something_to_an_openai_client(reason: str) -> None:
    events = events_of("gemini", [sse(gemini_chunk({"text": "x"}, finish=reason))])
    if reason in MALFORMED:
        assert isinstance(events[-1], Failed), "an unusable call is an error, never an empty stop"
        assert events[-1].error.code == reason
        return
    finish = lines(written("openai", events))[-2]["choices"][0]["finish_reason"]
    expected = (
        "content_filter" if reason in SAFETY else {"MAX_TOKENS": "length", "CONTINUATION": "length"}.get(reason, "stop")
    )
    assert finish == expected


@pytest.mark.parametrize(
    ("reason", "gemini"),
    [
        ("stop", "STOP"),
        ("length", "MAX_TOKENS"),
        ("tool_calls", "STOP"),
        ("content_filter", "SAFETY"),
        ("function_call", "STOP"),
        ("eos", "STOP"),
        ("sensitive", "SAFETY"),
        ("made_up", "STOP"),
    ],
)
def test_every_finish_reason_of_openai_means_something_to_a_gemini_client(reason: str, gemini: str) -> None:
    stream = written("gemini", events_of("openai", [sse(openai_chunk({"content": "x"}, reason), "[DONE]")]))
    assert lines(stream)[-1]["candidates"][0]["finishReason"] == gemini


def test_the_tables_know_every_reason_of_their_format() -> None:
    assert set(GEMINI_FINISH) <= set(SAID_BY_GEMINI)
    assert {"stop", "length", "tool_calls", "content_filter", "function_call"} <= set(OPENAI_FINISH)


def test_a_blocked_prompt_is_a_filtered_answer_not_an_error() -> None:
    blocked: Json = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}}
    body = json.loads(
        written("openai", events_of("gemini", [json.dumps(blocked).encode()], stream=False), stream=False)
    )
    choice = body["choices"][0]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("content_filter", "")
    assert body["usage"]["prompt_tokens"] == 4
    assert (
        lines(written("openai", events_of("gemini", [sse(blocked)])))[-2]["choices"][0]["finish_reason"]
        == "content_filter"
    )


# ---- response fields: what crosses, and what is knowingly left behind

OPENAI_LEFT = (
    "service_tier",
    "system_fingerprint",
    "logprobs",
    "annotations",
    "audio",
    "citations",
    "created",
    "moderation",
    "object",
)
GEMINI_LEFT = [
    "safetyRatings",
    "citationMetadata",
    "groundingMetadata",
    "urlContextMetadata",
    "avgLogprobs",
    "logprobsResult",
    "continuationToken",
    "tokenCount",
    "finishMessage",
    "modelStatus",
    "createTime",
]


def test_response_fields_that_only_openai_has_do_not_reach_a_gemini_client() -> None:
    message = {
        "role": "assistant",
        "content": "x",
        "refusal": None,
        "annotations": [{"type": "url_citation"}],
        "audio": {"id": "a"},
    }
    body: Json = {
        "id": "r1",
        "object": "chat.completion",
        "created": 1,
        "model": "m1",
        "service_tier": "default",
        "system_fingerprint": "f",
        "choices": [{"index": 0, "finish_reason": "stop", "logprobs": {"content": []}, "message": message}],
        "citations": [],
        "moderation": {},
        "usage": {
            "prompt_tokens": 5,
            "completion_tokens": 3,
            "prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 1},
        },
    }
    got = written("gemini", events_of("openai", [json.dumps(body).encode()], stream=False), stream=False)
    assert not [name for name in OPENAI_LEFT if f'"{name}"'.encode() in got]
    assert json.loads(got)["usageMetadata"]["cachedContentTokenCount"] == 2
    assert json.loads(got)["modelVersion"] == "m1"


def test_response_fields_that_only_gemini_has_do_not_reach_an_openai_client() -> None:
    body = gemini_chunk(
        {"text": "x"},
        finish="STOP",
        modelStatus={},
        createTime="2026-01-01T00:00:00Z",
        usageMetadata={
            "promptTokenCount": 5,
            "toolUsePromptTokenCount": 2,
            "candidatesTokenCount": 3,
            "thoughtsTokenCount": 4,
            "cachedContentTokenCount": 1,
        },
    )
    body["candidates"][0] |= {name: {} for name in GEMINI_LEFT if name != "finishMessage"} | {"finishMessage": "m"}
    got = json.loads(written("openai", events_of("gemini", [json.dumps(body).encode()], stream=False), stream=False))
    assert not [name for name in GEMINI_LEFT if name in str(got)]
    assert got["usage"] == {
        "prompt_tokens": 7,
        "completion_tokens": 7,
        "total_tokens": 14,
        "prompt_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 4},
    }


def test_a_refusal_is_the_answers_words() -> None:
    body = {"id": "r", "choices": [{"message": {"content": None, "refusal": "I cannot."}, "finish_reason": "stop"}]}
    assert TextDelta("I cannot.", refusal=True) in plain(events_of("openai", [json.dumps(body).encode()], stream=False))


def test_usage_is_a_running_total_and_the_last_one_counts() -> None:
    totals = [{"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": n}} for n in (1, 2, 3)]
    stream = sse(gemini_chunk({"text": "a"}), *totals, gemini_chunk({"text": "b"}, finish="STOP"))
    assert [e.output for e in events_of("gemini", [stream]) if isinstance(e, Usage)] == [1, 2, 3]
    assert lines(written("gemini", events_of("gemini", [stream])))[-1]["usageMetadata"]["candidatesTokenCount"] == 3


def test_thoughts_stay_thoughts_and_pieces_of_calls_are_said_once() -> None:
    events = [
        ThinkingDelta("t"),
        ToolCallDelta(3, "c", "f", "{"),
        ToolCallDelta(3, arguments="}"),
        ToolCalled(3, ToolCall("c", "f", "{}")),
        Finished("tool_calls"),
    ]
    stream = written("openai", events)
    assert stream.count(b'"id":"c"') == 1
    assert stream.count(b'"name":"f"') == 1
    assert b'"index":3' not in stream
