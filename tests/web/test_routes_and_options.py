"""Which provider answers under which name, and what a request may say to Foldline itself."""

from __future__ import annotations

import re
from typing import Any

import httpx2
import openai
import pytest
from google.genai import types
from pydantic import SecretStr

from app.settings import Route, UpstreamTable
from app.simulator.running import Running
from tests.running import Proxy, StartFoldline
from tests.web.conftest import Google

GEMINI = "gemini-3-flash-preview"


def _asked(text: str, model: str, **fields: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": text}], **fields}


def _bare(proxy: Proxy, key: str) -> httpx2.AsyncClient:
    headers = {"authorization": f"Bearer {key}"}
    return httpx2.AsyncClient(base_url=proxy.url, headers=headers, trust_env=False, verify=False, timeout=10)


async def test_a_model_goes_to_the_provider_whose_name_it_bears(http: httpx2.AsyncClient, sim: Running) -> None:
    for model in ("gpt-4.1", GEMINI, "models/gemini-2.5-flash", "gemma-3", "mistral-large"):
        await http.post("/v1/chat/completions", json=_asked("Say: ahoy", model))

    assert [call.path for call in sim.journal.calls()] == [
        "/v1/chat/completions",
        f"/v1beta/models/{GEMINI}:generateContent",
        "/v1beta/models/gemini-2.5-flash:generateContent",
        "/v1beta/models/gemma-3:generateContent",
        "/v1/chat/completions",
    ]


async def test_a_route_renames_a_model_and_changes_nothing_else(
    foldline: StartFoldline, sim: Running, key: str
) -> None:
    routes = (Route(match="house-*", upstream="openai", model="gpt-4.1"),)
    body = b'{"x":1e2 , "model":"house-small","messages":[{"role":"user","content":"Say: \\u00e9"}],"seed":3}'
    async with foldline(routes=routes) as proxy, _bare(proxy, key) as http:
        sim.script([{"text": "ahoy"}])
        answer = await http.post("/v1/chat/completions", content=body, headers={"content-type": "application/json"})
    raw = sim.journal.last.raw

    assert answer.status_code == 200
    assert sim.journal.last.body["model"] == "gpt-4.1"
    assert b'"x":1e2' in raw
    assert b'"Say: \\u00e9"' in raw


async def test_a_route_leads_to_an_upstream_of_the_operator_s_own(
    foldline: StartFoldline, sim: Running, key: str
) -> None:
    routes = (Route(match="local/*", upstream="local", model="llama-9"),)
    upstreams = {"local": UpstreamTable(kind="openai", base_url=f"{sim.url}/v1", api_key=SecretStr("local-key"))}
    async with foldline(routes=routes, upstreams=upstreams) as proxy, _bare(proxy, key) as http:
        await http.post("/v1/chat/completions", json=_asked("Say: ahoy", "local/anything"))

    assert sim.journal.last.body["model"] == "llama-9"
    assert sim.journal.last.headers["authorization"] == "Bearer local-key"


@pytest.mark.parametrize("failure", ["fail=503", "fail=429", "fail=500"])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_fallback_answers_when_the_first_provider_cannot(
    foldline: StartFoldline, sim: Running, key: str, failure: str, stream: bool
) -> None:
    status = int(failure[-3:])
    routes = (Route(match="main", upstream="gemini", model=GEMINI, fallbacks=("gpt-4.1",)),)
    async with foldline(routes=routes, max_retries=0) as proxy, _bare(proxy, key) as http:
        sim.script([{"status": status, "json": {"error": {"code": status, "message": "busy", "status": "X"}}}])
        answer = await http.post("/v1/chat/completions", json=_asked("Say: ahoy", "main", stream=stream))

    assert answer.status_code == 200
    assert "ahoy" in answer.text
    assert [call.path.rpartition("/")[2] for call in sim.journal.calls()] == [
        f"{GEMINI}:{'streamGenerateContent' if stream else 'generateContent'}",
        "completions",
    ]


async def test_a_request_that_is_wrong_everywhere_falls_back_nowhere(
    foldline: StartFoldline, sim: Running, key: str
) -> None:
    routes = (Route(match="main", upstream="openai", model="gpt-4.1", fallbacks=(GEMINI,)),)
    async with foldline(routes=routes) as proxy, _bare(proxy, key) as http:
        answer = await http.post("/v1/chat/completions", json=_asked("[[fail=400]]", "main"))

    assert answer.status_code == 400
    assert len(sim.journal.calls()) == 1


async def test_options_for_foldline_never_reach_the_provider(
    chat: openai.AsyncOpenAI, sim: Running, model: str
) -> None:
    """They ride in `extra_body`, as OpenAI's SDK sends what it does not know."""
    answer = await chat.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": "Say: ahoy"}],
        extra_body={"foldline": {"session": "harbour-1", "keep_recent": 4, "chain": "never", "off": False}},
    )

    assert answer.choices[0].message.content == "ahoy"
    assert sim.journal.last.refused is None
    assert b"foldline" not in sim.journal.last.raw
    assert b"harbour-1" not in sim.journal.last.raw


