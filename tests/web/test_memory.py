"""Sticky memory through the door: said with a chat or beside it, it stands before the history of every turn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import httpx2
import openai
import pytest
from google.genai import types
from pydantic import SecretStr

from app.context.memory import CLOSING, LIMIT, OPENING
from app.simulator.running import Running
from tests.cases.exchanges import gemini_said
from tests.running import Proxy, StartFoldline
from tests.servers import RedisServer, redis_server, short_directory
from tests.web.conftest import Google

GEMINI = "gemini-3-flash-preview"
ASK = "What is my name?"
Json = dict[str, Any]
BEFORE: list[Json] = [{"role": "user", "content": "Say: ho"}, {"role": "assistant", "content": "ho"}]
"""Gemini gets memory in the user's first content: this is that, so that it is no part of the question."""

ALL = ["Say: ho", "ho", ASK]


@asynccontextmanager
async def _client(url: str, key: str = "", **headers: str) -> AsyncGenerator[httpx2.AsyncClient]:
    given = headers | ({"authorization": f"Bearer {key}"} if key else {})
    async with httpx2.AsyncClient(base_url=url, headers=given, trust_env=False, verify=False, timeout=10) as http:
        yield http


def _body(model: str, text: str = ASK, memory: Any = None, session: str = "trip", **more: Any) -> Json:
    foldline = {"session": session} | ({} if memory is None else {"memory": memory})
    return {"model": model, "messages": [*BEFORE, {"role": "user", "content": text}], "foldline": foldline, **more}


async def _say(http: httpx2.AsyncClient, body: Json) -> httpx2.Response:
    return await http.post("/v1/chat/completions", json=body)


def _at(session: str = "trip") -> str:
    return f"/foldline/sessions/{session}/memory"


def _texts(sim: Running) -> list[str]:
    """All texts of the last request that the provider got, in order, one a part."""
    body = sim.journal.last.body
    if "contents" in body:
        return [part.get("text", "") for content in body["contents"] for part in content["parts"]]
    return [message["content"] for message in body["messages"]]


def _held(text: str) -> Json:
    assert text.startswith(OPENING)
    assert text.endswith(CLOSING)
    return json.loads(text.removeprefix(OPENING).removesuffix(CLOSING))


def _content(answer: httpx2.Response) -> str:
    assert answer.status_code == 200, answer.text
    return answer.json()["choices"][0]["message"]["content"]


# ---- with a chat


@pytest.mark.parametrize("stream", [False, True])
async def test_what_a_chat_says_to_keep_is_known_to_the_model_at_once_and_later(
    http: httpx2.AsyncClient, sim: Running, model: str, stream: bool
) -> None:
    first = await _say(http, _body(model, memory={"name": "Aoi"}, stream=stream))
    assert "Aoi" in first.text
    assert "memory=1" in first.headers["x-foldline-plan"]
    again = await _say(http, _body(model, stream=stream))
    assert "Aoi" in again.text
    head, *others = _texts(sim)
    assert _held(head) == {"name": "Aoi"}
    assert others == ALL
    assert b"foldline" not in sim.journal.last.raw
    assert (await http.get(_at())).json() == {"name": "Aoi"}


@pytest.mark.parametrize("stream", [False, True])
async def test_the_official_clients_can_keep_something_and_have_it_answered(
    chat: openai.AsyncOpenAI, gemini: Google, sim: Running, model: str, stream: bool
) -> None:
    extra = {"foldline": {"session": "sdk", "memory": {"name": "Ren"}}}
    talk: Any = [*BEFORE, {"role": "user", "content": ASK}]
    contents = [types.UserContent("Say: ho"), types.ModelContent("ho"), types.UserContent(ASK)]
    if stream:
        said = ""
        async for chunk in await chat.chat.completions.create(
            model=model, messages=talk, stream=True, extra_body=extra
        ):
            said += (chunk.choices[0].delta.content or "") if chunk.choices else ""
    else:
        whole = await chat.chat.completions.create(model=model, messages=talk, extra_body=extra)
        said = whole.choices[0].message.content or ""
    assert "Ren" in said
    body = {"foldline": {"session": "sdk"}}
    answer = await gemini.aio.models.generate_content(
        model=model, contents=contents, config={"http_options": {"extra_body": body}}
    )
    assert "Ren" in answer.text
    assert _held(_texts(sim)[0]) == {"name": "Ren"}


async def test_a_chat_merges_into_what_is_there_and_null_removes(http: httpx2.AsyncClient, model: str) -> None:
    await _say(http, _body(model, memory={"name": "Aoi", "likes": {"tea": 1, "rice": 2}, "old": True}))
    await _say(http, _body(model, memory={"likes": {"tea": None, "figs": 3}, "old": None}))
    await _say(http, _body(model, memory={}))
    assert (await http.get(_at())).text == '{"name":"Aoi","likes":{"rice":2,"figs":3}}'


