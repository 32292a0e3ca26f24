"""What was done about the chain, and why, stands in the header, in the turn's record, and in a dry run."""

from __future__ import annotations

import re

import pytest

from tests.chaining.conftest import StartFront
from tests.chaining.provider import PREVIOUS, Api, Json, Provider

BOTH = pytest.mark.parametrize("api", ["interactions", "responses"])


def _chain(record: Json) -> Json:
    return next(each for each in record["decisions"] if each["step"] == "chain")


@BOTH
async def test_header_and_record_say_what_was_done_with_both_prices(
    front: StartFront, provider: Provider, api: Api
) -> None:
    async with front() as proxy:
        talk = proxy.talk(api)
        first = await talk.say("Remember: the crate is PLUM-1.")
        assert "chain=new" in first.plan
        assert _chain(await proxy.record(first.turn))["reason"]

        second = await talk.say("Which crate?")
        assert "chain=continue" in second.plan
        done = _chain(await proxy.record(second.turn))
        assert done["applied"] == "continue"
        assert "only what is new goes out" in done["reason"]
        prices = re.search(r"about (\d+) input tokens; sent whole, about (\d+)", done["reason"])
        assert prices
        assert (done["after"], done["before"]) == (int(prices[1]), int(prices[2]))
        assert abs(done["after"] - provider.chains.bills[-1].input) <= 20, "near to what the provider billed"

        provider.chains.lose()
        third = await talk.say("And now?")
        assert "chain=cut" in third.plan
        done = _chain(await proxy.record(third.turn))
        assert done["reason"].startswith("The provider no longer knows the chain.")

        never = await talk.with_options(chain="never").say("And then?")
        assert "chain=never" in never.plan
        assert "switched off" in _chain(await proxy.record(never.turn))["reason"]


@BOTH
async def test_a_dry_run_shows_the_decision_and_the_request_with_the_id_and_sends_nothing(
    front: StartFront, provider: Provider, api: Api
) -> None:
    async with front() as proxy:
        talk = proxy.talk(api)
        await talk.say("Remember: the crate is PLUM-1.")
        body = {"model": talk.setup.model, "messages": [*talk.history, talk.user("Which crate?")]}
        plan = (await proxy.http.post("/foldline/plan", json=body)).json()
        assert len(provider.calls) == 1
        assert "chain=continue" in plan["plan"]
        assert _chain(plan)["applied"] == "continue"
        assert plan["request"]["body"][PREVIOUS[api]] == provider.newest
        said = await talk.say("Which crate?")
        assert provider.last.body == plan["request"]["body"]
        record = await proxy.record(said.turn)
        assert (record["decisions"], said.plan) == (plan["decisions"], plan["plan"])

        edited = {**body, "messages": [talk.user("Another?"), *talk.history[1:2], talk.user("Which crate?")]}
        plan = (await proxy.http.post("/foldline/plan", json=edited)).json()
        assert "chain=new" in plan["plan"]
        assert PREVIOUS[api] not in plan["request"]["body"]


async def test_an_upstream_that_keeps_nothing_gets_no_word_of_a_chain(front: StartFront, provider: Provider) -> None:
    async with front(gemini_api="generate", openai_api="chat") as proxy:
        for model in ("gemini-3-flash-preview", "gpt-5"):
            talk = proxy.talk("responses", model=model)
            await talk.say("Hello.")
            assert "chain" not in (await talk.say("Hello again.")).plan
    assert provider.calls == []
