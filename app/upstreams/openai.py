"""OpenAI, and any server that speaks its Chat Completions: one `[upstreams.NAME]` each."""

from __future__ import annotations

from urllib.parse import urlsplit

from app.upstreams.upstream import Spoken, Upstream, with_key
from app.wires.openai_chat import OPENAI_CHAT

BASE_URL = "https://api.openai.com/v1"
SMALL = "gpt-5-mini"
"""Cheap, fast, and it keeps to a list. Servers that are merely compatible have models of their own."""

_ANY = Spoken()


def openai(name: str, base_url: str = "", key: str = "", spoken: Spoken = _ANY) -> Upstream:
    """The upstream. The SDKs' convention holds: the base URL contains the version, as in http://localhost:11434/v1."""
    base = (base_url or BASE_URL).rstrip("/")
    if not urlsplit(base).path:
        base += "/v1"
    own = urlsplit(base).hostname == urlsplit(BASE_URL).hostname
    sign = with_key("authorization", "Bearer ", key)
    return Upstream(name, "openai", OPENAI_CHAT, base, sign, bool(key), own, SMALL if own else "")
