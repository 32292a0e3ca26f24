"""Three running Foldlines that the tests share: a patient one, a hasty one, and one that keeps streams alive early.

Each stands before a scripted provider that is the test's own. After every test the log must hold no traceback, no turn
may still run, and no connection to the provider may be open.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.faults.rawserver import RawServer, raw_server, says_hi
from tests.faults.serving import Foldline, foldline, open_turns, toward, until


@dataclass(frozen=True)
class Running:
    """A process, and the socket on which its provider will listen."""

    process: Foldline
    listener: socket.socket


@dataclass(frozen=True)
class Pair:
    """Foldline before a provider that does as the test says."""

    foldline: Foldline
    provider: RawServer

    @property
    def url(self) -> str:
        """Where Foldline serves."""
        return self.foldline.url


@contextmanager
def _running(factory: pytest.TempPathFactory, **settings: str) -> Generator[Running]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        provider = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with foldline(factory.mktemp("run"), **toward(provider), **settings) as process:
            yield Running(process, listener)


async def _pair(running: Running) -> AsyncIterator[Pair]:
    before = len(running.process.log)
    async with raw_server(says_hi, at=running.listener) as provider:
        yield Pair(running.process, provider)
        for _ in range(400):
            if not await open_turns(running.process.url):
                break
        else:
            pytest.fail("a turn still runs")
        busy = [
            peer for peer in provider.connections if not peer.gone.is_set() and any(not t.done() for t in peer.tasks)
        ]
        await until(lambda: all(peer.gone.is_set() for peer in busy), "connections to the provider that nobody reads")
    said = running.process.log[before:]
    assert "Traceback" not in said, said


@pytest.fixture(scope="session")
def patient_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """With the default timeouts."""
    with _running(tmp_path_factory, max_body="12MiB") as running:
        yield running


@pytest.fixture
async def patient(patient_process: Running) -> AsyncIterator[Pair]:
    """With the default timeouts, and a provider of the test's own."""
    async for pair in _pair(patient_process):
        yield pair


@pytest.fixture(scope="session")
def hasty_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Waits half a second for a first byte, and half a second for the next; one retry."""
    with _running(tmp_path_factory, first_byte_timeout="0.5s", idle_timeout="0.5s", max_retries="1") as running:
        yield running


@pytest.fixture
async def hasty(hasty_process: Running) -> AsyncIterator[Pair]:
    """Gives up early on the provider."""
    async for pair in _pair(hasty_process):
        yield pair


@pytest.fixture(scope="session")
def lively_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Keeps silent streams alive after a fifth of a second."""
    with _running(tmp_path_factory, keepalive_after="0.2s", first_byte_timeout="1.5s") as running:
        yield running


@pytest.fixture
async def lively(lively_process: Running) -> AsyncIterator[Pair]:
    """Keeps silent streams alive early."""
    async for pair in _pair(lively_process):
        yield pair
