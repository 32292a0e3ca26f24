"""Which conversation is it? What clients already send to say so, and what the conversation itself says.

An id picks the family, the content picks the branch: a title call beside the main chat under the same id has other
addresses and never touches its state. An id means something only inside its tenant.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from app.chat.address import root
from app.chat.model import Chat
from app.state.keys import Session

LONGEST_ID = 256

HEADERS = (
    b"x-claude-code-session-id",
    b"session-id",  # Codex
    b"thread-id",
    b"x-session-id",  # opencode, and the generic name
    b"x-openwebui-chat-id",
    b"x-task-id",  # Cline
    b"x-roo-task-id",
    b"helicone-session-id",
    b"x-litellm-session-id",
    b"x-conversation-id",  # LibreChat, and the generic name
    b"x-thread-id",
)
"""After our own header, in this order: what each of these clients sends unasked."""

OBJECT = msgspec.json.Decoder(dict[str, Any])


def session_of(
    chat: Chat,
    headers: Mapping[bytes, bytes],
    addresses: tuple[bytes, ...],
    tenant: bytes,
    kept_in: Session | None = None,
) -> Session:
    """The session that this request belongs to. `kept_in` is where the answer is kept that it goes on from: only what
    was said to us by name comes before it."""
    said = _told_us(chat, headers) or ("" if kept_in else said_id(chat, headers))
    if said:
        return named(said, tenant)
    if kept_in is not None:
        return kept_in
    return Session(tenant.hex(), root(addresses, tenant)[:12].hex())


def named(said: str, tenant: bytes) -> Session:
    """The session that a client calls by an id of its own, or by the one that we gave it."""
    ours = Session.parse(said)
    if ours is not None and ours.tenant == tenant.hex():
        return ours
    digest = hashlib.sha256(b"session\0" + tenant + said.encode("utf-8", "surrogatepass"))
    return Session(tenant.hex(), digest.digest()[:12].hex())


def said_id(chat: Chat, headers: Mapping[bytes, bytes]) -> str:
    """The id that the client gave in one way or another; empty if it gave none."""
    if said := _told_us(chat, headers):
        return said
    for name in HEADERS:
        if name in headers and (said := _clean(headers[name])):
            agent = _clean(headers.get(b"x-claude-code-agent-id", b""))
            return f"{said}/{agent}" if agent else said
    return _in_body(chat.rest)


def _told_us(chat: Chat, headers: Mapping[bytes, bytes]) -> str:
    """The id that was said to us by name."""
    if said := _clean(headers.get(b"x-foldline-session", b"")):
        return said
    option = chat.options.get("session")
    return option[:LONGEST_ID] if isinstance(option, str) else ""


def _clean(value: bytes) -> str:
    text = value.decode("latin-1").strip()
    return text if text.isprintable() and len(text) <= LONGEST_ID else ""


def _in_body(rest: Mapping[str, Any]) -> str:
    """`session_id`, `metadata.session_id`, and Claude Code's `metadata.user_id`, which is JSON text."""
    for name in ("session_id", "sessionId"):  # proto-JSON knows both spellings
        if name in rest and (said := _text(rest[name])):
            return said
    if "metadata" not in rest:
        return ""
    try:
        metadata = OBJECT.decode(rest["metadata"])
    except msgspec.DecodeError:
        return ""
    if isinstance(said := metadata.get("session_id"), str):
        return said[:LONGEST_ID]
    user = metadata.get("user_id")
    if isinstance(user, str) and user.startswith("{"):
        try:
            inner = OBJECT.decode(user).get("session_id")
        except msgspec.DecodeError:
            return ""
        return inner[:LONGEST_ID] if isinstance(inner, str) else ""
    return ""


def _text(raw: Any) -> str:
    try:
        value = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return ""
    return value[:LONGEST_ID] if isinstance(value, str) else ""
