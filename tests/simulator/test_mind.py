"""What the simulated model can do, as questions and answers; the same in both formats."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from app.simulator.estimate import tokens
from app.simulator.mind.facts import wants_summary
from app.simulator.mind.instances import instance

TALKS: list[tuple[list[str], str]] = [
    (["hello"], "Hello!"),
    (["my name is Ada Lovelace", "ok", "what is my name?"], "Ada Lovelace"),
    (["my name is Ada and I live in Kyoto", "ok", "what is my name?"], "Your name is Ada."),
    (["the code is HX-42.7, keep it.", "ok", "and now: what is the code?"], "HX-42.7"),
    (["the code is A1", "ok", "the code is B2", "ok", "what is the code?"], "B2"),
    (["remember: the blue door", "ok", "what did I ask you to remember?"], "the blue door"),
    (["We met Ms Okafor in Lagos.", "ok", "Where is Okafor?"], "It was said: We met Ms Okafor in Lagos."),
    (["Good day", "ok", "what did I say first?"], "Good day"),
    (["合言葉は山川です。", "はい", "合言葉は何ですか"], "山川"),
    (["what is the code?"], "I do not know"),
    (["what is 12 + 30?"], "12 + 30 = 42"),
    (["7 times 6"], "= 42"),
    (["1 / 0"], "zero"),
    (["count the words in: a b c"], "3 words"),
    (["say: one\ntwo"], "one\ntwo"),
    (["a", "b", "how many messages do you see?"], "3 messages"),
    (["[[words=3]]"], "word1 word2 word3"),
]


async def _openai(http: httpx2.AsyncClient, texts: list[str], **more: Any) -> dict[str, Any]:
    messages = [{"role": ("user", "assistant")[index % 2], "content": text} for index, text in enumerate(texts)]
    answer = await http.post("/v1/chat/completions", json={"model": "lab", "messages": messages} | more)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def _gemini(http: httpx2.AsyncClient, texts: list[str], **more: Any) -> dict[str, Any]:
    contents = [{"role": ("user", "model")[index % 2], "parts": [{"text": text}]} for index, text in enumerate(texts)]
    answer = await http.post("/v1beta/models/lab:generateContent", json={"contents": contents} | more)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(("texts", "said"), TALKS)
async def test_a_question_gets_its_answer_in_both_formats(
    texts: list[str], said: str, http: httpx2.AsyncClient
) -> None:
    spoken = (await _openai(http, texts))["choices"][0]["message"]["content"]
    assert said in spoken
    parts = (await _gemini(http, texts))["candidates"][0]["content"]["parts"]
    assert "".join(part["text"] for part in parts) == spoken


async def test_what_an_agent_adds_around_the_users_words_is_not_what_was_asked(http: httpx2.AsyncClient) -> None:
    today = "<system-reminder>\nIt is 2026-11-30. The weather matters.\n</system-reminder>\n"
    asked = f"{today}My name is Ada."
    assert "I heard: My name is Ada." in (await _openai(http, [asked]))["choices"][0]["message"]["content"]
    assert "Your name is Ada." in str(await _gemini(http, [asked, "ok", f"What is my name?\n{today}"]))


async def test_a_tool_loop_goes_on_where_an_agent_adds_a_reminder_behind_the_result(http: httpx2.AsyncClient) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "call get_weather with {}"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "12 degrees"},
        {"role": "user", "content": "<system-reminder>Be short.</system-reminder>"},
    ]
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
    answer = await http.post("/v1/chat/completions", json={"model": "lab", "messages": messages, "tools": tools})
    assert answer.json()["choices"][0]["message"]["content"] == "get_weather says: 12 degrees"


async def test_the_same_request_gets_the_same_bytes(http: httpx2.AsyncClient) -> None:
    body = {"model": "lab", "messages": [{"role": "user", "content": "hello"}], "stream": True}
    answers = [(await http.post("/v1/chat/completions", json=body)).content for _ in range(2)]
    assert answers[0] == answers[1]
    other = await http.post(
        "/v1/chat/completions", json=body | {"messages": [{"role": "user", "content": "hello you"}]}
    )
    assert json.loads(other.text.split("\n")[0][6:])["id"] != json.loads(answers[0].split(b"\n")[0][6:])["id"]


async def test_stop_sequences_and_the_cap_on_tokens_end_the_answer(http: httpx2.AsyncClient) -> None:
    stopped = (await _openai(http, ["say: one two STOP three"], stop=["STOP"]))["choices"][0]
    assert (stopped["message"]["content"], stopped["finish_reason"]) == ("one two ", "stop")
    cut = await _openai(http, ["[[words=100]]"], max_tokens=10)
    assert (cut["choices"][0]["finish_reason"], cut["usage"]["completion_tokens"]) == ("length", 10)
    config = {"maxOutputTokens": 4, "thinkingConfig": {"includeThoughts": False}}
    starved = await _gemini(http, ["hello [[think=50]]"], generationConfig=config)
    assert starved["candidates"][0] | {} == {"content": {"role": "model"}, "index": 0, "finishReason": "MAX_TOKENS"}
    assert starved["usageMetadata"]["thoughtsTokenCount"] == 4


async def test_echo_shows_what_was_really_sent(http: httpx2.AsyncClient) -> None:
    answer = await _openai(http, ["hello [[echo]]"], temperature=0.25)
    assert json.loads(answer["choices"][0]["message"]["content"])["temperature"] == 0.25


async def test_a_summary_keeps_names_numbers_and_links_and_obeys_no_old_order(http: httpx2.AsyncClient) -> None:
    history = (
        "user: hello\nuser: Invoice INV-2207 is 41,300 EUR. [[fail=500]]\nassistant: See https://example.com/a?b=1."
    )
    answer = await _openai(http, [f"Summarise this conversation:\n{history}"])
    text = answer["choices"][0]["message"]["content"]
    assert all(kept in text for kept in ("INV-2207", "41,300", "https://example.com/a?b=1"))
    assert "hello" not in text


@pytest.mark.parametrize(
    ("text", "ordered"),
    [
        ("Summarise this conversation: …", True),
        ("You summarize chats.", True),
        ("Keep numbers. Write a short summary.", True),
        ("会話を要約してください", True),
        ("Summary of the conversation so far: the code is A1.\nWhat is the code?", False),
        ("You are an assistant that can summarize documents.", False),
    ],
)
def test_a_summary_is_written_when_ordered_and_not_when_carried(text: str, ordered: bool) -> None:
    assert wants_summary(text) is ordered


async def test_a_tool_argument_that_an_earlier_result_gave_is_used_again(http: httpx2.AsyncClient) -> None:
    fetch = {"name": "fetch_rows", "parameters": {"type": "object", "properties": {
        "handle": {"type": "string"}, "offset": {"type": "integer"}}, "required": ["handle", "offset"]}}  # fmt: skip
    call = {"id": "c", "type": "function", "function": {"name": "reviews", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "reviews?"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": '{"handle": "h-77", "total_rows": 312}'},
        {"role": "assistant", "content": "There are more."},
        {"role": "user", "content": "Show me more rows"},
    ]
    body = {"model": "lab", "messages": messages, "tools": [{"type": "function", "function": fetch}]}
    answer = (await http.post("/v1/chat/completions", json=body)).json()
    made = answer["choices"][0]["message"]["tool_calls"][0]["function"]
    assert json.loads(made["arguments"]) == {"handle": "h-77", "offset": 1}


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        (
            {"type": "object", "properties": {"a": {"type": "STRING"}, "b": {"type": ["null", "integer"]}}},
            {"a": "a", "b": 1},
        ),
        ({"anyOf": [{"type": "null"}, {"enum": ["x", "y"]}]}, "x"),
        ({"type": "array", "items": {"type": "number", "minimum": 3}, "minItems": 2}, [3, 3]),
        ({"const": 5}, 5),
        ({"type": "string", "format": "date"}, "2030-01-02"),
        ({"type": "string", "minLength": 9, "maxLength": 9}, "valuexxxx"),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "boolean"}}}, True),
        (
            {"allOf": [{"properties": {"a": {"type": "string"}}}], "properties": {"b": {"type": "string"}}},
            {"a": "a", "b": "b"},
        ),
    ],
)
def test_an_instance_fits_its_schema(schema: dict[str, Any], made: Any) -> None:
    assert instance(schema) == made


def test_a_schema_that_contains_itself_ends() -> None:
    node: dict[str, Any] = {
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "all": {"type": "array", "items": {"$ref": "#"}}},
    }
    assert json.dumps(instance(node)).count("next") < 100


def test_japanese_costs_more_tokens_than_english() -> None:
    assert (tokens("a" * 40), tokens("あ" * 40), tokens("")) == (10, 25, 0)
