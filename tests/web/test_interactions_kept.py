"""Interactions that are kept: asked for, replayed, deleted by Google's SDK, and by bare HTTP on every path."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest
from google import genai
from google.genai import _interactions_errors as errors  # their only place: the SDK exports them nowhere else
from google.genai import types
from pydantic import SecretStr

from app.simulator.running import Running
from tests.running import Proxy, StartFoldline

MODELS = ("gpt-4.1", "gemini-3-flash-preview", "claude-sonnet-4-5")
UNKNOWN = {"error": {"code": "not_found", "message": "Requested entity was not found."}}
PROJECT = "/v1beta1/projects/one/locations/global"
CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = {"type": "function", "name": "get_weather", "parameters": CITY}


@contextlib.asynccontextmanager
async def _client(url: str, key: str) -> AsyncGenerator[Any]:
    """Google's SDK. Strict checking knows little of its calls."""
    with httpx2.Client(verify=False, trust_env=False) as plain:
        async with httpx2.AsyncClient(verify=False, trust_env=False) as http:
            options = types.HttpOptions(
                base_url=url,
                timeout=10_000,
                httpx_client=plain,
                httpx_async_client=http,
                retry_options=types.HttpRetryOptions(attempts=1),
            )
            yield genai.Client(api_key=key, http_options=options).aio.interactions


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("api", ["generate", "interactions"])
async def test_an_interaction_is_there_once_more_with_what_was_asked(
    foldline: StartFoldline, key: str, name: str, api: str
) -> None:
    async with foldline(gemini_api=api) as proxy, _client(proxy.url, key) as google:
        made = await google.create(model=name, input="The weather in Oslo?", tools=[WEATHER])
        got = await google.get(id=made.id)
        assert [step.type for step in got.steps] == ["user_input", *(step.type for step in made.steps)]
        assert [step.model_dump() for step in got.steps[1:]] == [step.model_dump() for step in made.steps]
        same = {"id", "status", "model", "previous_interaction_id"}
        assert got.model_dump(include=same) == made.model_dump(include=same)
        assert got.usage.total_tokens == made.usage.total_tokens
        assert got.input is None
        asked = await google.get(id=made.id, include_input=True)
        assert [step.type for step in asked.input] == ["user_input"]
        call = made.steps[-1]
        result = {"type": "function_result", "call_id": call.id, "name": call.name, "result": "rain"}
        last = await google.create(model=name, input=[result], tools=[WEATHER], previous_interaction_id=made.id)
        got = await google.get(id=last.id)
        assert got.steps[0].type == "function_result"
        assert got.previous_interaction_id == made.id


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("api", ["generate", "interactions"])
async def test_what_was_streamed_can_be_asked_for_and_replayed(
    foldline: StartFoldline, key: str, name: str, api: str
) -> None:
    async with foldline(gemini_api=api) as proxy, _client(proxy.url, key) as google:
        stream = await google.create(model=name, input="Say: ahoy there", stream=True)
        events = [event async for event in stream]
        made = events[-1].interaction.id
        got = await google.get(id=made)
        assert got.output_text == "ahoy there"
        replay = [event async for event in await google.get(id=made, stream=True)]
        assert replay[0].event_type == "interaction.created"
        assert (replay[-1].event_type, replay[-1].interaction.status) == ("interaction.completed", "completed")
        texts = [
            event.delta.text for event in replay if event.event_type == "step.delta" and event.delta.type == "text"
        ]
        assert "".join(texts) == "ahoy there"
        rest = [event async for event in await google.get(id=made, stream=True, last_event_id=replay[2].event_id)]
        assert [event.event_id for event in rest] == [event.event_id for event in replay[3:]]


async def test_a_place_that_is_none_is_named(http: httpx2.AsyncClient) -> None:
    body = {"model": "gpt-4.1", "input": "Hello."}
    made = (await http.post("/v1/interactions", json=body)).json()["id"]
    answer = await http.get(f"/v1/interactions/{made}?stream=true&last_event_id=abc")
    assert answer.status_code == 400
    assert "last_event_id" in answer.json()["error"]["message"]


@pytest.mark.parametrize("api", ["generate", "interactions"])
async def test_a_deleted_interaction_is_unknown_and_later_ones_still_know_it(
    foldline: StartFoldline, key: str, sim: Running, api: str
) -> None:
    name = "gemini-3-flash-preview"
    async with foldline(gemini_api=api) as proxy, _client(proxy.url, key) as google:
        first = await google.create(model=name, input="The code is PLUM-1.")
        second = await google.create(model=name, input="Well.", previous_interaction_id=first.id)
        sim.journal.clear()
        await google.delete(id=first.id)
        assert len([one for one in sim.journal if one.method == "DELETE"]) == (api == "interactions")
        for call in (google.get(id=first.id), google.delete(id=first.id), google.cancel(id=first.id)):
            with pytest.raises(errors.NotFoundError) as caught:
                await call
            assert caught.value.body == UNKNOWN
        with pytest.raises(errors.NotFoundError):
            await google.create(model=name, input="Hm.", previous_interaction_id=first.id)
        third = await google.create(model=name, input="What is the code?", previous_interaction_id=second.id)
        assert "PLUM-1" in third.output_text


