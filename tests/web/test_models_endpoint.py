"""The models endpoint: one path, three dialects, and only what a route leads to."""

from __future__ import annotations

import asyncio

import httpx2
import openai
import pytest
from anthropic import AsyncAnthropic
from google import genai

from app.settings import Route, UpstreamTable
from app.simulator.running import Running
from tests.running import Proxy, StartFoldline
from tests.web.conftest import Google

GEMINI = "gemini-3-flash-preview"
OPERATORS = {"openai_api_key": "operators-1", "gemini_api_key": "operators-2"}
"""Keys of the operator's own, so that every provider can be asked for every client."""


def _bare(proxy: Proxy, **headers: str) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(base_url=proxy.url, headers=headers, trust_env=False, verify=False, timeout=10)


def _asked(sim: Running) -> list[str]:
    return [exchange.path for exchange in sim.journal if exchange.method == "GET"]


async def test_openai_s_sdk_lists_the_models_of_every_provider(foldline: StartFoldline, key: str) -> None:
    async with foldline(**OPERATORS) as proxy, openai.AsyncOpenAI(api_key=key, base_url=proxy.openai_url) as chat:
        listed = {model.id: model async for model in await chat.models.list()}

    assert {"gpt-4.1", GEMINI} <= listed.keys()
    assert (listed[GEMINI].object, listed[GEMINI].owned_by) == ("model", "google")
    assert listed["gpt-4.1"].created == 1_790_000_000
    assert not any(id_.startswith("models/") for id_ in listed)


async def test_google_s_sdk_lists_the_models_of_every_provider(foldline: StartFoldline, key: str) -> None:
    async with foldline(**OPERATORS) as proxy:
        client: Google = genai.Client(api_key=key, http_options={"base_url": proxy.url})
        listed = await asyncio.to_thread(lambda: {model.name: model for model in client.models.list()})
        client.close()

    assert {"models/gpt-4.1", f"models/{GEMINI}"} <= listed.keys()
    assert listed[f"models/{GEMINI}"].input_token_limit == 1_048_576
    assert listed["models/gpt-4.1"].supported_actions == ["generateContent", "countTokens"]


@pytest.mark.parametrize(
    ("secret", "provider"),
    [("sk-proj-1", "foldline-simulator"), ("AIza-1", "google"), ("no-known-shape", "foldline-simulator")],
)
async def test_a_client_s_own_key_is_shown_to_the_provider_that_it_is_for_and_no_other(
    proxy: Proxy, sim: Running, secret: str, provider: str
) -> None:
    async with _bare(proxy, authorization=f"Bearer {secret}") as client:
        listed = (await client.get("/v1/models")).json()["data"]

    assert {model["owned_by"] for model in listed} == {provider}
    assert len(sim.journal) == 1


async def test_both_sdks_get_single_models_of_either_provider(
    chat: openai.AsyncOpenAI, gemini: Google, model: str
) -> None:
    assert (await chat.models.retrieve(model)).id == model
    assert (await gemini.aio.models.get(model=model)).name == f"models/{model}"


async def test_a_model_that_its_provider_has_but_does_not_list_is_found(chat: openai.AsyncOpenAI) -> None:
    assert (await chat.models.retrieve("gpt-4o-2024-11-20")).id == "gpt-4o-2024-11-20"


async def test_a_model_that_nobody_has_is_not_found_in_the_asker_s_words(
    chat: openai.AsyncOpenAI, gemini: Google
) -> None:
    with pytest.raises(openai.NotFoundError) as refused:
        await chat.models.retrieve("no-such-model")
    assert refused.value.code == "model_not_found"
    with pytest.raises(genai.errors.ClientError) as denied:
        await gemini.aio.models.get(model="gemini-no-such")
    assert (denied.value.code, denied.value.status) == (404, "NOT_FOUND")


async def test_an_id_with_a_slash_is_decoded(chat: openai.AsyncOpenAI, sim: Running) -> None:
    """The SDK writes the slash as %2F."""
    assert (await chat.models.retrieve("meta/llama-9")).id == "meta/llama-9"
    assert _asked(sim)[-1] == "/v1/models/meta/llama-9"


