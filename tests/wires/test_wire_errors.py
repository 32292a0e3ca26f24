"""Errors both ways: every kind in each dialect, and every shape in which providers put theirs."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from app.errors import STATUS, ClientError, DeniedError, Kind, ProxyError, UpstreamError
from app.wires.failure import kind_of
from tests.wires.talking import HELLO, STAMP, WIRES, Json, decoded

KINDS: tuple[Kind, ...] = get_args(Kind)
GEMINI_STATUSES = {
    "INVALID_ARGUMENT",
    "FAILED_PRECONDITION",
    "UNAUTHENTICATED",
    "PERMISSION_DENIED",
    "NOT_FOUND",
    "ABORTED",
    "RESOURCE_EXHAUSTED",
    "CANCELLED",
    "INTERNAL",
    "UNAVAILABLE",
    "DEADLINE_EXCEEDED",
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_error_is_said_in_openais_shape(kind: Kind) -> None:
    problem = WIRES["openai"].problem(ProxyError("No.", kind=kind, param="p"))
    assert problem.status == STATUS[kind]
    error = json.loads(problem.body)["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert (error["message"].partition(" (")[0], error["param"]) == ("No.", "p")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_error_is_said_in_geminis_shape(kind: Kind) -> None:
    problem = WIRES["gemini"].problem(ProxyError("No.", kind=kind))
    assert problem.body.startswith(b'{"error":'), "the official SDK tests these very bytes"
    error = json.loads(problem.body)["error"]
    assert isinstance(error["code"], int)
    assert error["code"] == problem.status
    assert error["status"] in GEMINI_STATUSES


def test_a_chat_that_is_too_long_says_what_agents_of_each_dialect_look_for() -> None:
    error = ClientError("Too long.", kind="too_long")
    said = json.loads(WIRES["openai"].problem(error).body)["error"]
    assert (said["code"], said["param"]) == ("context_length_exceeded", "messages")
    assert "exceeds the context window" in said["message"]
    assert "exceeds the maximum number of tokens" in json.loads(WIRES["gemini"].problem(error).body)["error"]["message"]


def test_the_numbers_of_a_chat_that_is_too_long_reach_openais_agents_in_openais_own_sentence() -> None:
    gemini = "The input token count (9) exceeds the maximum number of tokens allowed (5)."
    said = json.loads(WIRES["openai"].problem(UpstreamError(gemini, kind="too_long", status=400)).body)["error"]
    assert "maximum context length is 5 tokens. However, your messages resulted in 9." in said["message"]
    elsewhere = UpstreamError("This model's maximum context length is 5 tokens.", kind="too_long", param="input")
    said = json.loads(WIRES["openai"].problem(elsewhere).body)["error"]
    assert (said["message"], said["param"]) == (elsewhere.message, "messages")


@pytest.mark.parametrize("client", WIRES)
def test_an_error_inside_a_stream_is_one_data_line(client: str) -> None:
    writer = WIRES[client].writer(decoded(client, HELLO[client]), STAMP, True)
    line = writer.fail(UpstreamError("gone"))
    assert line.startswith(b'data: {"error":')
    assert line.endswith((b"\n\n", b"\r\n\r\n"))
    assert json.loads(line.removeprefix(b"data: "))["error"]["message"] == "gone"


def _failure(wire: str, status: int, body: Any, **headers: str) -> UpstreamError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return WIRES[wire].failure(status, {name.replace("_", "-"): value for name, value in headers.items()}, raw)


OPENAI_CASES: list[tuple[int, Json, Kind]] = [
    (400, {"message": "This model's maximum context length is 5 tokens.", "code": None}, "too_long"),
    (400, {"message": "x", "code": "context_length_exceeded"}, "too_long"),
    (400, {"message": "Unknown parameter", "code": "unknown_parameter"}, "bad_request"),
    (401, {"message": "bad key", "code": "invalid_api_key"}, "unauthenticated"),
    (403, {"message": "country"}, "forbidden"),
    (404, {"message": "The model `x` does not exist", "code": "model_not_found"}, "model_not_found"),
    (404, {"message": "no such path"}, "not_found"),
    (409, {"message": "x"}, "conflict"),
    (413, {"message": "x"}, "too_large"),
    (422, {"message": "x"}, "bad_request"),
    (429, {"message": "x", "code": "rate_limit_exceeded"}, "rate_limited"),
    (429, {"message": "x", "code": "insufficient_quota"}, "out_of_quota"),
    (402, {"message": "x"}, "out_of_quota"),
    (500, {"message": "x"}, "upstream_failed"),
    (503, {"message": "x"}, "overloaded"),
    (504, {"message": "x"}, "timeout"),
    (529, {"message": "x"}, "overloaded"),
    (418, {"message": "x"}, "bad_request"),
]


@pytest.mark.parametrize(("status", "error", "kind"), OPENAI_CASES)
def test_an_error_of_openai_is_understood_and_quoted_byte_for_byte(status: int, error: Json, kind: Kind) -> None:
    failure = _failure("openai", status, {"error": error})
    assert (failure.kind, failure.status, failure.message) == (kind, status, error["message"])
    problem = WIRES["openai"].problem(failure)
    assert (problem.status, json.loads(problem.body)) == (status, {"error": error})


GEMINI_CASES: list[tuple[int, Json, Kind, int]] = [
    (400, {"message": "The input token count (9) exceeds the maximum number of tokens allowed (5)."}, "too_long", 400),
    (400, {"message": "bad", "status": "INVALID_ARGUMENT"}, "bad_request", 400),
    (400, {"message": "API key not valid. Please pass a valid API key."}, "unauthenticated", 401),
    (400, {"message": "x", "details": [{"reason": "API_KEY_INVALID"}]}, "unauthenticated", 401),
    (401, {"message": "x"}, "unauthenticated", 401),
    (403, {"message": "x"}, "forbidden", 403),
    (404, {"message": "models/x is not found for API version v1beta"}, "model_not_found", 404),
    (402, {"message": "x"}, "out_of_quota", 402),
    (429, {"message": "x"}, "rate_limited", 429),
    (499, {"message": "x"}, "cancelled", 499),
    (500, {"message": "x"}, "upstream_failed", 500),
    (503, {"message": "x"}, "overloaded", 503),
    (504, {"message": "x"}, "timeout", 504),
]


@pytest.mark.parametrize(("status", "error", "kind", "shown"), GEMINI_CASES)
def test_an_error_of_gemini_is_understood_in_both_dialects(status: int, error: Json, kind: Kind, shown: int) -> None:
    failure = _failure("gemini", status, {"error": {"code": status, **error}})
    assert (failure.kind, failure.status) == (kind, shown)
    said = json.loads(WIRES["openai"].problem(failure).body)["error"]
    assert said["message"].startswith(error["message"])
    assert json.loads(WIRES["gemini"].problem(failure).body)["error"]["message"].startswith(error["message"])


@pytest.mark.parametrize("wire", WIRES)
def test_an_error_in_a_list_is_unwrapped(wire: str) -> None:
    body = [{"error": {"code": 400, "message": "wrapped", "status": "INVALID_ARGUMENT"}}]
    failure = _failure(wire, 400, body)
    assert failure.message == "wrapped"
    assert json.loads(WIRES[wire].problem(failure).body)["error"]["message"] == "wrapped"


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"upstream connect error",
        b"<html><h1>502</h1></html>",
        b"[]",
        b"{}",
        b"null",
        b'{"error": null}',
        b"[" * 5000,
        b"\xff",
    ],
)
def test_an_error_that_is_no_json_of_that_format_still_becomes_a_well_formed_one(wire: str, body: bytes) -> None:
    failure = _failure(wire, 502, body)
    assert (failure.kind, failure.status) == ("upstream_failed", 502)
    for client in WIRES:
        error = json.loads(WIRES[client].problem(failure).body)["error"]
        assert error["message"].endswith(".")
        assert "<html>" not in error["message"]


def test_a_bare_string_as_error_is_its_message() -> None:
    assert _failure("openai", 400, {"error": "just words"}).message == "just words"
    assert _failure("openai", 400, {"message": "flat", "object": "error"}).message == "flat"


@pytest.mark.parametrize(
    ("headers", "body", "seconds", "shown"),
    [
        ({"retry_after": "7"}, {}, 7, "7"),
        ({"retry_after": "1.2"}, {}, 1.2, "2"),
        ({"retry_after_ms": "1500"}, {}, 1.5, "2"),
        ({"retry_after": "3600"}, {}, 3600, "60"),
        ({"retry_after": "Wed, 21 Oct 2026 07:28:10 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, {}, 10, "10"),
        ({"retry_after": "Wed, 21 Oct 2026 07:28:10 GMT"}, {}, None, None),
        ({"retry_after": "soon"}, {}, None, None),
        ({}, {"message": "Please retry in 34.07s."}, 34.07, "35"),
        ({}, {}, None, None),
    ],
)
@pytest.mark.parametrize("wire", WIRES)
def test_how_long_to_wait_is_handed_on_but_never_more_than_a_minute(
    wire: str, headers: dict[str, str], body: Json, seconds: float | None, shown: str | None
) -> None:
    failure = _failure(wire, 429, {"error": {"code": 429, "message": "slow down", **body}}, **headers)
    assert failure.retry_after == seconds
    for client in WIRES:
        assert WIRES[client].problem(failure).headers.get("retry-after") == shown


@pytest.mark.parametrize(("delay", "seconds"), [("34.5s", 34.5), ("0s", None), ("soon", None), (None, None)])
def test_geminis_retry_info_is_understood(delay: str | None, seconds: float | None) -> None:
    details = [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure"},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay},
    ]
    failure = _failure("gemini", 429, {"error": {"code": 429, "message": "quota", "details": details}})
    assert failure.retry_after in (seconds, 0.0 if delay == "0s" else seconds)


def test_each_error_says_whose_fault_it_is_and_if_retrying_helps() -> None:
    assert (ClientError("x").whose, ClientError("x").retry) == ("client", False)
    assert (DeniedError("x").status, DeniedError("x").whose) == (401, "client")
    assert UpstreamError("x", kind="overloaded").retry
    assert not UpstreamError("x", kind="bad_request").retry


def test_every_kind_has_a_status() -> None:
    assert set(STATUS) == set(KINDS)
    assert kind_of(451, "") == "bad_request"
    assert kind_of(599, "") == "upstream_failed"
