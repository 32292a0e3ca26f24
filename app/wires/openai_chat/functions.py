"""The older way to call tools: a client that sends `functions` knows one `function_call` an answer, which has no id. Of
several calls it gets the first: the model asks for the others when it has that one's result.

Source: platform.openai.com, chat/create, `functions` and `function_call` (deprecated in favour of `tools`).
"""

from __future__ import annotations

from typing import Any

from app.chat.model import Chat, ToolCall
from app.wires.envelope import Envelope
from app.wires.openai_chat.names import NAME

FINISH = "function_call"
"""The finish reason of an answer that calls."""


def asked(chat: Chat) -> bool:
    """Whether the client's tools are `functions` alone."""
    envelope = chat.native.body if chat.native and chat.native.wire == NAME else None
    if not isinstance(envelope, Envelope):
        return False
    said = {name for name in ("functions", "tools") if bytes(envelope.fields.get(name, b"null")) != b"null"}
    return said == {"functions"}


def piece(name: str, arguments: str) -> dict[str, Any]:
    """A delta of the call; only its first piece has a name: the SDKs join what repeats."""
    return {"function_call": {"name": name, "arguments": arguments} if name else {"arguments": arguments}}


def whole(call: ToolCall) -> dict[str, Any]:
    """The call in a message."""
    return {"name": call.name, "arguments": call.arguments or "{}"}
