"""`python -m bench`: starts the servers, measures them in interleaved rounds, prints tables, ends the servers."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import uvloop

from bench.client import Target
from bench.goals import goals_table
from bench.measure import Row, alone, closed_loop, hang_ups, known_chats, loaded, open_streams
from bench.payloads import WORKLOADS, Workload
from bench.report import Results, medians, table
from bench.servers import Server, start

DEFAULT = "chat2,chat200,chat200-known,chat2000-known,stream50"
EVERYTHING = f"chat20-known,{DEFAULT}"
SUNK = ("chat20-known", "chat2000-known")  # where the cost of only reading a body is wanted


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--servers", default="nginx,bare,foldline,litellm,headroom", help="those not installed are left out"
    )
    parser.add_argument("--workloads", help=f"of {', '.join(WORKLOADS)}; by default {DEFAULT}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="that each server is loaded in each round")
    parser.add_argument(
        "--slow", type=int, default=0, metavar="N", help="also N paced streams at once (10 chunks/s each)"
    )
    parser.add_argument("--open", type=int, default=0, metavar="N", help="also N open, idle streams")
    parser.add_argument(
        "--hang-ups", type=int, default=5, metavar="N", help="clients that leave in the middle of a stream"
    )
    parser.add_argument("--goals", action="store_true", help="everything that the table of goals needs, and that table")
    parser.add_argument("--model", default="gpt-4.1", help="its window must take 250,000 tokens, or servers will trim")
    for name in ("litellm", "headroom", "nginx", "foldline"):
        parser.add_argument(f"--{name}", default="", metavar="PATH", help=f"the executable, if not {name} on PATH")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes the medians there too")
    return parser


class Run:
    """One run: its servers, and the results so far."""

    def __init__(self, given: argparse.Namespace, upstream: Server, servers: list[Server]) -> None:
        self.given, self.upstream, self.servers = given, upstream, servers
        self.results: Results = {}
        self.targets: dict[str, tuple[Server | None, Target]] = {
            "direct": (None, upstream.target),
            **{server.name: (server, server.target) for server in servers},
        }

    async def rounds(self, work: Workload, seconds: float, rounds: int) -> None:
        """Each round measures every server once, the next round beginning with another one."""
        rows: dict[str, list[Row]] = {}
        model = self.given.model
        names = [name for name in self.targets if name != "sink" or work.name in SUNK]
        for name in names if work.name != "slow100" else ():  # a warm-up
            bodies = work.bodies(model)
            await known_chats(self.targets[name][1], bodies, min(4, work.clients))
            await closed_loop(self.targets[name][1], bodies, min(4, work.clients), min(0.5, seconds))
        for number in range(rounds):
            first = number % len(names)
            for name in names[first:] + names[:first]:
                server, target = self.targets[name]
                row, seen = await loaded(server, target, self.upstream.target.port, work, model, seconds)
                if seen.errors:
                    print(f"! {name}, {work.name}: {seen.errors} errors; {seen.sample[:200]!r}", file=sys.stderr)
                if not work.known and work.name != "slow100":
                    row |= await alone(target, _short(work), model, max(0.3, seconds / 3))
                rows.setdefault(name, []).append(row)
        self.results[work.name] = {name: medians(rows[name]) for name in names}
        self.show(work.name)

    async def extras(self) -> None:
        """Open streams (first, as memory freed before would hide theirs), clients that leave, many streams at once."""
        proxies = [server for server in self.servers if server.name != "sink"]
        if self.given.open:
            rows = self.results["open"] = {}
            for server in proxies:
                rows[server.name] = await open_streams(
                    server, self.given.model, self.given.open, min(1, self.given.seconds)
                )
            self.show("open")
        if self.given.hang_ups:
            rows = self.results["hang-up"] = {}
            for server in proxies:
                port = self.upstream.target.port
                rows[server.name] = await hang_ups(server.target, port, self.given.model, self.given.hang_ups)
            self.show("hang-up")
        if self.given.slow:
            slow = WORKLOADS["slow100"]
            await self.rounds(Workload(slow.name, slow.messages, slow.bytes, self.given.slow, False, 100, 100), 0.1, 1)

    def show(self, work: str) -> None:
        """Prints what is known of one workload."""
        print(table(self.results, work), flush=True)


def _short(work: Workload) -> Workload:
    """For the time to the first byte, a stream need not be long."""
    if not work.stream:
        return work
    return Workload(work.name, work.messages, work.bytes, 1, False, 2, 0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; its exit status is 0 even if a goal is not met: that is a finding, not a failure."""
    given = options().parse_args(arguments)
    if given.goals:
        given.slow, given.open = given.slow or 1000, given.open or 5000
    works = (given.workloads or (EVERYTHING if given.goals else DEFAULT)).split(",")
    if unknown := [each for each in works if each not in WORKLOADS]:
        raise SystemExit(f"unknown workloads: {', '.join(unknown)}; there are {', '.join(WORKLOADS)}")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended
    with tempfile.TemporaryDirectory(prefix="foldline-bench-") as directory, contextlib.ExitStack() as ending:
        upstream = start("fake", 0, given.model, Path(directory))
        ending.callback(upstream.stop)
        servers = _start_all(given, upstream, Path(directory), ending)
        run = Run(given, upstream, servers)
        run.results["start"] = {each.name: {"ready_s": each.ready_s, "idle_mb": each.idle_mb} for each in servers}
        where = f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
        print(f"# {where}, load {os.getloadavg()[0]:.1f}, {time.strftime('%F')}, model {given.model}")
        uvloop.run(_measure(run, works))
    if given.goals:
        print(goals_table(run.results))
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps({"at": time.strftime("%F %T"), "results": run.results}, indent=1))
    return 0


def _start_all(
    given: argparse.Namespace, upstream: Server, directory: Path, ending: contextlib.ExitStack
) -> list[Server]:
    names = [*given.servers.split(","), *(["sink"] if given.goals else [])]
    servers: list[Server] = []
    for name in names:
        executable = getattr(given, name, "")
        if name in ("nginx", "litellm", "headroom") and not shutil.which(executable or name):
            print(f"# {name}: not installed, left out")
            continue
        try:
            server = start(name, upstream.target.port, given.model, directory, executable)
        except RuntimeError as error:
            print(f"# {name}: left out. {error}")
            continue
        ending.callback(server.stop)
        servers.append(server)
        version = f"{server.version}, " if server.version else ""
        print(f"# {name}: {version}first answer after {server.ready_s:.2f} s, {server.idle_mb:.0f} MB", flush=True)
    return servers


async def _measure(run: Run, works: list[str]) -> None:
    for name in works:
        await run.rounds(WORKLOADS[name], run.given.seconds, run.given.rounds)
    await run.extras()


if __name__ == "__main__":
    raise SystemExit(main())
