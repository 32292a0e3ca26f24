"""Claude, and Claude's clients: cache marks, ids, and thinking that is refused."""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest
from anthropic import AsyncAnthropic, AuthenticationError

from app.simulator.running import Running, running_simulator
from app.upstreams.counting import exact
from app.upstreams.lean.transport import LeanTransport
from app.upstreams.transport import Timeouts
from app.upstreams.upstream import Credential
from tests.running import running_foldline, settings_beside

CLAUDE = "claude-sonnet-5-5"
LONG = "The harbour opens at seven and closes at nine in the evening, on every day but Sunday. " * 10


@pytest.fixture
async def sim() -> AsyncGenerator[Running]:
    async with running_simulator() as running:
        yield running


def _marks(value: Any) -> int:
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(map(_marks, value.values()))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] # any JSON
    return sum(map(_marks, value)) if isinstance(value, list) else 0  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] # any JSON


async def _chat(url: str) -> None:
    body = {"model": CLAUDE, "messages": [{"role": "system", "content": LONG}, {"role": "user", "content": "hello"}]}
    async with httpx2.AsyncClient(base_url=url, headers={"authorization": "Bearer k"}, trust_env=False) as http:
        assert (await http.post("/v1/chat/completions", json=body)).status_code == 200


async def _messages(url: str, **more: Any) -> httpx2.Response:
    body = {"model": CLAUDE, "max_tokens": 2000, "system": LONG, "messages": [{"role": "user", "content": "hello"}]}
    async with httpx2.AsyncClient(base_url=url, headers={"x-api-key": "k"}, trust_env=False) as http:
        headers = {"anthropic-version": "2023-06-01"}
        return await http.post("/v1/messages", json=body | more, headers=headers)


@pytest.mark.parametrize(
    ("wish", "chat", "own"), [("auto", True, False), ("always", True, True), ("never", False, False)]
)
async def test_cache_marks_are_set_where_a_client_set_none_as_far_as_the_operator_allows(
    sim: Running, wish: str, chat: bool, own: bool
) -> None:
    async with running_foldline(settings_beside(sim, cache_marks=wish)) as url:
        await _chat(url)
        assert (1 <= _marks(sim.journal.last.body) <= 4) is chat
        assert (await _messages(url)).status_code == 200
        assert (1 <= _marks(sim.journal.last.body) <= 4) is own


async def test_anthropic_s_sdk_finds_the_request_s_id_where_it_looks(sim: Running) -> None:
    async with running_foldline(settings_beside(sim)) as url, AsyncAnthropic(base_url=url, api_key="k") as client:
        raw = await client.messages.with_raw_response.create(
            model=CLAUDE, max_tokens=100, messages=[{"role": "user", "content": "hi"}]
        )
        assert raw.headers["request-id"] == raw.headers["x-request-id"]
        bad = client.with_options(api_key="bad-key", max_retries=0)
        with pytest.raises(AuthenticationError) as caught:
            await bad.messages.create(model=CLAUDE, max_tokens=100, messages=[{"role": "user", "content": "hi"}])
        assert caught.value.request_id


async def test_thinking_that_is_refused_is_sent_once_more_without_and_reported(sim: Running) -> None:
    """A body that went out byte for byte is the client's own affair; one that was changed on its way is mended."""
    forged = base64.b64encode(b"no signature of anybody's").decode()
    talk = [
        {"role": "user", "content": "hello"},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "So.", "signature": forged}, {"type": "text", "text": "Hi."}],
        },
        {"role": "user", "content": "and now?"},
    ]
    async with running_foldline(settings_beside(sim)) as url:
        untouched = await _messages(url, messages=talk)
        assert untouched.status_code == 400
        before = len(sim.journal.calls())
        changed = await _messages(url, messages=talk, foldline={"memory": {"name": "Ada"}})
        assert changed.status_code == 200
        assert len(sim.journal.calls()) == before + 2
        assert "thinking" not in str(sim.journal.last.body["messages"])


async def test_anthropic_counts_a_chat_that_came_in_another_format(sim: Running) -> None:
    from app.upstreams.anthropic import anthropic
    from app.wires.openai_chat import OPENAI_CHAT
    from app.wires.wire import Inbound

    chat = OPENAI_CHAT.decode(Inbound(b'{"model":"m","messages":[{"role":"user","content":"' + LONG.encode() + b'"}]}'))
    upstream = anthropic("anthropic", sim.url, "lab")
    transport = LeanTransport(Timeouts())
    try:
        outbound = upstream.wire.encode(chat, upstream.target(CLAUDE))
        tokens = await exact(transport, upstream, outbound, chat, CLAUDE, Credential())
    finally:
        await transport.aclose()
    assert tokens is not None
    assert 150 < tokens < 500


async def test_betas_sent_in_several_lines_all_reach_the_provider(sim: Running) -> None:
    body = {"model": CLAUDE, "max_tokens": 2000, "messages": [{"role": "user", "content": "hello"}]}
    betas = [("anthropic-beta", "one-2026-01-01,two-2026-01-01"), ("anthropic-beta", "three-2026-01-01")]
    headers = [("x-api-key", "k"), ("anthropic-version", "2023-06-01"), *betas]
    async with running_foldline(settings_beside(sim)) as url, httpx2.AsyncClient(base_url=url) as http:
        assert (await http.post("/v1/messages", json=body, headers=headers)).status_code == 200
    said = sim.journal.last.headers["anthropic-beta"]
    assert [beta.strip() for beta in said.split(",")] == ["one-2026-01-01", "two-2026-01-01", "three-2026-01-01"]
