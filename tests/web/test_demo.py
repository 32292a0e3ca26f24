"""The demo, with the simulator in every provider's place: each client is answered in the format that it speaks."""

from __future__ import annotations

from collections.abc import Mapping

import httpx2
import pytest
from pydantic import SecretStr

from app.settings import Settings
from app.simulator.running import Running
from tests.running import running_foldline

HELLO = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 500}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/responses", {"input": "hello"}),
        ("/v1/chat/completions", HELLO),
        ("/v1/messages", HELLO),
    ],
)
async def test_a_client_of_the_demo_reaches_its_own_api(
    sim: Running, key: str, path: str, body: Mapping[str, object]
) -> None:
    model = "claude-sonnet-4-5" if path == "/v1/messages" else "gpt-4.1"
    demo = Settings(simulator_url=sim.url, redis_url=SecretStr("memory://"), log_level="warning")
    async with (
        running_foldline(demo) as url,
        httpx2.AsyncClient(base_url=url, trust_env=False, verify=False, timeout=10) as http,
    ):
        answer = await http.post(path, json={"model": model, **body}, headers={"authorization": f"Bearer {key}"})

    assert answer.status_code == 200, answer.text
    assert sim.journal.last.path == path
