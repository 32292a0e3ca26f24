"""OpenAI Responses as the official SDK meets them: chains, tools, streams, reasoning, and what is kept."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import openai
import pydantic
import pytest

from app.simulator.running import Running

MODEL = "gpt-5.5"
PATH = "/v1/responses"
TOOL: Any = {
    "type": "function",
    "name": "get_weather",
    "strict": False,
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
ASK = "Weather in Oslo and Bergen?"


class Person(pydantic.BaseModel):
    name: str
    age: int


def events_of(text: str) -> list[dict[str, Any]]:
    """The JSON of a stream's events."""
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


def outputs_of(response: Any) -> list[Any]:
    """The output items that answer a response's calls."""
    calls = [item for item in response.output if item.type == "function_call"]
    return [{"type": "function_call_output", "call_id": call.call_id, "output": "sun"} for call in calls]


async def _post(http: httpx2.AsyncClient, **fields: Any) -> httpx2.Response:
    return await http.post(PATH, json={"model": MODEL} | fields)


async def test_a_chain_remembers_what_was_said_in_it_and_nothing_else(chat: openai.AsyncOpenAI) -> None:
    first = await chat.responses.create(model=MODEL, input="Hello, my name is Ada.", instructions="SECRET=42")
    second = await chat.responses.create(model=MODEL, input="What is my name?", previous_response_id=first.id)
    assert second.output_text == "Your name is Ada."
    third = await chat.responses.create(
        model=MODEL, input="what is the SECRET?", previous_response_id=second.id, tools=[TOOL]
    )
    assert "nobody has told me" in third.output_text
    assert (third.instructions, first.instructions) == (None, "SECRET=42")
    fourth = await chat.responses.create(model=MODEL, input="weather in Oslo?", previous_response_id=third.id)
    assert fourth.output_text.startswith("I heard")


async def test_a_chain_branches(chat: openai.AsyncOpenAI) -> None:
    root = await chat.responses.create(model=MODEL, input="hello")
    names: list[str] = []
    for name in ("Ada", "Bob"):
        told = await chat.responses.create(model=MODEL, input=f"my name is {name}", previous_response_id=root.id)
        asked = await chat.responses.create(model=MODEL, input="what is my name?", previous_response_id=told.id)
        names.append(asked.output_text)
    assert names == ["Your name is Ada.", "Your name is Bob."]


async def test_the_same_request_twice_is_two_responses(chat: openai.AsyncOpenAI) -> None:
    assert len({(await chat.responses.create(model=MODEL, input="hello once more")).id for _ in range(2)}) == 2


async def test_a_loop_of_parallel_tools_sends_nothing_but_the_outputs(chat: openai.AsyncOpenAI) -> None:
    first = await chat.responses.create(model=MODEL, input=ASK, tools=[TOOL])
    outputs = outputs_of(first)
    second = await chat.responses.create(model=MODEL, input=outputs, previous_response_id=first.id, tools=[TOOL])
    assert second.output_text == "get_weather says: sun; get_weather says: sun"


async def test_the_whole_output_sent_back_goes_on_without_a_store(chat: openai.AsyncOpenAI) -> None:
    first = await chat.responses.create(model=MODEL, input=ASK, tools=[TOOL], store=False)
    items = [item.model_dump(exclude_none=True) for item in first.output]
    assert [item["type"] for item in items] == ["reasoning", "function_call", "function_call"]
    given: list[Any] = [{"role": "user", "content": ASK}, *items, *outputs_of(first)]
    second = await chat.responses.create(model=MODEL, input=given, tools=[TOOL], store=False)
    assert second.output_text == "get_weather says: sun; get_weather says: sun"
    with pytest.raises(openai.NotFoundError):
        await chat.responses.retrieve(first.id)


async def test_a_custom_tool_is_called_with_text(chat: openai.AsyncOpenAI) -> None:
    tool: Any = {"type": "custom", "name": "run_code"}
    first = await chat.responses.create(model=MODEL, input='run_code for "print(1)"', tools=[tool])
    call = first.output[-1]
    assert call.type == "custom_tool_call"
    assert (call.name, call.input, call.id[:4] if call.id else "") == ("run_code", "print(1)", "ctc_")
    output: Any = {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "1"}
    second = await chat.responses.create(model=MODEL, input=[output], previous_response_id=first.id, tools=[tool])
    assert second.output_text == "run_code says: 1"


