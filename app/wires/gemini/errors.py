"""Errors of this format, both directions. `error` stands first in its object and `code` is an integer: the official SDK
tests the text prefix and breaks on a string code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.errors import Kind, ProxyError, UpstreamError
from app.wires.envelope import as_list, as_object, as_text, encode
from app.wires.failure import kind_of, problem_of, retry_after_header, said_in
from app.wires.gemini.names import NAME
from app.wires.wire import Problem

STATUSES: dict[Kind, str] = {
    "bad_request": "INVALID_ARGUMENT",
    "unauthenticated": "UNAUTHENTICATED",
    "forbidden": "PERMISSION_DENIED",
    "not_found": "NOT_FOUND",
    "model_not_found": "NOT_FOUND",
    "too_long": "INVALID_ARGUMENT",
    "too_large": "INVALID_ARGUMENT",
    "unsupported_media": "INVALID_ARGUMENT",
    "conflict": "ABORTED",
    "rate_limited": "RESOURCE_EXHAUSTED",
    "out_of_quota": "RESOURCE_EXHAUSTED",
    "overloaded": "UNAVAILABLE",
    "upstream_failed": "INTERNAL",
    "timeout": "DEADLINE_EXCEEDED",
    "cancelled": "CANCELLED",
    "unavailable": "UNAVAILABLE",
}
"""kind → google.rpc.Code name (https://cloud.google.com/apis/design/errors)."""

TOO_LONG_HINT = "exceeds the maximum number of tokens"


def error_object(error: ProxyError) -> dict[str, Any]:
    """The `error` object."""
    message = error.message
    if error.kind == "too_long" and TOO_LONG_HINT not in message:
        message += f" (The input token count {TOO_LONG_HINT} allowed.)"  # what agents of this dialect look for
    return {"code": error.status, "message": message, "status": STATUSES[error.kind]}


def problem(error: ProxyError) -> Problem:
    """The error as status, headers and body; Gemini itself is quoted byte for byte."""
    said = problem_of(error, NAME, {"error": error_object(error)})
    if error.kind == "unauthenticated" and isinstance(error, UpstreamError) and error.wire == NAME:
        code = as_object(said_in(said.body).get("error")).get("code")
        if isinstance(code, int) and 400 <= code < 500:
            return Problem(code, said.body, said.headers, said.content_type)
    return said


def failure(status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
    """Gemini's error answer: one object, on the array form of a stream a list with one."""
    said = said_in(body)
    error = as_object(said.get("error"))
    message = as_text(error.get("message")) or f"Gemini answered with status {status}."
    kind = _kind(status, message, error)
    return UpstreamError(
        message,
        kind=kind,
        status=401 if kind == "unauthenticated" else status,
        code=as_text(error.get("status")) or None,
        retry_after=_retry_delay(error) or retry_after_header(headers, message),
        wire=NAME if error else "",
        body=encode({"error": error}) if error and body.lstrip()[:1] == b"[" else body,
    )


def stream_failure(error: Any) -> UpstreamError:
    """An `error` inside a stream."""
    said = as_object(error)
    message = as_text(said.get("message")) or "Gemini broke off its answer with an error."
    code = said.get("code")
    status = code if isinstance(code, int) else 500
    return UpstreamError(message, kind=_kind(status, message, said), status=status, wire=NAME)


def _kind(status: int, message: str, error: Mapping[str, Any]) -> Kind:
    reasons = [as_object(detail).get("reason") for detail in as_list(error.get("details"))]
    if "API_KEY_INVALID" in reasons or (status == 400 and "API key not valid" in message):
        return "unauthenticated"  # Google answers a bad key with 400
    return kind_of(status, message)


def _retry_delay(error: Mapping[str, Any]) -> float | None:
    """google.rpc.RetryInfo: a duration such as "34.1s"."""
    for detail in as_list(error.get("details")):
        delay = as_text(as_object(detail).get("retryDelay"))
        if delay.endswith("s"):
            try:
                return float(delay[:-1])
            except ValueError:
                return None
    return None
