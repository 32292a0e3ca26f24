"""`python -m bench.chains`: what chains cost, what resending costs, and what Foldline's choice costs."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path

from bench.chains.chats import kinds
from bench.chains.play import WAYS, Played, played
from bench.chains.prices import RATES
from bench.chains.table import reasons, table, verdicts
from bench.memory import tokens
from bench.memory.spoken import APIS

CHAINS = tuple(name for name, api in APIS.items() if api.chains)
KINDS = ("short", "light", "medium tools", "bulky tools")


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.chains", description=__doc__)
    parser.add_argument("--turns", type=int, default=200, help="user messages a chat")
    parser.add_argument("--upstream", default="interactions", choices=CHAINS, help="the API that keeps the chain")
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"of {', '.join(KINDS)}")
    parser.add_argument("--fold-at", type=int, help="Foldline's FOLD_AT_TOKENS, in place of what it does by default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--judges", type=Path, default=Path(".venv-bench"), help="where the tokenizer may live")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the bench; its exit status is 0 even if Foldline costs more than it may: that is a finding."""
    given = options().parse_args(arguments)
    wanted = given.kinds.split(",")
    if unknown := set(wanted).difference(KINDS):
        raise SystemExit(f"--kinds: {', '.join(unknown)} is not among {', '.join(KINDS)}")
    tokens.reach(given.judges)
    where = f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    print(f"# {where}, load {os.getloadavg()[0]:.1f}, {time.strftime('%F')}, seed {given.seed}, {given.turns} turns")
    rates = RATES[given.upstream]
    print(f"# upstream {given.upstream}; tokens: {tokens.tokenizer()}")
    print(f"# $ a million tokens, input/cached/output: {rates.said}", flush=True)
    rows = asyncio.run(_all(given, wanted))
    print("\n" + table(rows, rates))
    print("\n" + reasons(rows))
    print("\n" + verdicts(rows, rates))
    return 0


async def _all(given: argparse.Namespace, wanted: Sequence[str]) -> dict[str, dict[str, dict[str, Played]]]:
    found: dict[str, dict[str, dict[str, Played]]] = {}
    settings = {"fold_at_tokens": given.fold_at} if given.fold_at is not None else {}
    every = kinds(given.seed, given.turns)
    for name in wanted:
        found[name] = {}
        for way in WAYS:
            began = time.perf_counter()
            found[name][way] = dict(await played(every[name], way, APIS[given.upstream], settings))
            print(f"# {name}, {way}: {time.perf_counter() - began:.1f} s", flush=True)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
