"""OpenAI's own SDK reads what the writer makes, over a real socket, in every way that it has of asking."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import asynccontextmanager
from typing import Any

import openai
import pytest
from openai.types.responses import ResponseFunctionToolCall, ResponseReasoningItem
from pydantic import BaseModel

from app.chat.events import (
    Event,
    Finished,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCalled,
    Usage,
)
from app.chat.model import Native, Text, Thinking, ToolCall
from app.errors import ClientError, ProxyError, UpstreamError
from app.wires.openai_responses import OPENAI_RESPONSES
from app.wires.wire import Inbound
from tests.faults.rawserver import Peer, raw_server
from tests.wires.openai_responses.speaking import STAMP, decoded, told

GEMINI = Native("gemini", b"")
CALL = ToolCall("call_a", "find", '{"who":"Ann"}')
PLAIN: list[Event] = [Started("up", "gemini-3"), TextDelta("In "), TextDelta("room 4."), Usage(9, 4), Finished("stop")]
LOOP: list[Event] = [
    Started("up", "gemini-3"),
    ThinkingDelta("Look her up.", GEMINI),
    TextDelta("One moment."),
    ToolCallDelta(0, "call_a", "find", ""),
    ToolCallDelta(0, arguments=CALL.arguments),
    ToolCalled(0, CALL),
    Usage(9, 4),
    Finished("tool_calls"),
]
TOOL: Any = {
    "type": "function",
    "name": "find",
    "strict": True,
    "parameters": {
        "type": "object",
        "properties": {"who": {"type": "string"}},
        "required": ["who"],
        "additionalProperties": False,
    },
}


class Where(BaseModel):
    """Where somebody is."""

    room: int


@asynccontextmanager
async def _client(*said: Event | ProxyError) -> AsyncGenerator[openai.AsyncOpenAI]:
    """The SDK, in front of a server that decodes its request and writes these events; an error in them is told at that
    point, before the answer or inside it."""

    async def script(peer: Peer) -> None:
        chat = OPENAI_RESPONSES.decode(Inbound(peer.request.body))
        if isinstance(said[0], ProxyError):
            problem = OPENAI_RESPONSES.problem(said[0])
            await peer.answer(problem.status, problem.body)
            return
        writer = OPENAI_RESPONSES.writer(chat, STAMP, chat.stream)
        pieces = [writer.fail(e) if isinstance(e, ProxyError) else writer.write(e) for e in said]
        if not chat.stream:
            await peer.answer(200, writer.close(), writer.content_type)
            return
        broke = isinstance(said[-1], ProxyError)
        pieces = [piece for piece in (*pieces, b"" if broke else writer.close()) if piece]
        await peer.whole_stream(writer.keepalive, *pieces)

    async with (
        raw_server(script) as server,
        openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="k", max_retries=0) as client,
    ):
        yield client


async def _drain(stream: AsyncIterable[Any], seen: list[str]) -> None:
    """Read to the end, or to the error; `seen` gets the events' types."""
    async for event in stream:
        seen.append(event.type)  # noqa: PERF401 - what was seen counts, although an error ends the loop


async def test_create() -> None:
    async with _client(*LOOP) as client:
        response = await client.responses.create(model="m", input="hi", tools=[TOOL])
    assert response.output_text == "One moment."
    thought, _, call = response.output
    assert isinstance(thought, ResponseReasoningItem)
    assert thought.summary[0].text == "Look her up."
    assert isinstance(call, ResponseFunctionToolCall)
    assert (call.call_id, call.name, call.arguments) == ("call_a", "find", '{"who":"Ann"}')
    assert response.usage is not None
    assert response.usage.total_tokens == 13
    assert (response.status, response.id) == ("completed", "resp_1")
    type(response).model_validate(response.model_dump(warnings="error"))  # every field as the SDK types it


async def test_create_streamed() -> None:
    async with _client(*LOOP) as client:
        stream = await client.responses.create(model="m", input="hi", tools=[TOOL], stream=True)
        events = [event async for event in stream]
    for event in events:
        type(event).model_validate(event.model_dump(warnings="error"))
    words = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert words == ["One moment."]
    last = events[-1]
    assert last.type == "response.completed"
    assert last.response.output_text == "One moment."


async def test_the_stream_helper() -> None:
    async with (
        _client(*LOOP) as client,
        client.responses.stream(model="m", input="hi", tools=[TOOL]) as stream,
    ):
        snapshots = [event.snapshot async for event in stream if event.type == "response.function_call_arguments.delta"]
        final = await stream.get_final_response()
    assert snapshots == ['{"who":"Ann"}']
    call = final.output[-1]
    assert call.type == "function_call"
    assert call.parsed_arguments == {"who": "Ann"}
    assert final.output_text == "One moment."


@pytest.mark.parametrize("streamed", [True, False])
async def test_parse(streamed: bool) -> None:
    async with _client(TextDelta('{"room":'), TextDelta("4}"), Finished("stop")) as client:
        if streamed:
            async with client.responses.stream(model="m", input="hi", text_format=Where) as stream:
                final = await stream.get_final_response()
        else:
            final = await client.responses.parse(model="m", input="hi", text_format=Where)
    assert final.output_parsed == Where(room=4)


async def test_what_the_sdk_gives_back_is_what_was_said() -> None:
    async with _client(*LOOP) as client:
        response = await client.responses.create(model="m", input="hi", tools=[TOOL])
    items = [item.model_dump(exclude_none=True) for item in response.output]
    output = {"type": "function_call_output", "call_id": "call_a", "output": "Room 4"}
    chat = decoded({"model": "m", "input": [{"role": "user", "content": "hi"}, *items, output]})
    assert chat.messages[1].parts == (Thinking("Look her up."), Text("One moment."), CALL)
    assert chat.messages[1].parts == told(LOOP).message.parts


async def test_an_error_before_the_answer() -> None:
    lost = ClientError("Previous response with id 'resp_x' not found.", kind="not_found", param="previous_response_id")
    async with _client(lost) as client:
        with pytest.raises(openai.BadRequestError) as raised:
            await client.responses.create(model="m", input="hi", previous_response_id="resp_x")
    assert (raised.value.code, raised.value.param) == ("previous_response_not_found", "previous_response_id")


async def test_an_error_inside_the_answer_is_told_and_raised() -> None:
    broken = (*PLAIN[:2], UpstreamError("It broke.", kind="rate_limited"))
    seen: list[str] = []
    async with _client(*broken) as client:
        stream = await client.responses.create(model="m", input="hi", stream=True)
        with pytest.raises(openai.APIError) as raised:
            await _drain(stream, seen)
    assert seen[-1] == "response.failed"
    assert (raised.value.code, raised.value.message) == ("rate_limit_exceeded", "It broke.")


async def test_an_error_inside_the_answer_reaches_a_user_of_the_helper() -> None:
    async with _client(*PLAIN[:2], UpstreamError("It broke.")) as client:
        with pytest.raises(openai.APIError, match="It broke"):
            async with client.responses.stream(model="m", input="hi") as stream:
                await stream.get_final_response()


async def test_a_cut_answer_is_incomplete() -> None:
    async with _client(TextDelta("In "), Finished("length")) as client:
        response = await client.responses.create(model="m", input="hi")
    assert response.status == "incomplete"
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"
