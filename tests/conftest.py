"""What tests of several rooms share: a simulator, and whole proxies in front of it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncGenerator, Generator

import httpx2
import pytest

from app.simulator.running import Running, simulator_in_thread
from tests.running import Proxy, StartFoldline, foldline_in_thread, running_foldline, settings_beside

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def served() -> Generator[Running]:
    """One simulator for all tests, in a thread of its own."""
    with simulator_in_thread() as running:
        yield running


@pytest.fixture(scope="session")
def shared_url(served: Running) -> Generator[str]:
    """One proxy for all tests that want no settings of their own."""
    with foldline_in_thread(settings_beside(served)) as url:
        yield url


@pytest.fixture
def sim(served: Running) -> Running:
    """The simulator, with an empty journal and no script."""
    served.journal.clear()
    served.answers.clear()
    return served


@pytest.fixture
def proxy(sim: Running, shared_url: str) -> Proxy:
    """A proxy as most tests want it: both providers reachable, clients' own keys passed on, state in memory."""
    return Proxy(shared_url, sim)


@pytest.fixture
def foldline(sim: Running) -> StartFoldline:
    """`async with foldline(strict=True) as proxy:` runs a proxy with these settings in front of the simulator."""

    @contextlib.asynccontextmanager
    async def start(**settings: object) -> AsyncGenerator[Proxy]:
        async with running_foldline(settings_beside(sim, **settings)) as url:
            yield Proxy(url, sim)

    return start


@pytest.fixture
def key() -> str:
    """A client's key that no other test uses: a tenant of this test's own, although the proxy is shared."""
    return f"key-{next(_NUMBERS)}"


@pytest.fixture
async def http(proxy: Proxy, key: str) -> AsyncGenerator[httpx2.AsyncClient]:
    """A bare client of the proxy with a key for either dialect; no proxy settings of the machine."""
    headers = {"authorization": f"Bearer {key}", "x-goog-api-key": key}
    async with httpx2.AsyncClient(
        base_url=proxy.url, headers=headers, trust_env=False, verify=False, timeout=10
    ) as client:
        yield client
