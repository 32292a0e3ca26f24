"""The words of this format, each spelled once, and the names that Gemini allows tools to have."""

from __future__ import annotations

import re
from collections.abc import Mapping

from app.chat.events import FinishReason
from app.chat.model import Chat
from app.wires.toolnames import alias, changed

NAME = "gemini"

OWN_FILES = ("gs://", "https://generativelanguage.googleapis.com/")
"""How the address of a file begins that nobody but Google can read."""

BYPASS = "skip_thought_signature_validator"
"""Google's documented stand-in for a signature that never was
(https://ai.google.dev/gemini-api/docs/thought-signatures, FAQ 1). Of the two strings it names, this is the one that
Vertex AI documents too."""

INTERRUPTED = "CONTINUATION"

RESUMED = "continuationToken:"
"""How `Chat.resume` begins while an answer is gone on with that stopped at INTERRUPTED: the token stands behind it."""

_LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.-]")
_GENERATION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")

FINISH_IN: dict[str, FinishReason] = {
    "STOP": "stop",
    "FINISH_REASON_UNSPECIFIED": "stop",
    "OTHER": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "MALFORMED_FUNCTION_CALL": "malformed_call",
    "UNEXPECTED_TOOL_CALL": "malformed_call",
    "TOO_MANY_TOOL_CALLS": "malformed_call",
    "MISSING_THOUGHT_SIGNATURE": "malformed_call",
    "MALFORMED_RESPONSE": "malformed_call",
    INTERRUPTED: "paused",
}

FINISH_OUT: dict[FinishReason, str] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "tool_calls": "STOP",
    "content_filter": "SAFETY",
    "paused": "MAX_TOKENS",
    "malformed_call": "MALFORMED_FUNCTION_CALL",
}


def legal(name: str) -> str:
    """A function name that Gemini takes (see toolnames.alias).

    Gemini documents 128 characters with `:`; Vertex AI and older models take 64 without, which all take.
    """
    return alias(name, _LEGAL, _ILLEGAL)


def reverse(chat: Chat) -> Mapping[str, str]:
    """What Gemini says → what the client calls it, for the tools whose name had to be changed."""
    return changed(chat, NAME, legal)


def generation(model: str) -> tuple[int, int]:
    """(major, minor) of a Gemini model; an alias or unknown name counts as the newest, with the strictest rules."""
    match = _GENERATION.search(model)
    return (int(match[1]), int(match[2] or 0)) if match else (99, 0)


def signs(model: str) -> bool:
    """Whether the model demands thought signatures on function calls: Gemini 3 and later; Gemma never does."""
    return generation(model)[0] >= 3 and "gemma" not in model
