"""The stores that the suite runs against: in process, embedded, a Redis server, and a cluster of three masters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest
import uvloop

from app.state.store import Store
from tests.servers import RedisServer, redis_cluster, redis_server, short_directory

# Served by uvloop in production, and by asyncio's own loop where that is not to be had: each gets some of the tests.
ON_UVLOOP = {"test_links", "test_store_faults", "test_workers"}


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """pytest-asyncio: on which event loop a test runs."""
    return {"uvloop": uvloop.new_event_loop} if item.path.stem in ON_UVLOOP else {"asyncio": asyncio.new_event_loop}


SHARED = ("embedded", "redis", "cluster")


class OpenStore(Protocol):
    """Opens a store that is closed when the test ends."""

    async def __call__(self, url: str, **settings: Any) -> Store: ...


@pytest.fixture(scope="session")
def shared_redis() -> Iterator[RedisServer]:
    with redis_server("--enable-debug-command", "local") as server:
        yield server


@pytest.fixture(scope="session")
def shared_cluster() -> Iterator[list[RedisServer]]:
    with redis_cluster() as servers:
        yield servers


@pytest.fixture(scope="session")
def shared_directory() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    """A server of the test's own, to be frozen and killed."""
    with redis_server("--enable-debug-command", "local") as server:
        yield server


@pytest.fixture
async def open_store() -> AsyncIterator[OpenStore]:
    async with AsyncExitStack() as stack:

        async def opened(url: str, **settings: Any) -> Store:
            settings.setdefault("ttl_seconds", 3600)
            store = await Store.open(url, **settings)
            stack.push_async_callback(store.close)
            return store

        yield opened


@pytest.fixture(params=["memory", *SHARED])
def url(request: pytest.FixtureRequest) -> str:
    """One of each kind. They are shared by all tests, so every test uses sessions of its own."""
    return "memory://" if request.param == "memory" else _shared(request)


@pytest.fixture(params=SHARED)
def shared_url(request: pytest.FixtureRequest) -> str:
    """One of each kind that several processes can share: memory:// is one process's own world."""
    return _shared(request)


def _shared(request: pytest.FixtureRequest) -> str:
    match request.param:
        case "embedded":
            return f"embedded://{request.getfixturevalue('shared_directory')}"
        case "redis":
            return request.getfixturevalue("shared_redis").url
        case _:
            servers: list[RedisServer] = request.getfixturevalue("shared_cluster")
            return "redis+cluster://" + ",".join(f"127.0.0.1:{server.port}" for server in servers[:2])


@pytest.fixture
async def store(url: str, open_store: Callable[..., Any]) -> Store:
    return await open_store(url)
