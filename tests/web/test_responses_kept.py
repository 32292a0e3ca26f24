"""Responses that are kept: asked for, replayed, listed, deleted and counted by OpenAI's SDK, and by bare HTTP."""

from __future__ import annotations

from typing import Any

import httpx2
import openai
import pytest
from openai.types.responses import Response
from pydantic import SecretStr

from app.simulator.running import Running
from tests.running import Proxy, StartFoldline

NOT_FOUND = "Response with id '{}' not found."
MODELS = ("gpt-4.1", "gemini-3-flash-preview", "claude-sonnet-4-5")
TIMES = {"created_at", "completed_at"}
"""Of an answer that is written for the client the seconds may differ by one between two looks at the clock."""
CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER: Any = {"type": "function", "name": "get_weather", "parameters": CITY}


def _client(proxy: Proxy, key: str) -> openai.AsyncOpenAI:
    plain = openai.DefaultAsyncHttpxClient(verify=False, trust_env=False)
    return openai.AsyncOpenAI(api_key=key, base_url=proxy.openai_url, max_retries=0, timeout=10, http_client=plain)


def _plain(response: Response) -> dict[str, Any]:
    return response.model_dump(exclude=TIMES)


def _missing(identity: str) -> dict[str, Any]:
    return {
        "error": {
            "message": NOT_FOUND.format(identity),
            "type": "invalid_request_error",
            "param": None,
            "code": None,
        }
    }


@pytest.mark.parametrize("name", MODELS)
async def test_a_response_is_there_once_more_as_it_was(chat: openai.AsyncOpenAI, name: str) -> None:
    whole = await chat.responses.create(model=name, input="The code is PLUM-1.", metadata={"topic": "codes"})
    assert _plain(await chat.responses.retrieve(whole.id)) == _plain(whole)
    called = await chat.responses.create(
        model=name, input="The weather in Oslo and Bergen?", tools=[WEATHER], previous_response_id=whole.id
    )
    assert _plain(await chat.responses.retrieve(called.id)) == _plain(called)


@pytest.mark.parametrize("name", MODELS)
async def test_what_was_streamed_is_there_as_the_stream_ended(chat: openai.AsyncOpenAI, name: str) -> None:
    for given in ("The code is PLUM-1. [[think=9]]", "The weather in Oslo and Bergen?"):
        stream = await chat.responses.create(
            model=name, input=given, stream=True, tools=[WEATHER], reasoning={"summary": "auto"}
        )
        last = [event async for event in stream][-1]
        assert last.type == "response.completed"
        assert _plain(await chat.responses.retrieve(last.response.id)) == _plain(last.response)


@pytest.mark.parametrize("given", ["The code is PLUM-1.", "The weather in Oslo and Bergen?", "[[think=9]] Hello."])
async def test_a_replay_tells_the_whole_response_in_the_order_of_a_stream(
    foldline: StartFoldline, key: str, given: str
) -> None:
    async with foldline(openai_api="responses") as proxy, _client(proxy, key) as chat:
        for model in ("gpt-5", "gemini-3-flash-preview"):
            whole = await chat.responses.create(model=model, input=given, tools=[WEATHER])
            first = [event.type async for event in await chat.responses.retrieve(whole.id, stream=True)]
            assert first[:2] == ["response.created", "response.in_progress"]
            async with chat.responses.stream(response_id=whole.id) as helper:
                events = [event async for event in helper]
                final = await helper.get_final_response()
            assert [event.sequence_number for event in events] == list(range(len(events)))
            assert final.output_text == whole.output_text
            assert [item.model_dump()["type"] for item in final.output] == [item.type for item in whole.output]


async def test_a_replay_begins_behind_the_event_that_is_named(chat: openai.AsyncOpenAI) -> None:
    whole = await chat.responses.create(model="gpt-4.1", input="Say: ahoy")
    every = [event.sequence_number async for event in await chat.responses.retrieve(whole.id, stream=True)]
    stream = await chat.responses.retrieve(whole.id, stream=True, starting_after=3)
    assert [event.sequence_number async for event in stream] == every[4:]
    far = await chat.responses.retrieve(whole.id, stream=True, starting_after=10_000)
    assert [event.type async for event in far] == ["response.completed"]


