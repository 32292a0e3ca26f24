"""A program in Node that posts with fetch and nothing else: no SDK, no session, a token that means nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2

from app.simulator.running import Running
from tests.running import StartFoldline, running_foldline, settings_beside


def _fetch(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"model": "lab", "messages": messages, "max_tokens": 200}


HEADERS = {
    "authorization": "Bearer lab",
    "content-type": "application/json",
    "accept": "*/*",
    "accept-language": "*",
    "sec-fetch-mode": "cors",
    "user-agent": "node",
    "accept-encoding": "br, gzip, deflate",
}


async def test_it_works_without_any_settings_turn_after_turn(sim: Running) -> None:
    """As `make run` serves it where nobody has set a key: the simulator answers as the model `lab`."""
    settings = settings_beside(
        sim, openai_base_url=None, gemini_base_url=None, anthropic_base_url=None, simulator_url=sim.url
    )
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Answer in one sentence."}]
    async with (
        running_foldline(settings) as url,
        httpx2.AsyncClient(base_url=url, headers=HEADERS, trust_env=False, verify=False, timeout=30) as node,
    ):
        for text in ("Hello.", "My name is Ingrid.", "What is my name?"):
            messages.append({"role": "user", "content": text})
            answer = await node.post("/v1/chat/completions", json=_fetch(messages))
            assert answer.status_code == 200
            messages.append(answer.json()["choices"][0]["message"])

    assert messages[-1]["content"] == "Your name is Ingrid."
    assert sim.journal.last.headers["authorization"] == "Bearer lab"


async def test_ten_of_them_at_once_get_their_own_answers(foldline: StartFoldline) -> None:
    async with (
        foldline() as proxy,
        httpx2.AsyncClient(base_url=proxy.url, headers=HEADERS, trust_env=False, verify=False, timeout=30) as node,
    ):
        asked = [_fetch([{"role": "user", "content": f"Say: number {at}"}]) for at in range(10)]
        answers = await asyncio.gather(*[node.post("/v1/chat/completions", json=body) for body in asked])

    said = [answer.json()["choices"][0]["message"]["content"] for answer in answers]
    assert said == [f"number {at}" for at in range(10)]
