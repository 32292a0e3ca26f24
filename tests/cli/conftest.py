"""An empty directory to run commands in, an environment without settings, and programs that run beside the test."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from app.settings import ALSO, PREFIX

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The working directory, where .env, foldline.toml and .foldline are looked for."""
    plain = {name for names in ALSO.values() for name in names}
    for name in [*os.environ]:
        if name.startswith(PREFIX) or name.removesuffix("_FILE") in plain:
            monkeypatch.delenv(name)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@dataclass
class Program:
    """`foldline …` in a process of its own. `said` is what it wrote to stderr, line by line."""

    arguments: tuple[str, ...]
    said: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        command = [sys.executable, "-m", "app.cli", *self.arguments]
        self.process = subprocess.Popen(command, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True)
        self._heard = threading.Condition()
        self._ended = False
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._heard:
                self.said.append(line)
                self._heard.notify_all()
        with self._heard:
            self._ended = True
            self._heard.notify_all()

    def wait_for(self, pattern: str) -> re.Match[str]:
        """The first match of `pattern` in what it says."""
        with self._heard:
            self._heard.wait_for(lambda: self._ended or re.search(pattern, "".join(self.said)), timeout=60)
            found = re.search(pattern, "".join(self.said))
        assert found, f"{pattern!r} is not in {''.join(self.said)!r}"
        return found

    def stop(self, by: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(by)
        try:
            return self.process.wait(timeout=60)
        finally:
            self.process.kill()
            self._listener.join()
            if self.process.stdout:
                self.process.stdout.close()


@pytest.fixture
def programs() -> Generator[list[Program]]:
    """Programs to be stopped when the test ends."""
    running: list[Program] = []
    yield running
    for program in running:
        program.stop(signal.SIGKILL if program.process.poll() is None else signal.SIGTERM)


@dataclass
class Provider:
    """A provider's list of models: answers `status`, with the date moved by `ahead` seconds, and notes the requests."""

    status: int = 200
    ahead: float = 0.0
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list[tuple[str, dict[str, str]]])
    url: str = ""


@pytest.fixture
def provider() -> Generator[Provider]:
    """A provider on a real socket."""
    import time
    from email.utils import formatdate

    told = Provider()

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            self.send_response_only(told.status)
            self.send_header("date", formatdate(time.time() + told.ahead, usegmt=True))
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # the base class's own name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        told.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield told
        server.shutdown()
        thread.join()
