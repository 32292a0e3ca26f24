"""What was measured as Markdown tables."""

from __future__ import annotations

from collections.abc import Mapping

from bench.chains.play import CHAIN, FOLDLINE, RESEND, Played
from bench.chains.rhythm import GAPS

MOST_OVER = 1.05
"""Foldline may cost so much of the better of the two others."""

Rows = Mapping[str, Mapping[str, Mapping[str, Played]]]
"""Kind of chat → way → rhythm → what was seen."""


def table(rows: Rows) -> str:
    """Weighted tokens and bytes of each chat, rhythm and way, and each as a multiple of the better fixed way."""
    heads = ("requests", "continued", "tokens read", "cached", "summaries", "weighted", "÷ better", "MB")
    lines = [f"| chat | between turns | way | {' | '.join(heads)} |", "| --- | --- | --- |" + " ---: |" * len(heads)]
    for kind, ways in rows.items():
        for gap in GAPS:
            better = min(ways[way][gap].bills[gap].weighted for way in (RESEND, CHAIN))
            for way, rhythms in ways.items():
                bill = rhythms[gap].bills[gap]
                cells = (
                    str(bill.requests),
                    f"{bill.continued / bill.requests:.1%}",
                    f"{bill.read:,}",
                    f"{bill.cached / bill.read:.0%}",
                    f"{bill.summary:,.0f}",
                    f"{bill.weighted:,.0f}",
                    f"{bill.weighted / better:.3f}",
                    f"{bill.wired / 1e6:.2f}",
                )
                lines.append(f"| {kind} | {gap} | {way} | {' | '.join(cells)} |")
    return "\n".join(lines)


def reasons(rows: Rows) -> str:
    """What became of the chain, and why, as Foldline itself said it."""
    lines = ["| chat | between turns | chain | because | times |", "| --- | --- | --- | --- | ---: |"]
    for kind, ways in rows.items():
        for gap in GAPS:
            for (applied, why), count in sorted(ways[FOLDLINE][gap].chained.items(), key=lambda one: -one[1]):
                lines.append(f"| {kind} | {gap} | {applied} | {why} | {count} |")
    return "\n".join(lines)


def verdicts(rows: Rows) -> str:
    """Where Foldline costs more than it may."""
    lines: list[str] = []
    for kind, ways in rows.items():
        for gap in GAPS:
            better = min(ways[way][gap].bills[gap].weighted for way in (RESEND, CHAIN))
            ours = ways[FOLDLINE][gap].bills[gap].weighted
            word = "met" if ours <= better * MOST_OVER else "NOT MET"
            lines.append(f"{kind}, {gap}: {ours / better - 1:+.1%} against the better of the two: {word}.")
            lines += [f"{kind}, {gap}: refused: {each}." for each in ways[FOLDLINE][gap].refused[:3]]
    return "\n".join(lines)
