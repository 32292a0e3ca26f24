"""With STRICT nothing is lost that is asked or answered; advice to the provider is reported, and never refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.chat.advice import ADVICE
from app.simulator.running import Running
from tests.running import Proxy, StartFoldline

CLAUDE, GEMINI, GPT = "claude-opus-5-5", "gemini-3-flash-preview", "gpt-4.1"
MARK = {"cache_control": {"type": "ephemeral"}}
AGENT: dict[str, Any] = {
    "max_tokens": 2000,
    "system": [{"type": "text", "text": "Be brief.", **MARK}],
    "messages": [{"role": "user", "content": [{"type": "text", "text": "Say: ahoy", **MARK}]}],
    "metadata": {"user_id": "somebody"},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    "service_tier": "auto",
    "temperature": 1,
}
"""As a coding agent speaks."""

CHAT: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Say: ahoy"}],
    "prompt_cache_key": "k",
    "user": "somebody",
    "metadata": {"a": "b"},
    "service_tier": "default",
    "prediction": {"type": "content", "content": "ahoy"},
    "temperature": 1,
    "top_p": 1,
}


def _http(proxy: Proxy, key: str) -> httpx2.AsyncClient:
    headers = {"authorization": f"Bearer {key}", "anthropic-version": "2023-06-01"}
    return httpx2.AsyncClient(base_url=proxy.url, headers=headers, trust_env=False, timeout=10)


@pytest.mark.parametrize(
    ("path", "body", "model"),
    [("/v1/messages", AGENT, GEMINI), ("/v1/messages", AGENT, GPT), ("/v1/chat/completions", CHAT, CLAUDE)],
)
async def test_advice_is_reported_and_the_request_goes_out(
    foldline: StartFoldline, key: str, path: str, body: dict[str, Any], model: str
) -> None:
    async with foldline(strict=True) as proxy, _http(proxy, key) as http:
        answer = await http.post(path, json={**body, "model": model})
        assert answer.status_code == 200, answer.text
        turn = (await http.get(f"/foldline/turns/{answer.headers['x-foldline-turn']}")).json()

    lost = {loss["field"] for loss in turn["losses"]}
    assert lost == ADVICE & (body.keys() | ({"cache_control"} if "cache_control" in str(body) else set()))


@pytest.mark.parametrize(
    ("path", "body", "model", "field"),
    [
        ("/v1/messages", AGENT | {"container": "c_1"}, GPT, "container"),
        ("/v1/messages", AGENT | {"inference_geo": "eu"}, GEMINI, "inference_geo"),
        ("/v1/chat/completions", CHAT | {"temperature": 0.2}, CLAUDE, "temperature"),
        ("/v1/chat/completions", CHAT | {"seed": 1}, CLAUDE, "seed"),
    ],
)
async def test_what_the_answer_depends_on_is_refused_whatever_advice_stands_beside_it(
    foldline: StartFoldline, sim: Running, key: str, path: str, body: dict[str, Any], model: str, field: str
) -> None:
    async with foldline(strict=True) as proxy, _http(proxy, key) as http:
        answer = await http.post(path, json={**body, "model": model})

    assert (answer.status_code, field in answer.json()["error"]["message"]) == (400, True)
    assert not list(sim.journal.calls())


@pytest.mark.parametrize("model", [CLAUDE, GPT])
async def test_content_that_only_google_holds_is_never_left_out(
    http: httpx2.AsyncClient, sim: Running, model: str
) -> None:
    body = {"contents": [{"parts": [{"text": "Say: ahoy"}]}], "cachedContent": "cachedContents/1"}
    answer = await http.post(f"/v1beta/models/{model}:generateContent", json=body)

    assert (answer.status_code, answer.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert "cachedContent" in answer.json()["error"]["message"]
    assert not list(sim.journal.calls())


@pytest.mark.parametrize("model", [GEMINI, GPT])
async def test_a_compaction_that_only_claude_makes_is_not_answered_as_a_chat(
    http: httpx2.AsyncClient, sim: Running, model: str
) -> None:
    body = {**AGENT, "model": model, "compaction": {"type": "summarize"}}
    answer = await http.post("/v1/messages", json=body, headers={"anthropic-version": "2023-06-01"})

    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")
    assert not list(sim.journal.calls())


def test_the_docs_name_every_field_that_is_advice() -> None:
    told = (Path(__file__).parents[2] / "docs" / "formats.md").read_text("utf-8")
    assert [name for name in sorted(ADVICE) if f"`{name}`" not in told] == []
