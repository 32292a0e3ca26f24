"""The dry run says what a turn then does, and does nothing of it itself."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from app.settings import Route
from app.simulator.running import Running
from tests.cases.exchanges import GEMINI, OPENAI, ask, called, chat, gemini_call, gemini_said, tool
from tests.running import Proxy, StartFoldline

Body = dict[str, Any]
PLAN = "/foldline/plan"
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
LOST = ["Ahoy.", {"role": "assistant", "content": None, "tool_calls": [CALL]}, "Go on."]
CONTENTS: Body = {"contents": [{"role": "user", "parts": [{"text": "Say: ahoy"}]}], "labels": {"a": "b"}}

CLAUDE = "claude-sonnet-4-5"
SAID = [{"role": "user", "content": "Say: ahoy"}]
STEP = {"type": "user_input", "content": [{"type": "text", "text": "Say: ahoy"}]}

TURNS: dict[str, tuple[str, Body]] = {
    "kept": ("", chat("Say: ahoy", model=OPENAI, seed=3)),
    "translated": ("", chat("Say: ahoy", {"role": "system", "content": "Be brief."}, "And?", x_unheard_of=1)),
    "mended": ("", chat(*LOST, model=OPENAI)),
    "mended and translated": ("", chat(*LOST)),
    "off": ("", chat(*LOST, model=OPENAI, foldline={"off": True})),
    "told a memory": ("", chat("Say: ahoy", foldline={"memory": {"name": "Aoi"}})),
    "Gemini, kept": (GEMINI, CONTENTS),
    "Gemini, translated": (OPENAI, CONTENTS),
    "Anthropic, kept": ("", {"model": CLAUDE, "max_tokens": 50, "messages": SAID, "metadata": {"user_id": "u"}}),
    "Anthropic, translated": ("", {"model": OPENAI, "max_tokens": 50, "system": "Be brief.", "messages": SAID}),
    "Responses, translated": ("", {"model": GEMINI, "input": SAID, "instructions": "Be brief."}),
    "Interactions, kept": ("", {"model": GEMINI, "input": "Say: ahoy", "system_instruction": "Be brief."}),
    "Interactions, translated": ("", {"model": OPENAI, "input": [STEP], "stream": False}),
}
"""The model in the path (of a Gemini body), and the body."""
PATHS = {"Anthropic": "/v1/messages", "Responses": "/v1/responses", "Interactions": "/v1beta/interactions"}


async def planned(http: httpx2.AsyncClient, body: Body, model: str = "", **headers: str) -> Body:
    """A plan, which must come."""
    answer = await http.post(PLAN, params={"model": model} if model else {}, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("name", TURNS)
async def test_a_turn_does_what_its_plan_says(http: httpx2.AsyncClient, sim: Running, name: str) -> None:
    model, body = TURNS[name]
    plan = await planned(http, body, model)
    assert sim.journal.calls() == []
    sim.script([gemini_said({"text": "ahoy"}) if (model or body["model"]) == GEMINI else {"text": "ahoy"}])
    usual = f"/v1beta/models/{model}:generateContent" if model else "/v1/chat/completions"
    path = PATHS.get(name.partition(",")[0], usual)
    answer = await http.post(path, json=body)
    sent = sim.journal.last
    record = (await http.get(f"/foldline/turns/{answer.headers['x-foldline-turn']}")).json()

    assert sent.path.endswith(plan["request"]["path"])
    assert sent.body == plan["request"]["body"]
    assert plan["plan"] == answer.headers["x-foldline-plan"]
    assert plan["session"] == answer.headers["x-foldline-session"]
    assert plan["tokens"]["received"] == len(json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()) // 4
    assert plan["untouched"] == (sent.raw == answer.request.content)
    assert (plan["decisions"], plan["losses"]) == (record["decisions"], record["losses"])
    assert (plan["upstream"]["name"], plan["upstream"]["model"]) == (
        record["turn"]["upstream"],
        record["turn"]["model"],
    )
    assert plan["tokens"]["sent"] == record["turn"]["sent"]


async def test_what_would_be_put_back_and_how_far_the_chat_is_known_is_told(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    tools = [tool("f", "x")]
    sim.script([gemini_said(gemini_call("f", {"x": "1"}, "c2lnMQ=="))])
    heard = await ask(http, chat("Ahoy.", tools=tools))
    result = {"role": "tool", "tool_call_id": heard.calls[0]["id"], "content": "nine"}
    body = chat("Ahoy.", called(heard), result, tools=tools)
    sim.journal.clear()
    plan = await planned(http, body)

    assert plan["plan"] == "restore=1"
    assert plan["decisions"][0]["reason"] == "1 assistant turn went back as gemini itself wrote it."
    assert plan["known"] == {"messages": 3, "prefix": 2, "bypassed": None, "broke": None, "recalled": True}
    assert plan["messages"] == {"received": 3, "kept": 2, "others": 1}
    assert "c2lnMQ==" in json.dumps(plan["request"]["body"])
    assert sim.journal.calls() == []


async def test_where_a_history_was_edited_is_told(http: httpx2.AsyncClient) -> None:
    said: list[Any] = []
    for text in ("One.", "Two.", "Three."):
        heard = await ask(http, chat(*said, text, model=OPENAI))
        said += [text, {"role": "assistant", "content": heard.text}]
    whole = await planned(http, chat(*said, "Four.", model=OPENAI))
    said[2] = "Two, or three?"
    edited = await planned(http, chat(*said, "Four.", model=OPENAI))
    said[0] = "None."
    other = await planned(http, chat(*said, "Four.", model=OPENAI))

    assert (whole["known"]["prefix"], whole["known"]["broke"]) == (6, None)
    assert edited["known"]["prefix"] == 2
    assert edited["known"]["broke"].startswith("message 3 or 4 differs from what was sent")
    assert (other["known"]["prefix"], other["known"]["broke"]) == (0, None)


async def test_nothing_is_written(http: httpx2.AsyncClient) -> None:
    new = await planned(http, chat("Never said before.", foldline={"memory": {"a": 1}}))
    heard = await ask(http, chat("Ahoy.", model=OPENAI))
    known = f"/foldline/sessions/{heard.headers['x-foldline-session']}"
    before = (await http.get(known)).json()
    again = await planned(http, chat("Ahoy.", {"role": "assistant", "content": heard.text}, "And?", model=OPENAI))

    assert (await http.get(f"/foldline/sessions/{new['session']}")).status_code == 404
    assert (await http.get(f"/foldline/sessions/{new['session']}/memory")).json() == {}
    assert again["known"]["prefix"] == 2
    assert (await http.get(known)).json() == before


async def test_a_session_that_is_named_is_that_session_and_a_plan_sees_only_its_own_tenant(
    http: httpx2.AsyncClient, proxy: Proxy
) -> None:
    heard = await ask(http, chat("Ahoy.", model=OPENAI), **{"x-foldline-session": "harbour"})
    body = chat("Ahoy.", {"role": "assistant", "content": heard.text}, "And?", model=OPENAI)
    named = await planned(http, body, **{"x-foldline-session": "harbour"})
    unnamed = await planned(http, body)
    other = await planned(http, body, **{"x-foldline-session": "harbour", "authorization": "Bearer another"})

    assert (named["session"], named["session_named"]) == (heard.headers["x-foldline-session"], True)
    assert (unnamed["session_named"], unnamed["known"]["prefix"]) == (False, 0)
    assert named["known"]["prefix"] == 2
    assert other["known"]["prefix"] == 0
    assert other["session"] != named["session"]


@pytest.mark.parametrize("place", ["query", "body"])
async def test_a_gemini_body_s_model_stands_beside_it_or_in_it(http: httpx2.AsyncClient, place: str) -> None:
    body = CONTENTS if place == "query" else {"model": GEMINI, **CONTENTS}
    plan = await planned(http, body, GEMINI if place == "query" else "")

    assert plan["format"] == "Gemini generateContent"
    assert (plan["model"], plan["untouched"]) == (GEMINI, True)
    assert plan["request"] == {"path": f"/models/{GEMINI}:generateContent", "body": CONTENTS}


async def test_strict_shows_what_would_be_refused(foldline: StartFoldline, sim: Running, key: str) -> None:
    routes = (Route(match="main", upstream="gemini", model=GEMINI, fallbacks=("gpt-4.1",)),)
    async with (
        foldline(strict=True, routes=routes) as proxy,
        httpx2.AsyncClient(base_url=proxy.url, headers={"x-api-key": key}, trust_env=False, verify=False) as http,
    ):
        body = chat("Say: ahoy", model="main", logit_bias={"1": 2})
        plan = await planned(http, body)
        refused = await http.post("/v1/chat/completions", json=body)
        fine = await planned(http, chat("Say: ahoy", model="main"))

    assert plan["refused"] == refused.json()["error"]["message"]
    assert plan["losses"][0]["field"] == "logit_bias"
    assert fine["refused"] is None
    assert fine["fallbacks"] == [{"name": "openai", "model": "gpt-4.1"}]
    assert sim.journal.calls() == []


REFUSED: list[tuple[bytes, int, str]] = [
    (b"", 400, "JSON"),
    (b"[1]", 400, "JSON object"),
    (
        b'{"model":"m"}',
        400,
        "neither contents (Gemini generateContent) nor input (Gemini Interactions, OpenAI Responses) nor messages",
    ),
    (b'{"model":"m","messages":[]}', 400, "messages is empty"),
    (b'{"messages":[{"role":"user","content":"x"}]}', 400, "model is missing"),
    (b'{"contents":"x"}', 400, "has its model in the path"),
    (b'{"model":"m","input":"x","previous_response_id":"resp_nobody"}', 400, "resp_nobody"),
    (b'{"contents":"x","model":7}', 400, "model"),
    (b'{"model":"m","messages":[{"role":"user","content":"x"}],"foldline":{"keep_resent":4}}', 400, "keep_recent"),
    (b'{"contents":' + b"[" * 60_000 + b"]" * 60_000 + b',"model":"m"}', 400, ""),
]


@pytest.mark.parametrize(("body", "status", "about"), REFUSED)
async def test_a_body_that_cannot_be_planned_is_refused_plainly(
    http: httpx2.AsyncClient, body: bytes, status: int, about: str
) -> None:
    answer = await http.post(PLAN, content=body)

    assert answer.status_code == status
    assert list(answer.json()) == ["detail"]
    assert about in answer.json()["detail"]


async def test_a_model_beside_a_body_that_names_its_own_is_refused(http: httpx2.AsyncClient) -> None:
    answer = await http.post(f"{PLAN}?model=other", json=chat("Ahoy."))

    assert (answer.status_code, "leave out" in answer.json()["detail"]) == (400, True)


async def test_a_plan_is_for_those_who_manage_and_the_client_s_own_key_comes_beside_the_token(
    foldline: StartFoldline, sim: Running
) -> None:
    token = {"authorization": "Bearer boss"}
    async with (
        foldline(admin_token="boss", api_keys="house-1,house-2", max_body=2000, openai_api_key="k") as proxy,
        httpx2.AsyncClient(base_url=proxy.url, trust_env=False, verify=False) as http,
    ):
        heard = await ask(http, chat("Ahoy.", model=OPENAI), authorization="Bearer house-1")
        body = chat("Ahoy.", {"role": "assistant", "content": heard.text}, "And?", model=OPENAI)
        own = await planned(http, body, **token, **{"x-api-key": "house-1"})
        other = await planned(http, body, **token, **{"x-api-key": "house-2"})
        strangers = [
            await http.post(PLAN, json=body, headers=headers)
            for headers in ({}, {"authorization": "Bearer house-1"}, token, {**token, "x-api-key": "wrong"})
        ]
        large = await http.post(PLAN, json=chat("x" * 3000), headers={**token, "x-api-key": "house-1"})

    assert (own["known"]["prefix"], other["known"]["prefix"]) == (2, 0)
    assert [answer.status_code for answer in strangers] == [401] * 4
    assert large.status_code == 413
    assert "MAX_BODY" in large.json()["detail"]


async def test_a_client_that_sends_only_what_is_new_sees_the_plan_of_the_whole(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    first = (await http.post("/v1/responses", json={"model": GEMINI, "input": "Say: ahoy"})).json()
    body = {"model": GEMINI, "input": "And again?", "previous_response_id": first["id"]}
    sim.journal.clear()
    plan = await planned(http, body)
    assert sim.journal.calls() == []
    answer = await http.post("/v1/responses", json=body)

    assert (plan["format"], plan["known"]["messages"]) == ("OpenAI Responses", 3)
    assert sim.journal.last.body == plan["request"]["body"]
    assert plan["plan"] == answer.headers["x-foldline-plan"]
    assert plan["session"] == answer.headers["x-foldline-session"]


async def test_a_body_that_fits_two_formats_is_read_as_its_headers_or_the_query_say(http: httpx2.AsyncClient) -> None:
    both = {"model": "lab", "max_tokens": 9, "messages": SAID}
    version = {"anthropic-version": "2023-06-01"}
    named = await http.post(PLAN, params={"format": "gemini_interactions"}, json={"model": "lab", "input": "x"})

    assert (await planned(http, both))["format"] == "OpenAI Chat Completions"
    assert (await planned(http, both, **version))["format"] == "Anthropic Messages"
    assert named.json()["format"] == "Gemini Interactions"
