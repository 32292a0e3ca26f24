"""SIGTERM lets streams finish, tells the rest, and leaves nothing behind; SIGKILL loses no state."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from pathlib import Path

import pytest

from tests.faults.rawclient import CHAT, GEMINI, GEMINI_STREAM, Client, ask, gemini_body, get, openai_body
from tests.faults.rawserver import END, LAST, Peer, delta, gemini_delta, says_hi
from tests.faults.serving import Foldline, between, toward, until
from tests.servers import short_directory


def runs(pid: int) -> bool:
    """Whether the process is there, and not only waits to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_streams_finish_or_are_told_and_the_process_ends_in_time() -> None:
    refused = asyncio.Event()

    async def takes_its_time(peer: Peer) -> None:
        if b"finish" in peer.request.body:
            await peer.stream(delta("one"))
            await refused.wait()
            await peer.stream_more(END)
            await peer.say(LAST)
        elif "stream" in peer.request.path or b'"stream": true' in peer.request.body:
            await peer.stream(gemini_delta("one") if "models/" in peer.request.path else delta("one"))
            await peer.gone.wait()
        else:
            await peer.gone.wait()

    with short_directory() as place:
        settings = {"redis_url": f"embedded://{place}/s", "drain_seconds": "2s"}
        async with between(place, takes_its_time, **settings) as (foldline, provider):
            store = int((place / "s/valkey/pid").read_text())
            asked = {
                "finishes": (CHAT, openai_body(True, "finish")),
                "openai": (CHAT, openai_body(True)),
                "gemini": (GEMINI_STREAM, gemini_body()),
                "whole openai": (CHAT, openai_body()),
                "whole gemini": (GEMINI, gemini_body()),
            }
            clients: dict[str, Client] = {}
            for name, (path, body) in asked.items():
                clients[name] = client = await Client.to(foldline.url)
                await client.post(path, body)
                if "whole" not in name:
                    await client.head()
                    await client.until(b"one")
            await until(lambda: len(provider.asked) == 5, "all requests are with the provider")
            began = time.monotonic()
            foldline.process.send_signal(signal.SIGTERM)
            with pytest.raises((OSError, EOFError)):  # noqa: PT012 (refused, reset or closed, as the system likes)
                while time.monotonic() - began < 5:
                    await get(foldline.url, "/readyz")
            refused.set()

            finished = await clients["finishes"].rest()
            assert finished.complete
            assert finished.body == delta("one") + END
            for name in ("openai", "gemini"):
                told = await clients[name].rest()
                assert not told.complete
                assert len(told.events) == 2
                assert "shutting down" in told.error["message"]
            for name in ("whole openai", "whole gemini"):
                told = await clients[name].answer()
                assert told.status == 503
                assert "shutting down" in told.error["message"]
            assert await asyncio.to_thread(foldline.ended, 10) == 0
            assert time.monotonic() - began < 10
            assert foldline.turns("cut") == 4
            assert not runs(store), "the embedded store ends with it"
            await asyncio.gather(*(client.reset() for client in clients.values()))


async def test_without_open_streams_it_ends_at_once(tmp_path: Path) -> None:
    async with between(tmp_path, says_hi) as (foldline, _), await Client.to(foldline.url) as idle:
        await idle.post(CHAT, openai_body())
        assert (await idle.answer()).status == 200
        began = time.monotonic()
        foldline.process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(foldline.ended, 10) == 0
        assert time.monotonic() - began < 5


async def test_a_killed_foldline_leaves_no_orphan_and_no_turn_is_lost() -> None:
    with short_directory() as place:
        settings = {"redis_url": f"embedded://{place}/s", "workers": "2"}
        async with between(place, says_hi, **settings) as (foldline, provider):
            turn = (await ask(foldline.url, CHAT, openai_body(True))).headers["x-foldline-turn"]
            started = foldline.children
            assert started
            foldline.process.kill()
            await until(lambda: not any(runs(pid) for pid in started), "its children have ended", 8)

            again = Foldline(place, toward(provider.url) | settings)
            try:
                await asyncio.to_thread(again.wait_until_it_serves)
                kept = await get(again.url, f"/foldline/turns/{turn}")
                assert kept.status == 200
                assert json.loads(kept.body)["turn"]["turn"] == turn
            finally:
                await asyncio.to_thread(again.stop)
