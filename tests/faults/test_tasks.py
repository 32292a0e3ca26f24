"""Inside one process: no task outlives its turn, and clients that send or take nothing have a deadline."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import uvicorn

import app.commands.protocol
import app.web.body
import app.web.pulse
from app.commands.protocol import Protocol
from app.main import create_app
from app.settings import Settings
from tests.faults.rawclient import CHAT, GEMINI, GEMINI_STREAM, Client, ask, gemini_body, get, openai_body, request
from tests.faults.rawserver import Peer, delta, raw_server, says_hi, says_nothing
from tests.faults.serving import toward, until


@asynccontextmanager
async def served(provider: str, **more: str) -> AsyncGenerator[str]:
    """Foldline on this very event loop; its URL."""
    app = create_app(Settings(redis_url="memory://", **toward(provider), **more))  # pyright: ignore[reportArgumentType] (validated from text)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, http=Protocol, ws="none", log_config=None))
        task = asyncio.create_task(server.serve(sockets=[listener]))
        await until(lambda: server.started, "it serves", 20)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task


async def test_no_task_outlives_its_turn_however_it_ended() -> None:
    async def begins(peer: Peer) -> None:
        await peer.stream(delta("one"))

    async def breaks(peer: Peer) -> None:
        await peer.stream(delta("one"))
        peer.reset()

    async with raw_server(says_hi) as provider, served(provider.url) as url:
        await ask(url, CHAT, openai_body(True))  # what lives long is there now
        await until(lambda: not provider.connections[0].tasks or provider.connections[0].tasks[-1].done(), "it rests")
        at_rest = len(asyncio.all_tasks())
        for script in (says_hi, says_nothing, begins, breaks):
            provider.script = script
            for path, body in (
                (CHAT, openai_body(True)),
                (CHAT, openai_body()),
                (GEMINI_STREAM, gemini_body()),
                (GEMINI, gemini_body()),
            ):
                async with await Client.to(url) as client:
                    await client.post(path, body)
                    await asyncio.sleep(0.05)
        await until(lambda: len(asyncio.all_tasks()) <= at_rest, f"{len(asyncio.all_tasks())} tasks, {at_rest} at rest")


@pytest.mark.parametrize("sent", [0, 20], ids=["nothing of it", "a part of it"])
@pytest.mark.parametrize("path", [CHAT, GEMINI])
async def test_a_body_that_does_not_come_is_waited_for_so_long_and_no_longer(
    monkeypatch: pytest.MonkeyPatch, path: str, sent: int
) -> None:
    monkeypatch.setattr(app.web.body, "SLOWEST", 0.2)
    monkeypatch.setattr(app.web.body, "LINGER", 0.2)
    async with raw_server(says_hi) as provider, served(provider.url) as url, await Client.to(url) as client:
        head, _, body = request(path, openai_body()).partition(b"\r\n\r\n")
        await client.send(head + b"\r\n\r\n" + body[:sent])
        answer = await client.answer()
        assert answer.status == 408
        assert "in time" in answer.error["message"]
        assert provider.asked == []


HALF = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconte"


@pytest.mark.parametrize(
    ("before", "sent"), [(0, b""), (0, HALF), (1, HALF)], ids=["nothing", "half", "half of a second"]
)
async def test_a_head_that_does_not_come_is_waited_for_so_long_and_no_longer(
    monkeypatch: pytest.MonkeyPatch, before: int, sent: bytes
) -> None:
    monkeypatch.setattr(app.commands.protocol, "HEAD_SECONDS", 0.3)
    async with raw_server(says_hi) as provider, served(provider.url) as url, await Client.to(url) as client:
        for _ in range(before):
            await client.post(CHAT, openai_body())
            assert (await client.answer()).status == 200
        await client.send(sent)
        async with asyncio.timeout(5):
            assert await client.reader.read() == b""


async def test_a_head_deadline_does_not_touch_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.commands.protocol, "HEAD_SECONDS", 0.1)

    async def thinks(peer: Peer) -> None:
        await asyncio.sleep(0.4)
        await says_hi(peer)

    async with raw_server(thinks) as provider, served(provider.url) as url, await Client.to(url) as client:
        await client.send(request(CHAT, openai_body()) + b"POST /half")
        assert (await client.answer()).status == 200


async def test_a_client_that_takes_nothing_for_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.web.pulse, "STALL", 0.3)
    block = delta("x" * 60_000)

    async def floods(peer: Peer) -> None:
        await peer.stream()
        while not peer.gone.is_set():
            await peer.stream_more(block)

    async with (
        raw_server(floods) as provider,
        served(provider.url, keepalive_after="0.2s") as url,
        await Client.to(url, receive_buffer=16_384) as client,
    ):
        await client.post(CHAT, openai_body(True))
        await client.head()
        peer = await provider.next_request()
        await until(peer.gone.is_set, "the provider is let go")
        said = (await get(url, "/metrics")).body.decode()
        assert 'outcome="client_left"' in said


async def test_clients_that_take_nothing_do_not_hold_up_the_keep_alives_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(app.web.pulse, "PATIENCE", 10)
    asked: list[str] = []

    class Stuck:
        def silent_since(self) -> float:
            return 0.0

        def stuck_since(self) -> float:
            return time.monotonic()

        async def keep_alive(self) -> None:
            asked.append("stuck")
            await asyncio.sleep(60)

        def give_up(self) -> None:
            raise AssertionError

    class Quick(Stuck):
        async def keep_alive(self) -> None:
            asked.append("quick")

    pulse = app.web.pulse.Pulse(0.1)
    for stream in (Stuck(), Stuck(), Stuck(), Quick()):
        pulse.watch(stream)
    await until(lambda: asked.count("quick") >= 1, "the others are kept alive", 2)
    await pulse.stop()
