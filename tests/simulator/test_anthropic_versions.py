"""What depends on the version, the model and the headers: the same request is taken by one and refused by another."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from app.simulator.anthropic.models import model_named

PATH = "/v1/messages"
OLD = {"x-api-key": "lab", "anthropic-version": "2023-06-01"}
NEW = OLD | {"anthropic-version": "2026-10-21"}
HELLO = {"role": "user", "content": "hello"}
TOOL: dict[str, Any] = {"name": "f", "input_schema": {"type": "object", "properties": {"a": {"type": "string"}}}}
CALL: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}}
CITATION = {"type": "char_location", "cited_text": "d", "document_index": 0}
THINKS = {"thinking": {"type": "adaptive"}}


def _text(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def _user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def _model(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def _messages(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), **more}


def _budget(tokens: Any, **more: Any) -> dict[str, Any]:
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}, **more}


CITED = _messages(_user(_text("x", citations=[CITATION])))


def _body(change: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {"model": "claude-sonnet-4-6", "max_tokens": 4000, "messages": [HELLO]} | change
    return {name: value for name, value in body.items() if value is not ...}


async def _said(http: httpx2.AsyncClient, change: dict[str, Any], headers: dict[str, str] = OLD) -> tuple[int, str]:
    answer = await http.post(PATH, json=_body(change), headers=headers)
    error = answer.json().get("error", {})
    return answer.status_code, error.get("message", "")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"temperature": 1.0}, "temperature: Extra inputs are not permitted"),
        ({"top_p": 1}, "top_p: Extra inputs are not permitted"),
        ({"top_k": 0}, "top_k: Extra inputs are not permitted"),
        (
            _messages(_user(_text("x", citations=[CITATION]))),
            "`citations` can only be set on `text` blocks of `assistant` messages",
        ),
        (_messages(HELLO, _model(DOCUMENT), HELLO), "`document` blocks can only be in `user` messages"),
    ],
)
async def test_the_version_of_october_2026_takes_less(
    change: dict[str, Any], sentence: str, http: httpx2.AsyncClient
) -> None:
    assert (await _said(http, change))[0] == 200
    status, said = await _said(http, change, NEW)
    assert (status, sentence in said) == (400, True)


OPUS, SONNET, OLDER = "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-4-5"
UNSUPPORTED = '"thinking.type.{}" is not supported for this model.'


@pytest.mark.parametrize(
    ("model", "change", "sentence"),
    [
        (OPUS, {"temperature": 0.5}, "`temperature` is deprecated for this model."),
        (OPUS, {"temperature": 1}, ""),
        (OPUS, {"thinking": {"type": "disabled"}}, UNSUPPORTED.format("disabled")),
        (OPUS, _budget(1024), UNSUPPORTED.format("enabled")),
        (
            OPUS,
            {"tools": [TOOL], "tool_choice": {"type": "any"}},
            "Thinking may not be enabled when tool_choice forces",
        ),
        (OPUS, {"thinking": {"type": "between_tools"}}, UNSUPPORTED.format("between_tools")),
        (SONNET, {"thinking": {"type": "between_tools"}}, ""),
        (
            SONNET,
            {"thinking": {"type": "between_tools", "display": "omitted"}},
            "thinking.between_tools.display: Extra",
        ),
        (SONNET, {"thinking": {"type": "between_tools"}, "output_config": {"effort": "max"}}, "effort high or lower"),
        ("claude-opus-5", {"thinking": {"type": "disabled"}}, ""),
        (
            "claude-opus-5",
            {"thinking": {"type": "disabled"}, "output_config": {"effort": "max"}},
            "effort high or lower",
        ),
        ("claude-opus-5", {"tools": [TOOL], "tool_choice": {"type": "any"}}, ""),
        (OLDER, THINKS, "adaptive thinking is not supported on this model"),
        (OLDER, {"output_config": {"effort": "low"}}, "This model does not support the effort parameter."),
        (
            "claude-opus-4-5",
            {"output_config": {"effort": "max"}},
            "effort level 'max'. Supported levels: high, low, medium",
        ),
        (OLDER, _messages(HELLO, {"role": "system", "content": "x"}), 'messages: Unexpected role "system".'),
        (OPUS, _messages(HELLO, {"role": "system", "content": "x"}), ""),
        (OPUS, _messages({"role": "system", "content": "x"}, HELLO), "first message must use"),
        (OPUS, _messages(HELLO, {"role": "system", "content": "x"}, HELLO), "must be last or be followed by an"),
        (
            OPUS,
            _messages(HELLO, _model(_text("x")), {"role": "system", "content": "x"}),
            "must follow a `user` message",
        ),
    ],
)
async def test_each_model_has_its_own_rules(
    model: str, change: dict[str, Any], sentence: str, http: httpx2.AsyncClient
) -> None:
    status, said = await _said(http, {"model": model} | change)
    assert (status, sentence in said) == (400 if sentence else 200, True), said


@pytest.mark.parametrize(
    ("headers", "status", "sentence"),
    [
        ({"anthropic-version": "2023-06-01"}, 401, "x-api-key header is required"),
        ({"anthropic-version": "2023-06-01", "x-api-key": "bad-key"}, 401, "invalid x-api-key"),
        ({"anthropic-version": "2023-06-01", "authorization": "Bearer bad-key"}, 401, "Invalid bearer token"),
        ({"anthropic-version": "2023-06-01", "authorization": "Bearer lab"}, 200, ""),
        ({"x-api-key": "lab"}, 400, "anthropic-version: header is required"),
        ({"anthropic-version": "2024-01-01", "x-api-key": "lab"}, 400, "is not a valid version"),
        ({**OLD, "anthropic-beta": "made-up-2026-01-01,other"}, 200, ""),
    ],
)
async def test_a_request_shows_a_key_and_names_its_version(
    headers: dict[str, str], status: int, sentence: str, http: httpx2.AsyncClient
) -> None:
    http.headers.pop("authorization")
    found, said = await _said(http, {}, headers)
    assert (found, sentence in said) == (status, True)


async def test_a_prompt_beyond_the_window_says_both_numbers(http: httpx2.AsyncClient) -> None:
    status, said = await _said(http, {"model": "claude-haiku-4-5-4k", **_messages(_user(_text("a" * 20_000)))})
    assert (status, said) == (400, "prompt is too long: 5004 tokens > 4000 maximum")
    fits = _messages(_user(_text("a" * 12_000)))
    assert (await _said(http, {"model": "claude-haiku-4-5-4k", **fits}))[0] == 200
    status, said = await _said(http, {"model": "claude-sonnet-4-0-4k", "max_tokens": 2000, **fits})
    assert (status, "exceed context limit: 3004 + 2000 > 4000" in said) == (400, True)


async def test_an_unknown_model_is_a_404(http: httpx2.AsyncClient) -> None:
    assert await _said(http, {"model": "no-such-model"}) == (404, "model: no-such-model")


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'"x"', b'{"model": "lab", "messages": ' + b"[" * 100_000])
async def test_what_is_no_json_object_is_a_400(raw: bytes, http: httpx2.AsyncClient) -> None:
    answer = await http.post(PATH, content=raw, headers={**OLD, "content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")


async def test_counting_takes_only_what_counts_and_keeps_the_rules(http: httpx2.AsyncClient) -> None:
    async def count(**body: Any) -> tuple[int, Any]:
        answer = await http.post(f"{PATH}/count_tokens", json={"model": "lab", **body}, headers=OLD)
        return answer.status_code, answer.json().get("input_tokens") or answer.json()["error"]["message"]

    assert await count(messages=[HELLO]) == (200, 6)
    assert await count(messages=[HELLO], max_tokens=5) == (400, "max_tokens: Extra inputs are not permitted")
    assert (await count(messages=[HELLO, _model(CALL), HELLO], tools=[TOOL]))[0] == 400


def test_no_model_takes_both_kinds_of_rules() -> None:
    for name in ("claude-fable-5-2", "claude-mythos-5", OPUS, SONNET, "claude-haiku-5-5", "claude-sonnet-4-5-20250929"):
        model = model_named(name)
        assert model.samples == (model.rank < 4.7)
        assert not (model.bound and model.prefills)
