"""What was measured as Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import mean

from app.context.plan import Decision

from bench.chains.play import CHAIN, FOLDLINE, RESEND, Played
from bench.chains.prices import Rates
from bench.chains.rhythm import GAPS

MOST_OVER = 1.05
"""Foldline may cost so much of the better of the two others."""

Rows = Mapping[str, Mapping[str, Mapping[str, Played]]]
"""Kind of chat → way → rhythm → what was seen."""


def table(rows: Rows, rates: Rates) -> str:
    """Weighted tokens and bytes of each chat, rhythm and way, and each as a multiple of the better fixed way."""
    heads = ("requests", "continued", "tokens read", "cached", "asked", "summaries", "weighted", "÷ better", "MB")
    lines = [f"| chat | between turns | way | {' | '.join(heads)} |", "| --- | --- | --- |" + " ---: |" * len(heads)]
    for kind, ways in rows.items():
        for gap in GAPS:
            better = min(ways[way][gap].bills[gap].spent.weighted(rates) for way in (RESEND, CHAIN))
            for way, rhythms in ways.items():
                bill = rhythms[gap].bills[gap]
                weighted = bill.spent.weighted(rates)
                cells = (
                    str(bill.requests),
                    f"{bill.continued / bill.requests:.1%}",
                    f"{bill.spent.read:,}",
                    f"{bill.spent.cached / bill.spent.read:.0%}",
                    str(bill.asked),
                    f"{bill.spent.summaries(rates):,.0f}",
                    f"{weighted:,.0f}",
                    f"{weighted / better:.3f}",
                    f"{bill.wired / 1e6:.2f}",
                )
                lines.append(f"| {kind} | {gap} | {way} | {' | '.join(cells)} |")
    return "\n".join(lines)


def reasons(rows: Rows) -> str:
    """What became of the chain, and why, as Foldline itself said it; and what a cut saved at that moment."""
    lines = [
        "| chat | between turns | chain | because | times | tokens continued → whole, on average |",
        "| --- | --- | --- | --- | ---: | ---: |",
    ]
    for kind, ways in rows.items():
        for gap in GAPS:
            groups: dict[tuple[str, str], list[Decision]] = {}
            for each in ways[FOLDLINE][gap].chained:
                groups.setdefault((each.applied, _plain(each)), []).append(each)
            for (applied, why), found in sorted(groups.items(), key=lambda one: -len(one[1])):
                sizes = f"{mean(one.after for one in found):,.0f} → {mean(one.before for one in found):,.0f}"
                lines.append(f"| {kind} | {gap} | {applied} | {why} | {len(found)} | {sizes} |")
    return "\n".join(lines)


def _plain(decision: Decision) -> str:
    """The first sentence of a reason without its numbers, so that equal ones can be counted."""
    first = decision.reason.partition(". ")[0].partition(": ")[0]
    return re.sub("[0-9]+", "…", first)


def verdicts(rows: Rows, rates: Rates) -> str:
    """Whether Foldline costs more than it may, at the end and for a chat that ends earlier: with summaries by the small
    model, and by the chat's own."""
    heads = ("at the end", "", "worst, and when", "over 5 % until turn", "own model: at the end", "", "worst, and when")
    lines = [
        f"| chat | between turns | {' | '.join(heads)} |",
        "| --- | --- | ---: | --- | ---: | ---: | ---: | --- | ---: |",
    ]
    for kind, ways in rows.items():
        for gap in GAPS:
            ratios, own = over(ways, gap, rates), over(ways, gap, rates.own)
            late = max((turn for turn, ratio in enumerate(ratios, 1) if ratio > MOST_OVER), default=0)
            cells = (*_end(ratios), _worst(ratios), str(late or "never"), *_end(own), _worst(own))
            lines.append(f"| {kind} | {gap} | {' | '.join(cells)} |")
    lines += [
        f"\n{kind}, {way}, {gap}: refused: {each}."
        for kind, ways in rows.items()
        for way, rhythms in ways.items()
        for gap, played in rhythms.items()
        for each in played.refused[:3]
    ]
    return "\n".join(lines)


def _end(ratios: Sequence[float]) -> tuple[str, str]:
    return f"{ratios[-1] - 1:+.1%}", "met" if ratios[-1] <= MOST_OVER else "NOT MET"


def _worst(ratios: Sequence[float]) -> str:
    worst = max(range(len(ratios)), key=ratios.__getitem__)
    return f"{ratios[worst] - 1:+.1%}, turn {worst + 1}"


def over(ways: Mapping[str, Mapping[str, Played]], gap: str, rates: Rates) -> list[float]:
    """What Foldline had cost after each turn, of what the better of the two fixed ways had."""
    paths = [ways[way][gap].bills[gap].path for way in (RESEND, CHAIN)]
    ours = ways[FOLDLINE][gap].bills[gap].path
    return [
        spent.weighted(rates) / min(each[turn].weighted(rates) for each in paths) for turn, spent in enumerate(ours)
    ]
