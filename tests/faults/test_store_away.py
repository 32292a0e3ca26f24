"""Losing the store loses savings, never an answer: killed, frozen, or never there."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.rawclient import CHAT, GEMINI_STREAM, Answer, ask, gemini_body, get, openai_body
from tests.faults.rawserver import says_hi
from tests.faults.serving import Foldline, between
from tests.servers import RedisServer, short_directory

STORE_TIMEOUT = 0.3
SLACK = 1.0
"""Seconds that a busy machine may take beyond what is promised."""


@contextmanager
def short_place() -> Generator[Path]:
    """A directory short enough for the socket of an embedded store."""
    with short_directory() as place:
        yield place


async def chat(foldline: Foldline) -> tuple[Answer, float]:
    """One turn of each dialect; the second's answer, and the longer time."""
    began = time.monotonic()
    assert (await ask(foldline.url, CHAT, openai_body())).status == 200
    middle = time.monotonic()
    answer = await ask(foldline.url, GEMINI_STREAM, gemini_body())
    assert answer.status == 200
    assert answer.complete
    return answer, max(middle - began, time.monotonic() - middle)


async def without_state(foldline: Foldline) -> None:
    """Several turns go on without state, in time; alive, not ready."""
    for _ in range(3):
        answer, seconds = await chat(foldline)
        assert "state=bypassed" in answer.headers["x-foldline-plan"]
        assert seconds < STORE_TIMEOUT + SLACK  # not waited for again behind the turn
    assert (await get(foldline.url, "/livez")).status == 200
    ready = await get(foldline.url, "/readyz")
    assert ready.status == 503
    assert b"store" in ready.body


async def with_state(foldline: Foldline, within: float = 12) -> None:
    """Ready again, and turns have state again."""
    deadline = time.monotonic() + within
    while (await get(foldline.url, "/readyz")).status != 200:
        assert time.monotonic() < deadline, "it did not get ready again"
    answer, _ = await chat(foldline)
    assert "bypassed" not in answer.headers["x-foldline-plan"]


async def test_an_embedded_store_that_freezes_or_dies_costs_no_answer_and_comes_back() -> None:
    with short_place() as place:
        settings = {"redis_url": f"embedded://{place}/s", "store_timeout": f"{STORE_TIMEOUT}s"}
        async with between(place, says_hi, **settings) as (foldline, _):
            await with_state(foldline)
            server = int((place / "s/valkey/pid").read_text())
            os.kill(server, signal.SIGSTOP)
            try:
                await without_state(foldline)
            finally:
                os.kill(server, signal.SIGCONT)
            await with_state(foldline)
            os.kill(server, signal.SIGKILL)
            for _ in range(3):
                await chat(foldline)
            await with_state(foldline)
            assert int((place / "s/valkey/pid").read_text()) != server


async def test_a_redis_that_is_away_at_the_start_costs_no_answer_and_is_found_later() -> None:
    with short_place() as place:
        server = RedisServer(place)
        settings = {"redis_url": server.url, "store_timeout": f"{STORE_TIMEOUT}s"}
        async with between(place, says_hi, **settings) as (foldline, _):
            try:
                await without_state(foldline)
                server.start()
                await with_state(foldline)
            finally:
                server.kill()


async def test_a_redis_that_is_frozen_at_the_start_and_dies_later_costs_no_answer() -> None:
    with short_place() as place:
        server = RedisServer(place)
        server.start()
        try:
            server.freeze()
            settings = {"redis_url": server.unix_url, "store_timeout": f"{STORE_TIMEOUT}s"}
            async with between(place, says_hi, **settings) as (foldline, _):
                await without_state(foldline)
                server.thaw()
                await with_state(foldline)
                server.kill()
                await without_state(foldline)
        finally:
            server.thaw()
            server.kill()


async def test_a_store_whose_name_nobody_knows_costs_no_answer(tmp_path: Path) -> None:
    settings = {"redis_url": "redis://nowhere.invalid:6379", "store_timeout": f"{STORE_TIMEOUT}s"}
    async with between(tmp_path, says_hi, **settings) as (foldline, _):
        await without_state(foldline)
