"""Gemini Interactions as the official SDK meets them: chains, tools, streams, continuations, and what is kept."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest
from google import genai
from google.genai import _interactions_errors as errors  # its only place: the SDK exports them nowhere else
from google.genai import types

from app.simulator.running import Running

# The Google SDK subclasses a class of aiohttp that warns of it; nothing here can mend that.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

MODEL = "gemini-3.8-flash"
PATH = "/v1beta/interactions"
TOOL: dict[str, Any] = {
    "type": "function",
    "name": "get_weather",
    "description": "w",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
ASK = "Weather in Oslo and Bergen?"


@pytest.fixture
async def interactions(sim: Running) -> AsyncGenerator[Any]:
    """The interactions of the official SDK; Any, because its generated signatures are typed in part only."""
    plain = {"verify": False, "trust_env": False}
    options = types.HttpOptions(
        base_url=sim.gemini_url, timeout=10_000, client_args=plain, async_client_args={"ssl": False, "trust_env": False}
    )
    client = genai.Client(api_key="lab", http_options=options)
    yield client.aio.interactions
    await client.aio.aclose()
    client.close()


def events_of(text: str) -> list[dict[str, Any]]:
    """The JSON of a stream's events."""
    lines = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


async def _post(http: httpx2.AsyncClient, **fields: Any) -> httpx2.Response:
    return await http.post(PATH, json={"model": MODEL} | fields)


async def test_a_chain_remembers_what_was_said_in_it_and_nothing_else(interactions: Any) -> None:
    first = await interactions.create(model=MODEL, input="Hello, my name is Ada.", system_instruction="SECRET=42")
    second = await interactions.create(model=MODEL, input="What is my name?", previous_interaction_id=first.id)
    assert second.output_text == "Your name is Ada."
    third = await interactions.create(
        model=MODEL, input="what is the SECRET?", previous_interaction_id=second.id, tools=[TOOL]
    )
    assert "nobody has told me" in third.output_text
    fourth = await interactions.create(model=MODEL, input="weather in Oslo?", previous_interaction_id=third.id)
    assert (fourth.status, fourth.output_text.startswith("I heard")) == ("completed", True)


async def test_a_chain_branches(interactions: Any) -> None:
    root = await interactions.create(model=MODEL, input="hello")
    names: list[str] = []
    for name in ("Ada", "Bob"):
        told = await interactions.create(model=MODEL, input=f"my name is {name}", previous_interaction_id=root.id)
        asked = await interactions.create(model=MODEL, input="what is my name?", previous_interaction_id=told.id)
        names.append(asked.output_text)
    assert names == ["Your name is Ada.", "Your name is Bob."]


async def test_the_same_request_twice_is_two_interactions(interactions: Any) -> None:
    ids = [(await interactions.create(model=MODEL, input="hello once more")).id for _ in range(2)]
    assert len(set(ids)) == 2


async def test_a_loop_of_parallel_tools_sends_nothing_but_the_results(interactions: Any) -> None:
    first = await interactions.create(model=MODEL, input=ASK, tools=[TOOL])
    calls = [step for step in first.steps if step.type == "function_call"]
    assert (first.status, [call.arguments["city"] for call in calls]) == ("requires_action", ["Oslo", "Bergen"])
    results = [
        {"type": "function_result", "call_id": call.id, "name": call.name, "result": [{"type": "text", "text": "sun"}]}
        for call in calls
    ]
    second = await interactions.create(model=MODEL, previous_interaction_id=first.id, input=results, tools=[TOOL])
    assert second.output_text == "get_weather says: sun; get_weather says: sun"


async def test_a_whole_chain_is_input_of_each_turn_and_a_long_one_is_cached(http: httpx2.AsyncClient) -> None:
    first = (await _post(http, input="x" * 8000, system_instruction="be brief")).json()
    again = {"previous_interaction_id": first["id"], "input": "and now?"}
    second = (await _post(http, **again, system_instruction="be brief")).json()["usage"]
    billed = first["usage"]["total_input_tokens"] + first["usage"]["total_output_tokens"]
    assert second["total_input_tokens"] == billed + 2 + 4 + 4  # the new text, and something for each message
    assert 1024 <= second["total_cached_tokens"] <= second["total_input_tokens"] - 6
    spoken = sum(second[f"total_{kind}_tokens"] for kind in ("input", "output", "thought"))
    assert (second["total_tokens"], second["total_thought_tokens"] > 0) == (spoken, True)
    other = (await _post(http, **again, system_instruction="be long")).json()["usage"]
    assert (other["total_input_tokens"], other["total_cached_tokens"]) == (second["total_input_tokens"], 0)


