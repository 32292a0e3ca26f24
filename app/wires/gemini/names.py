"""The words of this format, each spelled once, and the names that Gemini allows tools to have."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

from app.chat.events import FinishReason
from app.chat.model import Chat

NAME = "gemini"

BYPASS = "skip_thought_signature_validator"
"""Google's documented stand-in for a signature that never was (https://ai.google.dev/gemini-api/docs/thought-signatures,
FAQ 1). Of the two strings it names, this is the one that Vertex AI documents too."""

INTERRUPTED = "CONTINUATION"

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
    """A function name that Gemini takes: the name itself if it is legal, else a cleaned one with a digest of the
    original behind it, so that two names never fall together and the same name always becomes the same.

    Gemini documents 128 characters with `:`; Vertex AI and older models take 64 without, which all take.
    """
    if _LEGAL.fullmatch(name):
        return name
    clean = _ILLEGAL.sub("_", name)
    if not clean or not (clean[0].isalpha() or clean[0] == "_"):
        clean = "_" + clean
    return f"{clean[:55]}_{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def reverse(chat: Chat) -> Mapping[str, str]:
    """What Gemini says → what the client calls it, for the tools whose name had to be changed."""
    names: Iterable[str] = (tool.name for tool in chat.tools)
    return {changed: name for name in names if (changed := legal(name)) != name}


def generation(model: str) -> tuple[int, int]:
    """(major, minor) of a Gemini model; an alias or unknown name counts as the newest, whose rules are the strictest."""
    match = _GENERATION.search(model)
    return (int(match[1]), int(match[2] or 0)) if match else (99, 0)


def signs(model: str) -> bool:
    """Whether the model demands thought signatures on function calls: Gemini 3 and later; Gemma never does."""
    return generation(model)[0] >= 3 and "gemma" not in model
