"""Base URLs of every habit lead to the same door, and are answered when a client only asks whether they are there."""

from __future__ import annotations

import asyncio
import functools
import itertools

import httpx2
import pytest
from google import genai

from app.simulator.running import Running
from app.web.paths import PREFIXES, VERSIONS, forgiven
from tests.running import Proxy, StartFoldline
from tests.web.conftest import Google

GEMINI = "gemini-3-flash-preview"
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "Say: ahoy"}]}]}
PAIRS = list(itertools.product(VERSIONS, VERSIONS))


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/v1/messages", "/v1/messages"),
        ("//v1//messages", "/v1/messages"),
        ("/anthropic/v1/v1/messages", "/anthropic/v1/messages"),
        ("/gemini//v1beta/v1/models/x:generateContent", "/gemini/v1/models/x:generateContent"),
        ("/v1beta/openai/chat/completions", "/openai/chat/completions"),
        ("/gemini/v1beta/openai//models", "/openai/models"),
        ("/v1/models/v1/v1//x", "/v1/models/v1/v1//x"),
        ("/v1/models/openai/v1beta", "/v1/models/openai/v1beta"),
        ("/openai/", "/openai"),
        ("/v1/chat/completions/", "/v1/chat/completions"),
        ("/foldline/", "/foldline/"),
        ("/v1x/messages", "/v1x/messages"),
        ("/openair", "/openair"),
        ("/foldline//plan", "/foldline//plan"),
        ("/", "/"),
    ],
)
def test_only_what_a_base_url_adds_is_forgiven(path: str, meant: str) -> None:
    assert forgiven(path) == meant


async def test_any_two_versions_in_a_row_are_read_as_the_second(http: httpx2.AsyncClient, sim: Running) -> None:
    for prefix, (first, second) in itertools.product(("", "/gemini"), PAIRS):
        answer = await http.post(f"{prefix}/{first}/{second}/models/{GEMINI}:generateContent", json=CONTENTS)
        assert answer.status_code == 200, (prefix, first, second)
    assert len(list(sim.journal.calls())) == 2 * len(PAIRS)


@pytest.mark.parametrize("base", ["", "/v1", "/v1beta/", "/gemini", "/gemini/v1beta", "//gemini/v1/"])
@pytest.mark.parametrize("version", ["v1", "v1beta"])
async def test_google_s_sdk_reaches_every_call_from_a_base_url_with_or_without_a_version(
    proxy: Proxy, key: str, base: str, version: str
) -> None:
    with httpx2.Client(trust_env=False) as plain:
        options = genai.types.HttpOptions(base_url=proxy.url + base, api_version=version, httpx_client=plain)
        client: Google = genai.Client(api_key=key, http_options=options)
        assert "ahoy" in client.models.generate_content(model=GEMINI, contents="Say: ahoy").text
        assert client.models.count_tokens(model=GEMINI, contents="Say: ahoy").total_tokens > 0
        assert f"models/{GEMINI}" in [model.name for model in client.models.list()]


async def test_a_slash_at_the_end_is_no_redirect(http: httpx2.AsyncClient, sim: Running) -> None:
    body = {"model": GEMINI, "messages": [{"role": "user", "content": "Say: ahoy"}]}
    assert (await http.post("/v1/chat/completions/", json=body)).status_code == 200
    for path in ("/v1/nothing/", "/v1/responses//", "/healthz/", "/foldline/sessions/"):
        assert (await http.get(path)).status_code in (404, 405), path


async def test_google_s_address_for_openai_s_sdk_works_with_another_host(http: httpx2.AsyncClient) -> None:
    body = {"model": GEMINI, "messages": [{"role": "user", "content": "Say: ahoy"}]}
    answer = await http.post("/v1beta/openai/chat/completions", json=body)
    assert "ahoy" in answer.json()["choices"][0]["message"]["content"]


async def test_a_tuned_model_is_google_s(http: httpx2.AsyncClient, sim: Running) -> None:
    await http.post("/v1beta/tunedModels/mine-1:generateContent", json=CONTENTS)
    assert sim.journal.last.path == "/v1beta/tunedModels/mine-1:generateContent"


async def test_every_base_is_there_for_a_client_that_asks(http: httpx2.AsyncClient) -> None:
    for prefix, version in itertools.product(("", *PREFIXES), ("", *VERSIONS)):
        for end in ("", "/"):
            path = "/".join(["", *filter(None, (prefix, version))]) + end
            assert (await http.head(path or "/")).status_code == 200, path
    assert (await http.get("/")).status_code == 200


async def test_the_sdk_set_up_for_vertex_lists_models_and_finds_one(foldline: StartFoldline, key: str) -> None:
    async with foldline(gemini_api_key="operators-2", openai_api_key="operators-1") as proxy:
        with httpx2.Client(trust_env=False) as plain:
            options = genai.types.HttpOptions(base_url=proxy.url, httpx_client=plain)
            client: Google = genai.Client(vertexai=True, api_key=key, http_options=options)
            paged = functools.partial(client.models.list, config={"page_size": 2})
            names = await asyncio.to_thread(lambda: [model.name for model in paged()])
            one = await asyncio.to_thread(client.models.get, model=GEMINI)
    assert {f"publishers/google/models/{GEMINI}", "publishers/google/models/gpt-4.1"} <= set(names)
    assert one.name == f"publishers/google/models/{GEMINI}"
