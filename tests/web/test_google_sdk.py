"""Google's official SDK through the door, to a provider of its own format and to one of OpenAI's."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google import genai
from google.genai import types
from pydantic import BaseModel

from app.simulator.running import Running
from tests.running import Proxy
from tests.web.conftest import Google

GEMINI = "gemini-3-flash-preview"
NO_LOOP = types.AutomaticFunctionCallingConfig(disable=True)
WEATHER = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name="get_weather",
            description="The weather in a town.",
            parameters=types.Schema(
                type=types.Type.OBJECT, properties={"town": types.Schema(type=types.Type.STRING)}, required=["town"]
            ),
        )
    ]
)


async def test_an_answer_in_one_piece(gemini: Google, model: str) -> None:
    answer = await gemini.aio.models.generate_content(model=model, contents="What is 17 + 25?")

    assert answer.text == "17 + 25 = 42"
    assert answer.candidates is not None
    assert answer.candidates[0].finish_reason == types.FinishReason.STOP
    assert answer.usage_metadata is not None
    assert (answer.usage_metadata.prompt_token_count or 0) > 0


async def test_the_blocking_client_too(gemini: Google, model: str) -> None:
    def ask() -> tuple[str | None, str]:
        whole = gemini.models.generate_content(model=model, contents="Say: ahoy").text
        pieces = gemini.models.generate_content_stream(model=model, contents="Say: ahoy")
        return whole, "".join(piece.text or "" for piece in pieces)

    assert await asyncio.to_thread(ask) == ("ahoy", "ahoy")


async def test_a_stream(gemini: Google, model: str) -> None:
    stream = await gemini.aio.models.generate_content_stream(model=model, contents="[[words=40]]")
    pieces = [piece async for piece in stream]

    assert "".join(piece.text or "" for piece in pieces).split()[-1] == "word40"
    assert len(pieces) > 5
    last = pieces[-1]
    assert last.candidates is not None
    assert last.candidates[0].finish_reason == types.FinishReason.STOP
    assert last.usage_metadata is not None


@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession")  # Google's own use of aiohttp
async def test_the_sdk_s_usual_client_over_aiohttp_too(proxy: Proxy, key: str, model: str) -> None:
    client: Google = genai.Client(api_key=key, http_options=types.HttpOptions(base_url=proxy.url))
    try:
        answer = await client.aio.models.generate_content(model=model, contents="Say: ahoy")
        stream = await client.aio.models.generate_content_stream(model=model, contents="Say: ahoy")
        text = "".join([piece.text or "" async for piece in stream])
    finally:
        await client.aio.aclose()
        client.close()

    assert (answer.text, text) == ("ahoy", "ahoy")


async def test_a_chat_with_a_system_instruction_remembers_turn_by_turn(
    gemini: Google, sim: Running, model: str
) -> None:
    config = types.GenerateContentConfig(system_instruction="You are a harbour master.", temperature=0.5)
    chat = gemini.aio.chats.create(model=model, config=config)
    await chat.send_message("My name is Ragna.")
    stream = await chat.send_message_stream("The berth is K7.")
    _ = [piece async for piece in stream]
    answer = await chat.send_message("What is my name?")

    assert answer.text == "Your name is Ragna."
    assert [exchange.refused for exchange in sim.journal] == [None] * 3
    assert "You are a harbour master." in sim.journal.last.raw.decode()


async def test_the_sdk_runs_python_functions_as_tools_by_itself(gemini: Google, sim: Running, model: str) -> None:
    asked: list[str] = []

    async def get_weather(town: str) -> str:
        """The weather in a town."""
        asked.append(town)
        return f"{town}: gale"

    config = types.GenerateContentConfig(tools=[get_weather])
    chat = gemini.aio.chats.create(model=model, config=config)
    answer = await chat.send_message("What is the weather in Bodø and Alta?")

    assert asked == ["Bodø", "Alta"]
    assert "Bodø: gale" in (answer.text or "")
    assert [exchange.refused for exchange in sim.journal] == [None, None]


async def test_a_call_and_its_result_by_hand(gemini: Google, sim: Running, model: str) -> None:
    config = types.GenerateContentConfig(tools=[WEATHER], automatic_function_calling=NO_LOOP)
    contents: list[types.Content] = [
        types.Content(role="user", parts=[types.Part(text="What is the weather in Bodø?")])
    ]
    asked = await gemini.aio.models.generate_content(model=model, contents=contents, config=config)
    assert asked.function_calls is not None
    assert [(call.name, call.args) for call in asked.function_calls] == [("get_weather", {"town": "Bodø"})]
    assert asked.candidates is not None
    assert asked.candidates[0].content is not None
    call = asked.function_calls[0]
    result = types.FunctionResponse(id=call.id, name=call.name, response={"result": "calm"})
    contents += [
        asked.candidates[0].content,
        types.Content(role="user", parts=[types.Part(function_response=result)]),
    ]
    answer = await gemini.aio.models.generate_content(model=model, contents=contents, config=config)

    assert "calm" in (answer.text or "")
    assert [exchange.refused for exchange in sim.journal] == [None, None]


async def test_a_client_that_drops_signatures_has_them_put_back(gemini: Google, sim: Running) -> None:
    config = types.GenerateContentConfig(tools=[WEATHER], automatic_function_calling=NO_LOOP)
    question = types.Content(role="user", parts=[types.Part(text="What is the weather in Bodø?")])
    asked = await gemini.aio.models.generate_content(model=GEMINI, contents=[question], config=config)
    assert asked.function_calls is not None
    call = asked.function_calls[0]
    bare = types.Content(
        role="model", parts=[types.Part(function_call=types.FunctionCall(name=call.name, args=call.args))]
    )
    result = types.Content(
        role="user",
        parts=[types.Part(function_response=types.FunctionResponse(name=call.name, response={"r": "calm"}))],
    )
    answer = await gemini.aio.models.generate_content(model=GEMINI, contents=[question, bare, result], config=config)

    assert "calm" in (answer.text or "")
    assert [exchange.refused for exchange in sim.journal] == [None, None]
    assert b"thoughtSignature" in sim.journal.last.raw


class Harbour(BaseModel):
    """What the structured answer must be."""

    name: str
    berths: int


async def test_a_structured_answer_is_parsed(gemini: Google, model: str) -> None:
    config = types.GenerateContentConfig(response_mime_type="application/json", response_schema=Harbour)
    answer = await gemini.aio.models.generate_content(model=model, contents="Describe a harbour.", config=config)

    assert isinstance(answer.parsed, Harbour)


async def test_a_cap_on_tokens_ends_with_max_tokens(gemini: Google, model: str) -> None:
    config = types.GenerateContentConfig(max_output_tokens=30)
    answer = await gemini.aio.models.generate_content(model=model, contents="[[words=500]]", config=config)

    assert answer.candidates is not None
    assert answer.candidates[0].finish_reason == types.FinishReason.MAX_TOKENS


async def test_pictures_reach_the_model(gemini: Google, model: str) -> None:
    picture = types.Part.from_bytes(data=b"\x89PNG\r\n\x1a\n" + b"\0" * 40, mime_type="image/png")
    answer = await gemini.aio.models.generate_content(
        model=model, contents=[picture, picture, "How many pictures do you see?"]
    )

    assert answer.text == "I see 1 message and 2 pictures."


@pytest.mark.parametrize("version", ["v1", "v1beta", "v1alpha"])
@pytest.mark.parametrize("base", ["", "/gemini"])
async def test_every_version_and_the_prefix_are_served(proxy: Proxy, key: str, version: str, base: str) -> None:
    options = types.HttpOptions(base_url=proxy.url + base, api_version=version, client_args={"verify": False})
    client: Google = genai.Client(api_key=key, http_options=options)
    try:
        answer = await asyncio.to_thread(client.models.generate_content, model=GEMINI, contents="Say: ahoy")
    finally:
        client.close()

    assert answer.text == "ahoy"


@pytest.mark.parametrize(
    ("asked", "code", "status"),
    [
        ({"contents": "[[fail=429]]"}, 429, "RESOURCE_EXHAUSTED"),
        ({"contents": "[[fail=503]]"}, 503, "UNAVAILABLE"),
        ({"contents": "Hello.", "config": {"temperature": 9.5}}, 400, "INVALID_ARGUMENT"),
    ],
)
async def test_errors_are_what_the_sdk_knows_them_by(
    gemini: Google, model: str, asked: dict[str, Any], code: int, status: str
) -> None:
    with pytest.raises(genai.errors.APIError) as refused:
        await gemini.aio.models.generate_content(model=model, **asked)

    assert (refused.value.code, refused.value.status) == (code, status)
    assert refused.value.message


async def test_a_stream_that_breaks_off_raises_instead_of_ending(gemini: Google, model: str) -> None:
    texts = [""]

    async def listen() -> None:
        stream = await gemini.aio.models.generate_content_stream(model=model, contents="[[words=40]] [[truncate=3]]")
        async for piece in stream:
            texts[0] += piece.text or ""

    with pytest.raises((genai.errors.APIError, genai.errors.UnknownApiResponseError)):
        await listen()
    assert texts[0].startswith("word1")
