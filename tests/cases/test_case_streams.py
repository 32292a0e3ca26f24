"""Streams: how they are cut into bytes, spelled, finished, broken off and abandoned."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx2
import pytest

from app.simulator.running import Running
from tests.cases.exchanges import (
    OPENAI,
    ask,
    chat,
    gemini_call,
    gemini_chunk,
    gemini_streamed,
    openai_chunk,
    openai_streamed,
    tool,
)

FERRY = tool("next_ferry", "quay")
WITH_USAGE: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}


async def test_a_streamed_call_finishes_as_a_call_with_one_usage_chunk_and_one_done(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    """The call stands one chunk before the end, whose reason is a plain STOP; counts are cumulative."""
    sim.script(
        [
            gemini_streamed(
                gemini_chunk({"text": "Checking."}, usage={"promptTokenCount": 64, "totalTokenCount": 64}),
                gemini_chunk(
                    gemini_call("next_ferry", {"quay": "Vardø"}, "cXVheQ=="),
                    usage={
                        "promptTokenCount": 64,
                        "candidatesTokenCount": 11,
                        "thoughtsTokenCount": 90,
                        "totalTokenCount": 165,
                    },
                ),
                gemini_chunk(
                    {"text": ""},
                    finish="STOP",
                    usage={
                        "promptTokenCount": 64,
                        "candidatesTokenCount": 17,
                        "thoughtsTokenCount": 90,
                        "totalTokenCount": 171,
                    },
                ),
            )
        ]
    )
    heard = await ask(http, chat("When does the ferry leave?", tools=[FERRY], **WITH_USAGE))

    assert (heard.text, heard.finish, heard.done) == ("Checking.", "tool_calls", 1)
    assert heard.arguments == [{"quay": "Vardø"}]
    assert heard.events[-1]["choices"] == []
    usage = heard.events[-1]["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (64, 107, 171)


async def test_a_client_that_did_not_ask_for_usage_gets_no_chunk_without_choices(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    sim.script([gemini_streamed(gemini_chunk({"text": "Yes."}, finish="STOP", usage={"promptTokenCount": 3}))])
    heard = await ask(http, chat("Yes?", stream=True))

    assert all(event["choices"] for event in heard.events)
    assert (heard.text, heard.finish, heard.done) == ("Yes.", "stop", 1)


WORDS = "東京駅→新宿🚉まで約15分。Ça va"


@pytest.mark.parametrize("cut", [["東"], ["新", "🚉"], ["Ç", "。", "→", "約"]])
async def test_characters_cut_by_the_network_arrive_whole_from_the_same_format(
    http: httpx2.AsyncClient, sim: Running, cut: list[str]
) -> None:
    sim.script(
        [
            openai_streamed(
                "data: " + openai_chunk({"role": "assistant", "content": WORDS[:6]}),
                "data: " + openai_chunk({"content": WORDS[6:]}),
                "data: " + openai_chunk({}, "stop"),
                "data: [DONE]",
                cut_inside=cut,
            )
        ]
    )
    heard = await ask(http, chat("How far?", model=OPENAI, stream=True))

    assert heard.text == WORDS
    assert "�" not in heard.raw.decode()


@pytest.mark.parametrize("cut", [["東"], ["新", "🚉"], ["Ç", "。", "→", "約"]])
async def test_characters_cut_by_the_network_arrive_whole_in_translation(
    http: httpx2.AsyncClient, sim: Running, cut: list[str]
) -> None:
    chunks: list[Any] = [
        {"candidates": [{"content": {"role": "model", "parts": [{"text": part}]}, "index": 0}]} for part in WORDS
    ]
    chunks[-1]["candidates"][0]["finishReason"] = "STOP"
    sim.script(
        [gemini_streamed(*["data: " + json.dumps(chunk, ensure_ascii=False) for chunk in chunks], cut_inside=cut)]
    )
    heard = await ask(http, chat("How far?", stream=True))

    assert heard.text == WORDS
    assert "�" not in heard.raw.decode()


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
async def test_data_without_a_space_comments_and_event_lines_are_understood(
    http: httpx2.AsyncClient, sim: Running, newline: str
) -> None:
    counted = {"prompt_tokens": 6, "completion_tokens": 3, "total_tokens": 9}
    sim.script(
        [
            openai_streamed(
                ": warming up",
                "data:" + openai_chunk({"role": "assistant", "content": "fair"}),
                "event:message\ndata:" + openai_chunk({"content": " wind"}),
                ": still here",
                "id: 7\nretry: 500\ndata:" + openai_chunk({}, "stop"),
                "data:" + openai_chunk(usage=counted),
                "data:[DONE]",
                newline=newline,
            )
        ]
    )
    heard = await ask(http, chat("Weather?", model=OPENAI, **WITH_USAGE))

    assert (heard.text, heard.finish, heard.done) == ("fair wind", "stop", 1)
    assert heard.usage == counted


async def test_what_the_proxy_makes_of_an_odd_stream_is_remembered_like_any_other(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    """Reasoning that came without a space after `data:` is put back all the same."""
    call = {"index": 0, "id": "call_o", "type": "function", "function": {"name": "next_ferry", "arguments": "{}"}}
    sim.script(
        [
            openai_streamed(
                ": hi",
                "data:" + openai_chunk({"role": "assistant", "reasoning_content": "Look it up."}),
                "data:" + openai_chunk({"tool_calls": [call]}),
                "data:" + openai_chunk({}, "tool_calls"),
                "data:[DONE]",
                newline="\r\n",
            )
        ]
    )
    asked = chat("Ferry?", model="deepseek-v4-pro", tools=[FERRY], stream=True)
    heard = await ask(http, asked)
    said = {"id": "call_o", "type": "function", "function": {"name": "next_ferry", "arguments": "{}"}}
    asked["messages"] += [
        {"role": "assistant", "content": None, "tool_calls": [said]},
        {"role": "tool", "tool_call_id": "call_o", "content": "at noon"},
    ]
    await ask(http, asked)

    assert heard.calls[0]["id"] == "call_o"
    assert sim.journal.last.body["messages"][-2]["reasoning_content"] == "Look it up."


async def test_a_stream_cut_by_the_provider_never_looks_finished(http: httpx2.AsyncClient, sim: Running) -> None:
    pieces = [
        "data: " + openai_chunk({"role": "assistant", "content": "red"}),
        "data: " + openai_chunk({"content": " amber"}),
    ]
    sim.script([openai_streamed(*pieces, end="reset")])
    heard = await ask(http, chat("Name the lights.", model=OPENAI, stream=True))

    assert heard.text == "red amber"
    assert (heard.finish, heard.done) == (None, 0)
    assert heard.cut or any("error" in event for event in heard.events)
    assert len(sim.journal.calls()) == 1


async def test_a_stream_that_ends_cleanly_but_too_early_never_looks_finished(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    """No SDK notices this by itself: the error must be said."""
    sim.script([openai_streamed("data: " + openai_chunk({"role": "assistant", "content": "red"}))])
    same = await ask(http, chat("Name the lights.", model=OPENAI, stream=True))
    sim.script([gemini_streamed(gemini_chunk({"text": "red"}))])
    translated = await ask(http, chat("Name the lights.", stream=True))

    for heard in (same, translated):
        assert (heard.text, heard.finish, heard.done) == ("red", None, 0)
        assert any("error" in event for event in heard.events)


async def test_a_turn_that_broke_off_is_not_remembered(http: httpx2.AsyncClient, sim: Running) -> None:
    sim.script([gemini_streamed(gemini_chunk(gemini_call("next_ferry", {"quay": "Son"}, "YnJva2Vu")), end="reset")])
    await ask(http, chat("Ferry?", tools=[FERRY], stream=True))
    call = {"id": "c", "type": "function", "function": {"name": "next_ferry", "arguments": '{"quay":"Son"}'}}
    history = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "noon"},
    ]
    await ask(http, chat("Ferry?", *history, tools=[FERRY]))

    assert b"YnJva2Vu" not in sim.journal.last.raw


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("model", [OPENAI, "gemini-3-flash-preview"])
async def test_a_client_that_hangs_up_before_the_first_byte_ends_the_provider_s_work(
    http: httpx2.AsyncClient, sim: Running, model: str, stream: bool
) -> None:
    with pytest.raises(httpx2.ReadTimeout):
        await http.post(
            "/v1/chat/completions",
            json=chat("A long poem, please. [[first=20000]]", model=model, stream=stream),
            timeout=0.2,
        )
    left = time.monotonic()
    await sim.journal.settled(2)

    assert time.monotonic() - left < 1
    assert [exchange.aborted for exchange in sim.journal.calls()] == [True]


async def test_a_client_that_hangs_up_in_mid_stream_ends_the_provider_s_work(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    asked = chat("[[words=400]] [[chunks=400]] [[delay=50]]", model=OPENAI, stream=True)
    async with asyncio.timeout(5), http.stream("POST", "/v1/chat/completions", json=asked) as response:
        await anext(response.aiter_bytes())
    await sim.journal.settled(2)

    assert sim.journal.last.aborted
