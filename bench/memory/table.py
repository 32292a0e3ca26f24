"""What was measured as Markdown tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from bench.memory.outcome import Outcome
from bench.memory.prices import LISTED, PRICES
from bench.memory.targets import targets

HEADS = (
    "facts in view",
    "tokens sent",
    "of all",
    "peak",
    "over budget",
    "extend",
    "continued",
    "prefix",
    "summaries",
    "again",
    "a turn",
    "their tokens",
    *(f"$ {name}" for name in PRICES),
    "MB",
    "p50 ×",
    "p95 ×",
)


def table(language: str, runs: Mapping[str, Outcome]) -> str:
    """All runs of one language."""
    first = next(iter(runs.values()))
    lines = [
        f"\n## {language}: {first.turns} turns, {first.facts} facts",
        f"| policy | {' | '.join(HEADS)} |",
        "| --- |" + " ---: |" * len(HEADS),
    ]
    lines += [f"| {name} | {' | '.join(_cells(outcome, runs))} |" for name, outcome in runs.items()]
    for name, outcome in runs.items():
        if outcome.lost and name.startswith("foldline"):
            kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(outcome.lost.values()).most_common())
            lines.append(f"\n{name}: not in view: {kinds}.")
        lines += [f"\n{name}: {fault}." for fault in (*outcome.faults, *outcome.failures)[:5]]
    return "\n".join(lines)


def _cells(outcome: Outcome, runs: Mapping[str, Outcome]) -> list[str]:
    direct = runs.get("everything")
    return [
        f"{outcome.in_view}/{outcome.facts}",
        f"{outcome.sent:,}",
        f"{outcome.sent / direct.sent:.1%}" if direct else "",
        f"{outcome.peak:,}",
        f"{max(outcome.over, 0):,}",
        f"{outcome.extending:.1%}",
        f"{outcome.continued:.1%}",
        f"{outcome.prefix:.1%}",
        str(outcome.summaries),
        str(outcome.again),
        f"{outcome.summaries / outcome.turns:.3f}",
        f"{outcome.summary_tokens:,}",
        *(f"{outcome.cost[name]:.3f}" for name in PRICES),
        f"{outcome.wired / 1e6:.1f}",
        f"{outcome.p50 / direct.p50:.1f}" if direct and direct.p50 else "",
        f"{outcome.p95 / direct.p95:.1f}" if direct and direct.p95 else "",
    ]


def targets_table(languages: Mapping[str, Mapping[str, Outcome]]) -> str:
    """Every target, for each language: met or not."""
    lines = ["\n## Targets", "| | target | aim | measured | |", "| --- | --- | ---: | ---: | --- |"]
    for language, runs in languages.items():
        for target in targets(runs):
            verdict = "met" if target.met else "NOT MET"
            lines.append(f"| {language} | {target.text} | {target.aim} | {target.measured} | {verdict} |")
    return "\n".join(lines)


def legend() -> str:
    """What the columns mean, in short."""
    models = ", ".join(f"{price.model} ({name})" for name, price in PRICES.items())
    return (
        "of all: tokens, of sending everything. over budget: tokens beyond budget and newest exchange, at most. "
        "extend: requests that begin with all bytes of the one before. prefix: mean share of the one before that a "
        "request begins with. continued: requests that go on from what the provider holds. "
        "again: summaries that were asked for once more. "
        "MB: bytes of all requests. "
        f"$: list price of {LISTED}, {models}. ×: time of a turn over the upstream asked directly."
    )
