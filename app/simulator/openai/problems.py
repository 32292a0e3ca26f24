"""OpenAI's error bodies: `{"error": {message, type, param, code}}`."""

from __future__ import annotations

from collections.abc import Mapping

from app.simulator.reply import Headers, RefusalError, Reply, json_reply
from app.simulator.shapes import Json

_KEYS_URL = "https://platform.openai.com/account/api-keys"
_OF_STATUS: dict[int, tuple[str, str | None, str]] = {  # status: type, code, message
    400: ("invalid_request_error", None, "The request could not be understood."),
    401: ("invalid_request_error", "invalid_api_key", f"Incorrect API key provided. You can find it at {_KEYS_URL}."),
    403: ("request_forbidden", "unsupported_country_region_territory", "Country, region, or territory not supported"),
    404: ("invalid_request_error", "model_not_found", "The model does not exist or you do not have access to it."),
    409: ("invalid_request_error", "conflict", "The resource is being changed by another request."),
    413: ("invalid_request_error", "request_too_large", "The request is too large."),
    422: ("invalid_request_error", "unprocessable", "The request cannot be processed."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached for this model. Please try again in {retry}s."),
    500: ("server_error", None, "The server had an error while processing your request. Sorry about that!"),
    502: ("server_error", None, "Bad gateway."),
    503: ("server_error", "service_unavailable", "The engine is currently overloaded, please try again later."),
    504: ("server_error", "timeout", "The request timed out."),
}


def error_body(message: str, kind: str, param: str | None = None, code: str | None = None) -> Json:
    """The body of an error, also the data of an in-stream one."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def problem(status: int, message: str = "", *, retry_seconds: int = 7) -> Reply:
    """A true error body of that status; `message` replaces the usual sentence. A 429 says when to come again."""
    family = _OF_STATUS[500 if status >= 500 else 400]
    kind, code, usual = _OF_STATUS.get(status, family)
    headers: Headers = ()
    if status == 429:
        headers = (("retry-after", str(retry_seconds)), ("retry-after-ms", str(retry_seconds * 1000)))
    body = error_body(message or usual.replace("{retry}", str(retry_seconds)), kind, None, code)
    return json_reply(body, status, headers)


def refused(message: str, param: str | None = None, code: str | None = None, *, status: int = 400) -> RefusalError:
    """A broken rule, ready to be raised."""
    return RefusalError(json_reply(error_body(message, "invalid_request_error", param, code), status), message)


def check_key(headers: Mapping[str, str]) -> None:
    """Any bearer token is let in, but `bad-key`; RefusalError (401) else."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        said = (
            "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer "
            f"auth (i.e. Authorization: Bearer YOUR_KEY). You can obtain an API key from {_KEYS_URL}."
        )
        raise refused(said, status=401)
    if key.strip() == "bad-key":
        said = f"Incorrect API key provided: bad-key. You can find your API key at {_KEYS_URL}."
        raise refused(said, code="invalid_api_key", status=401)
