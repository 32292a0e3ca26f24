"""A bulky result is small upstream, tells its totals exactly, and all its rows stay to be had as they were."""

from __future__ import annotations

import json

import pytest

from app.chat.family import family_of
from app.chat.size import of_text
from tests.chaining.provider import Json, Provider
from tests.chaining.talk import Wire
from tests.fetching.conftest import KINDS, MODELS, WIRES, Kind, StartFront, with_reviews
from tests.fetching.shop import BIG, ODD, fetch, reviews, rows

BOUND = 6000


def _tokens(form: Json, kind: Kind) -> int:
    return of_text(json.dumps(form, ensure_ascii=False, separators=(",", ":")), family_of(MODELS[kind]))


@KINDS
@WIRES
async def test_a_result_of_48000_tokens_takes_6000_and_its_rows_are_fetched_as_they_were(
    front: StartFront, provider: Provider, kind: Kind, wire: Wire
) -> None:
    async with front(kind) as proxy:
        talk = proxy.talk(wire)
        said = await with_reviews(talk)
        assert said.plan.startswith("tool_results=1")
        form = proxy.small()[0]
        assert _tokens(form, kind) <= BOUND
        assert (form["total_rows"], form["truncated"]) == (312, True)
        assert form["digest"]["id"] | {"mean": 0} == {"min": 1000, "max": 1311, "mean": 0}
        assert form["returned_rows"] == len(form["rows"])
        assert "fetch_rows" in proxy.tools
        said = await talk.say(fetch(proxy.handle, offset=200, limit=40))
        assert said.calls == ()
        assert "fetch_rows says" in said.text
        found = proxy.fetched()[-1]
        assert found["rows"] == rows()[200:240]
        assert str(BIG + 239) in proxy.new
        assert '"weight":0.1' in proxy.new.replace('"weight": ', '"weight":')
    assert provider.refused == []


@pytest.mark.parametrize("count", [312, 3120])
async def test_ten_times_the_rows_take_no_more(front: StartFront, count: int) -> None:
    async with front("chat") as proxy:
        await with_reviews(proxy.talk(), reviews(count))
        form = proxy.small()[0]
        assert form["total_rows"] == count
        assert BOUND * 0.6 < _tokens(form, "chat") <= BOUND


async def test_the_row_that_the_question_is_about_is_in_view(front: StartFront) -> None:
    async with front("chat") as proxy:
        talk = proxy.talk()
        asked = await talk.say('Did a battery catch fire? call reviews with {"q": "all"}')
        await talk.give((asked.calls[0], reviews()))
        assert rows()[ODD]["id"] in [row["id"] for row in proxy.small()[0]["rows"]]