async def test_a_tool_in_a_namespace_is_called_there(chat: openai.AsyncOpenAI) -> None:
    space: Any = {"type": "namespace", "name": "crm", "description": "d", "tools": [TOOL]}
    first = await chat.responses.create(model=MODEL, input="Weather in Oslo?", tools=[space])
    call: Any = first.output[-1]
    assert (call.type, call.namespace, call.name) == ("function_call", "crm", "get_weather")
    second = await chat.responses.create(
        model=MODEL, input=outputs_of(first), previous_response_id=first.id, tools=[space]
    )
    assert second.output_text == "get_weather says: sun"


async def test_a_structured_answer_is_parsed(chat: openai.AsyncOpenAI) -> None:
    answer = await chat.responses.parse(model=MODEL, input="Who?", text_format=Person)
    assert answer.output_parsed == Person(name="name", age=1)


async def test_a_whole_chain_is_input_of_each_turn_and_a_long_one_is_cached(chat: openai.AsyncOpenAI) -> None:
    first = await chat.responses.create(model=MODEL, input="x" * 8000, instructions="be brief")
    second, other = [
        await chat.responses.create(model=MODEL, input="and now?", previous_response_id=first.id, instructions=told)
        for told in ("be brief", "be long!")
    ]
    assert first.usage
    assert second.usage
    assert other.usage
    said = first.usage.output_tokens - first.usage.output_tokens_details.reasoning_tokens
    assert second.usage.input_tokens == first.usage.input_tokens + said + 2 + 4 + 4
    cached = second.usage.input_tokens_details.cached_tokens
    assert (cached >= 1024, cached % 128, cached < second.usage.input_tokens) == (True, 0, True)
    assert (other.usage.input_tokens, other.usage.input_tokens_details.cached_tokens) == (second.usage.input_tokens, 0)
    assert second.usage.total_tokens == second.usage.input_tokens + second.usage.output_tokens


async def test_what_is_kept_can_be_had_and_deleted(chat: openai.AsyncOpenAI) -> None:
    made = await chat.responses.create(model=MODEL, input="hello", metadata={"a": "b"})
    assert (await chat.responses.retrieve(made.id)).model_dump() == made.model_dump()
    await chat.responses.delete(made.id)
    with pytest.raises(openai.NotFoundError, match=f"Response with id '{made.id}' not found."):
        await chat.responses.retrieve(made.id)
    with pytest.raises(openai.NotFoundError):
        await chat.responses.delete(made.id)
    with pytest.raises(openai.BadRequestError) as raised:
        await chat.responses.create(model=MODEL, input="x", previous_response_id=made.id)
    said = f"Previous response with id '{made.id}' not found."
    assert raised.value.body == {
        "message": said,
        "type": "invalid_request_error",
        "param": "previous_response_id",
        "code": "previous_response_not_found",
    }


async def test_a_response_is_of_the_key_that_made_it(chat: openai.AsyncOpenAI) -> None:
    made = await chat.responses.create(model=MODEL, input="hello")
    other = chat.with_options(api_key="other")
    with pytest.raises(openai.NotFoundError):
        await other.responses.retrieve(made.id)
    with pytest.raises(openai.BadRequestError, match="not found"):
        await other.responses.create(model=MODEL, input="x", previous_response_id=made.id)


async def test_input_items_are_those_of_the_whole_chain_newest_first(chat: openai.AsyncOpenAI) -> None:
    first = await chat.responses.create(model="lab", input="one")
    second = await chat.responses.create(model="lab", input="two", previous_response_id=first.id)

    async def texts(**query: Any) -> list[str]:
        found = chat.responses.input_items.list(second.id, **query)
        items: list[Any] = [item async for item in found]
        return [item.content[0].text for item in items]

    assert await texts(order="asc") == ["one", first.output_text, "two"]
    assert await texts() == ["two", first.output_text, "one"]
    assert await texts(limit=1) == ["two", first.output_text, "one"]  # the SDK asks for page after page
    page = await chat.responses.input_items.list(second.id, limit=2)
    assert (page.has_more, len(page.data)) == (True, 2)
    with pytest.raises(openai.BadRequestError):
        await chat.responses.input_items.list(second.id, limit=101)


