"""A coding agent's long task: paths and commands of a hundred steps come through a fold, whatever its summary says."""

from __future__ import annotations

import json
import random

import msgspec

from app.chat import size
from app.chat.model import Message, Text, ToolCall, ToolResult
from app.context.errand import Errand, errand
from app.context.plan import Need
from app.context.policy import policy_of
from app.context.retention import LIGHT, carried, verdict
from tests.context.folding import draft_of, known_of, marks

RULE = "Keep Python 3.11, use ruff 0.9.1, and never touch app/settings.py."
STEPS = 90


def _path(chance: random.Random) -> str:
    room, name = chance.choice(("engine", "state", "wires", "web")), chance.choice(("fold", "plan"))
    return f"app/{room}/{name}_{chance.randrange(40)}.py"


def _code(chance: random.Random, lines: int) -> str:
    names = ("load_chat", "fold_span", "emit_frame", "parse_key_once", "save_all")
    return "\n".join(
        f"    {chance.choice(names)}({chance.choice(names)}={chance.randrange(1000)})  # see {_path(chance)}"
        for _ in range(lines)
    )


def _steps() -> tuple[Message, ...]:
    chance = random.Random(3)
    messages = [Message("user", (Text(f"Mend the failing tests. {RULE}"),))]
    for step in range(STEPS):
        path = _path(chance)
        arguments = (
            {"path": path, "offset": chance.randrange(400)},
            {"command": f"pytest -q {path} -k load_chat"},
            {"path": path, "old": _code(chance, 8), "new": _code(chance, 8)},
        )[step % 3]
        call = ToolCall(f"c{step}", "work", json.dumps(arguments))
        said = f"`fold_span` in {path} is wrong at line {chance.randrange(300)}."
        messages.append(Message("assistant", (Text(said), call)))
        messages.append(Message("user", (ToolResult(f"c{step}", (Text(_code(chance, 30)),)),)))
    return (*messages, Message("assistant", (Text("All pass."),)), Message("user", (Text("Go on."),)))


def _task(summary_tokens: int = 1024) -> Errand:
    messages = _steps()
    policy = msgspec.structs.replace(policy_of({}, {}, {}, agent=True), summary_tokens=summary_tokens)
    line = len(messages) - 1
    return errand(draft_of(messages).chat, known_of(messages), policy, Need("summary", marks(messages)[line - 1], line))


def _score(task: Errand) -> float:
    """Of a summary that holds nothing at all, with its list of facts."""
    wanted = task.wanted()
    facts = carried(wanted, task.budget.facts, lambda line: size.of_text(line, "other"))
    return verdict([one for one in wanted if one.weight >= LIGHT], "", facts).score


def test_a_long_task_passes_the_gate_even_behind_a_summary_that_holds_nothing() -> None:
    task = _task()
    assert task.tokens > 50_000
    assert len(task.wanted()) >= 100
    assert _score(task) >= 0.9


def test_the_users_rules_stand_in_the_list_word_for_word_before_all_paths() -> None:
    task = _task(100)
    facts = carried(task.wanted(), task.budget.facts, lambda line: size.of_text(line, "other"))
    assert _score(task) < 0.9, "there is no room for all of it"
    assert any("never touch app/settings.py" in fact.text for fact in facts)
