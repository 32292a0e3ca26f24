"""Errors: the SDK's right class, the provider's status and words, before a stream and inside it."""

from __future__ import annotations

import json

import httpx2
import openai
import pytest

from app.simulator.running import Running
from tests.running import Proxy, StartFoldline

GEMINI = "gemini-3-flash-preview"
PROVIDERS = ("gpt-4.1", GEMINI)


CLASSES: dict[int, type[openai.APIStatusError]] = {
    400: openai.BadRequestError,
    403: openai.PermissionDeniedError,
    404: openai.NotFoundError,
    409: openai.ConflictError,
    422: openai.UnprocessableEntityError,
    429: openai.RateLimitError,
    500: openai.InternalServerError,
    503: openai.InternalServerError,
}


@pytest.mark.parametrize("stream", [False, True])
async def test_a_refusal_before_the_stream_is_the_sdk_s_own_class(
    foldline: StartFoldline, key: str, model: str, stream: bool
) -> None:
    plain = openai.DefaultAsyncHttpxClient(verify=False, trust_env=False)
    async with (
        foldline(max_retries=0) as proxy,
        openai.AsyncOpenAI(api_key=key, base_url=proxy.openai_url, max_retries=0, http_client=plain) as chat,
    ):
        for status, raised in CLASSES.items():
            with pytest.raises(raised) as refused:
                await chat.chat.completions.create(
                    model=model, messages=[{"role": "user", "content": f"[[fail={status}]]"}], stream=stream
                )
            assert refused.value.status_code == status
            assert refused.value.response.headers["x-foldline-turn"]
            assert refused.value.response.headers["content-type"].startswith("application/json")
            assert isinstance(refused.value.body, dict)


async def test_a_key_that_the_provider_refuses_is_an_authentication_error(proxy: Proxy, model: str) -> None:
    """Google answers a bad key with 400; to an OpenAI client it is a 401 all the same."""
    async with openai.AsyncOpenAI(api_key="bad-key", base_url=proxy.openai_url, max_retries=0) as chat:
        with pytest.raises(openai.AuthenticationError):
            await chat.chat.completions.create(model=model, messages=[{"role": "user", "content": "Hello."}])


async def test_a_model_that_the_provider_does_not_know_is_not_found(chat: openai.AsyncOpenAI) -> None:
    for name in ("no-such-model", "gemini-no-such"):
        with pytest.raises(openai.NotFoundError) as refused:
            await chat.chat.completions.create(model=name, messages=[{"role": "user", "content": "Hello."}])
        assert refused.value.code == "model_not_found"


async def test_the_wait_of_a_full_quota_is_said_in_the_header_that_sdks_read(
    chat: openai.AsyncOpenAI, sim: Running, model: str
) -> None:
    with pytest.raises(openai.RateLimitError) as refused:
        await chat.chat.completions.create(
            model=model, messages=[{"role": "user", "content": "[[fail=429]] [[retry=13]]"}]
        )

    assert refused.value.response.headers["retry-after"] == "13"
    assert len(sim.journal.calls()) == 1


async def test_failures_of_the_provider_are_tried_again_before_the_client_hears_of_them(
    foldline: StartFoldline, sim: Running, key: str, model: str
) -> None:
    sim.script([{"status": 503, "json": {"error": {"message": "busy"}}}, {"status": 500, "json": {}}])
    async with foldline() as proxy, _bare(proxy, key) as http:
        answer = await http.post("/v1/chat/completions", json=_asked("Say: at last", model))

    assert answer.json()["choices"][0]["message"]["content"] == "at last"
    assert len(sim.journal.calls()) == 3


async def test_a_provider_that_is_not_there_is_a_bad_gateway_without_its_address(
    foldline: StartFoldline, key: str, model: str
) -> None:
    nowhere = {"openai_base_url": "http://127.0.0.1:9/v1", "gemini_base_url": "http://127.0.0.1:9"}
    async with foldline(max_retries=0, **nowhere) as proxy, _bare(proxy, key) as http:
        answer = await http.post("/v1/chat/completions", json=_asked("Hello.", model))

    assert answer.status_code == 502
    assert "127.0.0.1" not in answer.text
    assert answer.json()["error"]["type"] == "server_error"


