"""Odd ids, methods and moments: each gets an answer in its dialect, and nothing that is not whole is kept."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from tests.running import Proxy, StartFoldline
from tests.servers import redis_server

ODD = (
    "%ff%fe",
    "%00",
    "a%2Fb",
    "x" * 3000,
    "%F0%9F%98%80",
    "..",
    "%7B%7D",
    "input_items",
    "resp_" + "f" * 48,
    "v1_%E3%81%82",
)


@pytest.mark.parametrize("own", [False, True], ids=["translated", "passed on"])
@pytest.mark.parametrize("identity", ODD)
async def test_an_odd_id_is_unknown(foldline: StartFoldline, key: str, own: bool, identity: str) -> None:
    ways: dict[str, Any] = {"openai_api": "responses", "gemini_api": "interactions"} if own else {}
    headers = {"authorization": f"Bearer {key}"}
    async with (
        foldline(**ways) as proxy,
        httpx2.AsyncClient(base_url=proxy.url, headers=headers, trust_env=False, verify=False) as http,
    ):
        for path in ("/v1/responses", "/v1/conversations", "/v1beta/interactions"):
            for method in ("GET", "DELETE"):
                answer = await http.request(method, f"{path}/{identity}")
                assert answer.status_code in (404, 405), (path, answer.text)
                assert answer.json()["error"]["message"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    identity=st.text(min_size=1, max_size=80),
    tail=st.sampled_from(["", "/input_items", "/items", "/cancel", "/items/x"]),
)
@example(identity="/", tail="")
def test_no_id_breaks_the_door(proxy: Proxy, key: str, identity: str, tail: str) -> None:
    headers = {"authorization": f"Bearer {key}"}
    with httpx2.Client(base_url=proxy.url, headers=headers, trust_env=False, verify=False) as http:
        for path in ("/v1/responses", "/v1/conversations", "/v1beta/interactions"):
            answer = http.get(
                httpx2.URL(proxy.url).copy_with(raw_path=f"{path}/".encode() + _quoted(identity) + tail.encode())
            )
            assert answer.status_code in (404, 405)


def _quoted(text: str) -> bytes:
    return b"".join(b"%%%02X" % byte for byte in text.encode("utf-8", "surrogatepass"))


async def test_a_method_that_is_none_is_refused_in_the_dialect(http: httpx2.AsyncClient) -> None:
    for method, path in (("GET", "/v1/responses"), ("PUT", "/v1/responses/x"), ("GET", "/v1/conversations")):
        answer = await http.request(method, path)
        assert answer.status_code == 405
        assert answer.json()["error"]["message"]


async def test_an_answer_that_broke_off_is_not_kept(http: httpx2.AsyncClient) -> None:
    for model in ("gpt-4.1", "gemini-3-flash-preview"):
        body = {"model": model, "input": "[[words=30]] [[break=3]]", "stream": True}
        said = b""
        async with http.stream("POST", "/v1/responses", json=body) as answer:
            try:
                async for data in answer.aiter_bytes():
                    said += data
            except httpx2.TransportError:
                pass
        first = json.loads(said.split(b"data: ", 1)[1].split(b"\n", 1)[0])
        assert (await http.get(f"/v1/responses/{first['response']['id']}")).status_code == 404


async def test_an_answer_that_nobody_waited_for_is_not_kept(http: httpx2.AsyncClient) -> None:
    body = {"model": "gpt-4.1", "input": "[[words=40]] [[delay=50]]", "stream": True}
    async with http.stream("POST", "/v1/responses", json=body) as answer:
        data = await anext(answer.aiter_bytes())
    first = json.loads(data.split(b"data: ", 1)[1].split(b"\n", 1)[0])
    assert (await http.get(f"/v1/responses/{first['response']['id']}")).status_code == 404


async def test_an_answer_that_was_cut_by_its_cap_is_kept_and_gone_on_from(http: httpx2.AsyncClient) -> None:
    for model in ("gpt-4.1", "gemini-3-flash-preview", "claude-sonnet-4-5"):
        body = {"model": model, "input": "[[words=400]]", "max_output_tokens": 40}
        made = (await http.post("/v1/responses", json=body)).json()
        assert made["status"] == "incomplete"
        assert (await http.get(f"/v1/responses/{made['id']}")).json()["status"] == "incomplete"
        later = await http.post(
            "/v1/responses", json={"model": model, "input": "Hm.", "previous_response_id": made["id"]}
        )
        assert later.status_code == 200


async def test_many_at_once_go_on_from_one_answer_on_two_replicas(foldline: StartFoldline, key: str) -> None:
    headers = {"authorization": f"Bearer {key}"}
    with redis_server() as server:
        store = {"redis_url": SecretStr(server.url), "secret": SecretStr("s" * 32), "store_timeout": 5}
        async with (
            foldline(**store) as one,
            foldline(**store) as two,
            _plain(one, headers) as left,
            _plain(two, headers) as right,
        ):
            body = {"model": "gpt-4.1", "input": "The code is PLUM-1."}
            first = (await left.post("/v1/responses", json=body)).json()["id"]

            async def ask(number: int) -> tuple[str, str]:
                http = (left, right)[number % 2]
                said = {"model": "gpt-4.1", "input": f"The berth is K-{number}.", "previous_response_id": first}
                made = (await http.post("/v1/responses", json=said)).json()["id"]
                other = (right, left)[number % 2]
                asked = {"model": "gpt-4.1", "input": "What is the berth?", "previous_response_id": made}
                return f"K-{number}", (await other.post("/v1/responses", json=asked)).json()["output"][0]["content"][0][
                    "text"
                ]

            for berth, told in await asyncio.gather(*map(ask, range(12))):
                assert berth in told


def _plain(proxy: Proxy, headers: dict[str, str]) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(base_url=proxy.url, headers=headers, trust_env=False, verify=False, timeout=20)


async def test_the_store_away_is_said_in_each_dialect(foldline: StartFoldline, key: str) -> None:
    with redis_server() as server:
        store = {"redis_url": SecretStr(server.url), "secret": SecretStr("s" * 32)}
        async with foldline(**store) as proxy, _plain(proxy, {"authorization": f"Bearer {key}"}) as http:
            server.kill()
            for path in ("/v1/responses/resp_x", "/v1/conversations/conv_" + "0" * 48, "/v1beta/interactions/v1_x"):
                answer = await http.get(path)
                assert answer.status_code == 503
                assert "store" in answer.json()["error"]["message"]
            assert (await http.post("/v1/conversations")).status_code == 503
            told = await http.post("/v1/responses", json={"model": "gpt-4.1", "input": "Say: ahoy"})
            assert told.status_code == 200


ITEMS: list[Any] = [
    {"role": "user", "content": "x", "id": 5},
    {"role": "user", "content": None, "id": None, "status": None},
    {"type": None, "role": "user", "content": "x"},
    {"type": "odd_kind", "x": 1, "id": {"a": 1}},
    {"role": "user", "content": "\ud800x"},
]


@pytest.mark.parametrize("item", ITEMS)
async def test_an_odd_item_that_was_taken_can_be_listed(http: httpx2.AsyncClient, item: Any) -> None:
    said = json.dumps({"model": "gemini-3-flash-preview", "input": [{"role": "user", "content": "Hi."}, item]})
    made = await http.post("/v1/responses", content=said)
    assert made.status_code == 200, made.text
    listed = (await http.get(f"/v1/responses/{made.json()['id']}/input_items")).json()["data"]
    assert all(isinstance(each["id"], str) and isinstance(each["type"], str) for each in listed)
    talk = await http.post("/v1/conversations", content=json.dumps({"items": [item]}))
    assert talk.status_code == 200, talk.text
    assert len((await http.get(f"/v1/conversations/{talk.json()['id']}/items")).json()["data"]) == 1


async def test_a_reference_is_no_item_of_a_conversation(http: httpx2.AsyncClient) -> None:
    for identity in (7, None, "msg_1"):
        answer = await http.post("/v1/conversations", json={"items": [{"type": "item_reference", "id": identity}]})
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, "items[0]")