async def test_a_chat_that_goes_through_untouched_is_sent_without_memory(
    http: httpx2.AsyncClient, sim: Running, model: str
) -> None:
    await http.put(_at(), json={"name": "Aoi"})
    body = _body(model)
    body["foldline"]["off"] = True
    answer = await _say(http, body)
    assert answer.headers["x-foldline-plan"] == "none"
    assert _texts(sim) == ALL


async def test_the_record_of_a_turn_says_that_memory_was_there_and_not_what_it_holds(
    http: httpx2.AsyncClient, model: str
) -> None:
    answer = await _say(http, _body(model, memory={"name": "Aoi"}))
    record = await http.get(f"/foldline/turns/{answer.headers['x-foldline-turn']}")
    (decision,) = record.json()["decisions"]
    assert (decision["step"], decision["applied"]) == ("memory", "1")
    assert "1 entry" in decision["reason"]
    assert "Aoi" not in record.text


async def test_without_memory_the_clients_own_bytes_go_out(http: httpx2.AsyncClient, sim: Running) -> None:
    body = b'{"x":1e2 , "model":"gpt-4.1","messages":[{"role":"user","content":"Say: \\u00e9"}]}'
    named = {"content-type": "application/json", "x-session-id": "plain"}
    await http.put(_at("plain"), json={"a": 1})
    await http.delete(_at("plain"))
    answer = await http.post("/v1/chat/completions", content=body, headers=named)
    assert answer.headers["x-foldline-plan"] == "none"
    assert sim.journal.last.raw == body


@pytest.mark.parametrize("memory", [[], "text", 7])
async def test_what_is_no_object_is_refused_before_anything_is_sent(
    http: httpx2.AsyncClient, sim: Running, model: str, memory: Any
) -> None:
    answer = await _say(http, _body(model, memory=memory))
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "foldline.memory"
    assert sim.journal.calls() == []


async def test_each_request_begins_with_the_one_before_it_while_memory_stays_the_same(
    http: httpx2.AsyncClient, sim: Running, model: str
) -> None:
    await http.put(_at(), json={"name": "Aoi", "語": ["緑茶", 0.1]})
    body = _body(model, "Say: one")
    sent: list[str] = []
    for turn in range(4):
        answer = _content(await _say(http, body))
        asked = sim.journal.last.body
        sent.append(json.dumps(asked.get("messages") or asked["contents"], ensure_ascii=False))
        body["messages"] += [
            {"role": "assistant", "content": answer},
            {"role": "user", "content": f"Say: {turn} more"},
        ]
    assert all(after.startswith(before.removesuffix("]")) for before, after in pairwise(sent))
    assert sent[0].count("<memory") == sent[-1].count("<memory") == 1


