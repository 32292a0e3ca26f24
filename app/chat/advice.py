"""Losses that are mere advice: how a provider is to do its work, while what is asked and answered stays as it is.

They are reported like every loss, and refused by none: who wants nothing lost of what is said (`STRICT`) loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.chat.model import Loss

CACHES = ("cache_control", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options")
"""Where to cache a prompt, and for how long."""

QUEUES = ("service_tier", "serviceTier", "speed", "prediction")
"""How fast and how dearly to answer; `prediction` is a guess of the answer that saves time where it is right."""

RECORDS = ("metadata", "client_metadata", "labels", "user", "safety_identifier", "diagnostics")
"""What to note beside a request: for lists, bills and the watch for abuse."""

SAVINGS = ("context_management",)
"""What may be left out of a long prompt, to save: without it nothing is left out, and Foldline folds by itself."""

ADVICE = frozenset((*CACHES, *QUEUES, *RECORDS, *SAVINGS))


def asked_for(losses: Iterable[Loss]) -> list[Loss]:
    """The losses without what is mere advice."""
    return [loss for loss in losses if loss.field not in ADVICE]
