"""Keys: whose key goes to the provider, who is let in, and what is said to whoever is not."""

from __future__ import annotations

import httpx2
import pytest

from app.simulator.running import Running
from tests.running import Proxy, StartFoldline

GEMINI = "gemini-3-flash-preview"
CHAT = {"messages": [{"role": "user", "content": "Say: ahoy"}]}
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "Say: ahoy"}]}]}


def _bare(proxy: Proxy, **headers: str) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(base_url=proxy.url, headers=headers, trust_env=False, verify=False, timeout=10)


SCHEMES: list[tuple[dict[str, str], str]] = [
    ({"authorization": "Bearer own-key"}, ""),
    ({"x-api-key": "own-key"}, ""),
    ({"x-goog-api-key": "own-key"}, ""),
    ({"api-key": "own-key"}, ""),
    ({}, "?key=own-key"),
]


@pytest.mark.parametrize(("headers", "query"), SCHEMES)
async def test_without_keys_of_its_own_the_client_s_key_goes_on_as_the_provider_wants_it(
    proxy: Proxy, sim: Running, headers: dict[str, str], query: str
) -> None:
    async with _bare(proxy, **headers) as http:
        for model in ("gpt-4.1", GEMINI):
            answer = await http.post(f"/v1/chat/completions{query}", json={**CHAT, "model": model})
            assert answer.status_code == 200
    openai, gemini = sim.journal.calls()

    assert openai.headers["authorization"] == "Bearer own-key"
    assert gemini.headers["x-goog-api-key"] == "own-key"
    assert not openai.headers.keys() & {"x-goog-api-key", "x-api-key", "api-key"}
    assert not gemini.headers.keys() & {"authorization", "x-api-key", "api-key"}
    assert "key" not in openai.query | gemini.query


@pytest.mark.parametrize("model", ["gpt-4.1", GEMINI])
async def test_without_any_key_the_client_is_told_to_send_one(proxy: Proxy, sim: Running, model: str) -> None:
    async with _bare(proxy) as http:
        answer = await http.post("/v1/chat/completions", json={**CHAT, "model": model})

    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")
    assert sim.journal.calls() == []


@pytest.mark.parametrize(("headers", "query"), [*SCHEMES, ({"authorization": "own-key"}, "")])
async def test_with_api_keys_whoever_presents_none_of_them_is_a_401_in_its_dialect(
    foldline: StartFoldline, sim: Running, headers: dict[str, str], query: str
) -> None:
    async with foldline(api_keys="house-1,house-2") as proxy, _bare(proxy, **headers) as http:
        openai = await http.post(f"/v1/chat/completions{query}", json={**CHAT, "model": "gpt-4.1"})
        gemini = await http.post(f"/v1beta/models/{GEMINI}:generateContent{query}", json=CONTENTS)

    assert (openai.status_code, gemini.status_code) == (401, 401)
    assert (openai.json()["error"]["code"], gemini.json()["error"]["status"]) == ("invalid_api_key", "UNAUTHENTICATED")
    assert "own-key" not in openai.text + gemini.text
    assert sim.journal.calls() == []


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({"authorization": "Bearer house-2"}, ""),
        ({"x-api-key": "house-2"}, ""),
        ({"x-goog-api-key": "house-2"}, ""),
        ({"api-key": "house-2"}, ""),
        ({}, "?key=house-2"),
    ],
)
async def test_a_key_of_the_house_lets_in_and_is_never_shown_to_a_provider(
    foldline: StartFoldline, sim: Running, headers: dict[str, str], query: str
) -> None:
    keys = {"openai_api_key": "operators-1", "gemini_api_key": "operators-2"}
    async with foldline(api_keys="house-1,house-2", **keys) as proxy, _bare(proxy, **headers) as http:
        openai = await http.post(f"/v1/chat/completions{query}", json={**CHAT, "model": "gpt-4.1"})
        gemini = await http.post(f"/v1beta/models/{GEMINI}:generateContent{query}", json=CONTENTS)
    sent = sim.journal.calls()

    assert (openai.status_code, gemini.status_code) == (200, 200)
    assert sent[0].headers["authorization"] == "Bearer operators-1"
    assert sent[1].headers["x-goog-api-key"] == "operators-2"
    assert not any("house" in f"{call.headers}{call.query}" for call in sent)


async def test_a_key_of_the_house_does_not_stand_in_for_a_provider_s_key_that_is_missing(
    foldline: StartFoldline, sim: Running
) -> None:
    async with foldline(api_keys="house-1") as proxy, _bare(proxy, authorization="Bearer house-1") as http:
        answer = await http.post("/v1/chat/completions", json={**CHAT, "model": "gpt-4.1"})

    assert answer.status_code == 401
    assert sim.journal.calls() == []


async def test_an_operator_s_key_that_the_provider_refuses_is_not_blamed_on_the_client(
    foldline: StartFoldline, key: str, model: str
) -> None:
    keys = {"openai_api_key": "bad-key", "gemini_api_key": "bad-key"}
    async with foldline(**keys) as proxy, _bare(proxy, authorization=f"Bearer {key}") as http:
        answer = await http.post("/v1/chat/completions", json={**CHAT, "model": model})

    assert answer.status_code == 502
    assert "bad-key" not in answer.text
