"""Time as the bench tells it: how long a user thinks between turns, and how long a tool works."""

from __future__ import annotations

from dataclasses import dataclass

START = 1_800_000_000.0
TOOL = 2.0
"""Seconds between a call and its result."""


@dataclass
class Clock:
    """Unix seconds that pass only when told; calling it gives them."""

    now: float = START

    def __call__(self) -> float:
        """The time."""
        return self.now


GAPS = {"10 s": 10.0, "20 min": 1200.0}
"""Seconds between an answer and the user's next words."""
