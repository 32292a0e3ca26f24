"""What a request or an answer may lack: several system messages, empty contents, an answer without a word."""

from __future__ import annotations

import json

import httpx2
import pytest

from app.simulator.running import Running
from tests.cases.exchanges import (
    ask,
    chat,
    gemini_chunk,
    gemini_said,
    gemini_streamed,
    turn_faults,
)


async def test_every_system_and_developer_message_reaches_gemini_in_order(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    heard = await ask(
        http,
        chat(
            {"role": "system", "content": "LAW-1: speak plainly."},
            {"role": "developer", "content": [{"type": "text", "text": "LAW-2: use knots."}]},
            {"role": "system", "content": "LAW-3: no tables."},
            "How fast is the ferry?",
        ),
    )
    body = sim.journal.last.body
    system = json.dumps(body["systemInstruction"])

    assert heard.status == 200
    assert 0 < system.find("LAW-1") < system.find("LAW-2") < system.find("LAW-3")
    assert "LAW-" not in json.dumps(body["contents"])
    assert turn_faults(body["contents"]) == []


async def test_a_system_message_in_the_middle_of_a_chat_is_not_lost(http: httpx2.AsyncClient, sim: Running) -> None:
    late = {"role": "system", "content": "LAW-9: from now on in Danish."}
    heard = await ask(http, chat("Hello.", {"role": "assistant", "content": "Hello!"}, late, "Who are you?"))

    assert heard.status == 200
    assert "LAW-9" in sim.journal.last.raw.decode()
    assert turn_faults(sim.journal.last.body["contents"]) == []


async def test_a_chat_of_nothing_but_a_system_message_is_refused_in_words_before_gemini_refuses_it(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    heard = await ask(http, chat({"role": "system", "content": "LAW-4: be kind."}))

    assert (heard.status, heard.body["error"]["param"]) == (400, "messages")
    assert sim.journal.calls() == []


async def test_empty_and_null_contents_never_become_turns_without_parts(http: httpx2.AsyncClient, sim: Running) -> None:
    pieces = [{"type": "text", "text": ""}, {"type": "text", "text": "Third knock."}]
    heard = await ask(
        http,
        chat(
            "First knock.",
            {"role": "assistant", "content": ""},
            "Second knock.",
            {"role": "assistant", "content": None},
            {"role": "user", "content": pieces},
        ),
    )
    contents = sim.journal.last.body["contents"]
    said = json.dumps(contents)

    assert (heard.status, sim.journal.last.refused) == (200, None)
    assert turn_faults(contents) == []
    assert 0 < said.find("First knock.") < said.find("Second knock.") < said.find("Third knock.")
    assert contents[-1]["role"] == "user"


@pytest.mark.parametrize("content", ["", None, [], [{"type": "text", "text": ""}]])
async def test_an_empty_tool_result_still_answers_its_call(
    http: httpx2.AsyncClient, sim: Running, content: object
) -> None:
    call = {"id": "call_e1", "type": "function", "function": {"name": "ring", "arguments": ""}}
    assistant = {"role": "assistant", "content": None, "tool_calls": [call]}
    ring = {"type": "function", "function": {"name": "ring"}}
    heard = await ask(
        http, chat("Ring.", assistant, {"role": "tool", "tool_call_id": "call_e1", "content": content}, tools=[ring])
    )

    assert (heard.status, sim.journal.last.refused) == (200, None)
    assert turn_faults(sim.journal.last.body["contents"]) == []


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_cut_before_its_first_word_is_a_truncated_answer(
    http: httpx2.AsyncClient, sim: Running, stream: bool
) -> None:
    usage = {"promptTokenCount": 11, "thoughtsTokenCount": 48, "totalTokenCount": 59}
    empty = {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS", "index": 0}]}
    sim.script([{"json": {**empty, "usageMetadata": usage}}])
    asked = chat("Say one word.", max_tokens=48, stream=stream, stream_options={"include_usage": True})
    heard = await ask(http, asked if stream else chat("Say one word.", max_tokens=48))

    assert (heard.status, heard.finish, heard.text) == (200, "length", "")
    assert heard.usage["total_tokens"] == 59
    assert len(sim.journal.calls()) == 1


async def test_a_prompt_that_gemini_blocks_is_an_answer_that_says_so(http: httpx2.AsyncClient, sim: Running) -> None:
    usage = {"promptTokenCount": 5, "totalTokenCount": 5}
    sim.script([{"json": {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": usage}}])
    heard = await ask(http, chat("Something forbidden."))

    assert (heard.status, heard.finish, heard.text) == (200, "content_filter", "")


async def test_a_stop_with_no_candidate_content_in_a_stream_ends_well(http: httpx2.AsyncClient, sim: Running) -> None:
    sim.script([gemini_streamed(gemini_chunk({"text": "Aye."}), gemini_chunk(finish="STOP"))])
    heard = await ask(http, chat("Aye or nay?", stream=True))

    assert (heard.text, heard.finish, heard.done) == ("Aye.", "stop", 1)


async def test_half_an_emoji_in_a_message_is_mended_rather_than_refused(http: httpx2.AsyncClient, sim: Running) -> None:
    raw = b'{"model":"gemini-3-flash-preview","messages":[{"role":"user","content":"cut here \\ud83d"}]}'
    response = await http.post("/v1/chat/completions", content=raw, headers={"content-type": "application/json"})

    assert response.status_code == 200
    assert "cut here �" in sim.journal.last.body["contents"][0]["parts"][0]["text"]


async def test_a_whole_answer_that_was_scripted_comes_through(http: httpx2.AsyncClient, sim: Running) -> None:
    sim.script([gemini_said({"text": "One "}, {"text": "answer."})])
    heard = await ask(http, chat("Well?"))

    assert (heard.text, heard.finish, heard.usage["total_tokens"]) == ("One answer.", "stop", 40)
