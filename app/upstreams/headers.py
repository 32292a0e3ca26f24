"""Which of the client's headers travel on, and which of the provider's come back.

Requests are built anew, never replayed. To a provider of the client's own format everything goes along that is not
about the connection, the credential, the browser or Foldline itself; to another format only what means the same
everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

STAY = frozenset(
    (
        b"accept accept-encoding api-key authorization connection content-encoding content-length content-type cookie "
        b"expect forwarded host keep-alive origin proxy-authenticate proxy-authorization proxy-connection referer te "
        b"trailer transfer-encoding upgrade via x-api-key x-goog-api-key x-real-ip"
    ).split()
)
STAY_PREFIXES = (b"x-foldline-", b"x-forwarded-", b"sec-", b"cf-")
EVERYWHERE = frozenset((b"traceparent", b"tracestate", b"baggage", b"x-request-id"))

BACK_PREFIXES = ("x-ratelimit-", "openai-", "x-goog-", "anthropic-ratelimit-")
BACK = frozenset(("retry-after", "retry-after-ms", "x-should-retry", "server-timing"))


def forwarded(headers: Iterable[tuple[bytes, bytes]], same_format: bool) -> dict[str, str]:
    """The client's headers that go to the provider; names in lower case. One that was sent in several lines is one list
    (RFC 9110, 5.3): Anthropic's betas may come so."""
    if not same_format:
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers if name in EVERYWHERE}
    found: dict[str, str] = {}
    named: set[bytes] = set()
    for name, value in headers:
        if name == b"connection":  # what it names is meant for this connection only (RFC 9110, 7.6.1)
            named.update(word.strip() for word in value.lower().split(b","))
        elif name not in STAY and not name.startswith(STAY_PREFIXES):
            key, said = name.decode("latin-1"), value.decode("latin-1")
            found[key] = f"{found[key]}, {said}" if key in found else said
    for name in named:
        found.pop(name.decode("latin-1"), None)
    return found


def returned(headers: Mapping[str, str], same_format: bool) -> dict[str, str]:
    """The provider's headers that go to the client of the same format."""
    if not same_format:
        return {}
    return {name: value for name, value in headers.items() if name in BACK or name.startswith(BACK_PREFIXES)}
