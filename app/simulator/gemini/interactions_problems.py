"""Error bodies of the Interactions API: `{"error": {code, message}}`, where the code is a word, and whose key it is.

Source: Google's page on API errors. What it does not list is the status's name in snake case.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from app.simulator.chains import ChainLostError, owner_of
from app.simulator.reply import Headers, RefusalError, Reply, encoded, json_reply, stream_reply
from app.simulator.shapes import Json

if TYPE_CHECKING:
    from app.simulator.desk import Asked

_CODES = {
    400: "invalid_request",
    401: "authentication",
    402: "payment_required",
    403: "permission_denied",
    404: "not_found",
    409: "aborted",
    416: "out_of_range",
    429: "rate_limit_exceeded",
    499: "cancelled",
    500: "api_error",
    501: "unimplemented",
    503: "service_unavailable",
    504: "deadline_exceeded",
}
_USUAL = {
    401: "API key not valid. Please pass a valid API key.",
    403: "The caller does not have permission.",
    404: "Requested entity was not found.",
    429: "You exceeded your current quota, please check your plan and billing details. Please retry in {retry}s.",
    500: "An internal error has occurred. Please retry or report in the developer forum.",
    503: "The model is overloaded. Please try again later.",
}
FREE = "free"  # a key that begins so is one of Google's free tier, which keeps interactions for a day
END = b"event: done\ndata: [DONE]\n\n"


def error_body(status: int, message: str, code: str = "") -> Json:
    """The body of an error of that HTTP status."""
    return {"error": {"code": code or _code_of(status), "message": message}}


def problem(status: int, message: str = "", *, retry_seconds: int = 7) -> Reply:
    """A true error body of that status; `message` replaces the usual sentence. A 429 says when to come again."""
    said = (message or _USUAL.get(status, "Request contains an invalid argument.")).replace(
        "{retry}", str(retry_seconds)
    )
    headers: Headers = (("retry-after", str(retry_seconds)),) if status == 429 else ()
    return json_reply(error_body(status, said), status, headers)


def refused(message: str, code: str = "", *, status: int = 400) -> RefusalError:
    """A broken rule, ready to be raised."""
    return RefusalError(json_reply(error_body(status, message, code), status), message)


def lost(error: ChainLostError) -> RefusalError:
    """What is said of a previous interaction that cannot be continued.

    Google documents 404 `not_found`, and 400 for one that is in progress; users report 400 for unknown ids too.
    """
    said = _USUAL[404]
    match error.way:
        case "running":
            return refused(f"previous_interaction_id: the interaction {error.identity} is still in progress.")
        case "refused":
            return refused(f"Invalid previous_interaction_id: {error.identity} was not found.")
        case "stream":
            return RefusalError(stream_reply((error_event(error_body(404, said)), END)), said)
        case "gone":
            return refused(said, status=404)


def error_event(body: Json) -> bytes:
    """An error inside a stream."""
    return b"event: error\ndata: " + encoded({"event_type": "error"} | body) + b"\n\n"


def owner(asked: Asked) -> str:
    """Whose request it is: any key is let in, by header, by query or as a bearer token, but `bad-key`.

    Raises:
        RefusalError: 401.
    """
    bearer = asked.headers.get("authorization", "").removeprefix("Bearer ").strip()
    key = asked.headers.get("x-goog-api-key") or asked.query.get("key") or bearer
    if not key or key == "bad-key":
        raise refused(_USUAL[401], status=401)
    return FREE * key.startswith(FREE) + owner_of("google", key)


def _code_of(status: int) -> str:
    if status in _CODES:
        return _CODES[status]
    try:
        return HTTPStatus(status).phrase.lower().replace(" ", "_")
    except ValueError:  # a status of nobody's
        return "unknown"
