"""What Foldline sets out to do with long conversations, each aim with what this run measured: met or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bench.memory.outcome import Outcome

SHARE_OF_ALL = 0.25
CALLS_A_TURN = 0.1
EXTENDING = 0.85
HARD = "foldline, half"
"""The run that shows what the retention gate is worth."""


@dataclass(frozen=True, slots=True)
class Target:
    """One line."""

    text: str
    aim: str
    measured: str
    met: bool


def targets(runs: Mapping[str, Outcome]) -> Iterator[Target]:
    """The targets of one language: the worst of all runs through Foldline, apart from the facts."""
    ours = [outcome for name, outcome in runs.items() if name.startswith("foldline")]
    if not ours:
        return
    over = max(outcome.over for outcome in ours)
    yield Target("largest request over budget plus newest exchange", "0", f"{max(over, 0):,}", over <= 0)
    if (hard := runs.get(HARD)) is not None:
        yield Target(
            "facts in view, summaries lose half",
            f"{hard.facts} of {hard.facts}",
            f"{hard.in_view} of {hard.facts}",
            hard.in_view == hard.facts,
        )
    if (all_of_it := runs.get("everything")) is not None:
        share = max(outcome.sent for outcome in ours) / all_of_it.sent
        yield Target("tokens, of sending everything", f"≤ {SHARE_OF_ALL:.0%}", f"{share:.1%}", share <= SHARE_OF_ALL)
    calls = max(outcome.summaries / outcome.turns for outcome in ours)
    yield Target("summary calls a turn", f"≤ {CALLS_A_TURN}", f"{calls:.3f}", calls <= CALLS_A_TURN)
    least = min(outcome.extending for outcome in ours)
    yield Target("requests that extend the one before", f"≥ {EXTENDING:.0%}", f"{least:.1%}", least >= EXTENDING)
    wrong = sum(len(outcome.faults) + len(outcome.failures) for outcome in ours)
    yield Target("refused or failed requests", "0", str(wrong), not wrong)
