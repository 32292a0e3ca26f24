"""Anthropic's own SDK talks to the simulator as to its provider: whole, streamed, with tools and schemas, in error."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic.types import Message, MessageParam, ToolParam, ToolResultBlockParam

from app.simulator.running import Running
from app.simulator.script import data_of
from app.simulator.shapes import as_object

PATH = "/v1/messages"
HEADERS = {"x-api-key": "lab", "anthropic-version": "2023-06-01"}
MODEL = "claude-sonnet-4-6"
WEATHER: ToolParam = {
    "name": "get_weather",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
ASK = "Weather in Oslo and Bergen?"
SAY = "say: 京都は🌸 a b c d e f"


@pytest.fixture
async def claude(sim: Running) -> AsyncGenerator[anthropic.AsyncAnthropic]:
    """The official SDK, which loads no certificates here."""
    plain = anthropic.DefaultAsyncHttpxClient(verify=False, trust_env=False)
    client = anthropic.AsyncAnthropic(api_key="lab", base_url=sim.url, max_retries=0, timeout=10, http_client=plain)
    async with client:
        yield client


def _user(text: str) -> list[MessageParam]:
    return [{"role": "user", "content": text}]


def _spoken(message: Message) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


def _body(text: str, **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 500, "messages": _user(text)} | more


async def _events(http: httpx2.AsyncClient, body: dict[str, Any]) -> list[dict[str, Any]]:
    answer = await http.post(PATH, json=body | {"stream": True}, headers=HEADERS)
    events = [event for event in answer.text.split("\n\n") if event]
    found = data_of(events)
    assert [event.partition("\n")[0] for event in events] == [f"event: {one['type']}" for one in found]
    return found


async def test_it_answers_whole_and_streamed_alike(claude: anthropic.AsyncAnthropic) -> None:
    whole = await claude.messages.create(
        model=MODEL, max_tokens=500, messages=_user(SAY), thinking={"type": "adaptive"}
    )
    async with claude.messages.stream(
        model=MODEL, max_tokens=500, messages=_user(SAY), thinking={"type": "adaptive"}
    ) as stream:
        final = await stream.get_final_message()
    assert [block.type for block in whole.content] == ["thinking", "text"]
    assert [block.type for block in final.content] == ["thinking", "text"]
    assert _spoken(whole) == _spoken(final) == "京都は🌸 a b c d e f"
    assert (whole.stop_reason, final.stop_reason) == ("end_turn", "end_turn")
    assert whole.usage == final.usage


async def test_a_stream_keeps_the_order_of_events(http: httpx2.AsyncClient) -> None:
    events = await _events(http, _body(ASK, tools=[WEATHER], thinking={"type": "adaptive"}))
    kinds = [(one["type"], one.get("index"), as_object(one.get("delta")).get("type")) for one in events]
    deltas = [(kind, at, delta) for kind, at, delta in kinds if delta is not None]
    assert [one for one in kinds if one[0] != "content_block_delta"] == [
        ("message_start", None, None),
        ("content_block_start", 0, None),
        ("ping", None, None),
        ("content_block_stop", 0, None),
        ("content_block_start", 1, None),
        ("content_block_stop", 1, None),
        ("content_block_start", 2, None),
        ("content_block_stop", 2, None),
        ("message_delta", None, None),
        ("message_stop", None, None),
    ]
    assert [delta for _, at, delta in deltas if at == 0][-1] == "signature_delta"
    assert {delta for _, at, delta in deltas if at != 0} == {"input_json_delta"}
    starts = [one["content_block"] for one in events if one["type"] == "content_block_start"]
    assert [(one["type"], one.get("input")) for one in starts] == [
        ("thinking", None),
        ("tool_use", {}),
        ("tool_use", {}),
    ]
    pieces = [one["delta"]["partial_json"] for one in events if one.get("index") == 1 and "delta" in one]
    assert (pieces[0], json.loads("".join(pieces))) == ("", {"city": "Oslo"})
    begun, ended = events[0]["message"], events[-2]
    assert (begun["content"], begun["stop_reason"], begun["usage"]["output_tokens"]) == ([], None, 1)
    assert ended["delta"]["stop_reason"] == "tool_use"
    assert ended["usage"]["input_tokens"] == begun["usage"]["input_tokens"] > 0
    assert ended["usage"]["output_tokens"] > ended["usage"]["output_tokens_details"]["thinking_tokens"] > 0


async def test_omitted_thinking_streams_as_a_signature_alone(http: httpx2.AsyncClient) -> None:
    events = await _events(http, _body("hello", model="claude-opus-5-5"))
    assert [one["delta"]["type"] for one in events if one.get("index") == 0 and "delta" in one] == ["signature_delta"]


async def test_it_runs_a_loop_of_parallel_tools(claude: anthropic.AsyncAnthropic) -> None:
    messages = _user(ASK)
    async with claude.messages.stream(
        model="claude-opus-5-5", max_tokens=900, messages=messages, tools=[WEATHER]
    ) as stream:
        first = await stream.get_final_message()
    calls = [block for block in first.content if block.type == "tool_use"]
    assert first.stop_reason == "tool_use"
    assert [call.input for call in calls] == [{"city": "Oslo"}, {"city": "Bergen"}]
    results: list[ToolResultBlockParam] = [
        {"type": "tool_result", "tool_use_id": call.id, "content": f"{number} degrees"}
        for number, call in enumerate(calls)
    ]
    messages.append({"role": "assistant", "content": first.content})
    messages.append({"role": "user", "content": results})
    second = await claude.messages.create(model="claude-opus-5-5", max_tokens=900, messages=messages, tools=[WEATHER])
    assert _spoken(second) == "get_weather says: 0 degrees; get_weather says: 1 degrees"


async def test_it_obeys_the_choice_of_tools(claude: anthropic.AsyncAnthropic) -> None:
    async def calls(text: str, choice: Any) -> int:
        other: ToolParam = {"name": "other", "input_schema": {"type": "object"}}
        answer = await claude.messages.create(
            model=MODEL, max_tokens=500, messages=_user(text), tools=[other, WEATHER], tool_choice=choice
        )
        made = [block for block in answer.content if block.type == "tool_use"]
        assert all(block.name == "get_weather" for block in made) or text != ASK
        return len(made)

    assert await calls(ASK, {"type": "none"}) == 0
    assert await calls("hello", {"type": "auto"}) == 0
    assert await calls("hello", {"type": "any"}) == 1
    assert await calls(ASK, {"type": "tool", "name": "get_weather"}) == 2
    assert await calls(ASK, {"type": "auto", "disable_parallel_tool_use": True}) == 1


async def test_it_answers_by_a_schema(claude: anthropic.AsyncAnthropic) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"age": {"type": "integer"}},
        "additionalProperties": False,
    }
    answer = await claude.messages.create(
        model=MODEL,
        max_tokens=500,
        messages=_user("Who?"),
        output_config={"format": {"type": "json_schema", "schema": schema}},
    )
    assert json.loads(_spoken(answer)) == {"age": 1}


@pytest.mark.parametrize(
    ("body", "reason", "sequence", "text"),
    [
        (_body("say: one two three", stop_sequences=["three", "two"]), "stop_sequence", "two", "one "),
        (_body("say: " + "word " * 50, max_tokens=3), "max_tokens", None, None),
        (_body("hello", max_tokens=0), "max_tokens", None, ""),
        (_body("hello [[finish=refusal]]"), "refusal", None, ""),
        (
            _body("[[words=900]]", model="claude-haiku-4-5-1k", max_tokens=5000),
            "model_context_window_exceeded",
            None,
            None,
        ),
        (
            {
                **_body("say: one two three", model="claude-haiku-4-5"),
                "messages": [*_user("say: one two three"), {"role": "assistant", "content": "one two"}],
            },
            "end_turn",
            None,
            " three",
        ),
    ],
)
async def test_an_answer_says_why_it_ended(
    body: dict[str, Any], reason: str, sequence: str | None, text: str | None, http: httpx2.AsyncClient
) -> None:
    answer = (await http.post(PATH, json=body, headers=HEADERS)).json()
    assert (answer["stop_reason"], answer["stop_sequence"]) == (reason, sequence)
    assert text is None or "".join(block["text"] for block in answer["content"]) == text
    assert (answer["stop_details"] is not None) is (reason == "refusal")


@pytest.mark.parametrize("tools", [[], [{"type": "web_search_20260318", "name": "web_search"}]])
async def test_a_paused_answer_goes_on_where_it_was(tools: list[Any], http: httpx2.AsyncClient) -> None:
    body = _body("say: one two three four [[finish=pause_turn]]", tools=tools, model="claude-opus-5-5")
    paused = (await http.post(PATH, json=body, headers=HEADERS)).json()
    assert paused["stop_reason"] == "pause_turn"
    assert [block["type"] for block in paused["content"]][2:] == (["server_tool_use"] if tools else [])
    said = [*body["messages"], {"role": "assistant", "content": paused["content"]}]
    rest = (await http.post(PATH, json=body | {"messages": said}, headers=HEADERS)).json()
    assert rest["stop_reason"] == "end_turn"
    spoken = [block["text"] for block in [*paused["content"], *rest["content"]] if block["type"] == "text"]
    assert "".join(spoken) == "one two three four"
    both = [*body["messages"], {"role": "assistant", "content": [*paused["content"], *rest["content"]]}, *_user("bye")]
    assert (await http.post(PATH, json=body | {"messages": both}, headers=HEADERS)).status_code == 200


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[[fail=400]]", anthropic.BadRequestError),
        ("[[fail=401]]", anthropic.AuthenticationError),
        ("[[fail=403]]", anthropic.PermissionDeniedError),
        ("[[fail=404]]", anthropic.NotFoundError),
        ("[[fail=409]]", anthropic.ConflictError),
        ("[[fail=429]] [[retry=3]]", anthropic.RateLimitError),
        ("[[fail=500]]", anthropic.InternalServerError),
        ("[[fail=529]]", anthropic.OverloadedError),
        ("[[error=1]]", anthropic.OverloadedError),
    ],
)
async def test_the_sdk_raises_the_class_of_the_status(
    text: str, wanted: type[anthropic.APIStatusError], claude: anthropic.AsyncAnthropic
) -> None:
    with pytest.raises(wanted) as raised:
        await claude.messages.create(model=MODEL, max_tokens=500, messages=_user(text))
    assert raised.value.request_id
    if wanted is anthropic.RateLimitError:
        assert raised.value.response.headers["retry-after"] == "3"


async def test_the_sdk_sees_how_a_stream_ended(claude: anthropic.AsyncAnthropic) -> None:
    async def ask(order: str) -> list[str]:
        stream = await claude.messages.create(
            model=MODEL, max_tokens=500, messages=_user(f"[[words=9]] [[{order}]]"), stream=True
        )
        return [event.type async for event in stream]

    with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
        await ask("error=3")
    with pytest.raises(httpx2.TransportError):
        await ask("break=3")
    assert await ask("truncate=2") == ["message_start", "content_block_start"]
    assert (await ask("chunks=2")).count("content_block_delta") == 2


async def test_prescribed_answers_come_in_the_mode_that_was_asked_for(
    sim: Running, http: httpx2.AsyncClient, claude: anthropic.AsyncAnthropic
) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": [1, "京"]}}
    content: list[dict[str, Any]] = [{"type": "thinking", "thinking": "hm", "signature": "Eq"}, call]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content}
    message |= {"stop_reason": "tool_use", "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 4}}
    sim.script([{"json": message}, {"text": "Seven."}, {"status": 529, "text": "Busy."}])
    async with claude.messages.stream(model="m", max_tokens=5, messages=_user("x")) as stream:
        final = await stream.get_final_message()
    assert [block.model_dump(exclude_none=True) for block in final.content] == content
    assert (final.usage.input_tokens, final.usage.output_tokens) == (3, 4)
    spoken = await claude.messages.create(model="m", max_tokens=5, messages=_user("x"))
    assert _spoken(spoken) == "Seven."
    with pytest.raises(anthropic.OverloadedError, match="Busy"):
        await claude.messages.create(model="m", max_tokens=5, messages=_user("x"))
    events = await _events(http, _body(ASK, tools=[WEATHER]))
    lines = [f"event: {one['type']}\ndata: {json.dumps(one)}" for one in events]
    sim.script([{"sse": lines}])
    merged = (await http.post(PATH, json=_body("x"), headers=HEADERS)).json()
    assert [block["input"] for block in merged["content"]] == [{"city": "Oslo"}, {"city": "Bergen"}]
    assert (merged["stop_reason"], merged["usage"].items() >= events[-2]["usage"].items()) == ("tool_use", True)


async def test_it_finds_what_was_said_and_echoes_what_it_got(http: httpx2.AsyncClient) -> None:
    said = [*_user("my name is Ada"), {"role": "assistant", "content": "ok"}, *_user("what is my name?")]
    found = await http.post(PATH, json=_body("") | {"messages": said}, headers=HEADERS)
    assert found.headers["request-id"]
    answer = found.json()
    assert answer["content"][0]["text"] == "Your name is Ada."
    body = _body("[[echo]]", metadata={"user_id": "u"})
    echoed = (await http.post(PATH, json=body, headers=HEADERS)).json()
    assert json.loads(echoed["content"][0]["text"]) == body


async def test_models_come_in_pages_with_their_limits(
    claude: anthropic.AsyncAnthropic, http: httpx2.AsyncClient
) -> None:
    listed = [model.id async for model in claude.models.list(limit=4)]
    assert listed == [model.id async for model in claude.models.list()]
    page = await claude.models.list(limit=2, after_id=listed[1])
    assert ([model.id for model in page.data], page.has_more) == (listed[2:4], True)
    back = await claude.models.list(limit=2, before_id=listed[3])
    assert [model.id for model in back.data] == listed[1:3]
    with pytest.raises(anthropic.BadRequestError):
        await claude.models.list(after_id="nobody")
    one = (await http.get("/v1/models/claude-haiku-4-5", headers=HEADERS)).json()
    assert (one["max_input_tokens"], one["max_tokens"]) == (200_000, 64_000)
    assert one["capabilities"]["thinking"]["types"]["adaptive"]["supported"] is False
    assert (await claude.models.retrieve("vendor/model")).id == "vendor/model"
    with pytest.raises(anthropic.NotFoundError):
        await claude.models.retrieve("no-such")
    http.headers.pop("x-goog-api-key")
    assert (await http.get("/v1/models")).json()["object"] == "list"


async def test_count_and_usage_agree(claude: anthropic.AsyncAnthropic) -> None:
    answer = await claude.messages.create(
        model=MODEL, max_tokens=50, system="Be kind.", messages=_user(ASK), tools=[WEATHER]
    )
    count = await claude.messages.count_tokens(model=MODEL, system="Be kind.", messages=_user(ASK), tools=[WEATHER])
    assert count.input_tokens == answer.usage.input_tokens