async def test_a_stream_is_the_whole_ceremony(http: httpx2.AsyncClient) -> None:
    body = {"input": "say: 京都は🌸 a b c d e f", "reasoning": {"summary": "auto"}}
    answer = await _post(http, **body, stream=True)
    events = events_of(answer.text)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert answer.text.startswith("event: response.created\n")
    kinds = [event["type"].removeprefix("response.") for event in events]
    plain = [kind for at, kind in enumerate(kinds) if not at or kinds[at - 1] != kind]
    assert plain == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    last, started = events[-1]["response"], events[0]["response"]
    assert (started["status"], started["output"], started["usage"]) == ("in_progress", [], None)
    whole = (await _post(http, **body)).json()
    assert last["output"][1]["content"] == whole["output"][1]["content"]
    assert last["usage"] == whole["usage"]
    added, done = [event["item"] for event in events if event.get("item", {}).get("type") == "reasoning"]
    assert done["encrypted_content"].startswith(added["encrypted_content"])
    assert len(added["encrypted_content"]) < len(done["encrypted_content"])


async def test_the_sdks_own_stream_helper_is_content(chat: openai.AsyncOpenAI) -> None:
    async with chat.responses.stream(model=MODEL, input=ASK, tools=[TOOL]) as stream:
        kinds = [event.type async for event in stream]
        final = await stream.get_final_response()
    assert kinds.count("response.function_call_arguments.delta") == 6
    calls = [item for item in final.output if item.type == "function_call"]
    assert [json.loads(call.arguments)["city"] for call in calls] == ["Oslo", "Bergen"]


async def test_a_stream_can_be_taken_up_after_any_event(chat: openai.AsyncOpenAI, http: httpx2.AsyncClient) -> None:
    first = events_of((await _post(http, input="say: a b c d e f g h i", stream=True)).text)
    identity = first[0]["response"]["id"]
    for event in first:
        at = event["sequence_number"]
        rest = await http.get(f"{PATH}/{identity}", params={"stream": "true", "starting_after": at})
        assert events_of(rest.text) == first[at + 1 :]
    again = await chat.responses.retrieve(identity, stream=True)
    assert [event.sequence_number async for event in again] == list(range(len(first)))


async def test_a_background_response_runs_until_it_was_looked_at(chat: openai.AsyncOpenAI) -> None:
    made = await chat.responses.create(model=MODEL, input="my name is Ada", background=True)
    assert (made.status, made.output) == ("queued", [])
    assert [(await chat.responses.retrieve(made.id)).status for _ in range(2)] == ["in_progress", "completed"]
    after = await chat.responses.create(model=MODEL, input="what is my name?", previous_response_id=made.id)
    assert after.output_text == "Your name is Ada."
    with pytest.raises(openai.BadRequestError, match="Cannot cancel a synchronous response"):
        await chat.responses.cancel(made.id)
    cancelled = await chat.responses.create(model=MODEL, input="hello", background=True)
    with pytest.raises(openai.BadRequestError, match="still in progress"):
        await chat.responses.create(model=MODEL, input="x", previous_response_id=cancelled.id)
    cancelled = await chat.responses.create(model=MODEL, input="hello", background=True)
    assert (await chat.responses.cancel(cancelled.id)).status == "cancelled"


async def test_a_cap_on_tokens_leaves_the_answer_incomplete(chat: openai.AsyncOpenAI) -> None:
    answer = await chat.responses.create(model="lab", input="[[words=90]]", max_output_tokens=16)
    assert answer.status == "incomplete"
    assert answer.incomplete_details
    assert answer.incomplete_details.reason == "max_output_tokens"
    stream = await chat.responses.create(model="lab", input="[[words=90]]", max_output_tokens=16, stream=True)
    assert [event.type async for event in stream][-1] == "response.incomplete"


