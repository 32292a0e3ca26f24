"""The second outside judge: distil-llm's trajectories, played through Foldline as agents would.

They are played one by one, and all in one session as a long day, under budgets that make Foldline fold. What counts:
every body that reaches the upstream is valid, fewer tokens are sent, and what the runs themselves mark as decisive is
still in view.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from bench.memory import tokens
from bench.memory.bodies import Body, extends, faults
from bench.memory.play import Message, ask, client
from bench.memory.serving import foldline
from bench.memory.summarisers import VALUE
from bench.memory.trajectories import Trajectory, day, trajectories
from bench.memory.upstream import Upstream

SHARE = 0.4
"""Of a run's own size that it is given as its budget; a long day has DAY tokens."""

DAY = 8000
SHORTEST = 3
"""Characters of a value that is looked for: shorter ones stand in any text by chance."""

DECISIVE = re.compile(r"^DECISION: .*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Played:
    """What one run shows.

    Attributes:
        budget: FOLD_AT_TOKENS. sent: tokens of all requests and summaries; all_of_it: of sending everything.
        peak: of one request. over: of one beyond budget and newest exchange, at most.
        summaries: calls. extending: share of requests that begin with the one before.
        decisive: values in the lines marked as decisive that are in view at the end, and all of them.
        values: the same for every value of the run.
        faults: what a strict provider would have refused.
    """

    name: str
    requests: int
    budget: int
    sent: int
    all_of_it: int
    peak: int
    over: int
    summaries: int
    extending: float
    decisive: tuple[int, int]
    values: tuple[int, int]
    faults: tuple[str, ...]


async def judged(upstream: Upstream, store: str, think: float) -> dict[str, Any]:
    """Every run played through Foldline, and a table of what was seen; empty if the package is not installed."""
    runs = trajectories()
    if not runs:
        print("\n# distil-llm: not installed, left out")
        return {}
    async with foldline(upstream.url, store) as url, client() as session:
        played = [await _play(session, url, upstream, run, int(run.tokens * SHARE), think) for run in runs]
        played += [await _play(session, url, upstream, day(runs), DAY, think, each) for each in ("good", "half")]
    print(_table(played), flush=True)
    return {each.name: {name: getattr(each, name) for name in Played.__slots__} for each in played}


async def _play(
    session: aiohttp.ClientSession,
    url: str,
    upstream: Upstream,
    run: Trajectory,
    budget: int,
    think: float,
    summariser: str = "half",
) -> Played:
    upstream.begin(summariser)
    name = f"{run.name}, {summariser}"
    chat: list[Message] = [{"role": "system", "content": run.system}]
    options = {"tools": run.tools, "foldline": {"profile": "agent", "fold_at_tokens": budget, "session": name}}
    failures: list[str] = []
    all_of_it = 0
    for step in run.steps:
        if step.kind == "assistant":
            upstream.script = [step.said]
            all_of_it += _size(chat, run)
            answer, failure = await ask(session, url, chat, **options)
            failures += [failure] if failure else []
            await upstream.quiet(think)
            chat.append(answer or step.said)
        else:
            chat.append(step.said)
    return _seen(name, run, budget, upstream, all_of_it, [*failures, *upstream.refused])


def _size(chat: Sequence[Message], run: Trajectory) -> int:
    said = (str(message.get("content") or "") + _calls(message) for message in chat)
    return sum(tokens.PER_MESSAGE + tokens.of_text(text) for text in said) + tokens.of_text(json.dumps(run.tools))


def _calls(message: Message) -> str:
    called: list[dict[str, Any]] = message.get("tool_calls") or []
    return "".join(f"\n{call['function']['name']} {call['function']['arguments']}" for call in called)


def _seen(
    name: str, run: Trajectory, budget: int, upstream: Upstream, all_of_it: int, failures: Sequence[str]
) -> Played:
    chat = [record.sent for record in upstream.records if not record.summary]
    summaries = [record for record in upstream.records if record.summary]
    told = "\n".join(str(step.said.get("content") or "") for step in run.steps[:-1])
    marked = "\n".join(DECISIVE.findall(told))
    pairs = list(itertools.pairwise(chat))
    wrong = {fault: None for body in chat for fault in faults(body)}
    return Played(
        name=name,
        requests=len(chat),
        budget=budget,
        sent=sum(body.tokens for body in chat) + sum(each.sent.tokens + each.answered for each in summaries),
        all_of_it=all_of_it,
        peak=max(body.tokens for body in chat),
        over=max(0, *(body.tokens - body.newest - budget for body in chat)),
        summaries=len(summaries),
        extending=sum(extends(before, after) for before, after in pairs) / max(1, len(pairs)),
        decisive=_held(marked, chat[-1]),
        values=_held(told, chat[-1]),
        faults=(*wrong, *failures),
    )


def _held(text: str, last: Body) -> tuple[int, int]:
    values = {value for value in VALUE.findall(text) if len(value) >= SHORTEST}
    return sum(value in last.text for value in values), len(values)


def _table(played: Sequence[Played]) -> str:
    heads = (
        "requests",
        "budget",
        "tokens sent",
        "of all",
        "peak",
        "over",
        "summaries",
        "extend",
        "decisive",
        "values",
        "faults",
    )
    lines = [
        f"\n## distil-llm's trajectories as agents: {len(played)} sessions",
        f"| run | {' | '.join(heads)} |",
        "| --- |" + " ---: |" * len(heads),
    ]
    for each in played:
        cells = (
            str(each.requests),
            f"{each.budget:,}",
            f"{each.sent:,}",
            f"{each.sent / each.all_of_it:.1%}",
            f"{each.peak:,}",
            f"{each.over:,}",
            str(each.summaries),
            f"{each.extending:.0%}",
            f"{each.decisive[0]}/{each.decisive[1]}",
            f"{each.values[0]}/{each.values[1]}",
            str(len(each.faults)),
        )
        lines.append(f"| {each.name} | {' | '.join(cells)} |")
    lines += [f"\n{each.name}: {fault}." for each in played for fault in each.faults[:3]]
    return "\n".join(lines)
