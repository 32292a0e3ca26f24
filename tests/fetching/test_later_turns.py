"""What a model fetched stays in its view although the client never had it, and a handle stays good."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from pydantic import SecretStr

from tests.chaining.provider import Json, Provider
from tests.chaining.talk import Wire
from tests.fetching.conftest import KEEPING, KINDS, LISTS, WIRES, Front, Kind, StartFront, with_reviews
from tests.fetching.saying import says
from tests.fetching.shop import FIRE, ODD, fetch, reviews, rows
from tests.folding.conftest import until
from tests.servers import redis_server

SECRET = SecretStr("s" * 32)


def _rows_of(proxy: Front) -> list[Any]:
    return [row for found in proxy.fetched() for row in found["rows"]]


@KINDS
@WIRES
async def test_the_next_turns_still_see_what_was_fetched_and_the_prompts_beginning_stays(
    front: StartFront, provider: Provider, kind: Kind, wire: Wire
) -> None:
    async with front(kind) as proxy:
        talk = proxy.talk(wire)
        await with_reviews(talk)
        provider.script.load(
            [
                says(kind, "Let me look.", [("fetch_rows", {"handle": proxy.handle, "offset": 40, "limit": 5})]),
                says(kind, "All are fine."),
            ]
        )
        said = await talk.say("Are rows 40 to 44 fine?")
        assert said.text == "Let me look.All are fine."
        for turn in range(6):
            said = await talk.say(f"Thank you, {turn} times.")
            assert _rows_of(proxy) == rows()[40:45], f"turn {turn}"
            if kind in KEEPING:
                assert said.chain == "continue"
        said = await talk.say(fetch(proxy.handle, search=FIRE))
        assert FIRE in said.text
        assert proxy.fetched()[-1]["row_numbers"] == [ODD]
        if kind in LISTS:
            _extend(proxy, kind)
    assert provider.refused == []


def _extend(proxy: Front, kind: Kind) -> None:
    """Each request begins with all that the one before it said."""
    sent = [list(map(_bare, each.body[LISTS[kind]])) for each in proxy.asked]
    for turn, (before, after) in enumerate(pairwise(sent)):
        assert after[: len(before)] == before, f"request {turn + 1} moved the prefix"


def _bare(message: Json) -> str:
    """A message without the marks for a provider's cache, which move on; words alone are one block of text."""
    parts = message.get("content")
    if isinstance(parts, str):
        message = message | {"content": [{"type": "text", "text": parts}]}
    return json.dumps(message, sort_keys=True).replace('"cache_control": {"type": "ephemeral"}, ', "")


async def test_what_a_provider_sealed_only_on_the_way_to_an_answer_goes_back_too(
    front: StartFront, provider: Provider
) -> None:
    """The fetch came without words and was signed; the answer behind it had nothing to seal."""
    async with front("generate") as proxy:
        talk = proxy.talk()
        await with_reviews(talk)
        asked = says("generate", "", [("fetch_rows", {"handle": proxy.handle, "offset": 40, "limit": 5})])
        del _parts(asked)[0]
        _parts(asked)[0]["functionCall"]["id"] = "fc_40"
        answer = says("generate", "All are fine.")
        del _parts(answer)[0]["thoughtSignature"]
        provider.script.load([asked, answer])
        await talk.say("Are rows 40 to 44 fine?")
        await talk.say("Thank you.")
        assert _parts(asked)[0] in [part for content in proxy.last.body["contents"] for part in content["parts"]]
        _extend(proxy, "generate")
    assert provider.refused == []


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_thinking_that_was_made_before_the_tool_was_offered_is_left_out_where_the_model_binds_it(
    front: StartFront, provider: Provider, wire: Wire
) -> None:
    """Claude's newest models refuse thinking that was made in front of other tools; what was fetched stays in view."""
    async with front("anthropic") as proxy:
        talk = proxy.talk(wire, model="claude-opus-5-5")
        await with_reviews(talk)
        await talk.say(fetch(proxy.handle, offset=40, limit=5))
        for turn in range(2):
            await talk.say(f"Thank you, {turn} times.")
            assert _rows_of(proxy) == rows()[40:45], f"turn {turn}"
        assert '"thinking"' in json.dumps(proxy.last.body["messages"]), "what was made since goes back"
    assert provider.refused == []


