"""An answer that failed, broke off, or was not waited for is never gone on from."""

from __future__ import annotations

import json

import httpx2
import openai
import pytest

from tests.chaining.conftest import StartFront
from tests.chaining.provider import Api, Json, Provider
from tests.chaining.talk import Talk

BOTH = pytest.mark.parametrize("api", ["interactions", "responses"])
BREAKS = ("[[break=1]]", "[[truncate=1]]", "[[error=1]]", "[[truncate=2]]", "[[error=3]]")


async def _fails(talk: Talk, text: str) -> None:
    with pytest.raises((openai.APIError, httpx2.HTTPError)):
        await talk.say(text)


@BOTH
@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize("streams", [True, False])
async def test_a_broken_answer_is_no_base(
    front: StartFront, provider: Provider, api: Api, how: str, streams: bool
) -> None:
    async with front(max_retries=0) as proxy:
        talk = proxy.talk(api, streams=streams)
        await talk.say("Remember: the crate is PLUM-1.")
        good = provider.newest
        await _fails(talk, f"{how} Tell me of the sea, of ships and of harbours.")
        broken = {bill.id for bill in provider.chains.bills} - {good}
        kept_half = talk.branch([*talk.history, talk.user("Tell me."), {"role": "assistant", "content": "I heard"}])
        await kept_half.say("Go on.")
        await talk.say("Which crate?")
        assert provider.last.previous == good
        assert not broken & {call.previous for call in provider.calls}
        await talk.say("And now?")
        assert provider.last.previous == provider.chains.bills[-2].id
    assert provider.refused == []


@BOTH
@pytest.mark.parametrize("streams", [True, False])
async def test_an_answer_whose_client_hung_up_is_no_base(
    front: StartFront, provider: Provider, api: Api, streams: bool
) -> None:
    async with front(max_retries=0) as proxy:
        talk = proxy.talk(api)
        await talk.say("Remember: the crate is PLUM-1.")
        good = provider.newest
        slow = f"[[words=60]] [[first={40 if streams else 1500}]] [[delay=40]]"
        body = {"model": talk.setup.model, "messages": [*talk.history, talk.user(slow)], "stream": streams}
        left = {bill.id for bill in provider.chains.bills}
        if streams:
            async with proxy.http.stream("POST", "/v1/chat/completions", json=body) as answer:
                async for data in answer.aiter_bytes():
                    if b"word" in data:
                        break
        else:
            with pytest.raises(httpx2.TimeoutException):
                await proxy.http.post("/v1/chat/completions", json=body, timeout=0.3)
        await provider.journal.settled()
        left = {bill.id for bill in provider.chains.bills} - left
        assert left, "the provider had begun to answer"
        await talk.say("[[words=60]]")
        assert provider.last.previous == good
        await talk.say("Which crate?")
        assert provider.last.previous not in left
        assert "PLUM-1" in provider.last.seen


@pytest.mark.parametrize("streams", [True, False])
async def test_an_interaction_that_says_it_failed_is_no_base(
    front: StartFront, provider: Provider, streams: bool
) -> None:
    whole = {"id": "v1_F", "status": "failed", "model": "m", "steps": [], "errors": [{"code": "api_error"}]}
    async with front(max_retries=0) as proxy:
        talk = proxy.talk("interactions", streams=streams)
        await talk.say("Remember: the crate is PLUM-1.")
        good = provider.newest
        provider.script.load([{"json": whole}])
        await _fails(talk, "Which crate?")
        await talk.say("Which crate?")
        assert provider.last.previous == good


@pytest.mark.parametrize("streams", [True, False])
async def test_a_response_that_says_it_failed_is_no_base(front: StartFront, provider: Provider, streams: bool) -> None:
    error = {"code": "server_error", "message": "The model broke."}
    whole: Json = {"id": "resp_F", "object": "response", "status": "failed", "model": "m", "output": [], "error": error}
    async with front(max_retries=0) as proxy:
        talk = proxy.talk("responses", streams=streams)
        await talk.say("Remember: the crate is PLUM-1.")
        good = provider.newest
        event: Json = {"type": "response.failed", "response": whole, "sequence_number": 0}
        sse = {"sse": [f"event: response.failed\ndata: {json.dumps(event)}"]}
        provider.script.load([sse if streams else {"json": whole}])
        await _fails(talk, "Which crate?")
        await talk.say("Which crate?")
        assert provider.last.previous == good


@BOTH
async def test_an_answer_cut_at_its_limit_can_be_gone_on_from(front: StartFront, provider: Provider, api: Api) -> None:
    async with front() as proxy:
        talk = proxy.talk(api, most=40)
        said = await talk.say("[[words=200]] [[think=3]]")
        assert said.finish == "length"
        await talk.say("Go on.")
        assert provider.last.previous == provider.chains.bills[0].id