async def test_an_answer_can_be_filtered_or_refused(chat: openai.AsyncOpenAI) -> None:
    filtered = await chat.responses.create(model="lab", input="hello [[finish=content_filter]]")
    assert filtered.incomplete_details
    assert filtered.incomplete_details.reason == "content_filter"
    stream = await chat.responses.create(model="lab", input="hello [[finish=refusal]]", stream=True)
    kinds = [event.type async for event in stream]
    assert ("response.refusal.delta" in kinds, "response.output_text.delta" in kinds) == (True, False)


async def test_a_failure_inside_a_stream_ends_it_and_leaves_no_chain(
    chat: openai.AsyncOpenAI, http: httpx2.AsyncClient
) -> None:
    events = events_of((await _post(http, input="[[words=9]] [[error=4]]", stream=True)).text)
    assert [event["sequence_number"] for event in events] == list(range(5))
    assert (events[-1]["type"], events[-1]["response"]["error"]["code"]) == ("response.failed", "server_error")
    identity = events[0]["response"]["id"]
    assert (await chat.responses.retrieve(identity)).status == "failed"
    with pytest.raises(openai.BadRequestError, match="has failed"):
        await chat.responses.create(model=MODEL, input="x", previous_response_id=identity)
    at_once = events_of((await _post(http, input="hello [[error]]", stream=True)).text)
    assert [(event["type"], event["code"]) for event in at_once] == [("error", "server_error")]


async def test_prescribed_answers_are_kept_and_continued(sim: Running, chat: openai.AsyncOpenAI) -> None:
    content: list[Any] = [{"type": "output_text", "text": "the code is 7788", "annotations": []}]
    message: dict[str, Any] = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }
    body: dict[str, Any] = {
        "id": "resp_mine",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m",
    }
    body |= {"output": [message], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    sim.script([{"json": body}, {"text": "The colour is red."}])
    assert (await chat.responses.create(model=MODEL, input="x")).id == "resp_mine"
    stream = await chat.responses.create(model=MODEL, input="y", previous_response_id="resp_mine", stream=True)
    last: Any = [event async for event in stream][-1]
    for question, said in (("what is the code?", "7788"), ("what is the colour?", "red")):
        answer = await chat.responses.create(model=MODEL, input=question, previous_response_id=last.response.id)
        assert said in answer.output_text
    assert [exchange.scripted for exchange in sim.journal.calls("responses")] == [True, True, False, False]


async def test_a_prescribed_stream_becomes_a_whole_answer(sim: Running, chat: openai.AsyncOpenAI) -> None:
    sim.script([{"text": "first"}])
    stream = await chat.responses.with_streaming_response.create(model="lab", input="x", stream=True).__aenter__()
    text = (await stream.read()).decode()
    sim.script([{"sse": text.strip().split("\n\n")}])
    assert (await chat.responses.create(model="lab", input="y")).output_text == "first"


async def test_a_conversation_gathers_what_is_said_in_it(chat: openai.AsyncOpenAI) -> None:
    told: Any = {"role": "user", "content": "my name is Ada"}
    talk = await chat.conversations.create(items=[told], metadata={"a": "b"})
    first = await chat.responses.create(model="lab", input="what is my name?", conversation=talk.id)
    assert first.output_text == "Your name is Ada."
    assert first.conversation
    assert first.conversation.id == talk.id
    again: Any = {"role": "user", "content": "the code is 7788"}
    await chat.conversations.items.create(talk.id, items=[again])
    second = await chat.responses.create(model="lab", input="what is the code?", conversation={"id": talk.id})
    assert "7788" in second.output_text
    items: list[Any] = [item async for item in chat.conversations.items.list(talk.id, order="asc")]
    roles = ["user", "user", "assistant", "user", "user", "assistant"]
    assert [item.role for item in items] == roles
    assert (await chat.conversations.retrieve(talk.id)).metadata == {"a": "b"}
    await chat.conversations.items.delete(items[3].id, conversation_id=talk.id)
    third = await chat.responses.create(model="lab", input="how many messages?", conversation=talk.id)
    assert "6 messages" in third.output_text
    assert (await chat.conversations.delete(talk.id)).deleted
    with pytest.raises(openai.NotFoundError, match="Conversation with id"):
        await chat.responses.create(model="lab", input="x", conversation=talk.id)
