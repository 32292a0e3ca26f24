"""Errors of this format, both directions. The SDK chooses its class by status and `details.error_code`; agents match
the words "prompt is too long"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.errors import Kind, ProxyError, UpstreamError
from app.wires.anthropic.names import NAME
from app.wires.envelope import as_object, as_text
from app.wires.failure import kind_of, problem_of, retry_after_header, said_in
from app.wires.overflow import overflow
from app.wires.wire import Problem

TYPES: dict[Kind, str] = {
    "bad_request": "invalid_request_error",
    "unauthenticated": "authentication_error",
    "forbidden": "permission_error",
    "not_found": "not_found_error",
    "model_not_found": "not_found_error",
    "too_long": "invalid_request_error",
    "too_large": "request_too_large",
    "unsupported_media": "invalid_request_error",
    "conflict": "conflict_error",
    "rate_limited": "rate_limit_error",
    "out_of_quota": "billing_error",
    "overloaded": "overloaded_error",
    "upstream_failed": "api_error",
    "timeout": "timeout_error",
    "cancelled": "api_error",
    "unavailable": "api_error",
}
"""kind → type; https://platform.claude.com/docs/en/api/errors."""

STATUSES: Mapping[Kind, int] = {"overloaded": 529, "out_of_quota": 402}
"""Where this format has a status of its own; the SDK makes its OverloadedError of 529 alone."""

KINDS: dict[str, Kind] = {
    "authentication_error": "unauthenticated",
    "billing_error": "out_of_quota",
    "permission_error": "forbidden",
    "not_found_error": "not_found",
    "conflict_error": "conflict",
    "request_too_large": "too_large",
    "rate_limit_error": "rate_limited",
    "api_error": "upstream_failed",
    "timeout_error": "timeout",
    "overloaded_error": "overloaded",
}
"""type → kind; invalid_request_error is told by status and words."""

OVERLOADED_ELSEWHERE = 503
"""529 is Anthropic's alone: clients of other formats know 503."""

TOO_LONG = "prompt is too long"
NO_CREDIT = "credit balance is too low"


def error_object(error: ProxyError) -> dict[str, Any]:
    """The `error` object."""
    said: dict[str, Any] = {"type": TYPES[error.kind], "message": _message(error)}
    if error.code and (not isinstance(error, UpstreamError) or error.wire == NAME):
        said["details"] = {"error_code": error.code}
    return said


def body_of(error: ProxyError) -> dict[str, Any]:
    """The whole body. The request's id stands in the header `request-id`, where the SDK looks for it."""
    return {"type": "error", "error": error_object(error), "request_id": None}


def problem(error: ProxyError) -> Problem:
    """The error as status, headers and body; Anthropic itself is quoted byte for byte."""
    written = problem_of(error, NAME, body_of(error))
    return Problem(STATUSES.get(error.kind, error.status), written.body, written.headers)


def _message(error: ProxyError) -> str:
    """What agents look for when they have to shorten a chat: `prompt is too long: 210000 tokens > 200000 maximum`."""
    if error.kind != "too_long" or TOO_LONG in error.message:
        return error.message
    limit, asked = overflow(error.message)
    if limit and asked:
        return f"{TOO_LONG}: {asked} tokens > {limit} maximum"
    return f"{TOO_LONG}: {error.message}"


def failure(status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
    """Anthropic's error answer; compatible servers send others' shapes, or plain text."""
    said = said_in(body)
    error = as_object(said.get("error"))
    message = as_text(error.get("message")) or f"Anthropic answered with status {status}."
    kind = _kind(status, as_text(error.get("type")), message)
    return UpstreamError(
        message,
        kind=kind,
        status=OVERLOADED_ELSEWHERE if kind == "overloaded" else status,
        code=_code(error),
        retry_after=retry_after_header(headers, message),
        wire=NAME if error and said.get("type") == "error" else "",
        body=body,
    )


def stream_failure(error: Any) -> UpstreamError:
    """The `error` of an error event."""
    said = as_object(error)
    message = as_text(said.get("message")) or "Anthropic broke off its answer with an error."
    kind = _kind(500, as_text(said.get("type")), message)
    if as_text(said.get("type")) == "invalid_request_error":
        kind = kind_of(400, message)
    return UpstreamError(message, kind=kind, code=_code(said), wire=NAME)


def _kind(status: int, said: str, message: str) -> Kind:
    if NO_CREDIT in message:
        return "out_of_quota"
    kind = KINDS.get(said) or kind_of(status, message)
    return "model_not_found" if kind == "not_found" and message.startswith("model:") else kind


def _code(error: Mapping[str, Any]) -> str | None:
    return as_text(as_object(error.get("details")).get("error_code")) or None