async def test_what_only_the_provider_said_is_put_back_behind_memory_too(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    await http.put(_at(), json={"name": "Aoi"})
    sim.script([gemini_said({"text": "Twelve.", "thoughtSignature": "c2lnbmVk"})])
    body = _body(GEMINI, "How many?")
    answer = _content(await _say(http, body))
    body["messages"] += [{"role": "assistant", "content": answer}, {"role": "user", "content": "Say: ahoy"}]
    again = await _say(http, body)
    assert "memory=1; restore=1" in again.headers["x-foldline-plan"]
    assert sim.journal.last.body["contents"][3]["parts"][-1]["thoughtSignature"] == "c2lnbmVk"


async def test_an_answer_is_resumed_with_the_contents_that_it_was_begun_with(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    await http.put(_at(), json={"name": "Aoi"})
    body = {"contents": [{"role": "user", "parts": [{"text": "Say: ahoy"}]}]}
    url, named = f"/v1beta/models/{GEMINI}:generateContent", {"x-session-id": "trip"}
    await http.post(url, json=body, headers=named)
    begun = sim.journal.last.body["contents"]
    sim.script([{"text": "ahoy"}])
    await http.post(url, json={**body, "continuationToken": "dG9r"}, headers=named)
    assert sim.journal.last.body["contents"] == begun
    assert "Aoi" in begun[0]["parts"][0]["text"]


# ---- beside a chat


async def test_memory_is_read_put_patched_and_forgotten(http: httpx2.AsyncClient) -> None:
    assert (await http.get(_at())).json() == {}
    assert (await http.put(_at(), json={"b": 1, "a": {"x": 1, "y": None}})).text == '{"b":1,"a":{"x":1,"y":null}}'
    patched = await http.patch(_at(), json={"a": {"x": None, "z": 2}, "c": [None]})
    assert (patched.status_code, patched.text) == (200, '{"b":1,"a":{"y":null,"z":2},"c":[null]}')
    assert (await http.get(_at())).text == patched.text
    assert (await http.put(_at(), json={"d": 1})).json() == {"d": 1}
    assert (await http.delete(_at())).json() == {"forgotten": 1}
    assert (await http.delete(_at())).json() == {"forgotten": 0}
    assert (await http.get(_at())).json() == {}


async def test_both_ids_of_a_session_lead_to_the_same_memory(http: httpx2.AsyncClient, model: str) -> None:
    for theirs in ("trip", "trip/agent-1", "旅 #1"):
        answer = await _say(http, _body(model, session=theirs))
        ours = answer.headers["x-foldline-session"]
        await http.put(_at(theirs.replace("#", "%23")), json={"is": theirs})
        assert (await http.get(_at(ours))).json() == {"is": theirs}


async def test_forgetting_a_session_forgets_its_memory(http: httpx2.AsyncClient, model: str) -> None:
    answer = await _say(http, _body(model, memory={"name": "Aoi"}))
    await http.delete(f"/foldline/sessions/{answer.headers['x-foldline-session']}")
    assert (await http.get(_at())).json() == {}


async def test_a_session_with_only_memory_can_be_looked_up(foldline: StartFoldline, sim: Running) -> None:
    async with foldline() as proxy, _client(proxy.url, "k") as http:
        await http.put(_at(), json={"name": "Aoi"})
        (listed,) = (await http.get("/foldline/sessions")).json()["sessions"]
        assert (listed["turns"], (await http.get(_at(listed["id"]))).json()) == (0, {"name": "Aoi"})
        assert "Aoi" in _content(await _say(http, _body("gpt-4.1")))


async def test_changes_at_once_lose_none_of_each_others_keys(http: httpx2.AsyncClient, model: str) -> None:
    await asyncio.gather(
        *(http.patch(_at(), json={f"p{number}": number}) for number in range(6)),
        *(_say(http, _body(model, memory={f"c{number}": number})) for number in range(6)),
    )
    kept = (await http.get(_at())).json()
    assert kept == {f"{kind}{number}": number for kind in "pc" for number in range(6)}


@pytest.mark.parametrize(
    ("content", "status", "words"),
    [
        (b"[]", 400, "must be a JSON object"),
        (b"null", 400, "must be a JSON object"),
        (b'{"a":', 400, "not valid JSON"),
        (b'{"a":"\xff"}', 400, "not valid JSON"),
        (b"", 400, "not valid JSON"),
        (b'{"a":' + b"[" * 40 + b"]" * 40 + b"}", 400, "nested too deeply"),
        (b'{"a":' + b"[" * 60_000 + b"]" * 60_000 + b"}", 400, "nested too deeply"),
        (b'{"a":"' + b"x" * LIMIT + b'"}', 413, "32768 bytes a session"),
        (b'{"a":"' + b"x" * LIMIT * 5 + b'"}', 413, "32768 bytes a session"),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_what_cannot_be_kept_is_refused_in_a_sentence_and_changes_nothing(
    http: httpx2.AsyncClient, method: str, content: bytes, status: int, words: str
) -> None:
    await http.put(_at(), json={"name": "Aoi"})
    answer = await http.request(method, _at(), content=content)
    assert answer.status_code == status
    assert words in answer.json()["detail"]
    assert (await http.get(_at())).json() == {"name": "Aoi"}


async def test_memory_that_grows_past_its_limit_is_a_413_in_the_chats_dialect_and_stays_as_it_was(
    http: httpx2.AsyncClient, sim: Running, model: str
) -> None:
    await http.put(_at(), json={"a": "x" * (LIMIT - 100)})
    answer = await _say(http, _body(model, memory={"b": "y" * 200}))
    assert answer.status_code == 413
    assert "32768 bytes a session" in answer.json()["error"]["message"]
    assert list((await http.get(_at())).json()) == ["a"]
    assert sim.journal.calls() == []


# ---- whose memory


async def test_two_clients_share_nothing_under_the_same_name(
    http: httpx2.AsyncClient, proxy: Proxy, key: str, sim: Running, model: str
) -> None:
    await http.put(_at(), json={"name": "Aoi"})
    async with _client(proxy.url, f"{key}-of-another") as other:
        assert (await other.get(_at())).json() == {}
        answer = await _say(other, _body(model))
        assert "Aoi" not in answer.text
        assert _texts(sim) == ALL
        await other.put(_at(), json={"name": "Ren"})
        assert "Ren" in (await _say(other, _body(model))).text
    assert (await http.get(_at())).json() == {"name": "Aoi"}


async def test_another_tenants_session_id_in_a_chat_reaches_none_of_its_memory(
    http: httpx2.AsyncClient, proxy: Proxy, key: str, sim: Running, model: str
) -> None:
    theirs = (await _say(http, _body(model, memory={"name": "Aoi"}))).headers["x-foldline-session"]
    async with _client(proxy.url, f"{key}-of-a-thief") as thief:
        answer = await _say(thief, _body(model, session=theirs, memory={"name": "Eve"}))
        assert "Aoi" not in answer.text
    assert (await http.get(_at())).json() == {"name": "Aoi"}


async def test_with_an_admin_token_the_clients_key_comes_in_a_header_of_its_own(
    foldline: StartFoldline, model: str
) -> None:
    async with (
        foldline(admin_token=SecretStr("boss")) as proxy,
        _client(proxy.url, "client-1") as client,
        _client(proxy.url, "boss") as admin,
    ):
        ours = (await _say(client, _body(model, memory={"name": "Aoi"}))).headers["x-foldline-session"]
        assert (await client.get(_at())).status_code == 401
        unnamed = await admin.get(_at())
        assert (unnamed.status_code, "x-api-key" in unnamed.json()["detail"]) == (400, True)
        assert (await admin.get(_at(ours))).json() == {"name": "Aoi"}
        assert (await admin.get(_at(), headers={"x-api-key": "client-1"})).json() == {"name": "Aoi"}
        assert (await admin.get(_at(), headers={"x-api-key": "client-2"})).json() == {}


async def test_where_clients_need_a_key_their_own_ids_need_it_too(foldline: StartFoldline) -> None:
    async with foldline(api_keys="house-1") as proxy, _client(proxy.url, "nobody") as http:
        refused = await http.put(_at(), json={"a": 1})
        assert (refused.status_code, "API keys" in refused.json()["detail"]) == (401, True)
        assert (await http.put(_at(), json={"a": 1}, headers={"authorization": "Bearer house-1"})).status_code == 200


async def test_a_web_page_with_a_name_of_its_own_reads_no_memory(http: httpx2.AsyncClient) -> None:
    assert (await http.get(_at(), headers={"host": "evil.example"})).status_code == 403


async def test_an_id_that_is_too_long_is_said_to_be(http: httpx2.AsyncClient) -> None:
    assert (await http.get(_at("x" * 257))).status_code == 404


# ---- the store is the only copy


async def test_memory_survives_a_restart(foldline: StartFoldline, model: str) -> None:
    with short_directory() as place:
        settings = {"redis_url": SecretStr(f"embedded://{place}/s")}
        async with foldline(**settings) as proxy, _client(proxy.url, "k") as http:
            await _say(http, _body(model, memory={"name": "Aoi"}))
        async with foldline(**settings) as proxy, _client(proxy.url, "k") as http:
            assert (await http.get(_at())).json() == {"name": "Aoi"}
            assert "Aoi" in _content(await _say(http, _body(model)))


async def test_when_the_store_is_away_only_what_needs_it_is_refused(
    foldline: StartFoldline, sim: Running, model: str
) -> None:
    server: RedisServer
    with redis_server() as server:
        settings = {"redis_url": SecretStr(server.url), "store_timeout": 0.2}
        async with foldline(**settings) as proxy, _client(proxy.url, "k") as http:
            await http.put(_at(), json={"name": "Aoi"})
            server.kill()
            for method, content in (("GET", None), ("PUT", b"{}"), ("PATCH", b'{"a":1}'), ("DELETE", None)):
                answer = await http.request(method, _at(), content=content)
                assert (answer.status_code, "store" in answer.json()["detail"]) == (503, True)

            for stream in (False, True):
                refused = await _say(http, _body(model, memory={"b": 2}, stream=stream))
                assert refused.status_code == 503
                assert "without foldline.memory" in refused.json()["error"]["message"]
            contents = {"contents": [{"parts": [{"text": ASK}]}], "foldline": {"memory": {"b": 2}}}
            dialect = await http.post(f"/v1beta/models/{GEMINI}:generateContent", json=contents)
            assert (dialect.status_code, dialect.json()["error"]["status"]) == (503, "UNAVAILABLE")
            assert sim.journal.calls() == []

            nothing: tuple[Json | None, ...] = (None, {})
            for memory in nothing:  # the turn goes on without state
                answer = await _say(http, _body(model, memory=memory))
                assert (answer.status_code, answer.headers["x-foldline-plan"]) == (200, "state=bypassed")
