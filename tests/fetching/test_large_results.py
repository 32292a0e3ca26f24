"""A result of many megabytes keeps no other stream waiting while it is made small or read, and stays small itself."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from app.chat.events import ToolCalled
from app.chat.model import ToolCall
from app.chat.reply import Reply
from app.context.known import Known
from app.context.plan import Draft
from app.context.policy import Policy
from app.context.steps import STEPS
from app.context.tool_results import Parked
from app.engine.beside import BESIDE
from app.engine.fetching import Fetching
from app.tools.fetch_rows import Bounds
from tests.chaining.provider import Json, Provider
from tests.engine.scripts import Stage, call, openai_says
from tests.fetching.conftest import StartFront, with_reviews
from tests.fetching.shop import fetch, reviews, rows

MANY = 16_000
"""Reviews of ten megabytes together."""


@pytest.mark.parametrize(("size", "beside"), [(BESIDE // 2, False), (2 * BESIDE, True)])
async def test_a_large_result_is_made_small_beside_the_event_loop(size: int, beside: bool) -> None:
    where: list[threading.Thread] = []

    def looks(draft: Draft, known: Known, policy: Policy) -> Draft:
        where.append(threading.current_thread())
        return draft

    stage = await Stage.open("openai", steps=(looks, *STEPS))
    stage.replies(openai_says("fine"))
    seen = await stage.says("openai", {"messages": _history("row\n" * (size // 4))})
    assert seen.reply.text == "fine"
    assert [thread is not threading.main_thread() for thread in where] == [beside]


class _Watched(str):
    """Text that notes in which threads it is read."""

    __slots__ = ("readers",)

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        self.readers.append(threading.current_thread())
        return super().encode(encoding, errors)


@pytest.mark.parametrize(("size", "beside"), [(BESIDE // 2, False), (2 * BESIDE, True)])
async def test_a_large_result_is_read_beside_the_event_loop(size: int, beside: bool) -> None:
    text = _Watched("row\n" * (size // 4))
    text.readers = []

    async def find(handle: str) -> Parked:
        return Parked("log", text)

    hop = Reply()
    hop.add(ToolCalled(0, ToolCall("c1", "fetch_rows", '{"handle":"res_1","search":"row"}')))
    given = await Fetching("fetch_rows", Bounds(), find).results(hop)
    assert "match" in given[0].text
    assert text.readers
    assert {thread is not threading.main_thread() for thread in text.readers} == {beside}


def _history(result: str) -> list[Json]:
    return [
        {"role": "user", "content": "What do they say?"},
        {"role": "assistant", "content": None, "tool_calls": [call("c1", "reviews")]},
        {"role": "tool", "tool_call_id": "c1", "content": result},
    ]


async def test_ten_megabytes_are_small_upstream_and_can_be_read_at_any_place(
    front: StartFront, provider: Provider
) -> None:
    async with front("chat") as proxy:
        talk = proxy.talk()
        text = reviews(MANY)
        assert len(text) > 9 * 10**6
        await with_reviews(talk, text)
        assert len(proxy.last.raw) < 40_000
        assert proxy.small()[0]["total_rows"] == MANY
        await talk.say(fetch(proxy.handle, offset=MANY - 12, limit=12))
        assert proxy.fetched()[-1]["rows"] == rows(MANY)[-12:]
    assert provider.refused == []


async def test_large_results_of_one_session_are_made_small_at_the_same_time(
    front: StartFront, provider: Provider
) -> None:
    async with front("chat") as proxy:

        async def turn(count: int) -> Any:
            return await with_reviews(proxy.talk(session="shop"), reviews(count))

        said = await asyncio.gather(*map(turn, (1500, 1600, 1700, 1500)))
        assert all(each.text for each in said)
        assert len(proxy.asked) == 8
        assert max(len(each.raw) for each in proxy.asked) < 40_000
    assert provider.refused == []
