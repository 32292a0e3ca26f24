"""A client that reads slowly slows the provider down; it fills no memory, and is not taken for a provider's silence."""

from __future__ import annotations

import asyncio

import pytest

from tests.faults.conftest import Pair
from tests.faults.rawclient import CHAT, GEMINI, Client, gemini_body, openai_body
from tests.faults.rawserver import END, LAST, Peer, delta

BLOCK = delta("x" * 60_000)
BLOCKS = 4000
"""About 240 MB."""


async def test_a_client_that_does_not_read_fills_no_memory(hasty: Pair) -> None:
    async def floods(peer: Peer) -> None:
        await peer.stream()
        for _ in range(BLOCKS):
            await peer.stream_more(BLOCK)

    hasty.provider.script = floods
    async with await Client.to(hasty.url, receive_buffer=16_384) as client:
        await client.post(CHAT, openai_body(True))
        await client.head()
        before = hasty.foldline.memory
        peer = await hasty.provider.next_request()
        said = -1
        while said != peer.said:
            said = peer.said
            await asyncio.sleep(0.3)
        assert said < 40_000_000, "what the kernel holds, and no more"
        assert hasty.foldline.memory - before < 30


async def test_a_client_that_reads_late_still_gets_everything(hasty: Pair) -> None:
    count = 300  # about 18 MB, which no buffer holds

    async def says_much(peer: Peer) -> None:
        await peer.stream()
        for _ in range(count):
            await peer.stream_more(BLOCK)
        await peer.stream_more(END)
        await peer.say(LAST)

    hasty.provider.script = says_much
    async with await Client.to(hasty.url, receive_buffer=16_384) as client:
        await client.post(CHAT, openai_body(True))
        await client.head()
        await asyncio.sleep(1.2)  # more than twice the time that the provider may be silent
        answer = await client.rest()
    assert answer.complete
    assert len(answer.body) == count * len(BLOCK) + len(END)


@pytest.mark.parametrize(("path", "body"), [(CHAT, openai_body()), (GEMINI, gemini_body())])
async def test_an_answer_in_one_piece_is_bounded(patient: Pair, path: str, body: bytes) -> None:
    async def never_stops(peer: Peer) -> None:
        await peer.say(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000000000\r\n\r\n")
        piece = b" " * 2**20
        while not peer.gone.is_set():
            await peer.say(piece)

    patient.provider.script = never_stops
    async with await Client.to(patient.url) as client:
        await client.post(path, body)
        answer = await client.answer()
    assert answer.status == 502
    assert "too large" in answer.error["message"]
