"""The agents' runs that come with distil-llm, as chats: they are read where they are installed, and never shipped.

Each run is a few turns of an agent: a task, calls with bulky results, what the agent then said.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.memory import tokens
from bench.memory.play import Message

PACKAGE, CORPUS = "distil", "_corpus"
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
    system = "\n\n".join(run.system for run in runs)
    return Trajectory("all in one day", system, tuple(tools.values()), steps)
