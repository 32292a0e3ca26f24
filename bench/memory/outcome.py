"""What one run shows: facts in view, tokens, stability of the beginning, summaries, cost, time."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import mean, quantiles
from typing import Any

from bench.memory.bodies import extends, faults, prefix_share
from bench.memory.play import Run
from bench.memory.prices import PRICES, total
from bench.memory.upstream import Record

AGAIN = "</said-missing>"
"""Stands in a question that names what the first answer lost."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One row of the table.

    Attributes:
        in_view: planted values that stand in the last request, of `facts`. lost: the others' kinds and values.
        sent: tokens of all requests, summaries and their answers included. chat: of the chat's own requests. What a
            provider holds and reads again counts as sent: it is in view, and it is billed.
        peak: tokens of the largest request of the chat. last: of the last one.
        over: tokens by which a request exceeded the budget plus its newest exchange, at most; 0 if none did.
        extending: share of the chat's requests that begin with all of the one before.
        continued: share of the chat's requests that go on from what the provider holds. wired: bytes of all requests.
        prefix: mean share of the request before that a request begins with.
        summaries: calls for a summary; again: those that ask once more for what was lost.
        summary_tokens: theirs, questions and answers.
        cost: US dollars by provider, summaries included.
        p50, p95: milliseconds a turn, at the client.
        faults: what a strict provider would have refused.
    """

    name: str
    language: str
    turns: int
    facts: int
    in_view: int
    lost: dict[str, str]
    chat: int
    sent: int
    peak: int
    last: int
    over: int
    extending: float
    prefix: float
    summaries: int
    again: int
    summary_tokens: int
    cost: dict[str, float]
    p50: float
    p95: float
    faults: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    continued: float = 0
    wired: int = 0

    def as_json(self) -> dict[str, Any]:
        """For a file."""
        return asdict(self)


def outcome(run: Run, budget: int) -> Outcome:
    """What a run shows, against a budget in tokens."""
    chat = [record for record in run.records if not record.summary]
    summaries = [record for record in run.records if record.summary]
    view = chat[-1].sent.text if chat else ""
    lost = {fact.value: fact.kind for fact in run.talk.planted if fact.value not in view}
    pairs = list(itertools.pairwise(chat))
    p50, p95 = _percentiles(run.seconds)
    told = sum(record.sent.tokens + record.answered for record in summaries)
    prompts = sum(record.sent.tokens for record in chat)
    return Outcome(
        name=run.name,
        language=run.talk.language,
        turns=len(run.talk.said),
        facts=len(run.talk.planted),
        in_view=len(run.talk.planted) - len(lost),
        lost=lost,
        chat=prompts,
        sent=prompts + told,
        peak=max((record.sent.tokens for record in chat), default=0),
        last=chat[-1].sent.tokens if chat else 0,
        over=max((record.sent.tokens - record.sent.newest - budget for record in chat), default=0),
        extending=_share([extends(before.sent, after.sent) for before, after in pairs]),
        prefix=_share([prefix_share(before.sent, after.sent) for before, after in pairs]),
        summaries=len(summaries),
        again=sum(AGAIN in record.sent.text for record in summaries),
        summary_tokens=told,
        cost={name: total(price, _charged(run.records)) for name, price in PRICES.items()},
        p50=p50,
        p95=p95,
        faults=tuple(Counter(fault for record in chat for fault in faults(record.sent))),
        failures=run.failures,
        continued=sum(bool(record.sent.before) for record in chat) / max(1, len(chat)),
        wired=sum(record.sent.size for record in run.records),
    )


def _charged(records: Sequence[Record]) -> list[tuple[Any, int, int]]:
    return [(record.sent, record.cached, record.answered) for record in records]


def _share(values: Sequence[float]) -> float:
    return mean(values) if values else 1.0


def _percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    if len(seconds) < 2:
        only = seconds[0] * 1000 if seconds else 0.0
        return only, only
    cut = quantiles(seconds, n=100, method="inclusive")
    return cut[49] * 1000, cut[94] * 1000
