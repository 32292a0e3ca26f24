"""The place that clients are tried in: Foldline as a user starts it, and the simulator behind it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.simulator.running import Running, simulator_in_thread

STARTING = 60.0
"""Seconds that Foldline may take to be ready."""
FOLDLINE = str(Path(sys.executable).with_name("foldline"))
PLAIN = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
"""All that is taken from this process's environment: no key and no proxy of the user's gets into a test."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn as Foldline's own log tells it. `prefix`: how many of its messages were known from before."""

    session: str
    model: str
    status: int
    plan: str
    prefix: int


@dataclass(slots=True)
class Place:
    """A running Foldline.

    Attributes:
        url: its origin.
        sim: the simulated providers.
        folder: its working directory, which holds its log.
    """

    url: str
    sim: Running
    folder: Path
    _read: int = 0

    def turns(self) -> list[Turn]:
        """The turns since this was last asked. Each one is logged when it is over, so the newest may need a moment."""
        time.sleep(0.3)
        lines = (self.folder / "log").read_text("utf-8").splitlines()
        new, self._read = lines[self._read :], len(lines)
        logged = [json.loads(line) for line in new if line.startswith('{"at"')]
        return [self._turn(each) for each in logged if each["event"] == "turn"]

    def refusals(self) -> list[str]:
        """The rules of its provider that what was sent on breaks. The journal begins anew."""
        found = [f"{each.path}: {each.refused}" for each in self.sim.journal if each.refused]
        self.sim.journal.clear()
        return found

    def _turn(self, logged: Mapping[str, Any]) -> Turn:
        with urllib.request.urlopen(f"{self.url}/foldline/turns/{logged['turn']}", timeout=10) as answer:
            known: dict[str, Any] = json.load(answer).get("known") or {}
        return Turn(logged["session"], logged["model"], logged["status"], logged["plan"], known.get("prefix", 0))


@contextlib.contextmanager
def running_place() -> Generator[Place]:
    """`foldline serve` in a folder of its own, with no key: all models are the simulator's."""
    with tempfile.TemporaryDirectory(prefix="foldline-") as name, simulator_in_thread() as sim:
        folder = Path(name)
        settings = {"FOLDLINE_SIMULATOR_URL": sim.url, "FOLDLINE_LOG_FORMAT": "json"}
        port = _free_port()
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [FOLDLINE, "serve", "--port", str(port)],
                cwd=folder,
                env={**PLAIN, "HOME": name, **settings},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
            try:
                url = f"http://127.0.0.1:{port}"
                _wait(url, process, folder / "log")
                yield Place(url, sim, folder)
            finally:
                process.terminate()
                process.wait(timeout=90)


def lines_for(client: str, url: str, key: str) -> tuple[str, dict[str, str]]:
    """What `foldline env` prints for a client, and the variables that a shell then has.

    Args:
        key: stands in for `lab`: a client with a key of its own is a tenant of its own.
    """
    done = subprocess.run(
        [FOLDLINE, "env", "--client", client, "--url", url], env=PLAIN, capture_output=True, text=True, check=True
    )
    is_file = not done.stdout.startswith(("export ", "# Your", "# GEM"))
    shell = done.stderr if is_file else done.stdout
    shown = subprocess.run(
        ["/bin/sh", "-euc", f"{shell}\nenv"], env={"PATH": PLAIN["PATH"]}, capture_output=True, text=True, check=True
    )
    variables = dict(line.split("=", 1) for line in shown.stdout.splitlines() if "=" in line)
    for name in ("PATH", "PWD", "SHLVL", "_"):
        variables.pop(name, None)
    return done.stdout, {name: key if value == "lab" else value for name, value in variables.items()}


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + STARTING
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/readyz", timeout=2).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit(f"Foldline did not start:\n{log.read_text('utf-8')}")