async def test_a_place_that_is_no_number_is_named(http: httpx2.AsyncClient) -> None:
    made = (await http.post("/v1/responses", json={"model": "gpt-4.1", "input": "Hello."})).json()["id"]
    answer = await http.get(f"/v1/responses/{made}?stream=true&starting_after=x")
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "starting_after")


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_deleted_response_is_unknown_and_later_ones_still_know_it(
    foldline: StartFoldline, sim: Running, key: str, api: str
) -> None:
    async with foldline(openai_api=api) as proxy, _client(proxy, key) as chat:
        first = await chat.responses.create(model="gpt-4.1", input="The code is PLUM-1.")
        second = await chat.responses.create(model="gpt-4.1", input="Well.", previous_response_id=first.id)
        sim.journal.clear()
        await chat.responses.delete(first.id)

        for gone in (chat.responses.retrieve, chat.responses.delete, chat.responses.cancel):
            with pytest.raises(openai.NotFoundError) as caught:
                await gone(first.id)
            assert caught.value.body == _missing(first.id)["error"]
        with pytest.raises(openai.BadRequestError) as lost:
            await chat.responses.create(model="gpt-4.1", input="Hm.", previous_response_id=first.id)
        assert (lost.value.code, lost.value.param) == ("previous_response_not_found", "previous_response_id")
        third = await chat.responses.create(model="gpt-4.1", input="What is the code?", previous_response_id=second.id)
        assert "PLUM-1" in third.output_text
        deleted = [one.path for one in sim.journal if one.method == "DELETE"]
        assert deleted == ([f"/v1/responses/{first.id}"] if api == "responses" else [])


async def test_what_the_provider_keeps_under_another_id_is_deleted_there_too(
    foldline: StartFoldline, sim: Running, key: str
) -> None:
    """The client speaks Responses, Gemini keeps an interaction."""
    async with foldline(gemini_api="interactions") as proxy, _client(proxy, key) as chat:
        made = await chat.responses.create(model="gemini-3-flash-preview", input="The code is PLUM-1.")
        answer = await chat.responses.with_raw_response.delete(made.id)
        assert answer.http_response.json() == {"id": made.id, "object": "response", "deleted": True}
        assert [one.path for one in sim.journal if one.method == "DELETE"] != []


async def test_the_items_of_the_whole_thread_are_listed_newest_first(chat: openai.AsyncOpenAI) -> None:
    first = await chat.responses.create(model="gpt-4.1", input="One.")
    second = await chat.responses.create(model="gpt-4.1", input="Two.", previous_response_id=first.id)
    third = await chat.responses.create(
        model="gpt-4.1",
        input=[
            {"role": "user", "content": "Three."},
            {"role": "user", "content": [{"type": "input_text", "text": "Four."}]},
        ],
        previous_response_id=second.id,
    )
    listed: list[Any] = [item async for item in await chat.responses.input_items.list(third.id)]
    said = [item.content[0].text for item in listed]
    assert [text for text in said if "heard" not in text] == ["Four.", "Three.", "Two.", "One."]
    assert len(said) == 6
    assert [item.type for item in listed] == ["message"] * 6
    assert {item.role for item in listed} == {"user", "assistant"}
    assert len({item.id for item in listed}) == 6
    rising = await chat.responses.input_items.list(third.id, order="asc", limit=2)
    assert [item.id for item in rising.data] == [item.id for item in listed[::-1][:2]]
    assert rising.has_more
    paged: list[Any] = [item async for item in await chat.responses.input_items.list(third.id, order="asc", limit=1)]
    assert [item.id for item in paged] == [item.id for item in listed[::-1]]


async def test_tools_and_their_results_are_among_the_items(chat: openai.AsyncOpenAI) -> None:
    called = await chat.responses.create(model="gpt-4.1", input="The weather in Oslo?", tools=[WEATHER])
    call: Any = called.output[0]
    result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
    last = await chat.responses.create(model="gpt-4.1", input=[result], tools=[WEATHER], previous_response_id=called.id)
    listed: list[Any] = (await chat.responses.input_items.list(last.id, order="asc")).data
    assert [item.type for item in listed] == ["message", "function_call", "function_call_output"]
    assert listed[1].id == call.id
    assert listed[2].id.startswith("fco_")


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "order=up", "limit=٣"])
async def test_a_wrong_page_is_refused_by_its_name(http: httpx2.AsyncClient, query: str) -> None:
    made = (await http.post("/v1/responses", json={"model": "gpt-4.1", "input": "Hello."})).json()["id"]
    answer = await http.get(f"/v1/responses/{made}/input_items?{query}")
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, query.partition("=")[0])
    gone = await http.get(f"/v1/responses/{made}/input_items?after=msg_none")
    assert gone.status_code == 404


