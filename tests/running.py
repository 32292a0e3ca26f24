"""Runs the whole proxy over a real socket, as `foldline serve` does: in the test's own event loop, or in a thread.

async with running_foldline(settings_beside(simulator)) as url: ...
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import uvicorn
from pydantic import SecretStr

from app.main import create_app
from app.settings import Settings
from app.simulator.running import Running


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy that serves now.

    Attributes:
        url: its origin, without a slash at the end.
        sim: the simulator that it asks.
    """

    url: str
    sim: Running

    @property
    def openai_url(self) -> str:
        """The base URL for OpenAI clients."""
        return f"{self.url}/v1"


class StartFoldline(Protocol):
    """Starts a proxy with settings of its own for as long as the block lasts."""

    def __call__(self, **settings: Any) -> AbstractAsyncContextManager[Proxy]: ...


class _Server(uvicorn.Server):
    """A server that leaves the signals to pytest, and ends when told to rather than at its next look at the clock."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.stop = asyncio.Event()

    async def main_loop(self) -> None:
        """Until `stop` is set."""
        await self.on_tick(0)
        await self.stop.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def settings_beside(sim: Running, **changes: Any) -> Settings:
    """All providers at the simulator, generateContent upstream, state in memory; `changes` come on top.

    A change of None unsets what would be set here.
    """
    values: dict[str, Any] = {
        "redis_url": SecretStr("memory://"),
        "openai_base_url": sim.openai_url,
        "gemini_base_url": sim.gemini_url,
        "anthropic_base_url": sim.url,
        "gemini_api": "generate",
        "log_level": "warning",
        "store_timeout": 5.0,  # a busy machine is no store that is away
        **changes,
    }
    return Settings(**{name: value for name, value in values.items() if value is not None})


@contextlib.asynccontextmanager
async def running_foldline(settings: Settings) -> AsyncGenerator[str]:
    """The URL of a proxy with these settings, whatever their port says, for as long as the block lasts."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        create_app(settings),
        http="httptools",
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]), name="foldline")
    try:
        while not server.started:
            await asyncio.sleep(0.001)
            if task.done():
                task.result()
                raise RuntimeError("the proxy ended before it served: see the log")
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.stop.set()
        await task
        listener.close()


@contextlib.contextmanager
def foldline_in_thread(settings: Settings) -> Generator[str]:
    """The URL of a proxy in a thread with an event loop of its own, which many tests can share."""
    started: list[str] = []
    ready, stop = threading.Event(), threading.Event()

    async def serve() -> None:
        async with running_foldline(settings) as url:
            started.append(url)
            ready.set()
            await asyncio.to_thread(stop.wait)

    def run() -> None:
        try:
            asyncio.run(serve())
        finally:
            ready.set()

    thread = threading.Thread(target=run, name="foldline", daemon=True)
    thread.start()
    ready.wait()
    try:
        yield started[0]
    finally:
        stop.set()
        thread.join()
