"""Runs the simulator over real sockets: alone, beside the proxy in one event loop, or in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.simulator.app import create_simulator
from app.simulator.chains import Chains
from app.simulator.delivery import TRANSPORT, Closing
from app.simulator.journal import Journal
from app.simulator.script import Script

_BACKLOG = 2048


@dataclass(frozen=True, slots=True)
class Running:
    """A simulator that serves now.

    Attributes:
        url: its origin, such as http://127.0.0.1:49152, without a slash at the end.
        journal: the requests that it got.
        answers: the prescribed answers that are left; `script` adds some.
        chains: what the simulated providers keep of conversations.
    """

    url: str
    journal: Journal
    answers: Script
    chains: Chains

    @property
    def openai_url(self) -> str:
        """The base URL for OpenAI clients, with its version."""
        return f"{self.url}/v1"

    @property
    def gemini_url(self) -> str:
        """The base URL for Gemini clients, which add the version themselves."""
        return self.url

    def script(self, entries: Iterable[Mapping[str, Any]], is_summary: Callable[[Any], bool] | None = None) -> None:
        """Prescribe the next answers (see script.py); `is_summary` tells summary requests from the chat's own."""
        self.answers.load(entries, is_summary)


class _CuttableProtocol(HttpToolsProtocol):
    """uvicorn's protocol, whose scope also holds the transport, so that an answer can end in a TCP reset."""

    def on_message_begin(self) -> None:
        """Begin a request, whose scope also tells the transport."""
        super().on_message_begin()
        self.scope["extensions"] = {TRANSPORT: self.transport}  # type: ignore[typeddict-item]  # ours, not in the standard


class _Server(uvicorn.Server):
    """A server that leaves the signals to whoever runs the event loop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Capture none."""
        yield


@contextlib.asynccontextmanager
async def running_simulator(
    port: int = 0, host: str = "127.0.0.1", *, journal: Journal | None = None, script: Script | None = None
) -> AsyncGenerator[Running, None]:
    """Serve in this event loop while the context is open.

    Args:
        port: 0 takes a free one.
        journal: by default one that keeps the newest 10,000 requests.

    Raises:
        OSError: the port is taken.
    """
    journal, script = journal if journal is not None else Journal(), script if script is not None else Script()
    app = create_simulator(journal=journal, script=script)
    listener = open_listener(host, port)
    server = _Server(_config(app))
    closing: Closing = app.state.closing
    task = asyncio.create_task(server.serve(sockets=[listener]), name="simulator")
    try:
        while not server.started:
            await asyncio.sleep(0.001)
            if task.done():
                task.result()
        yield Running(_url(host, listener), journal, script, app.state.chains)
    finally:
        closing.set()
        server.should_exit = True
        await task
        listener.close()


@contextlib.contextmanager
def simulator_in_thread(
    port: int = 0, host: str = "127.0.0.1", *, journal: Journal | None = None
) -> Generator[Running, None, None]:
    """Serve in a thread with an event loop of its own, for tests that block or run several loops."""
    started: list[Running] = []
    ready, stop = threading.Event(), threading.Event()
    failed: list[BaseException] = []

    async def _serve() -> None:
        async with running_simulator(port, host, journal=journal) as running:
            started.append(running)
            ready.set()
            await asyncio.to_thread(stop.wait)

    def _run() -> None:
        try:
            asyncio.run(_serve())
        except OSError as error:
            failed.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=_run, name="simulator", daemon=True)
    thread.start()
    ready.wait()
    try:
        if failed:
            raise failed[0]
        yield started[0]
    finally:
        stop.set()
        thread.join()


async def serve(port: int, host: str = "127.0.0.1") -> None:
    """Serve alone until the task is cancelled or the process gets SIGINT or SIGTERM. Prints one line with the URL.

    Raises:
        OSError: the port is taken.
    """
    listener = open_listener(host, port)
    app = create_simulator()
    url = _url(host, listener)
    print(
        f"Foldline's provider simulator listens on {url} (OpenAI base URL {url}/v1, Gemini and Anthropic {url})",
        flush=True,
    )
    try:
        await uvicorn.Server(_config(app)).serve(sockets=[listener])
    finally:
        listener.close()


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_CuttableProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )


def open_listener(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # the protocol is named, as asyncio switches Nagle's algorithm off only where it is: answers came 40 ms late without
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def _url(host: str, listener: socket.socket) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}"
