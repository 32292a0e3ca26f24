"""Where the model may not choose, where nothing can be kept, and where nothing is bulky, results stay as they came."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from pydantic import SecretStr

from tests.chaining.provider import Json, Provider
from tests.chaining.talk import Wire
from tests.fetching.conftest import KINDS, MODELS, Kind, StartFront, with_reviews
from tests.fetching.shop import TOOLS, reviews, rows
from tests.servers import redis_server

PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\x00" * 60).decode()


def _declared() -> list[Json]:
    return [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in TOOLS.items()]


def _body(kind: Kind, **more: Any) -> Json:
    call: Json = {"id": "c1", "type": "function", "function": {"name": "reviews", "arguments": "{}"}}
    messages: list[Json] = [
        {"role": "user", "content": "What do the reviews say?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": reviews()},
    ]
    return {"model": MODELS[kind], "messages": messages, "tools": _declared(), **more}


@KINDS
@pytest.mark.parametrize(
    "choice", ["none", {"type": "function", "function": {"name": "stock"}}], ids=["none", "forced"]
)
async def test_a_model_that_may_not_choose_is_not_offered_the_tool(
    front: StartFront, provider: Provider, kind: Kind, choice: Any
) -> None:
    async with front(kind) as proxy:
        answer = await proxy.http.post("/v1/chat/completions", json=_body(kind, tool_choice=choice))
        assert answer.status_code == 200, answer.text
        assert "fetch_rows" not in proxy.tools
        assert proxy.small()[0]["total_rows"] == 312
    assert provider.refused == []


@KINDS
async def test_a_chat_with_folding_off_goes_through_as_it_came(
    front: StartFront, provider: Provider, kind: Kind
) -> None:
    async with front(kind) as proxy:
        answer = await proxy.http.post("/v1/chat/completions", json=_body(kind, foldline={"off": True}))
        assert answer.status_code == 200, answer.text
        assert "fetch_rows" not in proxy.tools
        assert json.dumps(rows()[311]["text"])[1:-1] in proxy.new
    assert provider.refused == []


@pytest.mark.parametrize("kind", ["chat", "interactions"])
async def test_nothing_is_made_small_while_nothing_can_be_kept(
    front: StartFront, provider: Provider, kind: Kind
) -> None:
    with redis_server() as server:
        store: dict[str, Any] = {"redis_url": SecretStr(server.url), "secret": SecretStr("s" * 32)}
        async with front(kind, **store, store_timeout=0.2) as proxy:
            server.kill()
            answer = await proxy.http.post("/v1/chat/completions", json=_body(kind))
            assert answer.status_code == 200, answer.text
            assert "tool_results" not in answer.headers["x-foldline-plan"]
            assert "state=bypassed" in answer.headers["x-foldline-plan"]
            assert "fetch_rows" not in proxy.tools
            assert json.dumps(rows()[311]["text"])[1:-1] in proxy.new
    assert provider.refused == []


async def test_a_chat_in_which_a_handle_was_given_goes_on_while_the_store_is_away(
    front: StartFront, provider: Provider
) -> None:
    with redis_server() as server:
        store: dict[str, Any] = {"redis_url": SecretStr(server.url), "secret": SecretStr("s" * 32)}
        async with front("chat", **store, store_timeout=0.2) as proxy:
            talk = proxy.talk()
            await with_reviews(talk)
            server.kill()
            said = await talk.say("And now?")
            assert "state=bypassed" in said.plan
            assert json.dumps(rows()[311]["text"])[1:-1] in proxy.new
    assert provider.refused == []


@pytest.mark.parametrize(("kind", "wire"), [("chat", "openai"), ("interactions", "gemini"), ("anthropic", "anthropic")])
async def test_small_results_stay_as_they_came(front: StartFront, provider: Provider, kind: Kind, wire: Wire) -> None:
    async with front(kind) as proxy:
        said = await with_reviews(proxy.talk(wire), reviews(20))
        assert "tool_results" not in said.plan
        assert "fetch_rows" not in proxy.tools
        assert rows(20)[19]["text"] in proxy.seen
    assert provider.refused == []


async def test_errors_stay_as_they_came(front: StartFront, provider: Provider) -> None:
    async with front("anthropic") as proxy:
        talk = proxy.talk("anthropic")
        said = await talk.say('call reviews with {"q": "all"}')
        said = await talk.give((said.calls[0], reviews(), True))
        assert "tool_results" not in said.plan
        assert rows()[311]["text"] in proxy.seen
    assert provider.refused == []


async def test_pictures_stay_where_they_were(front: StartFront, provider: Provider) -> None:
    picture: Json = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}
    async with front("anthropic") as proxy:
        talk = proxy.talk("anthropic")
        said = await talk.say('call reviews with {"q": "all"}')
        content: list[Json] = [picture, {"type": "text", "text": reviews()}, picture]
        block: Json = {"type": "tool_result", "tool_use_id": said.calls[0].id, "content": content}
        await talk.ask([*talk.history, {"role": "user", "content": [block]}])
        sent = proxy.last.body["messages"][-1]["content"][0]["content"]
        assert [each["type"] for each in sent] == ["image", "text", "image"]
        assert sent[0]["source"]["data"] == PICTURE
        assert json.loads(sent[1]["text"])["total_rows"] == 312
    assert provider.refused == []


async def test_a_client_with_a_tool_of_that_name_keeps_it(front: StartFront, provider: Provider) -> None:
    async with front("chat") as proxy:
        talk = proxy.talk(tools={**TOOLS, "fetch_rows": TOOLS["stock"]})
        await with_reviews(talk)
        assert proxy.tools.count("fetch_rows") == 1
        assert proxy.tools[-1] == "foldline_fetch_rows"
        said = await talk.say('call fetch_rows with {"q": "its own"}')
        assert [(call.name, call.arguments) for call in said.calls] == [("fetch_rows", {"q": "its own"})]
    assert provider.refused == []
