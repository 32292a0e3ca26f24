"""Errors in Anthropic's shape, both ways."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from app.errors import ClientError, Kind, UpstreamError
from app.upstreams.anthropic import anthropic
from app.upstreams.upstream import Credential
from app.wires.anthropic import ANTHROPIC
from app.wires.gemini import GEMINI
from app.wires.openai_chat import OPENAI_CHAT


def answer(kind: str, message: str = "words", **more: Any) -> bytes:
    return json.dumps(
        {"type": "error", "error": {"type": kind, "message": message, **more}, "request_id": "req_1"}
    ).encode()


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_of_error_has_its_type(kind: Kind) -> None:
    problem = ANTHROPIC.problem(UpstreamError("words", kind=kind))
    body = json.loads(problem.body)
    assert body["type"] == "error"
    assert body["error"]["type"].endswith("_error") or body["error"]["type"] == "request_too_large"
    assert "request_id" in body
    assert problem.status >= 400


@pytest.mark.parametrize(
    ("status", "kind", "message", "expected"),
    [
        (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", "too_long"),
        (400, "invalid_request_error", "Your credit balance is too low to access the API", "out_of_quota"),
        (400, "invalid_request_error", "messages.0: bad", "bad_request"),
        (401, "authentication_error", "invalid x-api-key", "unauthenticated"),
        (402, "billing_error", "pay", "out_of_quota"),
        (403, "permission_error", "no", "forbidden"),
        (404, "not_found_error", "model: claude-x", "model_not_found"),
        (404, "not_found_error", "no such thing", "not_found"),
        (413, "request_too_large", "Request exceeds the maximum size", "too_large"),
        (429, "rate_limit_error", "slow down", "rate_limited"),
        (500, "api_error", "oops", "upstream_failed"),
        (504, "timeout_error", "late", "timeout"),
        (529, "overloaded_error", "Overloaded", "overloaded"),
    ],
)
def test_anthropics_refusals_are_understood_and_quoted(status: int, kind: str, message: str, expected: str) -> None:
    body = answer(kind, message)
    error = ANTHROPIC.failure(status, {"retry-after": "7"}, body)
    assert (error.kind, error.message, error.retry_after) == (expected, message, 7.0)
    problem = ANTHROPIC.problem(error)
    assert problem.body == body
    assert problem.headers == {"retry-after": "7"}


def test_overloaded_is_529_in_this_format_and_503_in_every_other() -> None:
    error = ANTHROPIC.failure(529, {}, answer("overloaded_error"))
    assert ANTHROPIC.problem(error).status == 529
    assert OPENAI_CHAT.problem(error).status == 503
    assert GEMINI.problem(error).status == 503
    theirs = OPENAI_CHAT.failure(503, {}, b'{"error":{"message":"busy"}}')
    assert ANTHROPIC.problem(theirs).status == 529


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            OPENAI_CHAT.failure(
                400,
                {},
                b'{"error":{"code":"context_length_exceeded","message":"This model\'s maximum context length is 8192 '
                b'tokens. However, your messages resulted in 9000 tokens."}}',
            ),
            "prompt is too long: 9000 tokens > 8192 maximum",
        ),
        (ClientError("The last message alone is too large.", kind="too_long"), "prompt is too long: The last message"),
        (ClientError("prompt is too long: x", kind="too_long"), "prompt is too long: x"),
    ],
)
def test_a_prompt_that_is_too_long_is_said_in_the_words_that_agents_look_for(error: Any, expected: str) -> None:
    said = json.loads(ANTHROPIC.problem(error).body)["error"]
    assert said["type"] == "invalid_request_error"
    assert said["message"].startswith(expected)


def test_a_stable_error_code_is_kept() -> None:
    body = answer("not_found_error", details={"error_code": "thread_not_found"})
    assert ANTHROPIC.failure(404, {}, body).code == "thread_not_found"


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"error":"x"}', b'{"detail":"no"}'])
def test_an_answer_in_another_shape_is_still_an_error(body: bytes) -> None:
    error = ANTHROPIC.failure(500, {}, body)
    assert error.kind == "upstream_failed"
    assert json.loads(ANTHROPIC.problem(error).body)["type"] == "error"


# ---- the upstream


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", "https://api.anthropic.com/v1"),
        ("https://api.anthropic.com", "https://api.anthropic.com/v1"),
        ("https://api.anthropic.com/v1/", "https://api.anthropic.com/v1"),
        ("http://localhost:9/anthropic", "http://localhost:9/anthropic/v1"),
    ],
)
def test_a_base_url_gets_the_version_unless_it_has_one(given: str, expected: str) -> None:
    assert anthropic("a", given).base_url == expected


@pytest.mark.parametrize(
    ("key", "credential", "expected"),
    [
        ("sk-ant-api03-ours", Credential("bearer", "theirs"), {"x-api-key": "sk-ant-api03-ours"}),
        ("sk-ant-oat01-ours", Credential(), {"authorization": "Bearer sk-ant-oat01-ours"}),
        ("", Credential("key", "k"), {"x-api-key": "k"}),
        ("", Credential("bearer", "token"), {"authorization": "Bearer token"}),
        ("", Credential("bearer", "sk-ant-api03-k"), {"x-api-key": "sk-ant-api03-k"}),
        ("", Credential("key", "sk-ant-oat01-k"), {"authorization": "Bearer sk-ant-oat01-k"}),
    ],
)
def test_a_key_is_sent_as_anthropic_takes_it(key: str, credential: Credential, expected: dict[str, str]) -> None:
    upstream = anthropic("a", key=key)
    assert upstream.sign(credential) == expected
    assert upstream.keyed == bool(key)


def test_only_anthropic_itself_has_anthropics_small_model() -> None:
    assert anthropic("a").small == "claude-haiku-4-5"
    assert anthropic("a", "http://localhost:9").small == ""
    assert not anthropic("a", "http://localhost:9").own
