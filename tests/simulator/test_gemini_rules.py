"""Google's rules, each as a request that breaks it, and the forms of request and error that its endpoint knows."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from app.simulator.running import Running

MODEL = "gemini-2.5-flash"
USER = {"role": "user", "parts": [{"text": "hello"}]}
MODELS_TEXT = {"role": "model", "parts": [{"text": "hi"}]}


def _path(model: str = MODEL, verb: str = "generateContent", version: str = "v1beta") -> str:
    return f"/{version}/models/{model}:{verb}"


def _calls(*names: str) -> dict[str, Any]:
    return {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}}} for name in names]}


def _results(*names: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"functionResponse": {"name": name, "response": {}}} for name in names]}


def _part(**part: Any) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [part]}]}


def _config(**config: Any) -> dict[str, Any]:
    return {"generationConfig": config}


def _declared(*declarations: dict[str, Any]) -> dict[str, Any]:
    return {"tools": [{"functionDeclarations": list(declarations)}]}


UNEQUAL = "number of function response parts is equal to the number of function call parts of the function call turn"
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no contents": ({"contents": []}, "contents is not specified"),
    "unknown root field": (
        {"foldline": {}},
        'Invalid JSON payload received. Unknown name "foldline": Cannot find field.',
    ),
    "unknown field in a part": (
        _part(text="x", cacheControl={}),
        "Invalid JSON payload received. Unknown name \"cacheControl\" at 'contents[0].parts[0]': Cannot find field.",
    ),
    "unknown field in the configuration": (_config(top_q=1), "Unknown name \"top_q\" at 'generation_config'"),
    "number in quotes": (
        _config(temperature="1"),
        "Invalid value at 'generation_config.temperature' (TYPE_FLOAT), \"1\"",
    ),
    "fraction for a whole number": (_config(maxOutputTokens=1.5), "'generation_config.max_output_tokens' (TYPE_INT32)"),
    "text for a message": ({"contents": ["hello"]}, "Invalid value at 'contents[0]'"),
    "both spellings": (_config(topP=1, top_p=1), "set twice"),
    "no parts": ({"contents": [{"role": "user", "parts": []}]}, "contents[0].parts: contents.parts must not be empty"),
    "part without data": (_part(thought=True), "required oneof field 'data' must have one initialized field"),
    "part with two data fields": (_part(text="x", functionCall={"name": "f"}), "oneof field 'data' is already set"),
    "wrong base64": (_part(inlineData={"mimeType": "image/png", "data": "@@@"}), "Base64 decoding failed"),
    "gif": (_part(inlineData={"mimeType": "image/gif", "data": "AAAA"}), "Unsupported MIME type: image/gif"),
    "role assistant": ({"contents": [{"role": "assistant", "parts": [{"text": "x"}]}]}, "valid role: user, model"),
    "role function": ({"contents": [USER, _calls("f"), {**_results("f"), "role": "function"}]}, "valid role"),
    "model first": ({"contents": [MODELS_TEXT, USER]}, "start with a user turn"),
    "call without result": ({"contents": [USER, _calls("f"), USER]}, UNEQUAL),
    "call at the end": ({"contents": [USER, _calls("f")]}, UNEQUAL),
    "one result of two": ({"contents": [USER, _calls("f", "g"), _results("f")]}, UNEQUAL),
    "interleaved": ({"contents": [USER, _calls("f"), _results("f", "g"), _calls("g")]}, UNEQUAL),
    "result without call": ({"contents": [USER, _results("f")]}, "immediately after a function call turn"),
    "call after a model's text": (
        {"contents": [USER, MODELS_TEXT, _calls("f"), _results("f")]},
        "immediately after a user turn or after a function response turn",
    ),
    "call by the user": ({"contents": [{**_calls("f"), "role": "user"}]}, "only in contents of role model"),
    "result of another name": ({"contents": [USER, _calls("f"), _results("g")]}, "names match"),
    "result that is text": (_part(functionResponse={"name": "f", "response": "x"}), "google.protobuf.Struct"),
    "name that begins with a digit": (_declared({"name": "1f"}), "Invalid function name"),
    "name with a slash": (_declared({"name": "a/b"}), "Invalid function name"),
    "name of 129": (_declared({"name": "a" * 129}), "maximum length of 128"),
    "declared twice": (_declared({"name": "f"}, {"name": "f"}), "Duplicate function declaration found: f"),
    "empty tool": ({"tools": [{}]}, "tool_type"),
    "must call nothing": ({"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, "without function_declarations"),
    "six stops": (_config(stopSequences=list("abcdef")), "range is from 0 to 5"),
    "two candidates": (_config(candidateCount=2), "Multiple candidates"),
    "hot": (_config(temperature=2.1), "temperature value of 2.1"),
    "no output": (_config(maxOutputTokens=0), "maxOutputTokens value of 0"),
    "unknown output": (_config(responseMimeType="text/html"), "allowed mimetypes"),
    "schema for text": (_config(responseJsonSchema={"type": "object"}), "only allowed with response_mime_type"),
    "level of a model with budgets": (_config(thinkingConfig={"thinkingLevel": "LOW"}), "level is not supported"),
    "unknown level": (_config(thinkingConfig={"thinkingLevel": "HUGE"}), 'ThinkingLevel), "HUGE"'),
    "budget out of range": (_config(thinkingConfig={"thinkingBudget": 99_999}), "budget 99999 is invalid"),
    "thoughts without thinking": (_config(thinkingConfig={"thinkingBudget": 0, "includeThoughts": True}), "is enabled"),
    "unknown cache": ({"cachedContent": "cachedContents/x"}, "CachedContent not found"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_broken_rule_is_refused_in_google_s_words(name: str, http: httpx2.AsyncClient, sim: Running) -> None:
    change, said = REFUSED[name]
    answer = await http.post(_path(), json={"contents": [USER]} | change)
    error = answer.json()["error"]
    assert said in error["message"]
    assert answer.status_code == error["code"] == (403 if name == "unknown cache" else 400)
    assert error["status"] == ("PERMISSION_DENIED" if name == "unknown cache" else "INVALID_ARGUMENT")
    assert sim.journal.last.refused == error["message"]


OF_MODELS: list[tuple[str, dict[str, Any], str]] = [
    ("gemini-3.8-flash", {"contents": [USER, MODELS_TEXT]}, "ends with a user role"),
    (
        "gemini-3.8-flash",
        _config(thinkingConfig={"thinkingLevel": "MINIMAL"}),
        "Thinking level MINIMAL is not supported",
    ),
    ("gemini-3.6-flash", _config(thinkingConfig={"thinkingLevel": "LOW", "thinkingBudget": 1}), "only set only one"),
    ("gemini-2.5-pro", _config(thinkingConfig={"thinkingBudget": 0}), "only works in thinking mode"),
    ("gemini-2.5-flash", _declared({"name": "f"}) | _config(responseMimeType="application/json"), "is unsupported"),
    (
        "gemini-3-1k",
        {"contents": [{"parts": [{"text": "x" * 5000}]}]},
        "exceeds the maximum number of tokens allowed (1000)",
    ),
]


@pytest.mark.parametrize(("model", "change", "said"), OF_MODELS)
async def test_a_model_has_rules_of_its_own(
    model: str, change: dict[str, Any], said: str, http: httpx2.AsyncClient
) -> None:
    answer = await http.post(_path(model), json={"contents": [USER]} | change)
    assert (answer.status_code, said in answer.json()["error"]["message"]) == (400, True), answer.text


ACCEPTED: dict[str, dict[str, Any]] = {
    "no role": {"contents": [{"parts": [{"text": "x"}]}]},
    "one content, no list": {"contents": {"parts": {"text": "x"}}},
    "two users in a row": {"contents": [USER, USER]},
    "both casings in one body": {
        "contents": [{"parts": [{"inlineData": {"data": "__79Pz4=", "mime_type": "image/png"}}]}],
        "systemInstruction": {"role": "user", "parts": [{"text": "sys"}]},
        "generation_config": {"temperature": 0.2, "thinkingConfig": {"include_thoughts": True, "thinking_budget": 512}},
    },
    "null is absent": {"generationConfig": {"temperature": None}, "tools": None},
    "free keys in arguments": {
        "contents": [
            USER,
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"any_key": 1}}}]},
            _results("f"),
        ]
    },
    "lower case enums": _config(responseModalities=["text"]) | {"serviceTier": "flex", "labels": {"a_b": "c"}},
    "a name with dots": _declared({"name": "_a.b:c-d"}),
}


@pytest.mark.parametrize("name", ACCEPTED)
async def test_what_google_takes_is_answered_on_every_version(name: str, http: httpx2.AsyncClient) -> None:
    for version in ("v1", "v1beta", "v1alpha", "v1beta1"):
        answer = await http.post(_path(version=version), json={"contents": [USER]} | ACCEPTED[name])
        assert answer.status_code == 200, answer.text


async def test_every_unknown_name_is_listed_with_its_place(http: httpx2.AsyncClient) -> None:
    answer = await http.post(_path(), json={"contents": [{"parts": [{"text": "x", "b": 1}]}], "a": 1})
    violations = answer.json()["error"]["details"][0]["fieldViolations"]
    assert [one.get("field") for one in violations] == ["contents[0].parts[0]", None]


async def test_keys_are_taken_by_header_query_and_bearer_and_a_bad_one_is_a_400(http: httpx2.AsyncClient) -> None:
    async def ask(query: str = "", **headers: str) -> httpx2.Response:
        return await http.post(_path() + query, json={"contents": [USER]}, headers=headers)

    http.headers.pop("authorization")
    http.headers.pop("x-goog-api-key")
    assert (await ask()).json()["error"]["status"] == "PERMISSION_DENIED"
    given = [await ask("?key=k"), await ask(authorization="Bearer t"), await ask(**{"x-goog-api-key": "k"})]
    assert [answer.status_code for answer in given] == [200, 200, 200]
    bad = await ask("?key=bad-key")
    assert (bad.status_code, bad.json()["error"]["details"][0]["reason"]) == (400, "API_KEY_INVALID")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (_path("no-such-model"), 404),
        (_path("gemini-flash-latest"), 200),
        (_path("gemini-flash-latest", version="v1"), 404),
        ("/v1beta1/projects/p/locations/l/publishers/google/models/gemini-2.5-flash:generateContent", 200),
        ("/v1beta/models/gemini-2.5-flash:embedContent", 404),
    ],
)
async def test_a_path_finds_its_model_or_a_404(path: str, status: int, http: httpx2.AsyncClient) -> None:
    answer = await http.post(path, json={"contents": [USER]})
    assert (answer.status_code, "error" in answer.json()) == (status, status == 404)


async def test_without_alt_sse_a_stream_and_its_errors_are_json_arrays(http: httpx2.AsyncClient) -> None:
    verb = "streamGenerateContent"
    answer = await http.post(_path(verb=verb), json={"contents": [{"parts": [{"text": "[[words=9]] [[chunks=3]]"}]}]})
    chunks = json.loads(answer.text)
    assert [("finishReason" in chunk["candidates"][0]) for chunk in chunks] == [False, False, True]
    refused = await http.post(_path(verb=verb), json={"contents": []})
    assert (refused.status_code, refused.json()[0]["error"]["code"]) == (400, 400)
    event = await http.post(_path(verb=verb) + "?alt=sse", json={"contents": []})
    assert event.json()["error"]["code"] == 400


async def test_events_have_crlf_running_usage_and_the_finish_reason_last(http: httpx2.AsyncClient) -> None:
    path = _path(verb="streamGenerateContent") + "?alt=sse"
    answer = await http.post(path, json={"contents": [{"parts": [{"text": "[[words=12]] [[chunks=4]]"}]}]})
    events = answer.text.split("\r\n\r\n")
    assert events.pop() == ""
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    totals = [chunk["usageMetadata"]["totalTokenCount"] for chunk in chunks]
    assert (len(chunks), totals) == (4, sorted(totals))
    assert [chunk["candidates"][0].get("finishReason") for chunk in chunks] == [None, None, None, "STOP"]


async def test_tokens_are_counted_for_contents_and_for_whole_requests(http: httpx2.AsyncClient) -> None:
    async def count(body: dict[str, Any]) -> httpx2.Response:
        return await http.post(_path(verb="countTokens"), json=body)

    bare = (await count({"contents": [USER]})).json()["totalTokens"]
    request = {"model": f"models/{MODEL}", "contents": [USER], "systemInstruction": {"parts": [{"text": "sys"}]}}
    whole = (await count({"generateContentRequest": request})).json()["totalTokens"]
    used = (await http.post(_path(), json={"contents": [USER]})).json()["usageMetadata"]["promptTokenCount"]
    assert bare == used < whole
    assert (await count({"contents": [USER], "systemInstruction": {}})).status_code == 400
