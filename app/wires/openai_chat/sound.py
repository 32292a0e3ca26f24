"""Answers in sound: only Chat Completions has them, so no other provider's answer could be what the client plays."""

from __future__ import annotations

from app.chat.model import Chat
from app.errors import ClientError
from app.wires.envelope import ANYTHING, as_list


def confined(chat: Chat) -> ClientError | None:
    """Why this chat can be answered in Chat Completions only, if it can: it asks for sound (`modalities`)."""
    if "audio" not in as_list(ANYTHING.decode(chat.rest.get("modalities", b"null"))):
        return None
    words = "modalities: this model's provider gives no answers in sound here. Ask for text, or a model of OpenAI."
    return ClientError(words, param="modalities")
