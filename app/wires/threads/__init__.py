"""Formats whose clients may send only what is new, behind the id of an earlier answer: what that takes."""

from __future__ import annotations

from collections.abc import Mapping

from app.wires.gemini_interactions.names import NAME as INTERACTIONS
from app.wires.openai_responses.names import NAME as RESPONSES
from app.wires.threads.interactions import InteractionThreads
from app.wires.threads.responses import ResponseThreads
from app.wires.threads.thread import Threads

THREADS: Mapping[str, Threads] = {RESPONSES: ResponseThreads(), INTERACTIONS: InteractionThreads()}
"""By the name of the wire."""

__all__ = ["THREADS", "Threads"]