@pytest.mark.parametrize("api", ["generate", "interactions"])
async def test_only_work_in_the_background_can_be_cancelled(foldline: StartFoldline, key: str, api: str) -> None:
    async with foldline(gemini_api=api) as proxy, _client(proxy.url, key) as google:
        made = await google.create(model="gemini-3-flash-preview", input="Hello.")
        with pytest.raises(errors.BadRequestError) as caught:
            await google.cancel(id=made.id)
        assert "'code': 'invalid_request'" in str(caught.value.body)


async def test_an_answer_in_the_background_can_be_waited_for_and_cancelled(foldline: StartFoldline, key: str) -> None:
    async with foldline(gemini_api="interactions") as proxy, _client(proxy.url, key) as google:
        for end in ("completed", "cancelled"):
            made = await google.create(model="gemini-3-flash-preview", input="Say: ahoy", background=True)
            assert made.status == "in_progress"
            if end == "cancelled":
                assert (await google.cancel(id=made.id)).status == "cancelled"
            seen = [(await google.get(id=made.id)).status for _ in range(3)]
            assert seen[-1] == end


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", ["generate", "interactions"])
async def test_what_is_not_to_be_stored_has_no_id(foldline: StartFoldline, key: str, api: str, stream: bool) -> None:
    async with foldline(gemini_api=api) as proxy, _client(proxy.url, key) as google:
        made = await google.create(model="gemini-3-flash-preview", input="Hello.", store=False, stream=stream)
        if stream:
            made = [event async for event in made][-1].interaction
        assert not made.id


async def test_another_client_s_interaction_is_as_unknown_as_one_that_never_was(
    foldline: StartFoldline, key: str
) -> None:
    model = "gemini-3-flash-preview"
    for api in ("generate", "interactions"):
        async with (
            foldline(gemini_api=api, gemini_api_key=SecretStr("the-operator-s")) as proxy,
            _client(proxy.url, key) as google,
            httpx2.AsyncClient(
                base_url=proxy.url, headers={"x-goog-api-key": key + "-other"}, trust_env=False, verify=False
            ) as stranger,
        ):
            made = await google.create(model=model, input="The code is PLUM-1.")
            for other in ("v1_" + "0" * 48, "abc", made.id):
                goes_on = {"model": model, "input": "What is the code?", "previous_interaction_id": other}
                one = f"/v1beta/interactions/{other}"
                answers = [
                    await stranger.get(one),
                    await stranger.get(one + "?stream=true"),
                    await stranger.delete(one),
                    await stranger.post(one + "/cancel"),
                    await stranger.post("/v1beta/interactions", json=goes_on),
                ]
                for answer in answers:
                    assert (answer.status_code, answer.json()) == (404, UNKNOWN)
            assert (await google.get(id=made.id)).id == made.id


@pytest.mark.parametrize("base", ["/v1", "/v1beta", "/v1alpha", "/v1beta1", "/gemini/v1", "/v1beta/v1beta", PROJECT])
async def test_every_base_url_that_clients_use_is_served_and_head_where_get_is(
    http: httpx2.AsyncClient, base: str
) -> None:
    made = (await http.post(f"{base}/interactions", json={"model": "gpt-4.1", "input": "Hello."})).json()["id"]
    assert (await http.get(f"{base}/interactions/{made}")).json()["id"] == made
    head = await http.head(f"{base}/interactions/{made}")
    assert (head.status_code, head.content) == (200, b"")
    assert (await http.post(f"{base}/interactions/{made}/cancel")).status_code == 400
    gone = await http.delete(f"{base}/interactions/{made}")
    assert (gone.status_code, gone.json()) == (200, {})
    assert (await http.get(f"{base}/interactions/{made}")).status_code == 404


async def test_keys_of_the_proxy_are_asked_for_here_too(foldline: StartFoldline, proxy: Proxy) -> None:
    async with foldline(api_keys=[SecretStr("right")]) as closed, _client(closed.url, "wrong") as google:
        for call in (google.get(id="v1_x"), google.delete(id="v1_x"), google.cancel(id="v1_x")):
            with pytest.raises(errors.AuthenticationError):
                await call
