"""Errors of this format, both directions. The SDKs choose their class by status; agents match `code` and the words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.errors import Kind, ProxyError, UpstreamError
from app.wires.envelope import as_object, as_text
from app.wires.failure import kind_of, problem_of, retry_after_header, said_in
from app.wires.openai_chat.names import NAME
from app.wires.overflow import overflow
from app.wires.wire import Problem

TYPES: dict[Kind, tuple[str, str | None]] = {
    "bad_request": ("invalid_request_error", None),
    "unauthenticated": ("invalid_request_error", "invalid_api_key"),
    "forbidden": ("invalid_request_error", "permission_denied"),
    "not_found": ("invalid_request_error", "not_found"),
    "model_not_found": ("invalid_request_error", "model_not_found"),
    "too_long": ("invalid_request_error", "context_length_exceeded"),
    "too_large": ("invalid_request_error", "request_too_large"),
    "unsupported_media": ("invalid_request_error", "unsupported_media_type"),
    "conflict": ("invalid_request_error", "conflict"),
    "rate_limited": ("requests", "rate_limit_exceeded"),
    "out_of_quota": ("insufficient_quota", "insufficient_quota"),
    "overloaded": ("server_error", "overloaded"),
    "upstream_failed": ("server_error", "upstream_error"),
    "timeout": ("server_error", "timeout"),
    "cancelled": ("server_error", "cancelled"),
    "unavailable": ("server_error", "unavailable"),
}
"""kind → (type, code); https://platform.openai.com/docs/guides/error-codes names the provider's own."""

TOO_LONG = ("maximum context length", "exceeds the context window")
CODES: dict[str, Kind] = {
    "context_length_exceeded": "too_long",
    "invalid_api_key": "unauthenticated",
    "model_not_found": "model_not_found",
    "insufficient_quota": "out_of_quota",
    "rate_limit_exceeded": "rate_limited",
}


def error_object(error: ProxyError) -> dict[str, Any]:
    """The `error` object; a provider's own code is kept where it fits this format."""
    kind, code = TYPES[error.kind]
    if isinstance(error, UpstreamError) and error.wire == NAME and error.code:
        code = error.code
    param = "messages" if error.kind == "too_long" and error.param in (None, "input") else error.param
    return {"message": words(error), "type": kind, "param": param, "code": code}


def words(error: ProxyError) -> str:
    """The message. Agents look for OpenAI's own sentence when a chat is too long, some for one and some for the other:
    https://platform.openai.com/docs/guides/error-codes names only the code, which not every client shows."""
    if error.kind != "too_long" or any(known in error.message for known in TOO_LONG):
        return error.message
    limit, asked = overflow(error.message)
    said = "Your input exceeds the context window of this model."
    if limit and asked:
        said = f"This model's maximum context length is {limit} tokens. However, your messages resulted in {asked}."
    return f"{error.message} ({said})"


def problem(error: ProxyError) -> Problem:
    """The error as status, headers and body; a provider of the same format is quoted byte for byte."""
    return problem_of(error, NAME, {"error": error_object(error)})


def failure(status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
    """A provider's error answer. Google's compatibility endpoint wraps it in a list; others send plain text."""
    said = said_in(body)
    error = said.get("error", said)
    error = as_object(error) or {"message": as_text(error)}
    message = as_text(error.get("message")) or f"The provider answered with status {status}."
    code = as_text(error.get("code"))
    return UpstreamError(
        message,
        kind=CODES.get(code) or kind_of(status, message),
        status=status,
        param=as_text(error.get("param")) or None,
        code=code or None,
        retry_after=retry_after_header(headers, message),
        wire=NAME if said.get("error") and body.lstrip()[:1] == b"{" else "",  # a list is not this format
        body=body,
    )


def stream_failure(error: Any) -> UpstreamError:
    """An `error` inside a stream, as object or bare string."""
    said = as_object(error) or {"message": as_text(error)}
    message = as_text(said.get("message")) or "The provider broke off its answer with an error."
    code = as_text(said.get("code"))
    return UpstreamError(message, kind=CODES.get(code) or kind_of(500, message), code=code or None, wire=NAME)
