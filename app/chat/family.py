"""Whose tokenizer, and whose rules for media, count for a model."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

Family: TypeAlias = Literal["openai", "gemini", "claude", "other"]

_CLAUDE = re.compile(r"claude|\banthropic/")
_GEMINI = re.compile(r"gemini|gemma|learnlm")
_OPENAI = re.compile(r"\bgpt-(?!j|neo)|chatgpt|\bo[1-9]\b|\bcodex|\bopenai/")


def family_of(model: str) -> Family:
    """The family of a model's name. A prefix as in `anthropic/claude-…` or `models/gemini-…` does not matter."""
    name = model.lower()
    if _CLAUDE.search(name):
        return "claude"
    if _GEMINI.search(name):
        return "gemini"
    return "openai" if _OPENAI.search(name) else "other"