async def test_options_in_google_s_sdk_ride_in_extra_body_too(gemini: Google, sim: Running, model: str) -> None:
    options = types.HttpOptions(extra_body={"foldline": {"session": "harbour-1"}})
    config = types.GenerateContentConfig(http_options=options)
    answer = await gemini.aio.models.generate_content(model=model, contents="Say: ahoy", config=config)

    assert answer.text == "ahoy"
    assert b"foldline" not in sim.journal.last.raw


@pytest.mark.parametrize(
    ("options", "about"),
    [
        ({"keep_resent": 4}, "keep_recent"),
        ({"keep_recent": "many"}, "keep_recent"),
        ({"profile": "pirate"}, "profile"),
        ({"chain": "always"}, "chain"),
        ({"off": "yes"}, "off"),
        ({"min_retention": 7}, "min_retention"),
        ("off", "foldline"),
    ],
)
async def test_an_option_that_is_not_known_is_a_400_that_names_it(
    http: httpx2.AsyncClient, sim: Running, options: object, about: str
) -> None:
    openai_said = await http.post("/v1/chat/completions", json=_asked("Hello.", "gpt-4.1", foldline=options))
    contents = [{"role": "user", "parts": [{"text": "Hello."}]}]
    gemini_said = await http.post(
        f"/v1beta/models/{GEMINI}:generateContent", json={"contents": contents, "foldline": options}
    )

    for answer in (openai_said, gemini_said):
        assert answer.status_code == 400
        assert about in answer.json()["error"]["message"]
    assert openai_said.json()["error"]["param"].startswith("foldline")
    assert sim.journal.calls() == []


async def test_off_sends_everything_else_as_it_is(http: httpx2.AsyncClient, sim: Running) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [{"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "user", "content": "Go on."}]
    sim.script([{"text": "so be it"}])
    await http.post("/v1/chat/completions", json={"model": "gpt-4.1", "messages": messages, "foldline": {"off": True}})

    assert sim.journal.last.body == {"model": "gpt-4.1", "messages": messages}


@pytest.mark.parametrize("field", ["logit_bias", "x_unheard_of"])
async def test_strict_refuses_what_the_provider_s_format_cannot_say(
    foldline: StartFoldline, sim: Running, key: str, field: str
) -> None:
    body = _asked("Say: ahoy", GEMINI, **{field: {"50256": -100}})
    async with foldline(strict=True) as proxy, _bare(proxy, key) as http:
        refused = await http.post("/v1/chat/completions", json=body)
        fine = await http.post("/v1/chat/completions", json=_asked("Say: ahoy", GEMINI, seed=5))

    assert (refused.status_code, refused.json()["error"]["param"]) == (400, field)
    assert fine.status_code == 200
    assert len(sim.journal.calls()) == 1


async def test_without_strict_what_cannot_be_said_is_left_out_and_reported(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/v1/chat/completions", json=_asked("Say: ahoy", GEMINI, x_unheard_of=1))
    record = await http.get(f"/foldline/turns/{answer.headers['x-foldline-turn']}")

    assert answer.status_code == 200
    assert "x_unheard_of" in str(record.json()["losses"])


@pytest.mark.parametrize("stream", [False, True])
async def test_every_answer_carries_foldline_s_headers(http: httpx2.AsyncClient, model: str, stream: bool) -> None:
    answer = await http.post("/v1/chat/completions", json=_asked("Say: ahoy", model, stream=stream))
    headers = answer.headers

    assert re.fullmatch(r"s-[0-9a-f]+", headers["x-foldline-session"])
    assert headers["x-foldline-turn"].startswith("t-" + headers["x-foldline-session"][2:])
    assert re.fullmatch(r"received=\d+, sent=\d+", headers["x-foldline-tokens"])
    assert headers["x-foldline-plan"] == "none"
    assert headers["x-request-id"].startswith("req_")


async def test_turns_of_one_conversation_share_a_session_and_another_conversation_has_its_own(
    http: httpx2.AsyncClient,
) -> None:
    first = await http.post("/v1/chat/completions", json=_asked("Count sheep.", "gpt-4.1"))
    said = first.json()["choices"][0]["message"]["content"]
    messages = [
        {"role": "user", "content": "Count sheep."},
        {"role": "assistant", "content": said},
        {"role": "user", "content": "Go on."},
    ]
    second = await http.post("/v1/chat/completions", json={"model": "gpt-4.1", "messages": messages})
    other = await http.post("/v1/chat/completions", json=_asked("Count goats.", "gpt-4.1"))
    sessions = [answer.headers["x-foldline-session"] for answer in (first, second, other)]

    assert sessions[0] == sessions[1] != sessions[2]


@pytest.mark.parametrize(
    "name", ["x-foldline-session", "x-session-id", "x-claude-code-session-id", "session-id", "x-openwebui-chat-id"]
)
async def test_a_session_that_the_client_names_is_that_session_whatever_is_said_in_it(
    http: httpx2.AsyncClient, name: str
) -> None:
    answers = [
        await http.post("/v1/chat/completions", json=_asked(text, "gpt-4.1"), headers={name: said})
        for text, said in (("One.", "a"), ("Two.", "a"), ("Two.", "b"))
    ]
    sessions = [answer.headers["x-foldline-session"] for answer in answers]

    assert sessions[0] == sessions[1] != sessions[2]
