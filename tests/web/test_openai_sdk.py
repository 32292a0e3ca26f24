"""OpenAI's official SDK through the door, to a provider of its own format and to one of Gemini's."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import zlib
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam, ChatCompletionToolUnionParam
from pydantic import BaseModel

from app.simulator.running import Running

GEMINI = "gemini-3-flash-preview"
WEATHER: ChatCompletionToolUnionParam = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a town.",
        "parameters": {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]},
    },
}
COUNT: ChatCompletionToolUnionParam = {
    "type": "function",
    "function": {
        "name": "count_up",
        "parameters": {"type": "object", "properties": {"to": {"type": "integer"}}, "required": ["to"]},
    },
}


def _user(text: str) -> ChatCompletionMessageParam:
    return {"role": "user", "content": text}


def _bare(answer: ChatCompletion) -> ChatCompletionMessageParam:
    """The assistant message as a client keeps it that drops whatever it does not know."""
    message = answer.choices[0].message
    calls = [call for call in message.tool_calls or [] if call.type == "function"]
    return {
        "role": "assistant",
        "content": message.content,
        "tool_calls": [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function.name, "arguments": call.function.arguments},
            }
            for call in calls
        ],
    }


def _result(call_id: str, content: str) -> ChatCompletionMessageParam:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def _calls(answer: ChatCompletion) -> list[tuple[str, str, Any]]:
    calls = [call for call in answer.choices[0].message.tool_calls or [] if call.type == "function"]
    return [(call.id, call.function.name, json.loads(call.function.arguments)) for call in calls]


def _picture(side: int) -> str:
    """A data URL with a PNG of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"\0" * (side + 1) * side)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(png).decode()


async def test_an_answer_in_one_piece(chat: openai.AsyncOpenAI, model: str) -> None:
    answer = await chat.chat.completions.create(model=model, messages=[_user("What is 17 + 25?")])

    assert answer.object == "chat.completion"
    assert answer.choices[0].message.content == "17 + 25 = 42"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.total_tokens >= answer.usage.prompt_tokens + answer.usage.completion_tokens > 0


async def test_the_blocking_client_too(sync_chat: openai.OpenAI, model: str) -> None:
    def ask() -> tuple[str | None, str]:
        whole = sync_chat.chat.completions.create(model=model, messages=[_user("Say: ahoy")])
        with sync_chat.chat.completions.create(model=model, messages=[_user("Say: ahoy")], stream=True) as stream:
            text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
        return whole.choices[0].message.content, text

    assert await asyncio.to_thread(ask) == ("ahoy", "ahoy")


