"""Thought signatures: where they are issued, which must come back, and that none can be made up or moved."""

from __future__ import annotations

import base64
import copy
from typing import Any

import httpx2
import pytest

TOOL = {"functionDeclarations": [{"name": "get_weather", "parametersJsonSchema": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}]}  # fmt: skip
ASK = {"role": "user", "parts": [{"text": "Weather in Oslo and Bergen?"}]}
BYPASS = "skip_thought_signature_validator"


async def _answer(http: httpx2.AsyncClient, contents: list[Any], model: str = "gemini-3.8-flash") -> httpx2.Response:
    return await http.post(f"/v1beta/models/{model}:generateContent", json={"contents": contents, "tools": [TOOL]})


def _results(content: dict[str, Any]) -> dict[str, Any]:
    calls = [part["functionCall"] for part in content["parts"]]
    return {
        "role": "user",
        "parts": [
            {"functionResponse": {"id": call["id"], "name": call["name"], "response": {"output": call["args"]["city"]}}}
            for call in calls
        ],
    }


@pytest.fixture
async def called(http: httpx2.AsyncClient) -> dict[str, Any]:
    """A model content with two parallel calls, as the simulator issued it."""
    return (await _answer(http, [ASK])).json()["candidates"][0]["content"]


async def test_only_the_first_of_parallel_calls_is_signed_and_both_have_ids(called: dict[str, Any]) -> None:
    assert ["thoughtSignature" in part for part in called["parts"]] == [True, False]
    assert len({part["functionCall"]["id"] for part in called["parts"]}) == 2


async def test_a_turn_goes_on_when_the_signature_comes_back(called: dict[str, Any], http: httpx2.AsyncClient) -> None:
    answer = await _answer(http, [ASK, called, _results(called)])
    part = answer.json()["candidates"][0]["content"]["parts"][-1]
    assert part["text"] == "get_weather says: Oslo; get_weather says: Bergen"
    assert "thoughtSignature" in part


async def test_url_safe_base64_is_the_same_signature(called: dict[str, Any], http: httpx2.AsyncClient) -> None:
    given = called["parts"][0]["thoughtSignature"]
    called["parts"][0]["thoughtSignature"] = given.replace("+", "-").replace("/", "_").rstrip("=")
    assert (await _answer(http, [ASK, called, _results(called)])).status_code == 200


def _without(parts: list[dict[str, Any]]) -> None:
    del parts[0]["thoughtSignature"]


def _made_up(parts: list[dict[str, Any]]) -> None:
    parts[0]["thoughtSignature"] = base64.b64encode(b"made up").decode()


def _moved(parts: list[dict[str, Any]]) -> None:
    parts[1]["thoughtSignature"] = parts[0].pop("thoughtSignature")


def _copied(parts: list[dict[str, Any]]) -> None:
    parts[1]["thoughtSignature"] = parts[0]["thoughtSignature"]


def _second_too(parts: list[dict[str, Any]]) -> None:
    """The second call gets the signature of a call just like the first one."""
    parts[1]["functionCall"] |= {"args": parts[0]["functionCall"]["args"]}
    parts[1]["thoughtSignature"] = parts[0]["thoughtSignature"]


def _other_arguments(parts: list[dict[str, Any]]) -> None:
    parts[0]["functionCall"]["args"] = {"city": "Rome"}


def _swapped(parts: list[dict[str, Any]]) -> None:
    parts.reverse()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_without, "Function call is missing a thought_signature in functionCall parts."),
        (_moved, "missing a thought_signature"),
        (_swapped, "missing a thought_signature"),
        (_made_up, "Corrupted thought signature"),
        (_copied, "Corrupted thought signature"),
        (_other_arguments, "Corrupted thought signature"),
        (_second_too, "only the first function call"),
    ],
)
async def test_a_signature_that_is_lost_moved_or_made_up_is_refused(
    change: Any, said: str, called: dict[str, Any], http: httpx2.AsyncClient
) -> None:
    changed = copy.deepcopy(called)
    change(changed["parts"])
    answer = await _answer(http, [ASK, changed, _results(changed)])
    assert (answer.status_code, said in answer.json()["error"]["message"]) == (400, True), answer.text
    older = await _answer(http, [ASK, changed, _results(changed)], "gemini-2.5-flash")
    assert older.status_code == 200
    next_turn = [ASK, changed, _results(changed), {"role": "model", "parts": [{"text": "ok"}]}, ASK]
    assert (await _answer(http, next_turn)).status_code == 200


@pytest.mark.parametrize("bypass", [BYPASS, base64.b64encode(BYPASS.encode()).decode()])
async def test_the_documented_bypass_passes(bypass: str, called: dict[str, Any], http: httpx2.AsyncClient) -> None:
    called["parts"][0]["thoughtSignature"] = bypass
    assert (await _answer(http, [ASK, called, _results(called)])).status_code == 200


async def test_every_step_of_a_turn_needs_its_own_signature(http: httpx2.AsyncClient) -> None:
    ask = {
        "role": "user",
        "parts": [{"text": 'call get_weather with {"city":"A"} then call get_weather with {"city":"B"}'}],
    }
    contents: list[Any] = [ask]
    for city in ("A", "B"):
        content = (await _answer(http, contents)).json()["candidates"][0]["content"]
        assert [part["functionCall"]["args"]["city"] for part in content["parts"]] == [city]
        contents += [content, _results(content)]
    assert "get_weather says: B" in (await _answer(http, contents)).text
    contents[1]["parts"][0].pop("thoughtSignature")
    assert "position 2" in (await _answer(http, contents)).json()["error"]["message"]


async def test_a_late_signature_comes_in_a_last_empty_part(http: httpx2.AsyncClient) -> None:
    body = {"contents": [{"parts": [{"text": "hello [[late_signature]]"}]}]}
    answer = await http.post("/v1/models/gemini-3-flash-preview:streamGenerateContent", json=body)
    last = answer.json()[-1]["candidates"][0]["content"]["parts"]
    assert [(part["text"], "thoughtSignature" in part) for part in last] == [("", True)]