def _parts(entry: Json) -> list[Json]:
    return entry["json"]["candidates"][0]["content"]["parts"]


@pytest.mark.parametrize("kind", KEEPING)
async def test_what_was_fetched_is_said_again_where_the_chain_is_lost(
    front: StartFront, provider: Provider, kind: Kind
) -> None:
    async with front(kind) as proxy:
        talk = proxy.talk()
        await with_reviews(talk)
        await talk.say(fetch(proxy.handle, offset=40, limit=5))
        provider.chains.lose()
        said = await talk.say("Thank you.")
        assert said.chain == "cut"
        assert proxy.provider.last.held == ()
        assert _rows_of(proxy) == rows()[40:45]
    assert len(provider.refused) == 1, "the lost chain, and no rule of the provider's"


@pytest.mark.parametrize("kind", ["chat", "interactions"])
async def test_a_handle_outlives_a_restart_and_is_good_at_every_replica(
    front: StartFront, provider: Provider, kind: Kind
) -> None:
    """The client begins anew in the same session, without the result: its copy is the only one."""
    with redis_server() as server:
        store: dict[str, Any] = {"redis_url": SecretStr(server.url), "secret": SECRET}
        async with front(kind, **store) as first:
            talk = first.talk(session="shop")
            await with_reviews(talk)
            handle = first.handle
            await until(lambda: b"\r\n$" in server.command("KEYS", "*res_*"), "the result is parked")
            async with front(kind, **store) as second:
                await _asks_anew(second, handle)
        async with front(kind, **store) as restarted:
            await _asks_anew(restarted, handle)
    assert provider.refused == []


async def _asks_anew(proxy: Front, handle: str) -> None:
    talk = proxy.talk(session="shop")
    await with_reviews(talk, reviews(400))
    assert proxy.handle != handle
    said = await talk.say(fetch(handle, offset=300, limit=40))
    assert said.calls == ()
    found = proxy.fetched()[-1]
    assert (found["total_rows"], found["rows"]) == (312, rows()[300:])


async def test_a_result_that_was_folded_away_can_still_be_read(front: StartFront, provider: Provider) -> None:
    async with front("chat", fold_at_tokens=9000, fold_to_tokens=3000, keep_recent=2) as proxy:
        talk = proxy.talk()
        await with_reviews(talk)
        handle = proxy.handle
        for turn in range(12):
            said = await talk.say(f"Turn {turn}. " + "We talk about something else for a while. " * 80)
            if "summary" in said.plan and not proxy.small():
                break
        assert not proxy.small(), "the small form is in the fold"
        assert "fetch_rows" in proxy.tools
        said = await talk.say(fetch(handle, search=FIRE))
        assert FIRE in said.text
    assert provider.refused == []


@KINDS
async def test_the_model_of_another_provider_sees_the_fetched_rows_too(front: StartFront, kind: Kind) -> None:
    """The chat goes on with a model of another provider, to whom the first one's own words mean nothing."""
    other: dict[Kind, str] = {"chat": "claude-sonnet-4-6", "responses": "claude-sonnet-4-6"}
    async with front(kind) as proxy:
        talk = proxy.talk()
        await with_reviews(talk)
        await talk.say(fetch(proxy.handle, offset=40, limit=5))
        changed = proxy.talk(model=other.get(kind, "gpt-5")).branch(talk.history)
        await changed.say("Thank you.")
        assert json.dumps(rows()[40]["text"])[1:-1] in json.dumps(proxy.last.body).replace("\\", "")
        assert proxy.last.refused is None
