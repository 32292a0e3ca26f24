"""Every error a user can meet, whose fault it is, and whether retrying helps.

    ProxyError
    ├── ClientError     the request: fix it, then send it again        (400, 404, 413, 415, 422 …)
    ├── DeniedError     the credential: not known, or not allowed      (401, 403)
    ├── UpstreamError   the provider, or the way to it                 (its own status; 502, 504 if it never answered)
    └── StateError      what Foldline stores is gone or out of reach   (404, 409, 503)

Each message is fit to show to the client: it says what to change, and holds no key, no host name and no chat text.
"""

from __future__ import annotations

from typing import Literal

Kind = Literal[
    "bad_request",
    "unauthenticated",
    "forbidden",
    "not_found",
    "model_not_found",
    "too_long",  # more tokens than the context window takes
    "too_large",  # more bytes than MAX_BODY
    "unsupported_media",
    "conflict",
    "rate_limited",
    "out_of_quota",
    "overloaded",
    "upstream_failed",
    "timeout",
    "cancelled",
    "unavailable",
]

STATUS: dict[Kind, int] = {
    "bad_request": 400,
    "unauthenticated": 401,
    "forbidden": 403,
    "not_found": 404,
    "model_not_found": 404,
    "too_long": 400,
    "too_large": 413,
    "unsupported_media": 415,
    "conflict": 409,
    "rate_limited": 429,
    "out_of_quota": 429,
    "overloaded": 503,
    "upstream_failed": 502,
    "timeout": 504,
    "cancelled": 499,
    "unavailable": 503,
}


class ProxyError(Exception):
    """The root. `whose` names who can mend it; `retry` says whether the same request may work later.

    Args:
        message: one sentence for the client.
        kind: the cause, which each wire writes in its own words.
        status: HTTP status; by default the kind's own.
        param: the field of the request that is at fault, as the client spells it.
        code: a provider's own error code, kept for clients of the same dialect.
        retry_after: seconds to wait before trying again, if known.
    """

    whose: Literal["client", "operator", "upstream", "foldline"] = "foldline"
    retry: bool = False

    def __init__(
        self,
        message: str,
        *,
        kind: Kind = "bad_request",
        status: int | None = None,
        param: str | None = None,
        code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind: Kind = kind
        self.status = status or STATUS[kind]
        self.param = param
        self.code = code
        self.retry_after = retry_after


class ClientError(ProxyError):
    """The request cannot be served as it is; the message says what to change."""

    whose = "client"


class DeniedError(ProxyError):
    """The credential is missing, unknown, or may not do this."""

    whose = "client"

    def __init__(self, message: str, *, kind: Kind = "unauthenticated") -> None:
        super().__init__(message, kind=kind)


class UpstreamError(ProxyError):
    """The provider refused, failed or never answered.

    `wire` and `body` keep what it literally said, so that a client of the same dialect gets exactly that.
    `sent` tells whether the provider may have begun to work (then a retry could bill twice), `repeat` whether the very
    same request may be sent there once more by ourselves: not where it would only fail, wait or bill again.
    """

    whose = "upstream"

    def __init__(
        self,
        message: str,
        *,
        kind: Kind = "upstream_failed",
        status: int | None = None,
        param: str | None = None,
        code: str | None = None,
        retry_after: float | None = None,
        wire: str = "",
        body: bytes = b"",
        sent: bool = True,
        repeat: bool = True,
    ) -> None:
        super().__init__(message, kind=kind, status=status, param=param, code=code, retry_after=retry_after)
        self.wire = wire
        self.body = body
        self.sent = sent
        self.repeat = repeat
        self.retry = kind in ("rate_limited", "overloaded", "timeout", "upstream_failed")


class StateError(ProxyError):
    """State that this request cannot do without is gone, or the store is out of reach."""

    retry = True

    def __init__(self, message: str, *, kind: Kind = "unavailable") -> None:
        super().__init__(message, kind=kind)
