"""Prescribed answers and the journal: what tests of the proxy lean on."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from app.simulator.app import create_simulator
from app.simulator.running import Running, running_simulator

PATH = "/v1/chat/completions"
GOOGLE = "/v1beta/models/gemini-3-flash-preview:"
BODY: dict[str, Any] = {"model": "gpt-5-mini", "messages": [{"role": "user", "content": "hello"}]}
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}
EVENTS = [
    ": keep-alive",
    'data:{"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"京→"}}]}',
    'event:message\ndata:{"id":"c1","choices":[{"index":0,"delta":{"content":"都"},"finish_reason":"stop"}]}',
    "data: [DONE]",
]


def _completion(**message: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": None} | message, "finish_reason": "stop"}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


async def test_entries_answer_in_order_then_the_model_does(sim: Running, http: httpx2.AsyncClient) -> None:
    sim.script([{"status": 503, "json": {"error": {"message": "first"}}}, {"json": _completion(content="second")}])
    answers = [await http.post(PATH, json=BODY) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [503, 200, 200]
    assert answers[1].json() == _completion(content="second")
    assert "Hello!" in answers[2].text
    assert [exchange.scripted for exchange in sim.journal] == [True, True, False]


async def test_summaries_have_a_queue_of_their_own(sim: Running, http: httpx2.AsyncClient) -> None:
    sim.script([{"for": "chat", "json": _completion(content="chat")}, {"for": "summary", "text": "short"}])
    summary = {**BODY, "messages": [{"role": "user", "content": "Summarise the conversation: …"}]}
    said = [(await http.post(PATH, json=body)).json()["choices"][0]["message"]["content"] for body in (summary, BODY)]
    assert said == ["short", "chat"]
    assert (sim.answers.left("chat"), sim.answers.left("summary")) == (0, 0)


async def test_lists_and_counts_use_up_no_entry(sim: Running, http: httpx2.AsyncClient) -> None:
    sim.script([{"json": {}}])
    await http.get("/v1/models")
    await http.post(GOOGLE + "countTokens", json=CONTENTS)
    assert sim.answers.left() == 1


async def test_events_go_out_as_written(sim: Running, http: httpx2.AsyncClient) -> None:
    sim.script([{"sse": EVENTS, "newline": "\r\n", "headers": {"content-type": "text/event-stream; x=1"}}])
    answer = await http.post(PATH, json=BODY | {"stream": True})
    assert answer.text == "\r\n\r\n".join(event.replace("\n", "\r\n") for event in EVENTS) + "\r\n\r\n"
    assert answer.headers["content-type"] == "text/event-stream; x=1"


async def test_a_chunk_can_end_inside_a_character(sim: Running, http: httpx2.AsyncClient) -> None:
    sim.script([{"sse": EVENTS, "cut_inside": ["京", "→"]}])
    async with http.stream("POST", PATH, json=BODY | {"stream": True}) as answer:
        pieces = [piece async for piece in answer.aiter_raw()]
    assert [piece[-1:] for piece in pieces if piece[-1:] >= b"\x80"] == ["京".encode()[:1], "→".encode()[:1]]
    assert "京→" in b"".join(pieces).decode()


async def test_an_entry_of_the_other_mode_is_converted(
    sim: Running, chat: openai.AsyncOpenAI, http: httpx2.AsyncClient
) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    sim.script([{"json": _completion(tool_calls=[call])}, {"sse": EVENTS}])
    async with chat.chat.completions.stream(model="m", messages=[{"role": "user", "content": "x"}]) as stream:
        message = (await stream.get_final_completion()).choices[0].message
    assert [made.function.arguments for made in message.tool_calls or []] == ['{"a":1}']
    whole = await chat.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
    assert (whole.choices[0].message.content, whole.choices[0].finish_reason) == ("京→都", "stop")
    answer = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Seven."}]}, "finishReason": "STOP"}]}
    sim.script([{"json": answer}, {"sse": [f"data: {json.dumps(answer)}"]}])
    streamed = await http.post(GOOGLE + "streamGenerateContent?alt=sse", json=CONTENTS)
    assert json.loads(streamed.text.removeprefix("data: ")) == answer
    assert (await http.post(GOOGLE + "generateContent", json=CONTENTS)).json() == answer


async def test_bodies_can_be_packed_measured_late_and_cut(sim: Running, http: httpx2.AsyncClient) -> None:
    entries: list[dict[str, Any]] = [
        {"json": {"a": 1}, "gzip": True},
        {"sse": EVENTS, "fixed_length": True},
        {"sse": EVENTS[:2], "end": "reset"},
        {"json": {"a": 1}, "end": "reset"},
    ]
    sim.script(entries)
    async with http.stream("POST", PATH, json=BODY) as packed:
        raw = b"".join([piece async for piece in packed.aiter_raw()])
    assert (packed.headers["content-encoding"], gzip.decompress(raw)) == ("gzip", b'{"a":1}')
    measured = await http.post(PATH, json=BODY | {"stream": True})
    assert int(measured.headers["content-length"]) == len(measured.content)
    for body in (BODY | {"stream": True}, BODY):
        with pytest.raises(httpx2.TransportError):
            await http.post(PATH, json=body)


async def test_a_script_overrules_the_rules_but_the_journal_names_the_broken_one(
    sim: Running, http: httpx2.AsyncClient
) -> None:
    sim.script([{"json": _completion(content="fine")}])
    answer = await http.post(PATH, json=BODY | {"foldline": 1})
    assert answer.status_code == 200
    assert sim.journal.last.refused == "Unrecognized request argument supplied: foldline"


async def test_the_journal_keeps_what_was_really_sent(sim: Running, http: httpx2.AsyncClient) -> None:
    raw = b'{"model": "lab",  "messages": [{"role": "user", "content": "\\u4eac"}]}'
    await http.post(f"{PATH}?a=b", content=raw, headers={"X-Probe": "1"})
    await http.post("/v1/nothing", json={})
    await sim.journal.settled()
    exchange = sim.journal[0]
    assert (exchange.raw, exchange.body["messages"][0]["content"]) == (raw, "京")
    assert (exchange.query, exchange.headers["x-probe"], exchange.headers["authorization"]) == (
        {"a": "b"},
        "1",
        "Bearer lab",
    )
    assert exchange.ended
    assert exchange.ended >= exchange.started
    assert ([one.status for one in sim.journal], len(sim.journal.calls(PATH))) == ([200, 404], 1)


def test_no_key_and_no_text_is_shown_by_an_exchange(sim: Running) -> None:
    with httpx2.Client(trust_env=False, verify=False) as client:
        client.post(sim.url + PATH, json=BODY, headers={"authorization": "Bearer secret-key"})
    assert "hello" not in repr(sim.journal.last)
    assert "secret-key" not in repr(sim.journal.last)


async def test_two_simulators_run_beside_each_other_and_stop_while_answers_wait() -> None:
    async with running_simulator() as one, running_simulator() as other:
        async with httpx2.AsyncClient(trust_env=False, verify=False, headers={"authorization": "Bearer k"}) as client:
            assert (await client.post(one.openai_url + "/chat/completions", json=BODY)).status_code == 200
            with pytest.raises(httpx2.ReadTimeout):
                await client.post(other.openai_url + "/chat/completions", json=BODY | {"stream": True} | {
                    "messages": [{"role": "user", "content": "[[hang]]"}]}, timeout=0.05)  # fmt: skip
        assert (len(one.journal), len(other.journal)) == (1, 1)


async def test_a_taken_port_is_an_error_of_the_caller() -> None:
    async with running_simulator() as sim:
        with pytest.raises(OSError, match="in use"):
            async with running_simulator(port=int(sim.url.rpartition(":")[2])):
                pass


async def test_the_app_runs_under_any_server_and_keeps_nothing_by_default() -> None:
    app = create_simulator()
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://x", headers={"authorization": "Bearer k"}
    ) as client:
        assert (await client.post(PATH, json=BODY)).status_code == 200
        assert (await client.get("/")).json()["name"]
    assert len(app.state.journal) == 0


def test_every_directive_is_in_the_docs() -> None:
    from app.simulator.directives import KNOWN

    text = (Path(__file__).parents[2] / "docs" / "simulator.md").read_text("utf-8")
    assert [name for name in KNOWN if f"[[{name}" not in text] == []