async def test_anthropic_s_sdk_reads_pages_forwards_and_backwards(foldline: StartFoldline, key: str) -> None:
    headers = {"authorization": f"Bearer {key}", "anthropic-version": "2026-10-21"}
    async with foldline(**OPERATORS) as proxy, _bare(proxy, **headers) as client:
        everything = [model["id"] for model in (await client.get("/v1/models")).json()["data"]]
        async with AsyncAnthropic(base_url=proxy.url, api_key=key, max_retries=0) as sdk:
            paged = [model.id async for model in sdk.models.list(limit=2)]
        second = (await client.get("/v1/models", params={"limit": 2, "after_id": everything[1]})).json()
        first = (await client.get("/v1/models", params={"limit": 2, "before_id": second["first_id"]})).json()

    assert paged == everything
    assert ([model["id"] for model in second["data"]], second["has_more"]) == (everything[2:4], True)
    assert ([model["id"] for model in first["data"]], first["has_more"]) == (everything[:2], False)


async def test_google_s_sdk_reads_pages_to_the_end(foldline: StartFoldline, key: str) -> None:
    async with foldline(**OPERATORS) as proxy, _bare(proxy, **{"x-goog-api-key": key}) as client:
        everything = (await client.get("/v1beta/models")).json()
        one = (await client.get("/v1beta/models", params={"page_size": 1})).json()
        google: Google = genai.Client(api_key=key, http_options={"base_url": proxy.url})
        paged = await asyncio.to_thread(lambda: [model.name for model in google.models.list(config={"page_size": 3})])
        google.close()

    assert "nextPageToken" not in everything
    assert paged == [model["name"] for model in everything["models"]]
    assert (len(one["models"]), "nextPageToken" in one) == (1, True)


@pytest.mark.parametrize(
    ("path", "field"), [("/anthropic/v1/models?limit=none", "limit"), ("/v1beta/models?pageSize=0", "pageSize")]
)
async def test_a_page_of_no_size_is_refused_in_the_asker_s_words(proxy: Proxy, key: str, path: str, field: str) -> None:
    async with _bare(proxy, authorization=f"Bearer {key}") as client:
        refused = await client.get(path)

    assert refused.status_code == 400
    assert refused.json()["error"].get("type", "INVALID_ARGUMENT") in ("invalid_request_error", "INVALID_ARGUMENT")
    assert field in refused.json()["error"]["message"]


OPENAI, GOOGLE, ANTHROPIC = ["data", "object"], ["models"], ["data", "first_id", "has_more", "last_id"]


@pytest.mark.parametrize(
    ("path", "headers", "shape"),
    [
        ("/v1/models", {}, OPENAI),
        ("/v1/models", {"anthropic-version": "2026-10-21"}, ANTHROPIC),
        ("/v1/models", {"x-goog-api-client": "google-genai-sdk/3.6.1"}, GOOGLE),
        ("/v1/models?key=by-query", {}, GOOGLE),
        ("/v1beta/models", {}, GOOGLE),
        ("/gemini/v1/models", {}, GOOGLE),
        ("/gemini/v1beta/models", {"anthropic-version": "2023-06-01"}, GOOGLE),
        ("/openai/v1/models", {"x-goog-api-client": "anything"}, OPENAI),
        ("/anthropic/v1/models", {}, ANTHROPIC),
    ],
)
async def test_headers_tell_the_dialects_apart_and_a_prefix_overrules_them(
    proxy: Proxy, key: str, path: str, headers: dict[str, str], shape: list[str]
) -> None:
    async with _bare(proxy, authorization=f"Bearer {key}", **headers) as client:
        response = await client.get(path)

    assert (response.status_code, sorted(response.json())) == (200, shape)


async def test_anthropic_s_list_is_shaped_as_its_sdk_reads_it(foldline: StartFoldline, key: str) -> None:
    headers = {"authorization": f"Bearer {key}", "anthropic-version": "2026-10-21"}
    async with foldline(gemini_api_key="operators-2") as proxy, _bare(proxy, **headers) as client:
        body = (await client.get("/v1/models")).json()
        one = (await client.get(f"/v1/models/{body['first_id']}")).json()
        missing = await client.get("/v1/models/no-such-model")

    assert body["first_id"] == body["data"][0]["id"]
    assert {model["type"] for model in body["data"]} == {"model"}
    assert one == body["data"][0]
    undated = next(model for model in body["data"] if model["id"].startswith("gemini"))
    assert undated["created_at"] == "1970-01-01T00:00:00Z"
    assert (missing.status_code, missing.json()["error"]["type"]) == (404, "not_found_error")


