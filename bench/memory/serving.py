"""`foldline serve` as a process of its own, as users run it, in front of the fake upstream."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from bench.memory.spoken.api import Api
from bench.memory.spoken.chat import CHAT
from bench.servers import OURS, PROXIES, ROOT, free_port

STARTING = 60.0
"""Seconds that Foldline may take to start."""

OUTPUT = "output"


@asynccontextmanager
async def foldline(upstream: str, store: str, api: Api = CHAT, **settings: object) -> AsyncGenerator[str]:
    """Its origin. It is ended with the block.

    Started and ended beside the event loop: the upstream, which lives in that, is still asked while a server ends.

    Args:
        upstream: the origin of the fake provider. store: its REDIS_URL; DIR stands for a directory of its own.
        api: what is spoken there.
        settings: any other setting, by its name in small letters.

    Raises:
        RuntimeError: it did not start; the message holds the end of what it said.
    """
    with tempfile.TemporaryDirectory(prefix="foldline-bench-") as name:
        given = {**api.settings(upstream), "redis_url": store.replace("DIR", name), **settings}
        port = free_port()
        process = await asyncio.to_thread(_launched, Path(name), port, given)
        try:
            await asyncio.to_thread(_await_ready, process, Path(name), port)
            yield f"http://127.0.0.1:{port}"
        finally:
            await asyncio.to_thread(_end, process)


def _launched(directory: Path, port: int, settings: Mapping[str, object]) -> subprocess.Popen[bytes]:
    script = Path(sys.executable).with_name("foldline")
    command = [str(script)] if script.exists() else [sys.executable, "-c", "import app.cli as c; exit(c.main())"]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(OURS) and k.lower() not in PROXIES}
    ours = {f"FOLDLINE_{name.upper()}": str(value) for name, value in settings.items()}
    with (directory / OUTPUT).open("wb") as output:
        return subprocess.Popen(
            [*command, "serve", "--port", str(port)],
            cwd=directory,
            env={**kept, **ours, "PYTHONPATH": str(ROOT)},
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )


def _await_ready(process: subprocess.Popen[bytes], directory: Path, port: int) -> None:
    until = time.monotonic() + STARTING
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < until and process.poll() is None:
        with suppress(OSError), opener.open(f"http://127.0.0.1:{port}/readyz", timeout=5) as reply:
            if reply.status == 200:
                return
        time.sleep(0.05)
    tail = (directory / OUTPUT).read_bytes()[-1500:].decode("utf-8", "replace")
    raise RuntimeError(f"foldline serve did not start:\n{tail}")


def _end(process: subprocess.Popen[bytes]) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with suppress(subprocess.TimeoutExpired):
            process.wait(15)
            return
