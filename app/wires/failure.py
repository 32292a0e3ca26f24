"""What all formats share about errors: the kind behind a status and its words, and how long to wait."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from app.errors import Kind, ProxyError, UpstreamError
from app.wires.envelope import ANYTHING, as_list, as_object, encode
from app.wires.overflow import is_overflow
from app.wires.wire import Problem

LONGEST_WAIT = 60.0
"""Seconds. OpenAI's SDK gives up on a Retry-After above 120 s, Anthropic's sleeps however long it is told."""

_BY_STATUS: dict[int, Kind] = {
    400: "bad_request",
    401: "unauthenticated",
    402: "out_of_quota",
    403: "forbidden",
    404: "not_found",
    408: "timeout",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media",
    422: "bad_request",
    429: "rate_limited",
    499: "cancelled",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}

_NO_MODEL = re.compile(
    r"\bmodel\b.{0,120}(does not exist|not found|is not supported)|models/\S+ is not found", re.IGNORECASE
)
_RETRY_IN = re.compile(r"retry in (\d+(?:\.\d+)?)\s*s", re.IGNORECASE)


def kind_of(status: int, message: str) -> Kind:
    """The cause behind a provider's status, and its words where the status is not enough."""
    if status in (400, 413, 422) and is_overflow(message):
        return "too_long"
    if status in (400, 404) and _NO_MODEL.search(message):
        return "model_not_found"
    return _BY_STATUS.get(status) or ("bad_request" if 400 <= status < 500 else "upstream_failed")


def retry_after_header(headers: Mapping[str, str], message: str = "") -> float | None:
    """Seconds to wait: `retry-after-ms`, `retry-after` (seconds or a date), or "retry in 34.1s" in the words."""
    try:
        if value := headers.get("retry-after-ms"):
            return float(value) / 1000
        if value := headers.get("retry-after"):
            return float(value)
    except ValueError:
        return _until(headers.get("retry-after", ""), headers.get("date", ""))
    match = _RETRY_IN.search(message)
    return float(match[1]) if match else None


def _until(moment: str, now: str) -> float | None:
    """A date as seconds from the same server's own clock: two hosts' clocks are never compared."""
    try:
        return max(0.0, (parsedate_to_datetime(moment) - parsedate_to_datetime(now)).total_seconds())
    except (ValueError, TypeError):
        return None


def retry_headers(error: ProxyError) -> dict[str, str]:
    """Retry-After in whole seconds, rounded up and capped."""
    if error.retry_after is None:
        return {}
    return {"retry-after": str(math.ceil(min(error.retry_after, LONGEST_WAIT)))}


def problem_of(error: ProxyError, wire: str, written: Mapping[str, Any]) -> Problem:
    """The error as status, headers and body: `written` in the client's format; a provider of the same format is quoted
    byte for byte."""
    own = error.body if isinstance(error, UpstreamError) and error.wire == wire else b""
    return Problem(error.status, own or encode(written), retry_headers(error))


def said_in(body: bytes) -> dict[str, Any]:
    """The JSON object of an error body: bare, or in a list with one element, as in Google's streams; else empty."""
    try:
        value: Any = ANYTHING.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return {}
    listed = as_list(value)
    return as_object(listed[0] if listed else value)
