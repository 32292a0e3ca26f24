"""The measurements: a closed loop of clients, open idle streams, and clients that hang up. All bounded in time."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Iterable
from typing import TypeAlias

from bench.client import Connection, Seen, Target, get
from bench.payloads import WORKLOADS, Growing, MakeBody, Workload
from bench.processes import Tree, cpu, memory_mb, open_files
from bench.servers import Server

Row: TypeAlias = dict[str, float]
ANSWER_S = 60  # what a single answer may take before it counts as an error


def share(values: Iterable[float], part: float) -> float:
    """The value below which this share of them lies; NaN of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else float("nan")


async def closed_loop(target: Target, bodies: MakeBody, clients: int, seconds: float) -> Seen:
    """Clients that each send their next request when the last was answered, starting none after `seconds`."""
    seen = Seen()
    until = time.monotonic() + seconds

    async def one(client: int) -> None:
        connection: Connection | None = None
        await asyncio.sleep(client // 100 * 0.05)  # a thousand at once would only measure the listen queue
        first = True
        while first or time.monotonic() < until:
            first = False
            try:
                if connection is None or connection.closed:
                    connection = await target.connect(seen)
                await asyncio.wait_for(connection.send(target.request(bodies(client))), ANSWER_S)
            except (TimeoutError, OSError) as error:
                seen.errors += 1
                seen.sample = seen.sample or f"{type(error).__name__}: {error}"
                connection = None
                await asyncio.sleep(0.01)
        if connection and not connection.closed:
            connection.transport.close()

    await asyncio.gather(*(one(client) for client in range(clients)))
    return seen


async def known_chats(target: Target, bodies: MakeBody, clients: int) -> None:
    """Sends the openings of growing chats, so that what is measured after it are known ones."""
    if not isinstance(bodies, Growing):
        return
    for client in range(clients):
        seen = Seen()
        connection = await target.connect(seen)
        for body in bodies.openings(client):
            if connection.closed:
                connection = await target.connect(seen)
            await asyncio.wait_for(connection.send(target.request(body)), ANSWER_S)
        connection.transport.close()


async def loaded(
    server: Server | None, target: Target, upstream: int, work: Workload, model: str, seconds: float
) -> tuple[Row, Seen]:
    """CPU a request and a chunk under load, and what reached the `upstream` (its port) of it.

    `server` is None for the upstream itself: its CPU is not of interest.
    """
    bodies = work.bodies(model)
    await known_chats(target, bodies, work.clients)
    await asyncio.sleep(0.05)
    await get(upstream, "/bench/received")
    tree = server.tree if server else Tree(())
    before, stored, began = cpu(tree.own), cpu(tree.store), time.monotonic()
    seen = await closed_loop(target, bodies, work.clients, seconds)
    wall = time.monotonic() - began
    await asyncio.sleep(0.05)  # what is written after the answer belongs to it
    own, store = cpu(tree.own) - before, cpu(tree.store) - stored
    calls, received = json.loads(await get(upstream, "/bench/received"))
    done, chunks = max(1, len(seen.latency)), len(seen.transit)
    row: Row = {
        "requests": len(seen.latency),
        "errors": seen.errors,
        "req_s": len(seen.latency) / wall,
        "p50_ms": share(seen.latency, 0.5) * 1e3,
        "p99_ms": share(seen.latency, 0.99) * 1e3,
    }
    if chunks:
        row |= {"chunk_p50_ms": share(seen.transit, 0.5) * 1e3, "chunk_p99_ms": share(seen.transit, 0.99) * 1e3}
    if server and seen.latency:
        row |= {"cpu_us": own / done * 1e6, "store_us": store / done * 1e6, "cpu_share": own / wall}
        row |= {"req_cpu_s": done / own} if own else {}
        row |= {"calls": calls / done, "sent_kb": received / max(1, calls) / 1e3}
        row |= {"chunk_us": own / chunks * 1e6} if chunks else {}
        row["memory_mb"] = memory_mb(tree.own)
    return row, seen


async def alone(target: Target, work: Workload, model: str, seconds: float) -> Row:
    """One client on an idle server: the time to the first byte of the answer, which for a plain answer is all of it."""
    bodies = work.bodies(model)
    await known_chats(target, bodies, 1)
    seen = await closed_loop(target, bodies, 1, seconds)
    return {"alone_p50_ms": share(seen.first, 0.5) * 1e3, "alone_p99_ms": share(seen.first, 0.99) * 1e3}


async def open_streams(server: Server, model: str, count: int, settle: float = 1, batch: int = 100) -> Row:
    """Opens `count` streams that stay silent after their first chunk: memory of each, and what opening one costs.

    `settle` is how long, in seconds, the server is warmed up, then left alone before its memory is read.
    """
    seen, target = Seen(), server.target
    bodies = WORKLOADS["hold"].bodies(model)
    await closed_loop(target, WORKLOADS["chat2"].bodies(model), 8, settle)
    tree = server.tree
    before, files = memory_mb(tree.own), open_files(tree.own)
    connections: list[Connection] = []
    spent: list[float] = []
    until = time.monotonic() + 100  # the streams end by themselves after 120 s
    for begin in range(0, count, batch):
        used = cpu(tree.own)
        new = [await target.connect(seen) for _ in range(min(batch, count - begin))]
        for connection in new:
            connection.send(target.request(bodies(0)))
        while any(not each.first_at and not each.closed for each in new) and time.monotonic() < until:  # noqa: ASYNC110 - a poll costs less than 100 events
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.02)
        spent.append((cpu(tree.own) - used) / len(new) * 1e6)
        connections += new
    await asyncio.sleep(settle)
    alive = sum(1 for each in connections if each.first_at and not each.closed)
    after = memory_mb(tree.own)
    for each in connections:
        each.transport.abort()
    await asyncio.sleep(2 * settle)
    few = max(1, min(3, len(spent) // 2))
    return {
        "alive": alive,
        "kb_per_stream": (after - before) * 1024 / max(1, alive),
        "all_mb": after,
        "open_us": statistics.mean(spent),
        "open_growth": statistics.mean(spent[-few:]) / max(1e-9, statistics.mean(spent[:few])),
        # More than a few: the server did not notice that its clients have gone.
        "files_left": open_files(tree.own) - files,
    }


async def hang_ups(target: Target, upstream: int, model: str, times: int) -> Row:
    """Clients that leave in the middle of a stream: how long until the upstream's connection is closed too."""
    await get(upstream, "/bench/closed")
    bodies, delays = WORKLOADS["hold"].bodies(model), []
    for _ in range(times):
        connection = await target.connect(Seen())
        connection.send(target.request(bodies(0)))
        until = time.monotonic() + 5
        while not connection.first_at and time.monotonic() < until:  # noqa: ASYNC110 - once, outside what is timed
            await asyncio.sleep(0.002)
        left = time.monotonic_ns()
        connection.transport.abort()
        closed: list[int] = []
        until = time.monotonic() + 1
        while not closed and time.monotonic() < until:
            await asyncio.sleep(0.02)
            closed = json.loads(await get(upstream, "/bench/closed"))
        delays.append((closed[0] - left) / 1e6 if closed else 1e3)
    return {"hang_up_p50_ms": share(delays, 0.5), "hang_up_max_ms": max(delays)}
