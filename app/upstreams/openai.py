"""OpenAI, and any server that speaks its Chat Completions or its Responses: one `[upstreams.NAME]` each."""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec.structs import replace

from app.upstreams.upstream import Keeps, Spoken, Upstream, with_key
from app.wires.openai_chat import OPENAI_CHAT
from app.wires.openai_responses import OPENAI_RESPONSES
from app.wires.openai_responses.inherited import inherited

BASE_URL = "https://api.openai.com/v1"
SMALL = "gpt-5-mini"
"""Cheap, fast, and it keeps to a list. Servers that are merely compatible have models of their own."""

KEPT = 30 * 86_400.0
"""Seconds that a response is kept (platform.openai.com, conversation state)."""

_ANY = Spoken()


def openai(name: str, base_url: str = "", key: str = "", spoken: Spoken = _ANY) -> Upstream:
    """The upstream. The SDKs' convention holds: the base URL contains the version, as in http://localhost:11434/v1."""
    base = (base_url or BASE_URL).rstrip("/")
    if not urlsplit(base).path:
        base += "/v1"
    own = urlsplit(base).hostname == urlsplit(BASE_URL).hostname
    sign = with_key("authorization", "Bearer ", key)
    chat = Upstream(name, "openai", OPENAI_CHAT, base, sign, bool(key), own, SMALL if own else "")
    keeps = Keeps("/responses/", spoken.retention or KEPT, inherits=inherited)
    responses = replace(chat, wire=OPENAI_RESPONSES, keeps=keeps)
    if spoken.api == "responses":
        return responses
    # A Responses client says what Chat Completions cannot; only OpenAI itself is known to serve both, or what stands in
    # for it.
    native = {OPENAI_RESPONSES.name: responses} if (own or spoken.both) and not spoken.only else {}
    return replace(chat, native=native)
