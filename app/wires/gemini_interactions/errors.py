"""Errors of this format, both directions: `code` is a word here, where generateContent has the HTTP status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.errors import Kind, ProxyError, UpstreamError
from app.wires.envelope import as_object, as_text
from app.wires.failure import kind_of, problem_of, retry_after_header, said_in
from app.wires.gemini.errors import TOO_LONG_HINT
from app.wires.gemini_interactions.names import BLOCKED, MALFORMED, NAME
from app.wires.wire import Problem

CODES_OUT: dict[Kind, str] = {
    "bad_request": "invalid_request",
    "unauthenticated": "authentication",
    "forbidden": "permission_denied",
    "not_found": "not_found",
    "model_not_found": "model_not_found",
    "too_long": "invalid_request",
    "too_large": "request_too_large",
    "unsupported_media": "unsupported_media_type",
    "conflict": "aborted",
    "rate_limited": "rate_limit_exceeded",
    "out_of_quota": "quota_exceeded",
    "overloaded": "service_unavailable",
    "upstream_failed": "api_error",
    "timeout": "deadline_exceeded",
    "cancelled": "cancelled",
    "unavailable": "service_unavailable",
}
"""kind → code (https://ai.google.dev/gemini-api/docs/api-errors)."""

CODES_IN: dict[str, tuple[int, Kind | None]] = {
    "invalid_request": (400, None),
    "invalid_argument": (400, None),
    "failed_precondition": (400, None),
    "parameter_unknown": (400, None),
    "authentication": (401, "unauthenticated"),
    "unauthenticated": (401, "unauthenticated"),
    "payment_required": (402, "out_of_quota"),
    "permission_denied": (403, "forbidden"),
    "not_found": (404, None),
    "model_not_found": (404, "model_not_found"),
    "already_exists": (409, "conflict"),
    "aborted": (409, "conflict"),
    "out_of_range": (416, None),
    "rate_limit_exceeded": (429, "rate_limited"),
    "too_many_requests": (429, "rate_limited"),
    "resource_exhausted": (429, "rate_limited"),
    "quota_exceeded": (429, "out_of_quota"),
    "cancelled": (499, "cancelled"),
    "api_error": (500, None),
    "internal": (500, None),
    "unimplemented": (501, None),
    "service_unavailable": (503, "overloaded"),
    "unavailable": (503, "overloaded"),
    "deadline_exceeded": (504, "timeout"),
}
"""code → HTTP status, and the kind where the status and the words do not tell it better. Google's front end answers
some requests in its older spelling."""


def error_object(error: ProxyError) -> dict[str, Any]:
    """The `error` object; Google's own code is kept."""
    code, message = CODES_OUT[error.kind], error.message
    if isinstance(error, UpstreamError) and error.code and error.wire == NAME:
        code = error.code
    elif error.status == 402:
        code = "payment_required"
    if error.kind == "too_long" and TOO_LONG_HINT not in message:
        message += f" (The input token count {TOO_LONG_HINT} allowed.)"  # what agents of this dialect look for
    return {"code": code, "message": message}


def problem(error: ProxyError) -> Problem:
    """The error as status, headers and body; Google itself is quoted byte for byte."""
    return problem_of(error, NAME, {"error": error_object(error)})


def failure(status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
    """Google's error answer."""
    error = as_object(said_in(body).get("error"))
    message = as_text(error.get("message")) or f"Gemini answered with status {status}."
    code = code_of(error)
    kind = _kind(status, message, code)
    return UpstreamError(
        message,
        kind=kind,
        status=401 if kind == "unauthenticated" else status,
        code=code or None,
        retry_after=retry_after_header(headers, message),
        wire=NAME if error and body.lstrip()[:1] == b"{" else "",  # a list is not this format
        body=body,
    )


def stream_failure(said: Any, *, quoted: bool = True) -> UpstreamError:
    """The error of an `error` event, or of an interaction that failed: their HTTP status was 200.

    `quoted`: a client of this format gets these very words. Not where the model itself made something of no use: the
    same request may be sent again then.
    """
    error = as_object(said)
    code = code_of(error)
    message = as_text(error.get("message")) or "Gemini broke off its answer with an error."
    if code in MALFORMED:
        words = f"The model made a tool call that cannot be used ({code}). Send the request again."
        return UpstreamError(words, kind="upstream_failed", code=code)
    status = CODES_IN[code][0] if code in CODES_IN else 500
    number = error.get("code")
    if isinstance(number, int) and 400 <= number < 600:
        status = number
    kind = _kind(status, message, code)
    if not quoted:
        return UpstreamError(message, kind=kind, status=status)
    return UpstreamError(message, kind=kind, status=status, code=code or None, wire=NAME)


def blocked(said: Any) -> bool:
    """Whether an error says that the output was held back."""
    return code_of(as_object(said)) in BLOCKED


def code_of(error: Mapping[str, Any]) -> str:
    """The code as this format spells it; generateContent's errors have it as `status`, in capitals."""
    return as_text(error.get("code")) or as_text(error.get("status")).lower()


def _kind(status: int, message: str, code: str) -> Kind:
    if status == 400 and "API key not valid" in message:
        return "unauthenticated"  # Google answers a bad key with 400
    known = CODES_IN[code][1] if code in CODES_IN else None
    return known or kind_of(status, message)
