"""Anthropic's error bodies: `{"type": "error", "error": {type, message, details?}, "request_id"}`."""

from __future__ import annotations

from app.simulator.reply import Headers, RefusalError, Reply, json_reply
from app.simulator.shapes import Json, digest

_OF_STATUS: dict[int, tuple[str, str]] = {  # status: type, usual message
    400: ("invalid_request_error", "The request could not be understood."),
    401: ("authentication_error", "invalid x-api-key"),
    402: ("billing_error", "Your credit balance is too low to access the Anthropic API."),
    403: ("permission_error", "Your API key does not have permission to use the specified resource."),
    404: ("not_found_error", "Not found"),
    409: ("conflict_error", "The resource is being changed by another request."),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed your organization's rate limit."),
    500: ("api_error", "Internal server error"),
    504: ("timeout_error", "The request timed out."),
    529: ("overloaded_error", "Overloaded"),
}
EXTRA = "Extra inputs are not permitted"


def error_body(message: str, kind: str, details: Json | None = None, request: str = "") -> Json:
    """The body of an error, also the data of an in-stream one (which names no request)."""
    error: Json = {"type": kind, "message": message} | ({"details": details} if details else {})
    return {"type": "error", "error": error} | ({"request_id": request} if request else {})


def head_of(seed: str) -> Headers:
    """The headers that Anthropic sends with every answer."""
    return (("request-id", request_id(seed)), ("anthropic-organization-id", "org_simulator"))


def request_id(seed: str) -> str:
    """The request's name, such as req_1b…: the same request has the same."""
    return f"req_{digest(seed, 'request')}"


def problem(status: int, message: str = "", *, retry_seconds: int = 7, details: Json | None = None) -> Reply:
    """A true error body of that status; `message` replaces the usual sentence. A 429 says when to come again."""
    kind, usual = _OF_STATUS.get(status, _OF_STATUS[500 if status >= 500 else 400])
    said = message or usual
    seed = digest(status, said)
    headers: Headers = head_of(seed)
    if status == 429:
        headers = (*headers, ("retry-after", str(retry_seconds)))
    return json_reply(error_body(said, kind, details, request_id(seed)), status, headers)


def refused(message: str, *, status: int = 400, details: Json | None = None) -> RefusalError:
    """A broken rule, ready to be raised."""
    return RefusalError(problem(status, message, details=details), message)


def extra(field: str) -> RefusalError:
    """A field that this version, model or place does not take."""
    return refused(f"{field}: {EXTRA}")