async def test_a_stream_of_deltas_with_one_finish_and_one_usage_chunk_at_the_end(
    chat: openai.AsyncOpenAI, model: str
) -> None:
    stream = await chat.chat.completions.create(
        model=model,
        messages=[_user("[[words=40]]")],
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = [chunk async for chunk in stream]
    with_choice = [chunk for chunk in chunks if chunk.choices]

    assert "".join(chunk.choices[0].delta.content or "" for chunk in with_choice).split()[-1] == "word40"
    assert len(with_choice) > 5
    assert [chunk.choices[0].finish_reason for chunk in with_choice if chunk.choices[0].finish_reason] == ["stop"]
    assert with_choice[0].choices[0].delta.role == "assistant"
    assert (chunks[-1].choices, chunks[-1].usage is None) == ([], False)
    assert len({chunk.id for chunk in chunks}) == 1


async def test_without_asking_there_is_no_usage_chunk(chat: openai.AsyncOpenAI, model: str) -> None:
    stream = await chat.chat.completions.create(model=model, messages=[_user("Say: ahoy")], stream=True)

    assert all(chunk.choices for chunk in [chunk async for chunk in stream])


async def test_the_stream_helper_puts_text_and_calls_together(chat: openai.AsyncOpenAI, model: str) -> None:
    seen: set[str] = set()
    async with chat.chat.completions.stream(
        model=model, messages=[_user("What is the weather in Bodø?")], tools=[WEATHER]
    ) as stream:
        async for event in stream:
            seen.add(event.type)
        final = await stream.get_final_completion()

    assert _calls(final)[0][1:] == ("get_weather", {"town": "Bodø"})
    assert final.choices[0].finish_reason == "tool_calls"
    assert "tool_calls.function.arguments.done" in seen


async def test_parallel_calls_and_their_results_given_back_in_another_order(
    chat: openai.AsyncOpenAI, sim: Running, model: str
) -> None:
    messages = [_user("What is the weather in Bodø and Alta?")]
    asked = await chat.chat.completions.create(model=model, messages=messages, tools=[WEATHER])
    calls = _calls(asked)
    assert [arguments["town"] for _, _, arguments in calls] == ["Bodø", "Alta"]
    assert calls[0][0] != calls[1][0]
    messages.append(_bare(asked))
    messages += [_result(calls[at][0], f"wind {at}") for at in (1, 0)]
    answer = await chat.chat.completions.create(model=model, messages=messages, tools=[WEATHER])

    assert "wind 0" in (answer.choices[0].message.content or "")
    assert [exchange.refused for exchange in sim.journal] == [None, None]


@pytest.mark.parametrize("stream", [False, True])
async def test_ten_steps_of_a_tool_loop_on_a_model_that_wants_every_signature_back(
    chat: openai.AsyncOpenAI, sim: Running, stream: bool
) -> None:
    steps = ", then ".join(f'call count_up with {{"to": {to}}}' for to in range(1, 11))
    messages, taken = [_user(f"Please {steps}.")], 0
    for step in range(1, 12):
        if stream:
            async with chat.chat.completions.stream(model=GEMINI, messages=messages, tools=[COUNT]) as streamed:
                answer: ChatCompletion = await streamed.get_final_completion()
        else:
            answer = await chat.chat.completions.create(model=GEMINI, messages=messages, tools=[COUNT])
        calls = _calls(answer)
        if not calls:
            break
        assert [arguments for _, _, arguments in calls] == [{"to": step}]
        messages += [_bare(answer), _result(calls[0][0], str(step))]
        taken = step

    assert taken == 10
    assert [exchange.refused for exchange in sim.journal] == [None] * 11


async def test_a_forced_tool_and_a_forbidden_one(chat: openai.AsyncOpenAI, model: str) -> None:
    forced = await chat.chat.completions.create(
        model=model,
        messages=[_user("Hello.")],
        tools=[WEATHER, COUNT],
        tool_choice={"type": "function", "function": {"name": "count_up"}},
    )
    forbidden = await chat.chat.completions.create(
        model=model, messages=[_user("What is the weather in Bodø?")], tools=[WEATHER], tool_choice="none"
    )

    assert [name for _, name, _ in _calls(forced)] == ["count_up"]
    assert _calls(forbidden) == []


class Harbour(BaseModel):
    """What the structured answer must be."""

    name: str
    berths: int
    notes: list[str]
    pilot: str | None


async def test_a_structured_answer_is_parsed(chat: openai.AsyncOpenAI, model: str) -> None:
    answer = await chat.chat.completions.parse(
        model=model, messages=[_user("Describe a harbour.")], response_format=Harbour
    )

    assert isinstance(answer.choices[0].message.parsed, Harbour)


async def test_any_json_object_can_be_asked_for(chat: openai.AsyncOpenAI, model: str) -> None:
    answer = await chat.chat.completions.create(
        model=model, messages=[_user("Say as JSON: ahoy")], response_format={"type": "json_object"}
    )

    assert isinstance(json.loads(answer.choices[0].message.content or ""), dict)


async def test_pictures_as_data_urls_reach_the_model(chat: openai.AsyncOpenAI, model: str) -> None:
    answer = await chat.chat.completions.create(
        model=model,
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "How many pictures do you see?"},
                    {"type": "image_url", "image_url": {"url": _picture(4)}},
                    {"type": "image_url", "image_url": {"url": _picture(8), "detail": "low"}},
                ],
            }
        ],
    )

    assert answer.choices[0].message.content == "I see 1 message and 2 pictures."


@pytest.mark.parametrize("stream", [False, True])
async def test_a_cap_on_tokens_ends_with_length(chat: openai.AsyncOpenAI, model: str, stream: bool) -> None:
    messages = [_user("[[words=500]]")]
    if stream:
        streamed = await chat.chat.completions.create(model=model, messages=messages, max_tokens=30, stream=True)
        finish = [chunk.choices[0].finish_reason async for chunk in streamed if chunk.choices][-1]
    else:
        answer = await chat.chat.completions.create(model=model, messages=messages, max_tokens=30)
        finish = answer.choices[0].finish_reason

    assert finish == "length"


async def test_a_stop_sequence_is_obeyed(chat: openai.AsyncOpenAI, model: str) -> None:
    answer = await chat.chat.completions.create(model=model, messages=[_user("Say: red amber green")], stop=["amber"])

    assert (answer.choices[0].message.content or "").strip() == "red"
    assert answer.choices[0].finish_reason == "stop"


@pytest.mark.parametrize(("name", "reason"), [("gpt-4.1", "content_filter"), (GEMINI, "SAFETY"), (GEMINI, "BLOCK")])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_filtered_answer_says_so(chat: openai.AsyncOpenAI, name: str, reason: str, stream: bool) -> None:
    messages = [_user(f"[[finish={reason}]] Say: something")]
    if stream:
        streamed = await chat.chat.completions.create(model=name, messages=messages, stream=True)
        finish = [chunk.choices[0].finish_reason async for chunk in streamed if chunk.choices][-1]
    else:
        answer = await chat.chat.completions.create(model=name, messages=messages)
        finish = answer.choices[0].finish_reason

    assert finish == "content_filter"


async def test_a_conversation_goes_on_turn_by_turn(chat: openai.AsyncOpenAI, sim: Running, model: str) -> None:
    messages: list[ChatCompletionMessageParam] = [{"role": "system", "content": "You are a harbour master."}]
    for text in ("My name is Ragna.", "The berth is K7.", "What is my name?", "What is the berth?"):
        messages.append(_user(text))
        answer = await chat.chat.completions.create(model=model, messages=messages)
        messages.append({"role": "assistant", "content": answer.choices[0].message.content})

    assert [message.get("content") for message in messages[-3::2]] == ["Your name is Ragna.", "The berth is K7."]
    assert [exchange.refused for exchange in sim.journal] == [None] * 4
