"""Anthropic, and any server that speaks its Messages API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from app.errors import DeniedError
from app.upstreams.upstream import Credential, Upstream, with_version
from app.wires.anthropic import ANTHROPIC

BASE_URL = "https://api.anthropic.com"
SMALL = "claude-haiku-4-5"
"""Cheap, fast, and it thinks only when asked to. Servers that are merely compatible have models of their own."""

HEADERS: Mapping[str, str] = {"anthropic-version": "2023-06-01"}
"""What a request needs whose client sent no version of its own. This version still takes sampling parameters, on the
models that have them; the newer 2026-10-21 refuses them on all (https://platform.claude.com/docs/en/api/versioning)."""

_SIGNED_IN = "sk-ant-oat"
"""How the tokens begin that signing in gives (Claude Code); they are bearer tokens only."""


def anthropic(name: str, base_url: str = "", key: str = "") -> Upstream:
    """The upstream. The SDK's convention holds: the base URL has no version, and gets /v1; one that has it stays."""
    given = base_url or BASE_URL
    own = urlsplit(given).hostname == urlsplit(BASE_URL).hostname
    base, small = with_version(given, "v1"), SMALL if own else ""
    return Upstream(name, "anthropic", ANTHROPIC, base, _signer(key), bool(key), own, small, headers=HEADERS)


def _signer(key: str) -> Callable[[Credential], Mapping[str, str]]:
    """Sends our key, or the client's as it came: current SDKs send API keys as bearer tokens too, older ones do not."""

    def sign(credential: Credential) -> Mapping[str, str]:
        if key:
            return _header(key, bearer=False)
        if not credential.secret:
            raise DeniedError("No API key: send your Anthropic key, as your SDK does, or have the operator set one.")
        return _header(credential.secret, bearer=credential.scheme == "bearer")

    return sign


def _header(secret: str, *, bearer: bool) -> Mapping[str, str]:
    if secret.startswith(_SIGNED_IN) or (bearer and not secret.startswith("sk-ant-api")):
        return {"authorization": f"Bearer {secret}"}
    return {"x-api-key": secret}