async def test_a_chain_costs_as_much_as_the_same_steps_sent_whole(http: httpx2.AsyncClient) -> None:
    first = (await _post(http, input=ASK, tools=[TOOL])).json()
    results = [
        {"type": "function_result", "call_id": step["id"], "result": {"sky": "clear"}}
        for step in first["steps"]
        if step["type"] == "function_call"
    ]
    chained = await _post(http, previous_interaction_id=first["id"], input=results, tools=[TOOL])
    user = {"type": "user_input", "content": [{"type": "text", "text": ASK}]}
    whole = await _post(http, store=False, input=[user, *first["steps"], *results], tools=[TOOL])
    assert whole.json()["usage"]["total_input_tokens"] == chained.json()["usage"]["total_input_tokens"]
    assert whole.json()["steps"][-1] == chained.json()["steps"][-1]


async def test_post_says_generated_steps_and_get_the_input_too(interactions: Any) -> None:
    made = await interactions.create(model=MODEL, input="hello")
    found = await interactions.get(made.id, include_input=True)
    assert [step.type for step in made.steps] == ["thought", "model_output"]
    assert [step.type for step in found.steps] == ["user_input", "thought", "model_output"]
    assert found.input[0].content[0].text == "hello"
    assert (await interactions.get(made.id)).usage.total_tokens == made.usage.total_tokens


async def test_a_deleted_interaction_is_not_found(interactions: Any) -> None:
    made = await interactions.create(model=MODEL, input="hello")
    await interactions.delete(made.id)
    for call in (
        interactions.get(made.id),
        interactions.delete(made.id),
        interactions.create(model=MODEL, input="x", previous_interaction_id=made.id),
    ):
        with pytest.raises(errors.NotFoundError, match="not_found"):
            await call


async def test_what_is_not_stored_has_no_id_and_leaves_nothing(
    sim: Running, interactions: Any, http: httpx2.AsyncClient
) -> None:
    stored = await interactions.create(model=MODEL, input="my name is Ada")
    answer = await _post(http, input="what is my name?", store=False, previous_interaction_id=stored.id)
    assert "id" not in answer.json()
    assert "Your name is Ada." in answer.text
    stream = await _post(http, input="hello", store=False, stream=True)
    assert "id" not in events_of(stream.text)[0]["interaction"]
    assert [exchange.status for exchange in sim.journal.calls("interactions")] == [200, 200, 200]


