"""Answers in sound: only Chat Completions has them, so no other provider's answer could be what the client plays."""

from __future__ import annotations

from typing import Any

import msgspec

from app.chat.model import Chat
from app.errors import ClientError
from app.wires.envelope import as_list

MODALITIES = msgspec.json.Decoder(Any)


def confined(chat: Chat) -> ClientError | None:
    """Why this chat can be answered in Chat Completions only, if it can: it asks for sound (`modalities`)."""
    if "audio" not in as_list(MODALITIES.decode(chat.rest.get("modalities", b"null"))):
        return None
    words = "modalities: this model's provider gives no answers in sound here. Ask for text, or a model of OpenAI."
    return ClientError(words, param="modalities")
