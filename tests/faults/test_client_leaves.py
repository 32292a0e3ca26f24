"""A client that hangs up ends the provider's work at once, whatever the turn is doing."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tests.faults.conftest import Pair
from tests.faults.rawclient import CHAT, GEMINI, GEMINI_STREAM, Client, ask, gemini_body, openai_body
from tests.faults.rawserver import WHOLE, Peer, delta, gemini_delta, says_nothing
from tests.faults.serving import between, open_turns, until

SOON = 1.0
"""Seconds; on a quiet machine it takes a few milliseconds, and 50 are promised."""

CASES = [
    pytest.param(CHAT, openai_body(True), id="openai stream"),
    pytest.param(CHAT, openai_body(), id="openai whole"),
    pytest.param(GEMINI_STREAM, gemini_body(), id="gemini stream"),
    pytest.param(GEMINI, gemini_body(), id="gemini whole"),
    pytest.param(GEMINI_STREAM.partition("?")[0], gemini_body(), id="gemini array"),
]


async def closed_after(peer: Peer, left: float) -> float:
    """Seconds from the client's leaving to the end of the provider's connection."""
    async with asyncio.timeout(5):
        await peer.gone.wait()
    return peer.gone_at - left


@pytest.mark.parametrize(("path", "body"), CASES)
async def test_a_client_that_leaves_before_the_first_byte_cancels_the_provider(
    patient: Pair, path: str, body: bytes
) -> None:
    patient.provider.script = says_nothing
    before = patient.foldline.turns("client_left")
    async with await Client.to(patient.url) as client:
        await client.post(path, body)
        peer = await patient.provider.next_request()
        left = time.monotonic()
        client.leave()
        assert await closed_after(peer, left) < SOON
    await until(lambda: patient.foldline.turns("client_left") == before + 1, "the turn is logged as client_left")
    assert await open_turns(patient.url) == 0


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param("/v1beta/models/gemini-x:countTokens", gemini_body(), id="gemini"),
        pytest.param("/v1/messages/count_tokens", openai_body(model="gemini-x"), id="anthropic"),
    ],
)
async def test_a_client_that_leaves_while_its_tokens_are_counted_cancels_the_provider(
    patient: Pair, path: str, body: bytes
) -> None:
    patient.provider.script = says_nothing
    async with await Client.to(patient.url) as client:
        await client.post(path, body)
        peer = await patient.provider.next_request()
        left = time.monotonic()
        client.leave()
        assert await closed_after(peer, left) < SOON
    assert (await ask(patient.url, "/v1/nothing", b"{}")).status == 404


async def test_a_client_that_leaves_in_mid_stream_cancels_the_provider(patient: Pair) -> None:
    async def talks_on(peer: Peer) -> None:
        await peer.stream()
        while not peer.gone.is_set():
            await peer.stream_more(delta("word "))
            await asyncio.sleep(0.01)

    patient.provider.script = talks_on
    before = patient.foldline.turns("client_left")
    async with await Client.to(patient.url) as client:
        await client.post(CHAT, openai_body(True))
        await client.head()
        await client.until(b"word")
        peer = await patient.provider.next_request()
        left = time.monotonic()
        client.leave()
        assert await closed_after(peer, left) < SOON
    await until(lambda: patient.foldline.turns("client_left") == before + 1, "the turn is logged as client_left")


@pytest.mark.parametrize("manner", ["reset", "orderly"])
async def test_a_client_that_leaves_a_silent_stream_cancels_the_provider(patient: Pair, manner: str) -> None:
    async def falls_silent(peer: Peer) -> None:
        await peer.stream(gemini_delta("one"))
        await peer.gone.wait()

    patient.provider.script = falls_silent
    async with await Client.to(patient.url) as client:
        await client.post(GEMINI_STREAM, gemini_body())
        await client.head()
        await client.until(b"one")
        peer = await patient.provider.next_request()
        left = time.monotonic()
        client.leave() if manner == "reset" else client.writer.close()
        assert await closed_after(peer, left) < SOON


async def test_a_client_that_leaves_while_a_whole_answer_arrives_cancels_the_provider(patient: Pair) -> None:
    async def stops_half_way(peer: Peer) -> None:
        await peer.say(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(WHOLE), WHOLE[:50]
        )
        await peer.gone.wait()

    patient.provider.script = stops_half_way
    async with await Client.to(patient.url) as client:
        await client.post(CHAT, openai_body())
        peer = await patient.provider.next_request()
        await asyncio.sleep(0.05)
        left = time.monotonic()
        client.leave()
        assert await closed_after(peer, left) < SOON


async def test_a_client_that_leaves_during_a_pause_between_retries_is_not_asked_for_again(patient: Pair) -> None:
    client = await Client.to(patient.url)

    async def fails(peer: Peer) -> None:
        client.leave()  # it is gone before the answer that would be tried again
        await asyncio.sleep(0.05)
        await peer.answer(503, b'{"error":{"message":"busy"}}')

    patient.provider.script = fails
    before = patient.foldline.turns("client_left")
    await client.post(CHAT, openai_body())
    await until(lambda: patient.foldline.turns("client_left") == before + 1, "the turn is logged as client_left")
    await asyncio.sleep(0.3)
    assert len(patient.provider.asked) == 1
    await client.reset()


async def test_a_client_that_leaves_in_mid_request_costs_nothing(patient: Pair) -> None:
    async with await Client.to(patient.url) as client:
        await client.send(b'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n{"model":')
        await asyncio.sleep(0.05)
        client.leave()
    assert (await ask(patient.url, CHAT, openai_body())).status == 200
    assert len(patient.provider.asked) == 1


async def test_three_hundred_streams_that_are_left_leak_no_connection(tmp_path: Path) -> None:
    async def falls_silent(peer: Peer) -> None:
        await peer.stream(delta("one"))
        await peer.gone.wait()

    async def opened(url: str) -> Client:
        client = await Client.to(url)
        await client.post(CHAT, openai_body(True))
        await client.head()
        await client.until(b"one")
        return client

    async with between(tmp_path, falls_silent) as (foldline, provider):
        await (await opened(foldline.url)).reset()
        await until(lambda: provider.open == 0, "the first stream is over")
        at_rest = foldline.files
        clients = await asyncio.gather(*(opened(foldline.url) for _ in range(300)))
        assert await open_turns(foldline.url) == 300
        assert provider.open == 300
        for client in clients:
            client.leave()
        await until(lambda: provider.open == 0, "every connection to the provider is closed")
        await until(lambda: foldline.files <= at_rest, f"{foldline.files} files are open, {at_rest} were")
        assert await open_turns(foldline.url) == 0
        assert foldline.turns("client_left") == 301
        await asyncio.gather(*(client.reset() for client in clients))
