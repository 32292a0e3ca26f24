"""`foldline serve` as a process of its own, with settings of the test's choice and a log that can be read."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from app.settings import ALSO, PREFIX
from tests.faults.rawclient import get
from tests.faults.rawserver import RawServer, Script, raw_server

ROOT = Path(__file__).parents[2]
STARTING = 60.0
"""Seconds that a start may take on a busy machine."""


class Foldline:
    """A running `foldline serve`."""

    def __init__(self, place: Path, settings: dict[str, str]) -> None:
        plain = {name for names in ALSO.values() for name in names}
        env = {n: v for n, v in os.environ.items() if not n.startswith(PREFIX) and n.removesuffix("_FILE") not in plain}
        env |= {
            "PYTHONPATH": str(ROOT),
            "FOLDLINE_PORT": "0",
            "FOLDLINE_REDIS_URL": "memory://",
            "FOLDLINE_SECRET": "s" * 32,
        }
        env |= {PREFIX + name.upper(): value for name, value in settings.items()}
        self._log = place / f"foldline-{time.monotonic_ns()}.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "app.cli", "serve"],
                cwd=place,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.url = ""

    def wait_until_it_serves(self) -> None:
        """Until it has said where, and answers there."""
        import http.client

        deadline = time.monotonic() + STARTING
        while True:
            assert self.process.poll() is None, f"it ended at once: {self.log}"
            assert time.monotonic() < deadline, f"it did not start in time: {self.log}"
            if found := re.search(r"on http://127\.0\.0\.1:(\d+)", self.log):
                self.url = f"http://127.0.0.1:{found[1]}"
                break
            time.sleep(0.02)
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=STARTING)
        try:
            connection.request("GET", "/livez")
            assert connection.getresponse().status == 200
        except OSError as error:
            raise AssertionError(f"it listened, and did not start ({error}): {self.log}") from None
        finally:
            connection.close()

    @property
    def log(self) -> str:
        """All it said until now."""
        return self._log.read_text("utf-8", "replace")

    def turns(self, outcome: str) -> int:
        """How many turns its log says ended so."""
        return len(re.findall(rf"^\d\d:\d\d:\d\d \S+ {outcome}\b", self.log, re.MULTILINE))

    @property
    def files(self) -> int:
        """Open file descriptors."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    @property
    def memory(self) -> float:
        """Resident memory, MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    @property
    def children(self) -> list[int]:
        """Processes that it started."""
        found: list[int] = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == self.process.pid and fields[0] != "Z":
                found.append(int(stat.parent.name))
        return found

    def stop(self, by: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait; the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(by)
        return self.ended()

    def ended(self, within: float = 60) -> int:
        """Wait for its end; the exit status."""
        try:
            return self.process.wait(within)
        finally:
            self.process.kill()
            self.process.wait()


@contextmanager
def foldline(place: Path, **settings: str) -> Generator[Foldline]:
    """Serves until the block ends; then its log must hold no traceback."""
    process = Foldline(place, settings)
    try:
        process.wait_until_it_serves()
        yield process
    finally:
        process.stop(signal.SIGTERM)
    assert "Traceback" not in process.log, process.log


def toward(provider: str) -> dict[str, str]:
    """Settings that send every OpenAI model and every Gemini model to one address."""
    return {
        "openai_base_url": f"{provider}/v1",
        "openai_api_key": "sk-of-the-operator",
        "gemini_base_url": provider,
        "gemini_api_key": "key-of-the-operator",
    }


@asynccontextmanager
async def between(place: Path, script: Script, **settings: str) -> AsyncGenerator[tuple[Foldline, RawServer]]:
    """Foldline before a scripted provider."""
    async with raw_server(script) as provider:
        process = Foldline(place, toward(provider.url) | settings)
        try:
            await asyncio.to_thread(process.wait_until_it_serves)
            yield process, provider
        finally:
            await asyncio.to_thread(process.stop)
    assert "Traceback" not in process.log, process.log


async def until(true: Callable[[], bool], what: str, seconds: float = 5) -> float:
    """Wait for something to become true; the seconds it took. Fails with `what`."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < seconds, f"not within {seconds:g} s: {what}"
        await asyncio.sleep(0.005)
    return time.monotonic() - began


async def open_turns(url: str) -> int:
    """Turns that run now, as /metrics says."""
    said = (await get(url, "/metrics")).body.decode()
    found = re.search(r"^foldline_turns_open (\d+)", said, re.MULTILINE)
    assert found, said
    return int(found[1])
