"""Errors of this format, both directions: Chat Completions' body, with codes and parameters of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.errors import Kind, ProxyError, UpstreamError
from app.wires.envelope import as_object, as_text
from app.wires.failure import kind_of, problem_of
from app.wires.openai_chat.errors import TYPES, words
from app.wires.openai_chat.errors import failure as chat_failure
from app.wires.openai_responses.names import NAME
from app.wires.wire import Problem

UNKNOWN_RESPONSE = "previous_response_not_found"
"""The code by which clients (Codex among them) know that they have to send the whole conversation."""

CODES: dict[str, Kind] = {
    "context_length_exceeded": "too_long",
    "invalid_api_key": "unauthenticated",
    "model_not_found": "model_not_found",
    "insufficient_quota": "out_of_quota",
    "rate_limit_exceeded": "rate_limited",
    "server_error": "upstream_failed",
    "server_is_overloaded": "overloaded",
    "slow_down": "overloaded",
    "invalid_prompt": "bad_request",
    "bio_policy": "forbidden",
    "misalignment_policy_violation": "forbidden",
    "data_residency_mismatch": "forbidden",
    UNKNOWN_RESPONSE: "not_found",
}


def error_object(error: ProxyError) -> dict[str, Any]:
    """The `error` object; a provider's own code is kept where it fits this format."""
    kind, code = TYPES[error.kind]
    param = "input" if error.kind == "too_long" and error.param in (None, "messages") else error.param
    if _unknown_response(error):
        code, param = UNKNOWN_RESPONSE, "previous_response_id"
    elif isinstance(error, UpstreamError) and error.wire == NAME and error.code:
        code = error.code
    return {"message": words(error), "type": kind, "param": param, "code": code}


def failed_object(error: ProxyError) -> dict[str, Any]:
    """The `error` of a failed response, which has two fields only."""
    code = error_object(error)["code"]
    return {"code": code or "server_error", "message": words(error)}


def problem(error: ProxyError) -> Problem:
    """The error as status, headers and body; a provider of the same format is quoted byte for byte. An id that is not
    known is a bad request here, not a missing page."""
    written = problem_of(error, NAME, {"error": error_object(error)})
    if _unknown_response(error):
        return Problem(400, written.body, written.headers)
    return written


def _unknown_response(error: ProxyError) -> bool:
    return error.code == UNKNOWN_RESPONSE or (error.kind == "not_found" and error.param == "previous_response_id")


def failure(status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
    """A provider's error answer. A response that it no longer knows is `not_found`, with its code."""
    said = chat_failure(status, headers, body)
    return UpstreamError(
        said.message,
        kind=CODES.get(said.code or "") or said.kind,
        status=status,
        param=said.param,
        code=said.code,
        retry_after=said.retry_after,
        wire=NAME if said.wire else "",
        body=body,
    )


def stream_failure(error: Any) -> UpstreamError:
    """An error inside a stream: a flat event, a nested one, a failed response's, or bare words."""
    said = as_object(error)
    said = as_object(said.get("error")) or said or {"message": as_text(error)}
    message = as_text(said.get("message")) or "The provider broke off its answer with an error."
    code = as_text(said.get("code"))
    return UpstreamError(
        message,
        kind=CODES.get(code) or kind_of(500, message),
        param=as_text(said.get("param")) or None,
        code=code or None,
        wire=NAME,
    )
