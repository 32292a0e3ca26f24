"""What a request's headers settle: the key, the API's version, and the betas that are switched on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.simulator.anthropic.problems import refused
from app.simulator.shapes import digest

VERSIONS = ("2023-01-01", "2023-06-01", "2026-10-21")
_MOST_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one request.

    Attributes:
        account: a digest of the key, for what one account may not see of another.
        strict: whether the version is 2026-10-21 or later: no sampling, and two rules more on blocks.
    """

    version: str
    betas: frozenset[str]
    account: str

    @property
    def strict(self) -> bool:
        """Whether the rules of 2026-10-21 hold."""
        return self.version >= "2026-10-21"

    def has(self, beginning: str) -> bool:
        """Whether a beta is on whose name begins so."""
        return any(beta.startswith(beginning) for beta in self.betas)


def terms_of(headers: Mapping[str, str]) -> Terms:
    """The terms; RefusalError for a missing or wrong key (401), a missing or unknown version, a body above 32 MiB."""
    key = _key(headers)
    version = headers.get("anthropic-version", "").strip()
    if not version:
        raise refused("anthropic-version: header is required")
    if version not in VERSIONS:
        raise refused(f'anthropic-version: "{version}" is not a valid version')
    length = headers.get("content-length", "")
    if length.isascii() and length.isdigit() and len(length) < 16 and int(length) > _MOST_BYTES:
        raise refused("Request exceeds the maximum size", status=413)
    betas = (beta.strip() for beta in headers.get("anthropic-beta", "").split(","))
    return Terms(version, frozenset(beta for beta in betas if beta), digest(key))


def _key(headers: Mapping[str, str]) -> str:
    """x-api-key counts before a bearer token. Any key is let in, but `bad-key`."""
    key = headers.get("x-api-key", "").strip()
    if key:
        if key == "bad-key":
            raise refused("invalid x-api-key", status=401)
        return key
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise refused("x-api-key header is required", status=401)
    if token.strip() == "bad-key":
        raise refused("Invalid bearer token", status=401)
    return token.strip()