async def test_nothing_that_is_complete_can_be_cancelled(chat: openai.AsyncOpenAI) -> None:
    made = await chat.responses.create(model="gpt-4.1", input="Hello.")
    with pytest.raises(openai.BadRequestError) as caught:
        await chat.responses.cancel(made.id)
    assert caught.value.body == {
        "message": "Cannot cancel a synchronous response.",
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_what_is_not_to_be_stored_cannot_be_asked_for(
    foldline: StartFoldline, key: str, api: str, stream: bool
) -> None:
    async with foldline(openai_api=api) as proxy, _client(proxy, key) as chat:
        if stream:
            events = await chat.responses.create(model="gpt-4.1", input="Hello.", store=False, stream=True)
            last: Any = [event async for event in events][-1]
            made = last.response
        else:
            made = await chat.responses.create(model="gpt-4.1", input="Hello.", store=False)
        with pytest.raises(openai.NotFoundError):
            await chat.responses.retrieve(made.id)
        with pytest.raises(openai.BadRequestError) as lost:
            await chat.responses.create(model="gpt-4.1", input="Hm.", previous_response_id=made.id)
        assert lost.value.code == "previous_response_not_found"


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_another_client_s_response_is_as_unknown_as_one_that_never_was(
    foldline: StartFoldline, key: str, api: str
) -> None:
    async with (
        foldline(openai_api=api, openai_api_key=SecretStr("the-operator-s")) as proxy,
        _client(proxy, key) as chat,
    ):
        made = await chat.responses.create(model="gpt-4.1", input="The code is PLUM-1.")
        for other in ("resp_" + "0" * 48, "resp_abc", made.id):
            async with httpx2.AsyncClient(
                base_url=proxy.url, headers={"authorization": f"Bearer {key}-other"}, trust_env=False, verify=False
            ) as stranger:
                one, tail = f"/v1/responses/{other}", "/input_items"
                answers = [
                    await stranger.get(one),
                    await stranger.get(one + tail),
                    await stranger.get(one + "?stream=true"),
                    await stranger.delete(one),
                    await stranger.post(one + "/cancel"),
                ]
                for answer in answers:
                    assert (answer.status_code, answer.json()) == (404, _missing(other))
                goes_on = {"model": "gpt-4.1", "input": "What is the code?", "previous_response_id": other}
                answer = await stranger.post("/v1/responses", json=goes_on)
                assert (answer.status_code, answer.json()["error"]["code"]) == (400, "previous_response_not_found")
                assert answer.json()["error"]["message"] == f"Previous response with id '{other}' not found."
        assert (await chat.responses.retrieve(made.id)).id == made.id


async def test_keys_of_the_proxy_are_asked_for_here_too(foldline: StartFoldline) -> None:
    keys = [SecretStr("right")]
    async with (
        foldline(api_keys=keys, openai_api_key=SecretStr("the-operator-s")) as proxy,
        _client(proxy, "right") as known,
        _client(proxy, "wrong") as unknown,
    ):
        made = await known.responses.create(model="gpt-4.1", input="Hello.")
        assert (await known.responses.retrieve(made.id)).id == made.id
        for call in (unknown.responses.retrieve(made.id), unknown.responses.delete(made.id)):
            with pytest.raises(openai.AuthenticationError):
                await call
        with pytest.raises(openai.AuthenticationError):
            await unknown.conversations.create()


@pytest.mark.parametrize("base", ["/v1", "/openai/v1", "/openai", ""])
async def test_every_base_url_that_clients_use_is_served_and_head_where_get_is(
    http: httpx2.AsyncClient, base: str
) -> None:
    made = (await http.post(f"{base}/responses", json={"model": "gpt-4.1", "input": "Hello."})).json()["id"]
    got = await http.get(f"{base}/responses/{made}")
    head = await http.head(f"{base}/responses/{made}")
    assert (got.status_code, head.status_code, head.content) == (200, 200, b"")
    assert head.headers["content-length"] == got.headers["content-length"]
    assert (await http.head(f"{base}/responses/resp_none")).status_code == 404
    assert (await http.get(f"{base}/responses/{made}/input_items")).status_code == 200
    assert (await http.delete(f"{base}/responses/{made}")).status_code == 200


async def test_tokens_are_counted_without_an_answer(foldline: StartFoldline, sim: Running, key: str) -> None:
    async with foldline(openai_api="responses") as proxy, _client(proxy, key) as chat:
        for model in MODELS:
            short = await chat.responses.input_tokens.count(model=model, input="Hello.")
            long = await chat.responses.input_tokens.count(
                model=model, input="Hello. " * 500, instructions="Be brief.", tools=[WEATHER]
            )
            assert short.object == "response.input_tokens"
            assert 0 < short.input_tokens < 40
            assert long.input_tokens > short.input_tokens + 500
            made = await chat.responses.create(model=model, input="Hello. " * 500)
            behind = await chat.responses.input_tokens.count(model=model, input="Hello.", previous_response_id=made.id)
            assert behind.input_tokens > short.input_tokens + 500
        with pytest.raises(openai.BadRequestError):
            await chat.responses.input_tokens.count(model="gpt-4.1", input="x", previous_response_id="v1_" + "0" * 48)


async def test_only_openai_itself_compacts(chat: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        await chat.responses.compact(model="gpt-4.1", input="Hello.")
    assert "Leave it out" in caught.value.message


async def test_an_id_of_another_format_is_unknown(chat: openai.AsyncOpenAI, http: httpx2.AsyncClient) -> None:
    body = {"model": "gemini-3-flash-preview", "input": "The code is PLUM-1."}
    made = (await http.post("/v1/interactions", json=body)).json()["id"]
    with pytest.raises(openai.NotFoundError):
        await chat.responses.retrieve(made)
    with pytest.raises(openai.BadRequestError):
        await chat.responses.create(model="gpt-4.1", input="What is the code?", previous_response_id=made)


async def test_an_id_of_the_provider_that_looks_like_one_of_ours_is_found(
    foldline: StartFoldline, sim: Running, key: str
) -> None:
    """OpenAI's own ids may be `resp_` and 48 hex digits as well."""
    identity = "resp_" + "67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b"
    part: Any = {"type": "output_text", "text": "PLUM-1", "annotations": []}
    item: Any = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    said: Any = {"id": identity, "object": "response", "status": "completed", "model": "gpt-4.1", "output": [item]}
    async with foldline(openai_api="responses") as proxy, _client(proxy, key) as chat:
        sim.script([{"json": said}])
        made = await chat.responses.create(model="gpt-4.1", input="Say the code.")
        assert made.id == identity
        assert (await chat.responses.retrieve(identity)).output_text == "PLUM-1"
        later = await chat.responses.create(model="gpt-4.1", input="Hm.", previous_response_id=identity)
        assert later.output_text


async def test_what_the_provider_made_itself_is_asked_for_there(
    foldline: StartFoldline, sim: Running, key: str
) -> None:
    """A client that brings its own key moves to the proxy in the middle of a thread."""
    async with foldline(openai_api="responses") as proxy, _client(proxy, key) as chat:
        plain = openai.DefaultAsyncHttpxClient(verify=False, trust_env=False)
        async with openai.AsyncOpenAI(api_key=key, base_url=sim.openai_url, http_client=plain) as direct:
            before = await direct.responses.create(model="gpt-4.1", input="The code is PLUM-1.")
            assert await chat.responses.retrieve(before.id) == before
            later = await chat.responses.create(
                model="gpt-4.1", input="What is the code?", previous_response_id=before.id
            )
            assert "PLUM-1" in later.output_text
            assert (await chat.responses.retrieve(later.id)).id == later.id
            listed = await chat.responses.input_items.list(later.id, order="asc")
            assert len(listed.data) == 3
            stream = await chat.responses.retrieve(before.id, stream=True)
            assert [event.type async for event in stream][-1] == "response.completed"
            await chat.responses.delete(before.id)
            with pytest.raises(openai.NotFoundError):
                await direct.responses.retrieve(before.id)


async def test_an_answer_in_the_background_can_be_waited_for_and_cancelled(foldline: StartFoldline, key: str) -> None:
    async with foldline(openai_api="responses") as proxy, _client(proxy, key) as chat:
        for end in ("completed", "cancelled"):
            made = await chat.responses.create(model="gpt-4.1", input="Say: ahoy", background=True)
            assert made.status == "queued"
            if end == "cancelled":
                assert (await chat.responses.cancel(made.id)).status == "cancelled"
            seen = [(await chat.responses.retrieve(made.id)).status for _ in range(3)]
            assert seen[-1] == end


async def test_nobody_is_asked_for_what_is_not_ours_behind_the_operator_s_key(
    foldline: StartFoldline, sim: Running, key: str
) -> None:
    async with (
        foldline(openai_api="responses", openai_api_key=SecretStr("the-operator-s")) as proxy,
        _client(proxy, key) as chat,
    ):
        plain = openai.DefaultAsyncHttpxClient(verify=False, trust_env=False)
        async with openai.AsyncOpenAI(api_key="the-operator-s", base_url=sim.openai_url, http_client=plain) as direct:
            other = await direct.responses.create(model="gpt-4.1", input="A secret.")
        sim.journal.clear()
        with pytest.raises(openai.NotFoundError):
            await chat.responses.retrieve(other.id)
        assert list(sim.journal) == []
