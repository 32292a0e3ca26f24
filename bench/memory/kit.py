"""The first outside judge: the typed facts of compaction-conformance-kit, summed up again and again.

Every round sums up what the round before left, as repeated compaction does. Without the gate the summariser's text
stands alone; with it, what the text lost is carried word for word, as Foldline does behind every summary.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from app.chat import size
from app.context.critical import Said, critical
from app.context.policy import Policy
from app.context.retention import Fact, carried, verdict

from bench.memory.summarisers import SUMMARISERS, Summarise

PACKAGE = "compaction_kit"
ROUNDS = 10
SEEDS = range(1, 13)
LIMITS = Policy()


@dataclass
class Compactor:
    """The kit's protocol: `compact(turns, round_num)`. One instance serves one session.

    Attributes:
        gate: whether what the summary lost is carried.
    """

    name: str
    summarise: Summarise
    gate: bool
    make: Callable[..., Any]
    facts: tuple[Fact, ...] = ()
    text: str = ""

    def compact(self, turns: Sequence[Any], round_num: int = 1) -> Any:
        """The session after one more round, as the kit's CompactedContext."""
        first = round_num == 1
        said = [Said(_role(turn.role), turn.text) for turn in turns] if first else [Said("assistant", self.text)]
        wanted = critical(said)
        self.text = self.summarise("\n".join(one.text for one in said), LIMITS.summary_tokens)
        if self.gate:
            missing = verdict(wanted, self.text, self.facts).missing
            self.facts = carried(missing, LIMITS.summary_tokens, _cost, before=self.facts, text=self.text)
        listed = "\n".join(f"- {fact.text}" for fact in self.facts)
        return self.make(text=f"{self.text}\n{listed}", compactor_name=self.name, round_num=round_num)


def _role(role: str) -> Any:
    return role if role in ("system", "user", "assistant", "tool") else "user"


def _cost(line: str) -> int:
    return size.of_text(line, "openai")


def judged() -> dict[str, Any]:
    """Survival by type after the first and the last round, and what the kit is; empty if it is not installed."""
    try:
        corpus: Any = importlib.import_module(f"{PACKAGE}.corpus")
        runner: Any = importlib.import_module(f"{PACKAGE}.runner")
        made: Any = importlib.import_module(f"{PACKAGE}.compacted")
    except ImportError:
        print("\n# compaction-conformance-kit: not installed, left out")
        return {}
    found: dict[str, Any] = {}
    for name in ("half", "none"):
        for gate in (False, True):
            label = f"{name}, {'with the gate' if gate else 'alone'}"
            runs: list[Any] = []
            for seed in SEEDS:
                session, canaries = corpus.build_random_session(seed)
                compactor = Compactor(label, SUMMARISERS[name], gate, made.CompactedContext)
                runs.append(runner.run_conformance(session, compactor, rounds=ROUNDS, canaries=canaries))
            found[label] = _survival(runs)
    print(_table(found))
    return found


def _survival(runs: Sequence[Any]) -> dict[str, tuple[float, float]]:
    types = list(runs[0].rounds[0].survival_by_type)
    ends = (0, -1)
    by_type = {
        each: tuple(mean(run.rounds[end].survival_by_type[each] for run in runs) for end in ends) for each in types
    }
    every = tuple(mean(mean(run.rounds[end].survived.values()) for run in runs) for end in ends)
    return {"all": (every[0], every[1]), **{each: (both[0], both[1]) for each, both in by_type.items()}}


def _table(found: dict[str, dict[str, tuple[float, float]]]) -> str:
    types = list(next(iter(found.values())))
    lines = [
        f"\n## compaction-conformance-kit: facts held after round 1 → {ROUNDS}, {len(SEEDS)} sessions",
        f"| summariser | {' | '.join(types)} |",
        "| --- |" + " ---: |" * len(types),
    ]
    for label, row in found.items():
        lines.append(f"| {label} | {' | '.join(f'{row[each][0]:.0%} → {row[each][1]:.0%}' for each in types)} |")
    return "\n".join(lines)
