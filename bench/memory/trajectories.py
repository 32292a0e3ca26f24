"""The second outside judge: the agents' runs that come with distil-llm, played through Foldline as agents would.

Each run is a few turns of an agent: a task, calls with bulky results, what the agent then said. They are played one by
one, and all in one session as a long day, under budgets that make Foldline fold. What counts: every body that reaches
the upstream is valid, fewer tokens are sent, and what the runs themselves mark as decisive is still in view.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from bench.memory import tokens
from bench.memory.bodies import Body, extends, faults
from bench.memory.play import Message, ask, client, foldline
from bench.memory.summarisers import VALUE
from bench.memory.upstream import Upstream

PACKAGE, CORPUS = "distil", "_corpus"
SHARE = 0.4
"""Of a run's own size that it is given as its budget; a long day has DAY tokens."""

DAY = 8000
SUMMARISER = "half"
SHORTEST = 3
"""Characters of a value that is looked for: shorter ones stand in any text by chance."""

DECISIVE = re.compile(r"^DECISION: .*", re.MULTILINE)
_CALL = re.compile(r"(\w+)\((.*?)\) -> ", re.DOTALL)
_TOOL = re.compile(r"^- (\w+)\(([^)]*)\): (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happens in a run: the user speaks, or the upstream answers with `said`, or a tool with it."""

    kind: str
    said: Message


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One agent's run as a chat.

    Attributes:
        system: its rules. tools: in OpenAI's form. steps: what happens.
    """

    name: str
    system: str
    tools: tuple[dict[str, Any], ...]
    steps: tuple[Step, ...]

    @property
    def tokens(self) -> int:
        """Of all messages, about."""
        said = (json.dumps(step.said, ensure_ascii=False) for step in self.steps)
        return sum(map(tokens.of_text, said)) + tokens.of_text(self.system) + tokens.of_text(json.dumps(self.tools))


@dataclass(frozen=True, slots=True)
class Played:
    """What one run shows.

    Attributes:
        budget: FOLD_AT_TOKENS. sent: tokens of all requests and summaries; all_of_it: of sending everything.
        peak: of one request. summaries: calls. extending: share of requests that begin with the one before.
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
    summaries: int
    extending: float
    decisive: tuple[int, int]
    values: tuple[int, int]
    faults: tuple[str, ...]


def trajectories() -> list[Trajectory]:
    """The runs that the installed package brings; none if it is not installed. Runs of pictures alone are left out."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return []
    found: list[Trajectory] = []
    for file in sorted((Path(spec.origin).parent / CORPUS).glob("*.json")):
        run: dict[str, Any] = json.loads(file.read_text("utf-8"))
        if "turns" in run and not any(block.get("media") for turn in run["turns"] for block in turn["blocks"]):
            found.append(_trajectory(file.stem, run["turns"]))
    return found


def _trajectory(name: str, turns: Sequence[dict[str, Any]]) -> Trajectory:
    first = {block["kind"]: block["text"] for block in turns[0]["blocks"]}
    tools = tuple(_tool(*found) for found in _TOOL.findall(first["tools"]))
    said = {block["id"]: block["text"] for turn in turns for block in turn["blocks"]}
    steps: list[Step] = []
    for number in range(len(turns)):
        if f"obs-{number}" not in said:
            continue
        steps += _turn(f"{name}-{number}", number, said)
    return Trajectory(
        name, first["system"], (*tools, _tool("retrieve", "query", "Searches the documents.")), tuple(steps)
    )


def _tool(name: str, parameters: str, what: str) -> dict[str, Any]:
    properties = {each.strip(): {"type": "string"} for each in parameters.split(",") if each.strip()}
    schema = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "description": what, "parameters": schema}}


def _turn(mark: str, number: int, said: dict[str, str]) -> Iterator[Step]:
    """The user's words, two calls side by side with their results, and what the agent made of them."""
    result = said[f"obs-{number}"]
    found = _CALL.search(result)
    name, arguments = (found[1], found[2]) if found else ("run", "")
    results = [(name, arguments, result)]
    if f"doc-{number}" in said:
        results.append(("retrieve", said.get(f"user-{number}", ""), said[f"doc-{number}"]))
    yield Step("user", {"role": "user", "content": said.get(f"user-{number}", "Go on.")})
    calls = [
        {
            "id": f"call_{mark}_{index}",
            "type": "function",
            "function": {"name": called, "arguments": json.dumps({"input": given}, ensure_ascii=False)},
        }
        for index, (called, given, _) in enumerate(results)
    ]
    yield Step("assistant", {"role": "assistant", "content": None, "tool_calls": calls})
    for call, (_, _, text) in zip(calls, results, strict=True):
        yield Step("tool", {"role": "tool", "tool_call_id": call["id"], "content": text})
    told = said.get(f"hist-{number}", "That is done; nothing else is open.")
    yield Step("assistant", {"role": "assistant", "content": told})


def day(runs: Sequence[Trajectory]) -> Trajectory:
    """All runs behind each other, in one chat, with every tool at hand."""
    tools = {tool["function"]["name"]: tool for run in runs for tool in run.tools}
    steps = tuple(step for run in runs for step in run.steps)
    system = "You are an agent who works on one task after another. Rules of all of them:\n"
    return Trajectory("all of them, one day", system + runs[0].system, tuple(tools.values()), steps)


async def judged(upstream: Upstream, store: str, think: float) -> dict[str, Any]:
    """Every run played through Foldline, and a table of what was seen; empty if the package is not installed."""
    runs = trajectories()
    if not runs:
        print("\n# distil-llm: not installed, left out")
        return {}
    played: list[Played] = []
    with foldline(upstream.url, store) as url:
        async with client() as session:
            for run in runs:
                budget = int(run.tokens * SHARE)
                played.append(await _play(session, url, upstream, run, budget, think))
            played.append(await _play(session, url, upstream, day(runs), DAY, think))
    print(_table(played), flush=True)
    return {each.name: {name: getattr(each, name) for name in Played.__slots__} for each in played}


async def _play(
    session: aiohttp.ClientSession, url: str, upstream: Upstream, run: Trajectory, budget: int, think: float
) -> Played:
    upstream.begin(SUMMARISER)
    chat: list[Message] = [{"role": "system", "content": run.system}]
    options = {"tools": run.tools, "foldline": {"profile": "agent", "fold_at_tokens": budget, "session": run.name}}
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
    return _seen(run, budget, upstream, all_of_it, [*failures, *upstream.refused])


def _size(chat: Sequence[Message], run: Trajectory) -> int:
    said = (str(message.get("content") or "") + _calls(message) for message in chat)
    return sum(tokens.PER_MESSAGE + tokens.of_text(text) for text in said) + tokens.of_text(json.dumps(run.tools))


def _calls(message: Message) -> str:
    called: list[dict[str, Any]] = message.get("tool_calls") or []
    return "".join(f"\n{call['function']['name']} {call['function']['arguments']}" for call in called)


def _seen(run: Trajectory, budget: int, upstream: Upstream, all_of_it: int, failures: Sequence[str]) -> Played:
    chat = [record.sent for record in upstream.records if not record.summary]
    summaries = [record for record in upstream.records if record.summary]
    told = "\n".join(str(step.said.get("content") or "") for step in run.steps[:-1])
    marked = "\n".join(DECISIVE.findall(told))
    pairs = list(itertools.pairwise(chat))
    wrong = {fault: None for body in chat for fault in faults(body)}
    return Played(
        name=run.name,
        requests=len(chat),
        budget=budget,
        sent=sum(body.tokens for body in chat) + sum(each.sent.tokens + each.answered for each in summaries),
        all_of_it=all_of_it,
        peak=max(body.tokens for body in chat),
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
        "summaries",
        "extend",
        "decisive",
        "values",
        "faults",
    )
    lines = [
        f"\n## distil-llm's trajectories as agents, summaries lose half: {len(played)} sessions",
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
            str(each.summaries),
            f"{each.extending:.0%}",
            f"{each.decisive[0]}/{each.decisive[1]}",
            f"{each.values[0]}/{each.values[1]}",
            str(len(each.faults)),
        )
        lines.append(f"| {each.name} | {' | '.join(cells)} |")
    lines += [f"\n{each.name}: {fault}." for each in played for fault in each.faults[:3]]
    return "\n".join(lines)
