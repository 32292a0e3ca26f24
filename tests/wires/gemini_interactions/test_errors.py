"""Errors of this format, both directions: a word for a code, and Google quoted byte for byte."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from app.errors import STATUS, ClientError, Kind, ProxyError, UpstreamError
from app.wires.gemini import GEMINI
from app.wires.gemini_interactions import GEMINI_INTERACTIONS
from app.wires.openai_chat import OPENAI_CHAT


def _said(code: str | int, message: str, **more: str) -> bytes:
    return json.dumps({"error": {"code": code, "message": message, **more}}).encode()


@pytest.mark.parametrize(
    ("status", "code", "message", "kind"),
    [
        (400, "invalid_request", "bad", "bad_request"),
        (400, "parameter_unknown", "no such field", "bad_request"),
        (400, "invalid_request", "API key not valid. Please pass a valid API key.", "unauthenticated"),
        (
            400,
            "invalid_request",
            "The input token count (9) exceeds the maximum number of tokens allowed (8).",
            "too_long",
        ),
        (401, "authentication", "no", "unauthenticated"),
        (402, "payment_required", "no money", "out_of_quota"),
        (403, "permission_denied", "no", "forbidden"),
        (404, "not_found", "Interaction not found.", "not_found"),
        (404, "model_not_found", "no", "model_not_found"),
        (404, "not_found", "models/x is not found for API version v1.", "model_not_found"),
        (409, "aborted", "busy", "conflict"),
        (429, "rate_limit_exceeded", "slow", "rate_limited"),
        (429, "quota_exceeded", "daily", "out_of_quota"),
        (429, "too_many_requests", "slow", "rate_limited"),
        (499, "cancelled", "gone", "cancelled"),
        (500, "api_error", "oops", "upstream_failed"),
        (503, "service_unavailable", "busy", "overloaded"),
        (504, "deadline_exceeded", "late", "timeout"),
        (418, "teapot", "short", "bad_request"),
    ],
)
def test_googles_errors_are_understood(status: int, code: str, message: str, kind: Kind) -> None:
    error = GEMINI_INTERACTIONS.failure(status, {}, _said(code, message))
    assert (error.kind, error.code, error.message) == (kind, code, message)
    assert error.status == (401 if kind == "unauthenticated" else status)


def test_the_older_spelling_of_googles_front_end_is_understood() -> None:
    error = GEMINI_INTERACTIONS.failure(
        429, {}, _said(429, "Quota. Please retry in 34.1s.", status="RESOURCE_EXHAUSTED")
    )
    assert (error.kind, error.code, error.retry_after) == ("rate_limited", "resource_exhausted", 34.1)
    listed = b"[" + _said(404, "nope", status="NOT_FOUND") + b"]"
    assert GEMINI_INTERACTIONS.failure(404, {}, listed).wire == ""
    assert (
        GEMINI_INTERACTIONS.failure(502, {}, b"<html>bad gateway</html>").message == "Gemini answered with status 502."
    )


def test_how_long_to_wait_is_read_and_handed_on() -> None:
    error = GEMINI_INTERACTIONS.failure(429, {"retry-after": "7"}, _said("rate_limit_exceeded", "slow"))
    assert GEMINI_INTERACTIONS.problem(error).headers == {"retry-after": "7"}


def test_google_is_quoted_byte_for_byte_to_its_own_clients_and_translated_for_others() -> None:
    body = b'{ "error": {"code": "failed_precondition", "message": "wait", "extra": 1.50} }'
    error = GEMINI_INTERACTIONS.failure(400, {}, body)
    assert GEMINI_INTERACTIONS.problem(error).body == body
    assert json.loads(OPENAI_CHAT.problem(error).body)["error"]["message"] == "wait"
    assert json.loads(GEMINI.problem(error).body)["error"]["code"] == 400


def test_an_error_of_generate_content_gets_a_word_for_its_code() -> None:
    error = GEMINI.failure(404, {}, _said(404, "nope", status="NOT_FOUND"))
    assert json.loads(GEMINI_INTERACTIONS.problem(error).body) == {"error": {"code": "not_found", "message": "nope"}}


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_has_a_word_and_its_status(kind: Kind) -> None:
    problem = GEMINI_INTERACTIONS.problem(ProxyError("words", kind=kind))
    said = json.loads(problem.body)["error"]
    assert problem.status == STATUS[kind]
    assert said["message"].startswith("words")
    assert said["code"] == said["code"].lower() != ""


def test_a_chat_that_is_too_long_is_told_in_the_words_that_agents_look_for() -> None:
    said = json.loads(GEMINI_INTERACTIONS.problem(ClientError("Too much.", kind="too_long")).body)["error"]
    assert "exceeds the maximum number of tokens" in said["message"]
    assert said["code"] == "invalid_request"


def test_a_balance_that_is_used_up_is_told_apart_from_a_daily_quota() -> None:
    paid = UpstreamError("no money", kind="out_of_quota", status=402)
    assert json.loads(GEMINI_INTERACTIONS.problem(paid).body)["error"]["code"] == "payment_required"
