"""The official SDKs talk to the simulator as to their providers: whole, streamed, with tools and schemas, in error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import openai
import pydantic
import pytest
from google.genai import errors, types
from openai.types.chat import ChatCompletionMessageFunctionToolCallParam, ChatCompletionMessageParam

# The Google SDK subclasses a class of aiohttp that warns of it; nothing here can mend that.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
OPENAI_TOOL: Any = {"type": "function", "function": {"name": "get_weather", "description": "w", "parameters": WEATHER}}
ASK = "Weather in Oslo and Bergen?"
G3 = "gemini-3-flash-preview"


class Person(pydantic.BaseModel):
    name: str
    age: int
    tags: list[str]


def _user(text: str) -> list[ChatCompletionMessageParam]:
    return [{"role": "user", "content": text}]


def _again(identity: str, arguments: str) -> ChatCompletionMessageFunctionToolCallParam:
    return {"id": identity, "type": "function", "function": {"name": "get_weather", "arguments": arguments}}


async def test_openai_answers_whole_and_streamed_alike(chat: openai.AsyncOpenAI) -> None:
    whole = await chat.chat.completions.create(model="lab", messages=_user("say: 京都は🌸 a b c d e f"))
    stream = await chat.chat.completions.create(
        model="lab", messages=_user("say: 京都は🌸 a b c d e f"), stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert text == whole.choices[0].message.content == "京都は🌸 a b c d e f"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert whole.usage
    assert chunks[-1].usage
    assert whole.usage.completion_tokens == chunks[-1].usage.completion_tokens
    assert (chunks[-1].choices, [chunk.usage for chunk in chunks[:-1]]) == ([], [None] * (len(chunks) - 1))


async def test_openai_runs_a_loop_of_parallel_tools(chat: openai.AsyncOpenAI) -> None:
    messages = _user(ASK)
    async with chat.chat.completions.stream(model="gpt-5-mini", messages=messages, tools=[OPENAI_TOOL]) as stream:
        first = (await stream.get_final_completion()).choices[0]
    calls = first.message.tool_calls or []
    assert first.finish_reason == "tool_calls"
    assert [call.function.arguments for call in calls] == ['{"city":"Oslo"}', '{"city":"Bergen"}']
    for call in calls:
        assert call.function.name == "get_weather"
    messages.append({"role": "assistant", "tool_calls": [_again(call.id, call.function.arguments) for call in calls]})
    for number, call in enumerate(calls):
        messages.append({"role": "tool", "tool_call_id": call.id, "content": f"{number} degrees"})
    second = await chat.chat.completions.create(model="gpt-5-mini", messages=messages, tools=[OPENAI_TOOL])
    assert second.choices[0].message.content == "get_weather says: 0 degrees; get_weather says: 1 degrees"


async def test_openai_obeys_the_choice_of_tools(chat: openai.AsyncOpenAI) -> None:
    async def calls(text: str, choice: Any, *, parallel: bool = True) -> int:
        other: Any = {"type": "function", "function": {"name": "other", "parameters": WEATHER}}
        answer = await chat.chat.completions.create(
            model="lab",
            messages=_user(text),
            tools=[other, OPENAI_TOOL],
            tool_choice=choice,
            parallel_tool_calls=parallel,
        )
        made = answer.choices[0].message.tool_calls or []
        assert all(call.type == "function" and call.function.name == "get_weather" for call in made) or text != ASK
        return len(made)

    only = {"type": "function", "function": {"name": "get_weather"}}
    assert await calls(ASK, "none") == 0
    assert await calls("hello", "auto") == 0
    assert await calls("hello", "required") == 1
    assert await calls(ASK, only) == 2
    assert await calls(ASK, "auto", parallel=False) == 1


async def test_openai_parses_a_structured_answer(chat: openai.AsyncOpenAI) -> None:
    answer = await chat.chat.completions.parse(model="gpt-5-mini", messages=_user("Who?"), response_format=Person)
    parsed = answer.choices[0].message.parsed
    assert parsed == Person(name="name", age=1, tags=["tags"])


@pytest.mark.parametrize(
    ("text", "model", "wanted"),
    [
        ("[[fail=400]]", "lab", openai.BadRequestError),
        ("[[fail=401]]", "lab", openai.AuthenticationError),
        ("[[fail=403]]", "lab", openai.PermissionDeniedError),
        ("x", "no-such-model", openai.NotFoundError),
        ("[[fail=409]]", "lab", openai.ConflictError),
        ("[[fail=422]]", "lab", openai.UnprocessableEntityError),
        ("[[fail=429]]", "lab", openai.RateLimitError),
        ("[[fail=503]]", "lab", openai.InternalServerError),
    ],
)
async def test_openai_raises_the_class_of_the_status(
    text: str, model: str, wanted: Any, chat: openai.AsyncOpenAI
) -> None:
    with pytest.raises(wanted) as raised:
        await chat.chat.completions.create(model=model, messages=_user(text))
    assert raised.value.body["message"]
    if wanted is openai.RateLimitError:
        assert (raised.value.response.headers["retry-after"], raised.value.code) == ("7", "rate_limit_exceeded")


async def test_openai_sees_how_a_stream_ended(chat: openai.AsyncOpenAI) -> None:
    async def ask(order: str) -> list[str]:
        stream = await chat.chat.completions.create(
            model="lab", messages=_user(f"[[words=9]] [[{order}]]"), stream=True
        )
        return [chunk.choices[0].finish_reason or "" async for chunk in stream]

    with pytest.raises(openai.APIError, match="server had an error"):
        await ask("error=2")
    with pytest.raises(openai.APIConnectionError):
        await ask("break=2")
    assert await ask("truncate=2") == ["", ""]
    assert (await ask("finish=content_filter"))[-1] == "content_filter"


async def test_openai_lists_models_and_finds_one(chat: openai.AsyncOpenAI) -> None:
    assert "lab" in [model.id async for model in chat.models.list()]
    assert (await chat.models.retrieve("vendor/model")).id == "vendor/model"
    with pytest.raises(openai.NotFoundError):
        await chat.models.retrieve("no-such")


async def test_google_answers_whole_and_streamed_alike(gemini: Any) -> None:
    config = types.GenerateContentConfig(thinking_config=types.ThinkingConfig(include_thoughts=True))
    asked = "say: 京都は🌸 a b c d e f"
    whole = await gemini.generate_content(model=G3, contents=asked, config=config)
    stream = await gemini.generate_content_stream(model=G3, contents=asked, config=config)
    chunks = [chunk async for chunk in stream]
    assert "".join(chunk.text or "" for chunk in chunks) == whole.text == "京都は🌸 a b c d e f"
    parts: list[types.Part] = whole.parts or []
    assert [(bool(part.thought), bool(part.thought_signature)) for part in parts] == [(True, False), (False, True)]
    assert whole.usage_metadata
    assert whole.usage_metadata.thoughts_token_count
    assert whole.usage_metadata == chunks[-1].usage_metadata


async def test_google_runs_tools_by_itself(gemini: Any) -> None:
    asked_for: list[str] = []

    def get_weather(city: str) -> str:
        """The weather of a city."""
        asked_for.append(city)
        return f"sun over {city}"

    tools: list[Callable[..., Any]] = [get_weather]
    config = types.GenerateContentConfig(tools=list(tools))
    answer = await gemini.generate_content(model=G3, contents=ASK, config=config)
    assert asked_for == ["Oslo", "Bergen"]
    assert answer.text == "get_weather says: sun over Oslo; get_weather says: sun over Bergen"


async def test_google_obeys_the_mode_of_calling(gemini: Any) -> None:
    async def calls(text: str, mode: types.FunctionCallingConfigMode) -> int:
        declared = types.FunctionDeclaration(name="get_weather", parameters_json_schema=WEATHER)
        config = types.GenerateContentConfig(
            tools=[types.Tool(function_declarations=[declared])],
            tool_config=types.ToolConfig(function_calling_config=types.FunctionCallingConfig(mode=mode)),
        )
        answer = await gemini.generate_content(model=G3, contents=text, config=config)
        return len(answer.function_calls or [])

    mode = types.FunctionCallingConfigMode
    assert [await calls(ASK, mode.NONE), await calls("hello", mode.AUTO), await calls("hello", mode.ANY)] == [0, 0, 1]


async def test_google_parses_a_structured_answer_from_either_schema(gemini: Any) -> None:
    for field, schema in (("response_schema", Person), ("response_json_schema", Person.model_json_schema())):
        config = types.GenerateContentConfig.model_validate({"response_mime_type": "application/json", field: schema})
        answer = await gemini.generate_content(model="gemini-2.5-flash", contents="Who?", config=config)
        assert Person.model_validate_json(answer.text or "") == Person(name="name", age=1, tags=["tags"])


@pytest.mark.parametrize(
    ("text", "model", "wanted", "status"),
    [
        ("[[fail=400]]", G3, errors.ClientError, "INVALID_ARGUMENT"),
        ("x", "no-such-model", errors.ClientError, "NOT_FOUND"),
        ("[[fail=429]]", G3, errors.ClientError, "RESOURCE_EXHAUSTED"),
        ("[[fail=503]]", G3, errors.ServerError, "UNAVAILABLE"),
    ],
)
async def test_google_raises_the_class_of_the_status(
    text: str, model: str, wanted: type[errors.APIError], status: str, gemini: Any
) -> None:
    with pytest.raises(wanted) as raised:
        await gemini.generate_content(model=model, contents=text)
    assert raised.value.status == status
    if status == "RESOURCE_EXHAUSTED":
        assert "'retryDelay': '7s'" in str(raised.value)


async def test_google_sees_how_an_answer_ended(gemini: Any) -> None:
    async def finish(reason: str) -> types.GenerateContentResponse:
        return await gemini.generate_content(model=G3, contents=f"hello [[finish={reason}]]")

    for reason in ("SAFETY", "MAX_TOKENS", "MALFORMED_FUNCTION_CALL"):
        answer = await finish(reason)
        assert answer.candidates
        assert (answer.candidates[0].finish_reason, answer.text) == (types.FinishReason(reason), None)
    blocked = await finish("BLOCK")
    assert (blocked.candidates, blocked.prompt_feedback is not None) == (None, True)
    with pytest.raises(errors.ServerError, match="overloaded"):
        async for _ in await gemini.generate_content_stream(model=G3, contents="[[words=9]] [[error=1]]"):
            pass


async def test_google_counts_and_lists(gemini: Any) -> None:
    count = await gemini.count_tokens(model=G3, contents="hello there")
    assert count.total_tokens == 3 + 4
    assert "models/lab" in [model.name async for model in await gemini.list()]
    assert (await gemini.get(model=G3)).input_token_limit == 1_048_576
