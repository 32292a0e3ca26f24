"""What a provider refuses: the status, the words and the time to wait reach the client in its own dialect."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from app.simulator.running import Running
from tests.cases.exchanges import OPENAI, ask, chat

FULL = "Resource exhausted for today."


def _gemini_error(code: int, message: str, status: str, *details: dict[str, Any]) -> dict[str, Any]:
    error: dict[str, Any] = {"code": code, "message": message, "status": status}
    return {"status": code, "json": {"error": error | ({"details": list(details)} if details else {})}}


@pytest.mark.parametrize("stream", [False, True])
async def test_a_prompt_too_long_for_gemini_is_openai_s_context_length_error(
    http: httpx2.AsyncClient, sim: Running, stream: bool
) -> None:
    words = "The input token count (1300001) exceeds the maximum number of tokens allowed (1048576)."
    sim.script([_gemini_error(400, words, "INVALID_ARGUMENT")] * 2)
    heard = await ask(http, chat("A whole library.", stream=stream))

    error = heard.body["error"]
    assert heard.status == 400
    assert (error["code"], error["type"]) == ("context_length_exceeded", "invalid_request_error")
    assert "1048576" in error["message"]
    assert len(sim.journal.calls()) <= 2


async def test_a_prompt_too_long_for_openai_is_gemini_s_error_for_it(http: httpx2.AsyncClient, sim: Running) -> None:
    words = "This model's maximum context length is 128000 tokens. Your messages resulted in 130000 tokens."
    error = {"message": words, "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}
    sim.script([{"status": 400, "json": {"error": error}}])
    asked = {"contents": [{"role": "user", "parts": [{"text": "A whole library."}]}]}
    response = await http.post(f"/v1beta/models/{OPENAI}:generateContent", json=asked)

    said = response.json()["error"]
    assert (response.status_code, said["code"], said["status"]) == (400, 400, "INVALID_ARGUMENT")
    assert "exceeds the maximum number of tokens" in said["message"]
    assert "130000" in said["message"]


@pytest.mark.parametrize("asks_for", ["gzip", "identity", "gzip, deflate, br"])
async def test_a_packed_error_can_be_read_by_a_client_that_obeys_the_headers(
    http: httpx2.AsyncClient, sim: Running, asks_for: str
) -> None:
    error = {"message": "There is no model keel-9.", "type": "invalid_request_error", "code": "model_not_found"}
    sim.script([{"status": 404, "json": {"error": error}, "gzip": True}])
    heard = await ask(http, chat("Hello.", model="keel-9"), **{"accept-encoding": asks_for})

    assert (heard.status, heard.cut) == (404, False)
    assert heard.body["error"]["code"] == "model_not_found"


async def test_a_packed_answer_can_be_read_by_a_client_that_obeys_the_headers(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "unpacked"}, "finish_reason": "stop"}
    head = {"id": "cmpl-1", "object": "chat.completion", "created": 1, "model": "m"}
    sim.script([{"json": {**head, "choices": [choice]}, "gzip": True}])
    heard = await ask(http, chat("Hello.", model=OPENAI), **{"accept-encoding": "gzip"})

    assert (heard.status, heard.text) == (200, "unpacked")


async def test_the_wait_that_gemini_hides_in_its_details_becomes_a_retry_after(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "21.3s"}
    sim.script([_gemini_error(429, FULL, "RESOURCE_EXHAUSTED", info)] * 4)
    heard = await ask(http, chat("Hello."))

    assert (heard.status, heard.headers["retry-after"]) == (429, "22")
    assert FULL in heard.body["error"]["message"]
    assert len(sim.journal.calls()) == 1


async def test_the_wait_that_gemini_only_says_in_words_becomes_a_retry_after(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    sim.script([_gemini_error(429, f"{FULL} Please retry in 5.02s.", "RESOURCE_EXHAUSTED")])
    heard = await ask(http, chat("Hello.", stream=True))

    assert (heard.status, heard.headers["retry-after"]) == (429, "6")


async def test_a_wait_in_milliseconds_is_passed_on_rounded_up(http: httpx2.AsyncClient, sim: Running) -> None:
    error = {"message": "Slow down.", "type": "requests", "code": "rate_limit_exceeded"}
    sim.script([{"status": 429, "json": {"error": error}, "headers": {"retry-after-ms": "1400"}}])
    heard = await ask(http, chat("Hello.", model=OPENAI))

    assert (heard.status, heard.headers["retry-after"]) == (429, "2")


async def test_a_full_quota_without_a_wait_names_none(http: httpx2.AsyncClient, sim: Running) -> None:
    sim.script([_gemini_error(429, FULL, "RESOURCE_EXHAUSTED")])
    heard = await ask(http, chat("Hello."))

    assert heard.status == 429
    assert "retry-after" not in heard.headers
