"""What a server's processes use, from /proc: CPU seconds, memory, open files. The store is counted apart."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICK = os.sysconf("SC_CLK_TCK")
STORES = ("valkey", "redis")


@dataclass(frozen=True)
class Tree:
    """A server's own processes, and those of a store that it started."""

    own: tuple[int, ...]
    store: tuple[int, ...] = ()


def tree(root: int, directory: str) -> Tree:
    """The process `root`, its descendants, and whatever was started with `directory` on its command line."""
    children: dict[int, list[int]] = {}
    found: set[int] = set()
    for pid in _pids():
        try:
            parent = int(_stat(pid)[1])
            command = (PROC / str(pid) / "cmdline").read_bytes()
        except OSError:
            continue
        children.setdefault(parent, []).append(pid)
        if pid != os.getpid() and directory.encode() in command and _name(pid).startswith(STORES):
            found.add(pid)
    todo = [root]
    while todo:
        pid = todo.pop()
        found.add(pid)
        todo += children.get(pid, [])
    store = tuple(sorted(pid for pid in found if _name(pid).startswith(STORES)))
    return Tree(tuple(sorted(found.difference(store))), store)


def _pids() -> list[int]:
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]


def _stat(pid: int) -> list[str]:
    """The columns of /proc/PID/stat from the third on: a name may hold blanks and brackets."""
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def _name(pid: int) -> str:
    try:
        return (PROC / str(pid) / "comm").read_text()
    except OSError:
        return ""


def cpu(pids: Iterable[int]) -> float:
    """User plus system seconds so far.

    From the scheduler's nanoseconds where the kernel tells them: the columns of `stat` are rounded to hundredths of a
    second, too coarse for a stream that uses a few per cent of a core.
    """
    return sum(map(_cpu_of, pids))


def _cpu_of(pid: int) -> float:
    try:
        threads = [(each / "schedstat").read_text() for each in (PROC / str(pid) / "task").iterdir()]
        if spent := sum(int(each.split()[0]) for each in threads):
            return spent / 1e9
    except (OSError, ValueError, IndexError):
        pass
    try:
        columns = _stat(pid)
    except OSError:
        return 0.0
    return (int(columns[11]) + int(columns[12])) / TICK


def memory_mb(pids: Iterable[int]) -> float:
    """Resident memory; what processes share is divided among them (PSS), so that workers are not counted twice."""
    total = 0
    for pid in pids:
        try:
            lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def open_files(pids: Iterable[int]) -> int:
    """How many files and sockets are open."""
    total = 0
    for pid in pids:
        try:
            total += sum(1 for _ in (PROC / str(pid) / "fd").iterdir())
        except OSError:
            continue
    return total