async def test_a_list_is_kept_a_minute_for_its_own_client_only(proxy: Proxy, sim: Running, key: str) -> None:
    async with _bare(proxy, authorization=f"Bearer {key}") as mine, _bare(proxy, authorization="Bearer other") as other:
        for _ in range(3):
            await mine.get("/v1/models")
        assert len(_asked(sim)) == 1
        await other.get("/v1/models")

    assert [exchange.headers["authorization"] for exchange in sim.journal] == [f"Bearer {key}", "Bearer other"]


async def test_a_provider_that_does_not_answer_is_left_out_and_logged_once(
    foldline: StartFoldline, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    async with (
        foldline(gemini_base_url="http://127.0.0.1:9", gemini_api_key="operators-2") as proxy,
        _bare(proxy, authorization=f"Bearer {key}") as client,
    ):
        listed = [(await client.get("/v1/models")).json()["data"] for _ in range(3)]

    assert [len(models) for models in listed] == [len(listed[0])] * 3
    assert "gpt-4.1" in {model["id"] for model in listed[0]}
    assert capsys.readouterr().err.count("upstream gemini is left out") == 1


async def test_if_no_provider_takes_the_key_that_is_what_the_client_is_told(proxy: Proxy) -> None:
    async with _bare(proxy, authorization="Bearer bad-key") as client:
        refused = await client.get("/v1/models")
    async with _bare(proxy) as client:
        without = await client.get("/v1/models")

    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")
    assert without.status_code == 401


async def test_only_models_that_a_route_leads_to_are_listed_and_renamed_ones_under_their_new_name(
    foldline: StartFoldline, sim: Running, key: str
) -> None:
    routes = (
        Route(match="house", upstream="gemini", model=GEMINI),
        Route(match="gpt-*", upstream="second"),
        Route(match="*", upstream="gemini"),
    )
    second = {"second": UpstreamTable(kind="openai", base_url=sim.openai_url)}
    async with (
        foldline(routes=routes, upstreams=second, gemini_api_key="operators-2") as proxy,
        _bare(proxy, authorization=f"Bearer {key}") as client,
    ):
        listed = {model["id"] for model in (await client.get("/v1/models")).json()["data"]}
        house = (await client.get("/v1/models/house")).json()

    assert {"house", GEMINI, "gpt-4.1"} <= listed
    assert not {"o3", "deepseek-v4-pro"} & listed
    assert house["id"] == "house"


async def test_with_keys_of_foldline_s_own_the_list_is_closed_to_others_and_asks_with_the_operator_s_key(
    foldline: StartFoldline, sim: Running
) -> None:
    async with foldline(api_keys="house-key", **OPERATORS) as proxy:
        async with _bare(proxy, authorization="Bearer someone") as client:
            refused = await client.get("/v1/models")
        async with _bare(proxy, authorization="Bearer house-key") as client:
            listed = await client.get("/v1/models")

    assert (refused.status_code, listed.status_code) == (401, 200)
    assert len(sim.journal) == 2
    assert not any("house-key" in str(exchange.headers) for exchange in sim.journal)


async def test_all_who_ask_at_once_share_one_question_to_the_provider(
    foldline: StartFoldline, sim: Running, key: str
) -> None:
    async with foldline(**OPERATORS) as proxy, _bare(proxy, authorization=f"Bearer {key}") as client:
        answers = await asyncio.gather(*[client.get("/v1/models") for _ in range(12)])

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert sorted(_asked(sim)) == ["/v1/models", "/v1beta/models"]


async def test_an_operator_s_key_that_is_refused_is_not_blamed_on_the_client(foldline: StartFoldline, key: str) -> None:
    async with (
        foldline(openai_api_key="bad-key", gemini_api_key="operators-2") as half,
        _bare(half, authorization=f"Bearer {key}") as client,
    ):
        rest = await client.get("/v1/models")
    async with (
        foldline(openai_api_key="bad-key", gemini_api_key="bad-key") as none,
        _bare(none, authorization=f"Bearer {key}") as client,
    ):
        nothing = await client.get("/v1/models")

    assert {model["owned_by"] for model in rest.json()["data"]} == {"google"}
    assert (nothing.status_code, "bad-key" in nothing.text) == (502, False)


@pytest.mark.parametrize("path", ["/v1/models", "/v1/models/gpt-4.1", "/v1beta/models"])
async def test_some_clients_only_ask_whether_it_is_there(http: httpx2.AsyncClient, path: str) -> None:
    answer = await http.head(path)

    assert (answer.status_code, answer.content) == (200, b"")
