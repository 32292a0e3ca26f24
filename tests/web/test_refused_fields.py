"""What a reasoning model of OpenAI refuses in the words of its elders is said in its own, or left out and reported."""

from __future__ import annotations

import json

import httpx2
import pytest

from tests.running import StartFoldline

HELLO = {"messages": [{"role": "user", "content": "hello"}]}


@pytest.mark.parametrize("stream", [False, True])
async def test_max_tokens_reaches_a_reasoning_model_as_max_completion_tokens(
    foldline: StartFoldline, key: str, stream: bool
) -> None:
    body = {"model": "gpt-5", **HELLO, "max_tokens": 3000, "stream": stream}
    async with foldline() as proxy:
        async with _client(proxy.openai_url, key) as http:
            first = await http.post("/chat/completions", json=body)
            again = await http.post("/chat/completions", json=body)

        assert (first.status_code, again.status_code) == (200, 200)
        sent = [json.loads(entry.raw) for entry in proxy.sim.journal.calls("/chat/")]
        assert [set(one) & {"max_tokens", "max_completion_tokens"} for one in sent] == [
            {"max_tokens"},  # only this one is refused: what it taught holds for the next
            {"max_completion_tokens"},
            {"max_completion_tokens"},
        ]
        assert sent[1]["max_completion_tokens"] == 3000
        assert sent[1].keys() - {"max_completion_tokens"} == sent[0].keys() - {"max_tokens"}


async def test_a_model_that_takes_max_tokens_gets_the_clients_own_bytes(foldline: StartFoldline, key: str) -> None:
    async with foldline() as proxy, _client(proxy.openai_url, key) as http:
        await http.post("/chat/completions", json={"model": "gpt-5", **HELLO, "max_tokens": 3000})
        raw = json.dumps({"model": "gpt-4.1", "max_tokens": 3000, **HELLO}, indent=1).encode()
        answer = await http.post("/chat/completions", content=raw, headers={"content-type": "application/json"})

        assert answer.status_code == 200
        assert proxy.sim.journal.last.raw == raw


async def test_a_client_of_another_format_is_answered_although_the_model_refuses_how_it_wants_to_be(
    foldline: StartFoldline, key: str
) -> None:
    body = {"model": "gpt-5", **HELLO, "max_tokens": 3000, "temperature": 0.3, "stop_sequences": ["END"]}
    async with foldline() as proxy, _client(proxy.openai_url, key) as http:
        answer = await http.post("/messages", json=body)
        turn = await http.get(f"{proxy.url}/foldline/turns/{answer.headers['x-foldline-turn']}")

        assert answer.status_code == 200, answer.text
        sent = json.loads(proxy.sim.journal.last.raw)
        assert not {"temperature", "stop"} & sent.keys()
        assert {"temperature", "stop"} <= {loss["field"] for loss in turn.json()["losses"]}


async def test_strict_leaves_nothing_out_that_a_model_refuses(foldline: StartFoldline, key: str) -> None:
    body = {"model": "gpt-5", **HELLO, "max_tokens": 3000, "temperature": 0.3}
    async with foldline(strict=True) as proxy, _client(proxy.openai_url, key) as http:
        answer = await http.post("/messages", json=body)

        assert answer.status_code == 400
        assert "temperature" in answer.json()["error"]["message"]


async def test_openais_own_clients_are_told_what_their_model_refuses(foldline: StartFoldline, key: str) -> None:
    async with foldline() as proxy, _client(proxy.openai_url, key) as http:
        answer = await http.post("/chat/completions", json={"model": "gpt-5", **HELLO, "temperature": 0.3})

        assert answer.status_code == 400
        assert answer.json()["error"]["param"] == "temperature"


def _client(url: str, key: str) -> httpx2.AsyncClient:
    headers = {"authorization": f"Bearer {key}", "anthropic-version": "2023-06-01"}
    return httpx2.AsyncClient(base_url=url, headers=headers, trust_env=False, verify=False, timeout=10)


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gemini-3-flash-preview"])
async def test_an_answer_in_sound_is_not_promised_by_a_provider_that_has_none(
    foldline: StartFoldline, key: str, model: str
) -> None:
    sound = {"modalities": ["text", "audio"], "audio": {"format": "wav", "voice": "alloy"}}
    async with foldline() as proxy, _client(proxy.openai_url, key) as http:
        answer = await http.post("/chat/completions", json={"model": model, **HELLO, **sound})
        text = await http.post("/chat/completions", json={"model": model, **HELLO, "modalities": ["text"]})

        assert (answer.status_code, answer.json()["error"]["param"]) == (400, "modalities")
        assert text.status_code == 200