async def test_an_interaction_is_of_the_key_that_made_it(http: httpx2.AsyncClient) -> None:
    made = (await _post(http, input="hello")).json()["id"]
    for headers in ({"x-goog-api-key": "other"}, {"x-goog-api-key": "", "authorization": "Bearer third"}):
        answer = await http.get(f"{PATH}/{made}", headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
        body = {"model": MODEL, "input": "x", "previous_interaction_id": made}
        assert (await http.post(PATH, json=body, headers=headers)).status_code == 404
    assert (await http.get(f"/v1/interactions/{made}?key=lab")).status_code == 200


async def test_a_stream_says_the_steps_in_their_order(http: httpx2.AsyncClient) -> None:
    config = {"thinking_summaries": "auto"}
    body: dict[str, Any] = {"input": ASK, "tools": [TOOL], "generation_config": config}
    answer = await _post(http, **body, stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.endswith("event: done\ndata: [DONE]\n\n")
    events = events_of(answer.text)
    assert len({event["event_id"] for event in events}) == len(events)
    thought = ["step.start", "step.delta", "step.stop"]
    call = ["step.start", "step.delta", "step.delta", "step.delta", "step.stop"]
    opened = ["interaction.created", "interaction.status_update"]
    assert [event["event_type"] for event in events] == [*opened, *thought, *call, *call, "interaction.completed"]
    assert [event["index"] for event in events if "index" in event] == [0] * 3 + [1] * 5 + [2] * 5
    start, delta = events[2]["step"], events[3]["delta"]
    assert (start["signature"], start["summary"][0]["text"][:8]) == ("", "The user")
    assert (delta["type"], bool(delta["signature"])) == ("thought_signature", True)
    assert events[5]["step"] | {"id": ""} == {"type": "function_call", "id": "", "name": "get_weather", "arguments": {}}
    pieces = "".join(event["delta"]["arguments"] for event in events[6:9])
    assert json.loads(pieces) == {"city": "Oslo"}
    last = events[-1]["interaction"]
    assert (last["status"], "steps" in last, last["usage"]["total_input_tokens"] > 0) == (
        "requires_action",
        False,
        True,
    )


async def test_the_start_of_a_step_already_holds_the_first_words(http: httpx2.AsyncClient) -> None:
    answer = await _post(http, input="say: 京都は🌸 a b c d e f", stream=True)
    events = events_of(answer.text)
    start = next(event["step"] for event in events if event.get("step", {}).get("type") == "model_output")
    deltas = [event["delta"]["text"] for event in events if event.get("delta", {}).get("type") == "text"]
    assert start["content"][0]["text"]
    assert deltas
    assert start["content"][0]["text"] + "".join(deltas) == "京都は🌸 a b c d e f"


async def test_a_stream_can_be_taken_up_after_any_event(interactions: Any, http: httpx2.AsyncClient) -> None:
    first = events_of((await _post(http, input="say: a b c d e f g h i", stream=True)).text)
    identity = first[0]["interaction"]["id"]
    for at, event in enumerate(first):
        rest = await http.get(f"{PATH}/{identity}", params={"stream": "true", "last_event_id": event["event_id"]})
        assert events_of(rest.text) == first[at + 1 :]
    again = await interactions.get(identity, stream=True)
    assert [event.event_id async for event in again] == [event["event_id"] for event in first]
    unknown = await http.get(f"{PATH}/{identity}", params={"stream": "true", "last_event_id": "none"})
    assert unknown.status_code == 400


@pytest.mark.parametrize("store", [True, False])
async def test_an_answer_that_stops_goes_on_with_its_token(interactions: Any, sim: Running, store: bool) -> None:
    asked = "say: a b c d e f g [[continue=3]]"
    answer = await interactions.create(model=MODEL, input=asked, store=store)
    assert (answer.status, answer.output_text) == ("completed", "a b c d e f g")
    hops = sim.journal.calls("interactions")
    assert [("input" in hop.body, "previous_interaction_id" in hop.body) for hop in hops] == [
        (True, False),
        (not store, store),
        (not store, store),
    ]
    if store:
        after = await interactions.create(
            model=MODEL, input="how many messages?", previous_interaction_id=answer.continuation_ids[-1]
        )
        assert "I see 5 messages" in after.output_text


async def test_a_streamed_answer_goes_on_too(interactions: Any) -> None:
    stream = await interactions.create(model=MODEL, input="say: a b c d e [[continue=2]]", stream=True)
    ends = [event.interaction.status async for event in stream if event.event_type == "interaction.completed"]
    assert ends == ["requires_continuation", "requires_continuation", "completed"]


async def test_a_token_goes_only_with_the_interaction_that_issued_it(http: httpx2.AsyncClient) -> None:
    made = (await _post(http, input="say: a b c d e [[continue=2]]")).json()
    other = (await _post(http, input="hello")).json()
    for fields in (
        {"continuation_token": made["continuation_token"], "previous_interaction_id": other["id"]},
        {"continuation_token": made["continuation_token"], "input": "x"},
        {"continuation_token": "bWFkZSB1cA", "previous_interaction_id": made["id"]},
    ):
        answer = await _post(http, **fields)
        assert (answer.status_code, "continuation_token" in answer.text) == (400, True)


async def test_a_background_interaction_runs_until_it_was_looked_at(interactions: Any) -> None:
    made = await interactions.create(model=MODEL, input="my name is Ada", background=True)
    assert (made.status, made.steps) == ("in_progress", None)
    assert [(await interactions.get(made.id)).status for _ in range(2)] == ["in_progress", "completed"]
    done = await interactions.create(model=MODEL, input="what is my name?", previous_interaction_id=made.id)
    assert done.output_text == "Your name is Ada."
    with pytest.raises(errors.BadRequestError):
        await interactions.cancel(made.id)


async def test_one_that_runs_cannot_be_continued_and_can_be_cancelled(interactions: Any) -> None:
    made = await interactions.create(model=MODEL, input="hello", background=True)
    with pytest.raises(errors.BadRequestError, match="still in progress"):
        await interactions.create(model=MODEL, input="x", previous_interaction_id=made.id)
    made = await interactions.create(model=MODEL, input="hello", background=True)
    assert (await interactions.cancel(made.id)).status == "cancelled"
    with pytest.raises(errors.BadRequestError, match="cancelled"):
        await interactions.create(model=MODEL, input="x", previous_interaction_id=made.id)


async def test_a_structured_answer_obeys_its_schema(interactions: Any) -> None:
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    form = {"type": "text", "mime_type": "application/json", "schema": schema}
    answer = await interactions.create(model=MODEL, input="Who?", response_format=form)
    assert json.loads(answer.output_text) == {"age": 1}


async def test_a_cap_on_tokens_leaves_the_answer_incomplete(interactions: Any) -> None:
    config = {"max_output_tokens": 15}
    answer = await interactions.create(model=MODEL, input="[[words=90]]", generation_config=config)
    assert answer.status == "incomplete"
    assert answer.usage.total_output_tokens + answer.usage.total_thought_tokens <= 15


async def test_a_failure_inside_a_stream_is_an_event_and_leaves_no_chain(http: httpx2.AsyncClient) -> None:
    answer = await _post(http, input="[[words=9]] [[error=3]]", stream=True)
    events = events_of(answer.text)
    assert events[-1] == {"event_type": "error", "error": events[-1]["error"]}
    assert events[-1]["error"]["code"] == "service_unavailable"
    identity = events[0]["interaction"]["id"]
    assert (await http.get(f"{PATH}/{identity}")).json()["status"] == "failed"
    assert (await _post(http, input="x", previous_interaction_id=identity)).status_code == 400


async def test_prescribed_answers_are_kept_and_continued(
    sim: Running, interactions: Any, http: httpx2.AsyncClient
) -> None:
    told = {"type": "model_output", "content": [{"type": "text", "text": "the code is 7788"}]}
    body = {"id": "v1_mine", "object": "interaction", "status": "completed", "steps": [told]}
    sim.script([{"json": body}, {"text": "The colour is red."}])
    assert (await interactions.create(model=MODEL, input="x")).id == "v1_mine"
    streamed = events_of((await _post(http, input="y", previous_interaction_id="v1_mine", stream=True)).text)
    identity = streamed[0]["interaction"]["id"]
    for question, said in (("what is the code?", "7788"), ("what is the colour?", "red")):
        answer = await interactions.create(model=MODEL, input=question, previous_interaction_id=identity)
        assert said in answer.output_text
    assert [exchange.scripted for exchange in sim.journal.calls("interactions")] == [True, True, False, False]


async def test_a_prescribed_stream_becomes_a_whole_answer(sim: Running, interactions: Any) -> None:
    start = {"event_type": "step.start", "index": 0, "step": {"type": "function_call", "id": "c", "name": "f"}}
    delta = {"type": "arguments_delta", "arguments": '{"a":1}'}
    said = {"id": "v1_s", "status": "requires_action"}
    events = [
        {"event_type": "interaction.created", "interaction": {"id": "v1_s", "status": "in_progress"}},
        start,
        {"event_type": "step.delta", "index": 0, "delta": delta},
        {"event_type": "step.stop", "index": 0},
        {"event_type": "interaction.completed", "interaction": said},
    ]
    sim.script([{"sse": [f"event: {one['event_type']}\ndata: {json.dumps(one)}" for one in events]}])
    answer = await interactions.create(model=MODEL, input="x")
    assert (answer.status, answer.steps[0].arguments) == ("requires_action", {"a": 1})
    result = [{"type": "function_result", "call_id": "c", "result": "ok"}]
    after = await interactions.create(model=MODEL, input=result, previous_interaction_id="v1_s")
    assert after.output_text == "f says: ok"
