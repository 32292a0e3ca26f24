"""What Anthropic's side remembers between requests: marked prefixes of prompts, and threads."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import anthropic
import httpx2
import pytest

from app.simulator.app import FIXED_TIME, create_simulator
from app.simulator.running import Running

PATH = "/v1/messages"
HEADERS = {"x-api-key": "lab", "anthropic-version": "2023-06-01"}
MODEL = "claude-sonnet-4-6"
LONG = "京都の話。" * 500  # 1563 tokens


def _body(text: str, **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 500, "messages": [{"role": "user", "content": text}]} | more


async def _spent(http: httpx2.AsyncClient, *said: str, system: Any = None, **more: Any) -> tuple[int, int, int]:
    mark = {"cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": LONG, **mark}] if system is None else system
    messages = [{"role": "user" if at % 2 == 0 else "assistant", "content": text} for at, text in enumerate(said)]
    body = {"model": MODEL, "max_tokens": 50, "system": system, "messages": messages} | more
    usage = (await http.post(PATH, json=body, headers=HEADERS)).json()["usage"]
    made = usage["cache_creation"]
    assert usage["cache_creation_input_tokens"] == sum(made.values())
    return usage["input_tokens"], usage["cache_creation_input_tokens"], usage["cache_read_input_tokens"]


async def _fresh() -> AsyncGenerator[httpx2.AsyncClient]:
    now = [FIXED_TIME]
    transport = httpx2.ASGITransport(app=create_simulator(clock=lambda: now[0]))
    async with httpx2.AsyncClient(transport=transport, base_url="http://x") as client:
        client.headers["x-now"] = "0"

        async def _moved(request: httpx2.Request) -> None:
            now[0] = FIXED_TIME + int(request.headers["x-now"])

        client.event_hooks = {"request": [_moved]}
        yield client


fresh = pytest.fixture(_fresh)


async def test_a_marked_prefix_is_made_once_and_read_after(fresh: httpx2.AsyncClient) -> None:
    assert await _spent(fresh, "hello") == (6, 1567, 0)
    assert await _spent(fresh, "hello there") == (7, 0, 1567)
    assert await _spent(fresh, "hello", model="claude-sonnet-4-5") == (6, 1567, 0)
    assert await _spent(fresh, "hello", system=[{"type": "text", "text": LONG}]) == (1573, 0, 0)


async def test_an_automatic_mark_moves_along_with_a_growing_chat(fresh: httpx2.AsyncClient) -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    assert await _spent(fresh, LONG, system=[], **mark) == (0, 1567, 0)
    assert await _spent(fresh, LONG, "yes", "and?", system=[], **mark) == (0, 10, 1567)
    assert await _spent(fresh, LONG, "yes", "and?", "no", "why?", system=[], **mark) == (0, 10, 1577)
    edited = LONG + "!"
    assert await _spent(fresh, edited, "yes", "and?", system=[], **mark) == (0, 1577, 0)


async def test_short_prefixes_and_old_ones_are_not_cached(fresh: httpx2.AsyncClient) -> None:
    short = [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]
    assert await _spent(fresh, "hello", system=short) == (12, 0, 0)
    await _spent(fresh, "hello")
    fresh.headers["x-now"] = "299"
    assert (await _spent(fresh, "hello"))[2] == 1567
    fresh.headers["x-now"] = "500"
    assert (await _spent(fresh, "hello"))[2] == 1567
    fresh.headers["x-now"] = "801"
    assert (await _spent(fresh, "hello"))[1] == 1567


async def test_what_the_settings_change_is_missed_from_the_messages_on(fresh: httpx2.AsyncClient) -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    await _spent(fresh, LONG, **mark)
    assert await _spent(fresh, LONG, **mark, thinking={"type": "adaptive"}) == (0, 1567, 1567)


async def test_another_account_reads_nothing_of_it(fresh: httpx2.AsyncClient) -> None:
    await _spent(fresh, "hello")
    body = _body("hello", system=[{"type": "text", "text": LONG, "cache_control": {"type": "ephemeral"}}])
    answer = await fresh.post(PATH, json=body, headers=HEADERS | {"x-api-key": "other"})
    assert answer.json()["usage"]["cache_read_input_tokens"] == 0


THREADS = HEADERS | {"anthropic-beta": "message-threads-2026-08-12"}


async def test_a_thread_goes_on_with_only_what_is_new(http: httpx2.AsyncClient) -> None:
    async def ask(text: str, thread: dict[str, str], **more: Any) -> httpx2.Response:
        headers = more.pop("headers", THREADS)
        return await http.post(PATH, json=_body(text, thread=thread) | more, headers=headers)

    first = await ask("my name is Ada", {"type": "create"}, system="Be kind.")
    onward = {"type": "continue", "previous_message_id": first.json()["id"]}
    off = await ask("what is my name?", onward, headers=HEADERS)
    assert off.json()["error"]["message"] == "thread: Extra inputs are not permitted"
    assert (await ask("x", onward, system="Be kind.")).status_code == 400
    changed = await ask("x", onward, model="claude-opus-5")
    assert changed.json()["error"]["details"]["error_code"] == "thread_fingerprint_mismatch"
    marked = await ask("x", onward, cache_control={"type": "ephemeral"})
    assert marked.json()["error"]["details"] == {
        "error_code": "thread_unsupported_request",
        "unsupported": ["cache_control"],
    }
    second = await ask("what is my name?", onward)
    assert second.json()["content"][0]["text"] == "Your name is Ada."
    again = await ask("what is my name?", onward)
    assert (again.status_code, again.json()["error"]["details"]["error_code"]) == (400, "thread_already_continued")
    third = await ask("how many messages?", {"type": "continue", "previous_message_id": second.json()["id"]})
    assert third.json()["content"][0]["text"] == "I see 5 messages and 0 pictures."
    for headers in (THREADS, THREADS | {"x-api-key": "other"}):
        unknown = {"type": "continue", "previous_message_id": third.json()["id"] if headers is not THREADS else "msg_0"}
        lost = await ask("x", unknown, headers=headers)
        assert (lost.status_code, lost.json()["error"]["details"]["error_code"]) == (404, "thread_not_found")


async def test_the_sdks_own_threads_work_and_outlive_a_lost_one(sim: Running) -> None:
    plain = anthropic.DefaultAsyncHttpxClient(verify=False, trust_env=False)
    async with anthropic.AsyncAnthropic(api_key="lab", base_url=sim.url, max_retries=0, http_client=plain) as claude:
        thread = claude.beta.messages.thread(model=MODEL, max_tokens=500, system="Be kind.")
        await thread.send({"role": "user", "content": "my name is Grace"})
        answer = await thread.send({"role": "user", "content": "what is my name?"})
        assert [block.text for block in answer.content if block.type == "text"] == ["Your name is Grace."]
        assert len(sim.journal.last.body["messages"]) == 1
        sim.script([{"status": 404, "json": _problem("thread_not_found")}])
        again = await thread.send({"role": "user", "content": "what is my name?"})
        assert [block.text for block in again.content if block.type == "text"] == ["Your name is Grace."]
    assert [one.status for one in sim.journal.calls(PATH)] == [200, 200, 404, 200]
    assert sim.journal.last.body["thread"] == {"type": "create"}


def _problem(code: str) -> dict[str, Any]:
    details = {"error_code": code}
    return {"type": "error", "error": {"type": "not_found_error", "message": "gone", "details": details}}
