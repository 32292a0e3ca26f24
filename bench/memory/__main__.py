"""`python -m bench.memory`: plays long conversations, prints what was kept and what it cost, ends what it started."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from bench.memory import agents, kit, tokens
from bench.memory.filler import WORDS
from bench.memory.outcome import Outcome, outcome
from bench.memory.play import Run, everything, play, window
from bench.memory.serving import foldline
from bench.memory.spoken import APIS
from bench.memory.summarisers import SUMMARISERS
from bench.memory.table import legend, table, targets_table
from bench.memory.talk import Talk, talk
from bench.memory.upstream import Upstream, running_upstream

QUICK_TURNS = 16
QUICK_BUDGET = 1500


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    parser.add_argument("--turns", type=int, default=200, help="user messages a conversation")
    parser.add_argument("--languages", default="en,ja", help=f"of {', '.join(WORDS)}")
    parser.add_argument("--summarisers", default="good,half,none", help=f"of {', '.join(SUMMARISERS)}")
    parser.add_argument("--upstream", default="chat", choices=tuple(APIS), help="the API that Foldline speaks upstream")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--noise", type=float, default=0.5, help="numbers and names a turn that nobody asks for")
    parser.add_argument("--budget", type=int, default=8000, help="FOLD_AT_TOKENS, and the sliding window")
    parser.add_argument("--think", type=float, default=20, help="milliseconds of silence before the user speaks again")
    parser.add_argument("--store", default="memory://", help="Foldline's; DIR stands for a directory of its own")
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE", help="one more of Foldline's")
    parser.add_argument("--quick", action="store_true", help="few turns, one language, one summariser, no judges")
    parser.add_argument("--judges", type=Path, default=Path(".venv-bench"), help="where the outside judges live")
    parser.add_argument("--no-judges", action="store_true", help="leave the outside judges out")
    parser.add_argument("--only-judges", action="store_true", help="nothing but the outside judges")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes everything there too")
    parser.add_argument(
        "--bodies", type=Path, metavar="DIR", help="writes every request that reached the upstream there"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the bench; its exit status is 0 even if a target is not met: that is a finding, not a failure."""
    given = options().parse_args(arguments)
    if given.quick:
        given.turns, given.budget = min(given.turns, QUICK_TURNS), min(given.budget, QUICK_BUDGET)
        given.languages, given.summarisers, given.no_judges = "en", "half", True
    for name, known in (("languages", WORDS), ("summarisers", SUMMARISERS)):
        if unknown := set(getattr(given, name).split(",")).difference(known):
            raise SystemExit(f"--{name}: {', '.join(unknown)} is not among {', '.join(known)}")
    signal.signal(signal.SIGTERM, _leave)  # so that what was started is ended
    tokens.reach(given.judges)
    where = f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    print(
        f"# {where}, load {os.getloadavg()[0]:.1f}, {time.strftime('%F')}, seed {given.seed}, budget {given.budget}"
        f", upstream {given.upstream}"
    )
    print(f"# tokens: {tokens.tokenizer()}; prompts of each run with noise {given.noise} a turn", flush=True)
    results = asyncio.run(_all(given))
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(results, indent=1, ensure_ascii=False))
    return 0


def _leave(*_: object) -> NoReturn:
    sys.exit(1)


async def _all(given: argparse.Namespace) -> dict[str, Any]:
    results: dict[str, Any] = {
        "at": time.strftime("%F %T"),
        "given": {key: str(value) for key, value in vars(given).items()},
        "tokens": tokens.tokenizer(),
    }
    async with running_upstream() as upstream:
        if not given.only_judges:
            results["runs"] = await _languages(given, upstream)
        if not given.no_judges:
            results["kit"] = kit.judged()
            results["trajectories"] = await agents.judged(upstream, given.store, given.think / 1000)
    return results


async def _languages(given: argparse.Namespace, upstream: Upstream) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Outcome]] = {}
    for language in given.languages.split(","):
        told = talk(given.seed, language, given.turns, given.noise)
        found[language] = {}
        tokens.warm(told.said)
        async for run in _runs(given, upstream, told):
            found[language][run.name] = outcome(run, given.budget)
            if given.bodies:
                _write(given.bodies / language / run.name.replace(", ", "-"), run)
            print(f"# {language}, {run.name}: {sum(run.seconds):.1f} s", flush=True)
        print(table(language, found[language]), flush=True)
    print(targets_table(found))
    print("\n" + legend(), flush=True)
    return {language: {name: each.as_json() for name, each in runs.items()} for language, runs in found.items()}


async def _runs(given: argparse.Namespace, upstream: Upstream, told: Talk):
    think = given.think / 1000
    for name, shape in (("everything", everything), ("window", window(given.budget))):
        upstream.begin()
        yield await play(name, told, upstream.url, upstream, think=0, shape=shape)
    api = APIS[given.upstream]
    more = dict(pair.split("=", 1) for pair in given.setting)
    for summariser in given.summarisers.split(","):
        async with foldline(upstream.url, given.store, api, **{"fold_at_tokens": given.budget, **more}) as url:
            upstream.begin(summariser)
            yield await play(f"foldline, {summariser}", told, url, upstream, think=think, model=api.model)


def _write(directory: Path, run: Run) -> None:
    """Every request as a file of its own: what a target that is not met is looked into with."""
    directory.mkdir(parents=True, exist_ok=True)
    for number, record in enumerate(run.records):
        kind = "summary" if record.summary else "chat"
        body = b"[" + b",\n".join(record.sent.messages) + b"]"
        (directory / f"{number:04d}-{kind}-{record.sent.tokens}.json").write_bytes(body)


if __name__ == "__main__":
    raise SystemExit(main())
