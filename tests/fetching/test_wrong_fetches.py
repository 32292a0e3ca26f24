"""A handle opens nothing to others, a wrong question is answered with the right one, and a turn comes to its end."""

from __future__ import annotations

import json
import re

import pytest

from app.tools.fetch_rows import UNKNOWN
from app.tools.gate import FETCHES
from tests.chaining.provider import Provider
from tests.chaining.talk import TALKS, Setup, Wire, client_of
from tests.fetching.conftest import KINDS, MODELS, Front, Kind, StartFront, with_reviews
from tests.fetching.saying import READ, SPOKEN, says
from tests.fetching.shop import TOOLS, fetch, reviews, rows

ENDS: dict[Wire, str] = {"openai": "stop", "gemini": "STOP", "anthropic": "end_turn"}
NO_ONE = "res_" + "a" * 24


def _errors(proxy: Front) -> list[str]:
    """What the model was told of its fetches, where that is an error; some formats put a word before it."""
    said = proxy.seen
    return [json.JSONDecoder().raw_decode(said, at.start())[0]["error"] for at in re.finditer(r'\{"error":', said)]


async def test_anothers_handle_and_one_that_never_was_are_the_same(front: StartFront, provider: Provider) -> None:
    async with front("chat") as proxy:
        await with_reviews(proxy.talk(session="mine"))
        handle = proxy.handle
        told: list[str] = []
        async with client_of(proxy.url, "another-key") as http:
            stranger = TALKS["openai"](http, proxy.url, "another-key", Setup(model=MODELS["chat"], tools=TOOLS))
            stranger.setup = proxy.talk(session="mine").setup
            for talk in (stranger, proxy.talk(session="other"), proxy.talk(session="mine")):
                await with_reviews(talk, reviews(400))
                await talk.say(fetch(handle if talk.setup.session != "mine" or talk is stranger else NO_ONE))
                told.append(_errors(proxy)[-1])
        assert told == [UNKNOWN] * 3
    assert provider.refused == []


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ({"where": [{"field": "price", "op": "<", "value": "3"}]}, "Their fields: id, stars, text, serial, weight"),
        ({"where": [{"field": "stars", "op": "about", "value": "3"}]}, "contains"),
        ({"fields": ["id", "price"]}, "Their fields: id"),
        ({"offset": -1}, "must be 0 or more"),
    ],
)
async def test_a_wrong_question_is_answered_with_what_would_be_right(
    front: StartFront, provider: Provider, asked: dict[str, object], hint: str
) -> None:
    async with front("chat") as proxy:
        talk = proxy.talk()
        await with_reviews(talk)
        said = await talk.say(fetch(proxy.handle, **asked))
        assert said.calls == ()
        assert hint in _errors(proxy)[-1]
    assert provider.refused == []


@KINDS
async def test_a_model_that_fetches_on_and_on_is_told_to_stop_and_answers(
    front: StartFront, provider: Provider, kind: Kind
) -> None:
    async with front(kind) as proxy:
        talk = proxy.talk(streams=kind != "chat")
        await with_reviews(talk)
        before = len(proxy.asked)
        asks = [("fetch_rows", {"handle": proxy.handle, "offset": at, "limit": 1}) for at in range(FETCHES + 1)]
        provider.script.load([says(kind, "", [ask]) for ask in asks])
        said = await talk.say("Read all of them.")
        assert len(proxy.asked) == before + FETCHES + 2
        assert [found["rows"] for found in proxy.fetched()] == [rows()[at : at + 1] for at in range(FETCHES)]
        assert "No more rows are given in this turn" in proxy.new
        assert (said.calls, said.finish) == ((), "stop")
        assert said.text
    assert [each for each in provider.refused if each] == []


@pytest.mark.parametrize(
    ("kind", "wire", "streams"),
    [
        ("chat", "openai", True),
        ("chat", "openai", False),
        ("responses", "gemini", True),
        ("generate", "anthropic", True),
        ("interactions", "anthropic", False),
        ("anthropic", "gemini", False),
    ],
)
async def test_a_model_that_hears_nothing_ends_all_the_same(
    front: StartFront, provider: Provider, kind: Kind, wire: Wire, streams: bool
) -> None:
    async with front(kind) as proxy:
        talk = proxy.talk(wire, streams=streams)
        await with_reviews(talk)
        before = len(proxy.asked)
        ask = ("fetch_rows", {"handle": proxy.handle, "offset": 3, "limit": 1})
        provider.script.load([says(kind, f"{at} ", [ask]) for at in range(3 * FETCHES)])
        said = await talk.say("Read all of them.")
        assert len(proxy.asked) <= before + 2 * FETCHES + 1
        assert (said.calls, said.finish) == ((), ENDS[wire])
        assert said.text.startswith("0 1 2 ")
        assert (said.input, said.output) == (READ * (len(proxy.asked) - before), SPOKEN * (len(proxy.asked) - before))
        provider.script.clear()
        said = await talk.say("Thank you.")
        assert "No more rows are given in this turn" in proxy.seen, "what the client heard is remembered with its calls"
        assert said.text
    assert provider.refused == []
