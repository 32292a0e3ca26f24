"""Anthropic's official SDK against our bytes, over real sockets: what it sends is read, what it gets it can use."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import anthropic
import pytest
from anthropic.types import Message

from app.chat.model import Chat
from app.errors import ClientError, UpstreamError
from app.wires.anthropic import ANTHROPIC
from app.wires.wire import Inbound
from tests.wires.anthropic.saying import TARGETS, WIRES, Json, events_of
from tests.wires.anthropic.test_writing import STREAMS
from tests.wires.talking import STAMP

Answer = Callable[[Chat], tuple[int, bytes]]


@asynccontextmanager
async def serving(answer: Answer) -> AsyncGenerator[tuple[anthropic.AsyncAnthropic, list[Json]]]:
    """A server on a free port that decodes each body and answers with the bytes that `answer` gives for its chat."""
    seen: list[Json] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        body = await reader.readexactly(length)
        seen.append(json.loads(body))
        try:
            chat = ANTHROPIC.decode(Inbound(body))
            status, said = answer(chat)
            kind = "text/event-stream" if chat.stream else "application/json"
        except ClientError as error:
            problem = ANTHROPIC.problem(error)
            status, said, kind = problem.status, problem.body, problem.content_type
        lines = (
            f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(said)}\r\nconnection: close\r\n\r\n"
        )
        writer.write(lines.encode() + said)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = anthropic.AsyncAnthropic(base_url=f"http://127.0.0.1:{port}", api_key="sk-ant-x", max_retries=0)
    try:
        yield client, seen
    finally:
        await client.close()
        server.close()
        await server.wait_closed()


def answering(upstream: str) -> Answer:
    """What a client gets when this provider answers."""

    def answer(chat: Chat) -> tuple[int, bytes]:
        writer = ANTHROPIC.writer(chat, STAMP, chat.stream)
        events = events_of(upstream, [STREAMS[upstream]], chat=chat)
        return 200, b"".join(map(writer.write, events)) + writer.close()

    return answer


ASKED: dict[str, Any] = {
    "model": "claude-opus-5-5",
    "max_tokens": 1000,
    "thinking": {"type": "adaptive"},
    "messages": [{"role": "user", "content": "go"}],
    "tools": [{"name": "f", "input_schema": {"type": "object"}}, {"name": "g", "input_schema": {"type": "object"}}],
}


@pytest.mark.parametrize("upstream", STREAMS)
async def test_the_stream_helper_adds_up_what_we_write(upstream: str) -> None:
    async with serving(answering(upstream)) as (client, _), client.messages.stream(**ASKED) as stream:
        words = [text async for text in stream.text_stream]
        message = await stream.get_final_message()
    assert words == ["Hi"]
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "tool_use"]
    call = message.content[2]
    assert call.type == "tool_use"
    assert (call.id, call.name, call.input) == ("c1", "f", {"a": 1})
    assert message.stop_reason == "tool_use"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (11, 5)


@pytest.mark.parametrize("upstream", STREAMS)
async def test_a_whole_message_is_read_and_can_be_sent_back(upstream: str) -> None:
    async with serving(answering(upstream)) as (client, seen):
        message = await cast("Awaitable[Message]", client.messages.create(**ASKED))
        results: list[Any] = [
            {"type": "tool_result", "tool_use_id": block.id, "content": "r"}
            for block in message.content
            if block.type == "tool_use"
        ]
        history: list[Any] = [
            *ASKED["messages"],
            {"role": "assistant", "content": message.content},
            {"role": "user", "content": results},
        ]
        again: dict[str, Any] = ASKED | {"messages": history}
        await client.messages.create(**again)
    chat = ANTHROPIC.decode(Inbound(json.dumps(seen[1]).encode()))
    assert [call.name for call in chat.messages[1].calls] == ["f", "g"]
    assert [result.call_id for result in chat.messages[2].results] == ["c1", "c2"]
    for other in ("openai", "gemini"):
        assert WIRES[other].encode(chat, TARGETS[other]).body


async def test_errors_are_raised_as_the_sdks_own_classes() -> None:
    def refuse(chat: Chat) -> tuple[int, bytes]:
        problem = ANTHROPIC.problem(UpstreamError("busy", kind="overloaded"))
        return problem.status, problem.body

    async with serving(refuse) as (client, _):
        with pytest.raises(anthropic.APIStatusError) as caught:
            await client.messages.create(**ASKED)
    assert caught.value.status_code == 529
    assert caught.value.type == "overloaded_error"


async def test_an_error_inside_a_stream_is_raised() -> None:
    def broken(chat: Chat) -> tuple[int, bytes]:
        writer = ANTHROPIC.writer(chat, STAMP, True)
        events = events_of("anthropic", [STREAMS["anthropic"]])[:4]
        return 200, b"".join(map(writer.write, events)) + writer.keepalive + writer.fail(UpstreamError("gone"))

    async with serving(broken) as (client, _):
        with pytest.raises(anthropic.APIStatusError, match="gone"):
            async with client.messages.stream(**ASKED) as stream:
                await stream.get_final_message()


async def test_a_thread_body_is_answered_with_the_code_that_the_sdk_knows() -> None:
    async with serving(answering("anthropic")) as (client, _):
        with pytest.raises(anthropic.BadRequestError) as caught:
            await client.messages.create(**ASKED, extra_body={"thread": {"type": "create"}})
    assert caught.value.error_code == "thread_unsupported_request"
