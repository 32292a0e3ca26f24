"""A large request is read without keeping any other stream waiting; a small one is read at once."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

from app.chat.address import Chain, addresses
from app.chat.model import Message
from app.engine.beside import BESIDE
from app.engine.memo import Memo
from app.engine.reading import heard
from app.engine.request import Request
from app.upstreams.upstream import Credential
from app.wires.wire import Inbound
from tests.engine.scripts import TENANT
from tests.wires.talking import WIRES


def _request(size: int) -> Request:
    words = {"role": "user", "content": "word " * (size // 5)}
    body = json.dumps({"model": "m", "messages": [words, {"role": "assistant", "content": "Yes."}, words]})
    return Request(WIRES["openai"], Inbound(body.encode()), [], Credential(), TENANT)


@pytest.mark.parametrize(("size", "beside"), [(BESIDE // 4, False), (BESIDE, True)])
async def test_a_large_request_is_read_and_addressed_beside_the_event_loop(
    size: int, beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    where: list[threading.Thread] = []
    extend = Chain.extend

    def noting(chain: Chain, message: Message) -> bytes:
        where.append(threading.current_thread())
        return extend(chain, message)

    monkeypatch.setattr(Chain, "extend", noting)
    found = await heard(_request(size), Memo())
    assert [thread is not threading.main_thread() for thread in where] == [beside] * len(found.chat.messages)


async def test_other_streams_get_their_turn_while_a_large_request_is_read() -> None:
    turns = 0

    async def stream() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(stream())
    await heard(_request(4 * BESIDE), Memo())
    other.cancel()
    assert turns > 1


async def test_a_request_is_heard_alike_wherever_it_is_read_and_goes_on_from_what_was_seen() -> None:
    for size in (BESIDE // 4, BESIDE):
        memo, request = Memo(), _request(size)
        first, again = await heard(request, memo), await heard(request, memo)
        assert first.addresses == again.addresses == addresses(first.chat.messages, TENANT)
        assert first.chain.address == again.chain.address == first.addresses[-1]
        assert again.chat.messages[0] is first.chat.messages[0]
