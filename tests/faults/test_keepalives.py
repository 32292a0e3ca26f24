"""Silent streams are kept alive in their own dialect, never in the middle of an event."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import Any, Protocol

import pytest

from tests.faults.conftest import Pair
from tests.faults.rawclient import CHAT, GEMINI_STREAM, Answer, Client, ask, gemini_body, openai_body
from tests.faults.rawserver import END, GEMINI_END, Peer, chunk, delta, gemini_delta, says_hi

COMMENT, BLANK = b": keep-alive\n", b"\r\n"


class Held(Protocol):
    """What a provider does that waits for the test in between."""

    def __call__(self, peer: Peer, go_on: asyncio.Event) -> Awaitable[None]: ...


async def late(peer: Peer) -> None:
    """Thinks for three keep-alives before it answers well."""
    await asyncio.sleep(0.7)
    await says_hi(peer)


async def held(pair: Pair, path: str, body: bytes, script: Held, seen: bytes = b"", times: int = 1) -> Answer:
    """The answer of a provider that goes on only once the client has the head and, so many times, this chunk."""
    go_on = asyncio.Event()
    pair.provider.script = partial(script, go_on=go_on)
    async with await Client.to(pair.url) as client:
        await client.post(path, body)
        await client.head()
        await client.until(seen, times)
        go_on.set()
        return await client.rest()


async def held_hi(peer: Peer, go_on: asyncio.Event) -> None:
    """Answers well once it may."""
    await go_on.wait()
    await says_hi(peer)


async def test_a_long_wait_for_openai_is_filled_with_comments(lively: Pair) -> None:
    answer = await held(lively, CHAT, openai_body(True), held_hi, chunk(COMMENT), 2)
    assert answer.complete
    assert answer.body.startswith(COMMENT * 2)
    assert answer.body.replace(COMMENT, b"") == delta("hi") + END


async def test_a_long_wait_for_gemini_is_filled_with_blank_lines(lively: Pair) -> None:
    answer = await held(lively, GEMINI_STREAM, gemini_body(), held_hi, chunk(BLANK), 2)
    assert answer.complete
    assert answer.body.startswith(BLANK * 2)
    assert answer.body.lstrip() == gemini_delta("hi") + GEMINI_END


async def test_the_official_openai_sdk_reads_a_stream_kept_alive(lively: Pair) -> None:
    from openai import AsyncOpenAI

    lively.provider.script = late
    async with AsyncOpenAI(base_url=f"{lively.url}/v1", api_key="lab", max_retries=0) as client:
        stream = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hello"}], stream=True
        )
        assert [c.choices[0].delta.content async for c in stream if c.choices[0].delta.content] == ["hi"]


@pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")  # google-genai's own way with aiohttp
async def test_the_official_gemini_sdk_reads_a_stream_kept_alive(lively: Pair) -> None:
    from google import genai

    lively.provider.script = late
    options = genai.types.HttpOptions(base_url=lively.url)
    client: Any = genai.Client(api_key="lab", http_options=options)  # its types want PIL's
    stream = await client.aio.models.generate_content_stream(model="gemini-x", contents="hello")
    assert "".join([chunk.text or "" async for chunk in stream]) == "hi."
    await client.aio.aclose()
    client.close()


@pytest.mark.parametrize(("path", "body"), [(CHAT, openai_body(True)), (GEMINI_STREAM, gemini_body())])
async def test_a_keep_alive_never_falls_into_an_event(lively: Pair, path: str, body: bytes) -> None:
    event, end = (delta("hi"), END) if path == CHAT else (gemini_delta("hi"), GEMINI_END)

    async def stops_inside(peer: Peer) -> None:
        await peer.stream(event, event[:30])
        await asyncio.sleep(0.6)
        await peer.stream_more(event[30:-1])
        await asyncio.sleep(0.6)
        await peer.stream_more(event[-1:], end)
        await peer.say(b"0\r\n\r\n")

    lively.provider.script = stops_inside
    answer = await ask(lively.url, path, body)
    assert answer.complete
    assert answer.body.replace(COMMENT, b"").replace(BLANK * 4, BLANK * 2).count(event) == 2
    assert len(answer.events) == 2 + end.count(b"data:")


@pytest.mark.parametrize("cut", [1, 2, 3])
async def test_a_stream_is_kept_alive_however_its_blank_lines_were_cut(lively: Pair, cut: int) -> None:
    event = gemini_delta("hi")

    async def cuts(peer: Peer, go_on: asyncio.Event) -> None:
        await peer.stream(event[:-cut])
        await asyncio.sleep(0.02)
        await peer.stream_more(event[-cut:])
        await go_on.wait()
        await peer.stream_more(GEMINI_END)
        await peer.say(b"0\r\n\r\n")

    answer = await held(lively, GEMINI_STREAM, gemini_body(), cuts, chunk(BLANK), 2)
    between = answer.body.removeprefix(event).removesuffix(GEMINI_END)
    assert between.startswith(BLANK * 2)


async def test_an_error_after_a_keep_alive_is_an_event_and_a_cut_connection(lively: Pair) -> None:
    async def fails_late(peer: Peer, go_on: asyncio.Event) -> None:
        await go_on.wait()
        await peer.answer(400, b'{"error":{"message":"no","type":"invalid_request_error"}}')

    answer = await held(lively, CHAT, openai_body(True), fails_late)
    assert answer.status == 200
    assert not answer.complete
    assert answer.error["message"] == "no"


async def test_no_keep_alive_stands_before_an_answer_in_one_piece(lively: Pair) -> None:
    lively.provider.script = late
    answer = await ask(lively.url, CHAT, openai_body())
    assert answer.body.startswith(b"{")


async def test_a_client_that_leaves_between_keep_alives_cancels_the_provider(lively: Pair) -> None:
    async def thinks(peer: Peer) -> None:
        await peer.gone.wait()

    lively.provider.script = thinks
    async with await Client.to(lively.url) as client:
        await client.post(CHAT, openai_body(True))
        await client.head()
        peer = await lively.provider.next_request()
        client.leave()
        async with asyncio.timeout(1):
            await peer.gone.wait()
