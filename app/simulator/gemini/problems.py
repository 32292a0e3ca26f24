"""Google's error bodies: `{"error": {code, message, status, details}}`, with `error` first and an integer code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from app.simulator.reply import RefusalError, Reply, json_reply
from app.simulator.shapes import Json

_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    402: "RESOURCE_EXHAUSTED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_USUAL = {
    401: "Request had invalid authentication credentials. Expected OAuth 2 access token or other valid credential.",
    403: "The caller does not have permission",
    404: "Requested entity was not found.",
    429: "You exceeded your current quota, please check your plan and billing details. Please retry in {retry}s.",
    500: "An internal error has occurred. Please retry or report in the developer forum.",
    503: "The model is overloaded. Please try again later.",
    504: "Deadline expired before operation could complete.",
}
_TYPE = "type.googleapis.com/google.rpc."
Violation = tuple[str, str]  # a field's path (empty for the root), and what is wrong with it


def error_body(code: int, message: str, details: Iterable[Json] = (), status: str = "") -> Json:
    """The body of an error, also the data of an in-stream one."""
    error: Json = {"code": code, "message": message, "status": status or _STATUS.get(code, "UNKNOWN")}
    listed = list(details)
    return {"error": error | ({"details": listed} if listed else {})}


def problem(code: int, message: str = "", *, retry_seconds: int = 7) -> Reply:
    """A true error body of that status. A 429 says when to come again, as Google does: in its details."""
    said = (message or _USUAL.get(code, "Request contains an invalid argument.")).replace("{retry}", str(retry_seconds))
    details: list[Json] = []
    if code == 429:
        quota = {"quotaMetric": "generativelanguage.googleapis.com/generate_content_requests", "quotaId": "PerMinute"}
        details = [
            {"@type": f"{_TYPE}QuotaFailure", "violations": [quota]},
            {"@type": f"{_TYPE}RetryInfo", "retryDelay": f"{retry_seconds}s"},
        ]
    return json_reply(error_body(code, said, details), code)


def refused(message: str, *, code: int = 400, status: str = "", details: Iterable[Json] = ()) -> RefusalError:
    """A broken rule, ready to be raised."""
    return RefusalError(json_reply(error_body(code, message, details, status), code), message)


def bad_fields(violations: list[Violation]) -> RefusalError:
    """Fields that the request may not have, or not so: all of them, as Google lists them."""
    message = "\n".join(said for _, said in violations)
    listed = [({"field": path} if path else {}) | {"description": said} for path, said in violations]
    return refused(message, details=[{"@type": f"{_TYPE}BadRequest", "fieldViolations": listed}])


def check_key(headers: Mapping[str, str], query: Mapping[str, str]) -> None:
    """Any key is let in, by header, by query or as a bearer token, but `bad-key`; RefusalError else."""
    bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
    key = headers.get("x-goog-api-key") or query.get("key") or bearer
    if not key:
        said = (
            "Method doesn't allow unregistered callers (callers without established identity). "
            "Please use API Key or other form of API consumer identity to call this API."
        )
        raise refused(said, code=403)
    if key == "bad-key":
        info = {
            "@type": f"{_TYPE}ErrorInfo",
            "reason": "API_KEY_INVALID",
            "domain": "googleapis.com",
            "metadata": {"service": "generativelanguage.googleapis.com"},
        }
        raise refused("API key not valid. Please pass a valid API key.", details=[info])
