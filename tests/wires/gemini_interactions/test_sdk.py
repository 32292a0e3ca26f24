"""The official SDK reads what the writer makes, over a real socket, and what it sends is read."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from google import genai
from google.genai import types

from app.chat.events import Event, Finished, TextDelta, ThinkingDelta
from app.chat.model import Chat
from app.errors import ClientError, ProxyError, UpstreamError
from app.wires.gemini_interactions import GEMINI_INTERACTIONS
from app.wires.wire import Inbound
from tests.wires.gemini_interactions.speaking import MODEL, STAMP, TARGET
from tests.wires.gemini_interactions.test_writer import TALK

Answer = list[Event] | ProxyError
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Server:
    """Answers every create with the next of `answers`, through the writer; `chats` and `bodies` are what came in."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.chats: list[Chat] = []
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["path"].endswith("/interactions")
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        chat = GEMINI_INTERACTIONS.decode(Inbound(body))
        self.chats.append(chat)
        self.bodies.append(body)
        answer = self.answers.pop(0)
        if isinstance(answer, ClientError):
            problem = GEMINI_INTERACTIONS.problem(answer)
            await _respond(send, problem.status, problem.content_type, problem.body)
            return
        writer = GEMINI_INTERACTIONS.writer(chat, STAMP, chat.stream)
        if isinstance(answer, ProxyError):
            said = writer.write(TextDelta("half")) + writer.fail(answer)
        else:
            said = b"".join(writer.keepalive + writer.write(event) for event in answer) + writer.close()
        await _respond(send, 200, writer.content_type, said)


async def _respond(send: Send, status: int, content_type: str, body: bytes) -> None:
    headers = [(b"content-type", content_type.encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@contextlib.asynccontextmanager
async def _client(server: Server) -> AsyncGenerator[Any]:
    """The official client, pointed at the server."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(server, lifespan="off", log_config=None, ws="none")
        running = uvicorn.Server(config)
        task = asyncio.create_task(running.serve(sockets=[listener]))
        try:
            while not running.started:
                await asyncio.sleep(0.005)
                assert not task.done(), "the server ended before it served"
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=url))
            yield client.aio
            await client.aio.aclose()
        finally:
            running.should_exit = True
            await task


async def test_the_sdk_reads_a_whole_answer() -> None:
    server = Server(TALK)
    async with _client(server) as client:
        got = await client.interactions.create(
            model=MODEL, input="hi", previous_interaction_id="v1_before", tools=[{"type": "function", "name": "f"}]
        )
    assert (got.id, got.status, got.model) == ("v1_abc", "requires_action", "gemini-served")
    assert got.previous_interaction_id == "v1_before"
    thought, words, call = got.steps
    assert (thought.type, thought.summary[0].text) == ("thought", "hm")
    assert (words.type, words.content[0].text) == ("model_output", "Grüße")
    assert (call.id, call.name, call.arguments) == ("c1", "f", {"a": 1.5})
    assert (got.usage.total_input_tokens, got.usage.total_thought_tokens, got.usage.total_tokens) == (17, 195, 215)
    (chat,) = server.chats
    assert (chat.model, chat.continues, chat.stream) == (MODEL, "v1_before", False)
    assert [tool.name for tool in chat.tools] == ["f"]


async def test_the_sdk_reads_a_stream_event_by_event() -> None:
    async with _client(Server(TALK)) as client:
        events = [event async for event in await client.interactions.create(model=MODEL, input="hi", stream=True)]
    assert [event.event_type for event in events] == [
        *("interaction.created", "interaction.status_update"),
        *("step.start", "step.delta", "step.delta", "step.stop"),
        *("step.start", "step.delta", "step.delta", "step.stop"),
        *("step.start", "step.delta", "step.delta", "step.stop"),
        "interaction.completed",
    ]
    assert not any(getattr(event, "is_unknown", False) for event in events)
    assert [type(event.delta).__name__ for event in events if event.event_type == "step.delta"] == [
        *("ThoughtSummaryDelta", "ThoughtSummaryDelta", "TextDelta", "TextDelta", "ArgumentsDelta", "ArgumentsDelta")
    ]
    assert "".join(event.delta.arguments for event in events[11:13]) == '{"a":1.50}'
    last = events[-1].interaction
    assert (last.id, last.status, last.usage.total_tokens) == ("v1_abc", "requires_action", 215)
    assert [event.event_id for event in events] == [str(number) for number in range(1, 16)]


async def test_the_sdk_reads_what_is_not_stored() -> None:
    server = Server([TextDelta("yes"), Finished("stop")], [TextDelta("yes"), Finished("stop")])
    async with _client(server) as client:
        got = await client.interactions.create(model=MODEL, input="hi", store=False)
        assert (got.status, got.output_text) == ("completed", "yes")
        asked = await client.interactions.create(model=MODEL, input="hi", store=False, stream=True)
        events = [event async for event in asked]
    assert not any(getattr(event, "is_unknown", False) for event in events)
    assert events[0].event_type == "interaction.created"
    assert events[-1].interaction.status == "completed"
    assert [chat.store for chat in server.chats] == [False, False]


async def test_the_sdk_does_not_come_back_for_an_answer_that_was_paused_or_cut() -> None:
    server = Server([TextDelta("half"), Finished("paused")], [TextDelta("half"), Finished("length")])
    async with _client(server) as client:
        for _ in range(2):
            assert (await client.interactions.create(model=MODEL, input="hi")).status == "incomplete"
    assert len(server.bodies) == 2


async def test_the_sdk_raises_its_own_error_and_hands_on_the_one_inside_a_stream() -> None:
    from google.genai import _interactions_errors as sdk  # the classes have no public home yet

    server = Server(ClientError("No such thing.", kind="not_found"), UpstreamError("gone", kind="upstream_failed"))
    async with _client(server) as client:
        with pytest.raises(sdk.NotFoundError) as caught:
            await client.interactions.create(model=MODEL, input="hi")
        assert caught.value.status_code == 404
        assert "No such thing." in str(caught.value)
        events = [event async for event in await client.interactions.create(model=MODEL, input="hi", stream=True)]
    assert events[-1].event_type == "error"
    assert (events[-1].error.code, events[-1].error.message) == ("api_error", "gone")


async def test_a_history_that_the_sdk_sends_back_is_read_and_goes_out_untouched() -> None:
    server = Server([ThinkingDelta("hm"), *TALK], [Finished("stop")])
    async with _client(server) as client:
        got = await client.interactions.create(model=MODEL, input=[{"type": "text", "text": "hi"}], store=False)
        steps = [step.model_dump(exclude_none=True) for step in got.steps]
        result = {"type": "function_result", "call_id": "c1", "name": "f", "result": {"rows": 3}}
        history = [{"type": "user_input", "content": [{"type": "text", "text": "hi"}]}, *steps, result]
        await client.interactions.create(model=MODEL, input=history, store=False)
    first, second = server.chats
    assert [message.role for message in second.messages] == ["user", "assistant", "user"]
    assert second.messages[0].parts == first.messages[0].parts
    assert second.messages[1].calls[0].arguments in ('{"a":1.5}', '{"a":1.50}')
    outbound = GEMINI_INTERACTIONS.encode(second, TARGET)
    assert outbound.body == server.bodies[1]
    assert json.loads(outbound.body)["input"][-1] == result