@pytest.mark.parametrize("order", ["break=3", "truncate=3", "error=3"])
async def test_a_stream_that_fails_on_its_way_raises_in_the_sdk(
    chat: openai.AsyncOpenAI, model: str, order: str
) -> None:
    texts = [""]

    async def listen() -> None:
        stream = await chat.chat.completions.create(
            model=model, messages=[{"role": "user", "content": f"[[words=60]] [[delay=20]] [[{order}]]"}], stream=True
        )
        async for chunk in stream:
            texts[0] += chunk.choices[0].delta.content or "" if chunk.choices else ""

    with pytest.raises(openai.APIError):
        await listen()
    assert texts[0].startswith("word1")


async def test_an_answer_in_one_piece_that_is_cut_off_is_a_bad_gateway(chat: openai.AsyncOpenAI, model: str) -> None:
    with pytest.raises(openai.InternalServerError) as refused:
        await chat.chat.completions.create(
            model=model, messages=[{"role": "user", "content": "[[words=60]] [[break=1]]"}]
        )

    assert refused.value.status_code == 502


@pytest.mark.parametrize("order", ["truncate=3", "error=3", "break=3"])
@pytest.mark.parametrize("path", ["/v1/chat/completions", f"/v1beta/models/{GEMINI}:streamGenerateContent?alt=sse"])
async def test_the_error_inside_a_stream_is_one_event_of_its_dialect_and_the_last(
    http: httpx2.AsyncClient, model: str, order: str, path: str
) -> None:
    text = f"[[words=60]] [[delay=20]] [[{order}]]"
    asked = _asked(text, model) | {"stream": True}
    if "v1beta" in path:
        path = path.replace(GEMINI, model)
        asked = {"contents": [{"role": "user", "parts": [{"text": text}]}]}
    raw = b""
    async with http.stream("POST", path, json=asked) as response:
        try:
            async for data in response.aiter_bytes():
                raw += data
        except httpx2.RemoteProtocolError:
            pass  # a cut connection is the other sign of a break
    events = [json.loads(line[5:]) for line in raw.decode().splitlines() if line.startswith("data:")]

    assert response.status_code == 200
    assert b"[DONE]" not in raw
    assert ["error" in event for event in events] == [False] * (len(events) - 1) + [True]
    error = events[-1]["error"]
    assert error["message"]
    assert isinstance(error["code"], int) == ("v1beta" in path)


@pytest.mark.parametrize(
    ("body", "about"),
    [
        (b"", "JSON"),
        (b"[]", "object"),
        (b"{", "JSON"),
        (b'{"model":"gpt-4.1"}', "messages"),
        (b'{"messages":[{"role":"user","content":"x"}]}', "model"),
        (b'{"model":"gpt-4.1","messages":[]}', "messages"),
        (b'{"model":"gpt-4.1","messages":[{"role":"pirate","content":"x"}]}', "role"),
        (b'{"model":"gpt-4.1","messages":[{"role":"user","content":"\xff"}]}', "UTF-8"),
        (b'{"model":"gpt-4.1","messages":' + b"[" * 2000 + b"]" * 2000 + b"}", "nested"),
    ],
)
async def test_a_request_that_cannot_be_read_is_a_400_that_says_what_to_change(
    http: httpx2.AsyncClient, sim: Running, body: bytes, about: str
) -> None:
    answer = await http.post("/v1/chat/completions", content=body, headers={"content-type": "application/json"})

    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert about in answer.text
    assert sim.journal.calls() == []


@pytest.mark.parametrize(
    ("path", "dialect"),
    [("/v1/embeddings", "openai"), ("/v1beta/cachedContents", "gemini"), ("/v1beta/models/x:embedContent", "gemini")],
)
async def test_a_path_that_is_not_served_is_a_404_in_the_path_s_dialect(
    http: httpx2.AsyncClient, path: str, dialect: str
) -> None:
    answer = await http.post(path, json={})
    error = answer.json()["error"]

    assert answer.status_code == 404
    assert ("type" in error, "status" in error) == (dialect == "openai", dialect == "gemini")


async def test_a_body_beyond_the_limit_is_a_413(foldline: StartFoldline, key: str) -> None:
    async with foldline(max_body=2000) as proxy, _bare(proxy, key) as http:
        answer = await http.post("/v1/chat/completions", json=_asked("x" * 3000, "gpt-4.1"))

    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "request_too_large")


def _asked(text: str, model: str) -> dict[str, object]:
    return {"model": model, "messages": [{"role": "user", "content": text}]}


def _bare(proxy: Proxy, key: str) -> httpx2.AsyncClient:
    headers = {"authorization": f"Bearer {key}"}
    return httpx2.AsyncClient(base_url=proxy.url, headers=headers, trust_env=False, verify=False, timeout=10)
