"""Web search between all formats: a client asks for it in its own way, and the provider is asked in its own."""

from __future__ import annotations

import json

import pytest

from app.wires.wire import Inbound, Outbound, Target
from tests.any_to_any.clients import FORMATS, Format, Json
from tests.any_to_any.rows import HELLO
from tests.any_to_any.table import NEWEST, WIRES

HOME: Json = {"type": "approximate", "city": "東京", "country": "JP", "timezone": "Asia/Tokyo"}
NEAR: Json = {name: value for name, value in HOME.items() if name != "type"}
MODELS = NEWEST | {"chat": "gpt-5-search-api"}
ASKED: dict[Format, Json] = {
    "chat": {
        "web_search_options": {
            "search_context_size": "low",
            "user_location": {"type": "approximate", "approximate": NEAR},
        }
    },
    "responses": {
        "tools": [
            {
                "type": "web_search",
                "filters": {"allowed_domains": ["example.com"]},
                "user_location": HOME,
                "search_context_size": "low",
            }
        ]
    },
    "anthropic": {
        "tools": [
            {
                "type": "web_search_20260318",
                "name": "web_search",
                "allowed_domains": ["example.com"],
                "user_location": HOME,
                "max_uses": 3,
            }
        ]
    },
    "generate": {"tools": [{"googleSearch": {}}]},
    "interactions": {"tools": [{"type": "google_search"}]},
}
PAIRS = [(client, upstream) for client in FORMATS for upstream in FORMATS if client != upstream]
CALLED: Json = {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}


def _sent(client: Format, upstream: Format, body: Json, model: str = "") -> tuple[Json, Outbound]:
    chat = WIRES[client].decode(Inbound(json.dumps(HELLO[client] | body).encode(), "m"))
    outbound = WIRES[upstream].encode(chat, Target("u", model or MODELS[upstream]))
    return json.loads(outbound.body), outbound


def _search(upstream: Format, body: Json) -> Json:
    """The search that a provider is asked for."""
    return body["web_search_options"] if upstream == "chat" else body["tools"][0]


def _expected(client: Format, upstream: Format) -> Json:
    """All that both formats have words for."""
    places, domains = client in ("chat", "responses", "anthropic"), client in ("responses", "anthropic")
    sized = {"search_context_size": "low"} if client in ("chat", "responses") else {}
    match upstream:
        case "chat":
            return sized | ({"user_location": {"type": "approximate", "approximate": NEAR}} if places else {})
        case "responses":
            filters = {"filters": {"allowed_domains": ["example.com"]}} if domains else {}
            return {"type": "web_search"} | filters | sized | ({"user_location": HOME} if places else {})
        case "anthropic":
            allowed = {"allowed_domains": ["example.com"]} if domains else {}
            near = {"user_location": HOME} if places else {}
            return {"type": "web_search_20250305", "name": "web_search"} | allowed | near
        case "generate":
            return {"googleSearch": {}}
        case "interactions":
            return {"type": "google_search"}


LOST = {
    ("chat", "anthropic"): 1,
    ("chat", "generate"): 2,
    ("chat", "interactions"): 2,
    ("responses", "chat"): 1,
    ("responses", "anthropic"): 1,
    ("responses", "generate"): 3,
    ("responses", "interactions"): 3,
    ("anthropic", "chat"): 2,
    ("anthropic", "responses"): 1,
    ("anthropic", "generate"): 3,
    ("anthropic", "interactions"): 3,
}
"""How many of the settings above the other format has no word for: each is a loss."""


@pytest.mark.parametrize(("client", "upstream"), PAIRS)
def test_a_search_reaches_every_provider_with_all_settings_that_both_have(client: Format, upstream: Format) -> None:
    body, outbound = _sent(client, upstream, ASKED[client])
    assert _search(upstream, body) == _expected(client, upstream)
    lost = [loss for loss in outbound.losses if loss.field.startswith("tools.")]
    assert len(lost) == LOST.get((client, upstream), 0) == len(outbound.losses)


@pytest.mark.parametrize("client", [client for client in FORMATS if client != "chat"])
def test_where_the_model_cannot_search_that_is_a_loss(client: Format) -> None:
    body, outbound = _sent(client, "chat", ASKED[client], "gpt-5.5")
    assert "web_search_options" not in body
    assert "tools" not in body
    assert ["search" in loss.reason for loss in outbound.losses] == [True]


def test_a_search_beside_functions_may_show_what_it_ran_so_that_gemini_runs_both() -> None:
    tools = [{"type": "web_search"}, {"type": "function", **CALLED}]
    body, outbound = _sent("responses", "generate", {"tools": tools})
    assert [set(tool) for tool in body["tools"]] == [{"functionDeclarations"}, {"googleSearch"}]
    assert body["toolConfig"]["includeServerSideToolInvocations"] is True
    assert not outbound.losses


@pytest.mark.parametrize("upstream", ["generate", "interactions"])
def test_gemini_2_takes_functions_or_a_search_and_keeps_the_functions(upstream: Format) -> None:
    tools = [{"type": "web_search"}, {"type": "function", **CALLED}]
    body, outbound = _sent("responses", upstream, {"tools": tools}, "gemini-2.5-flash")
    assert "earch" not in json.dumps(body["tools"])
    assert [loss.field for loss in outbound.losses] == ["tools.web_search"]


@pytest.mark.parametrize("upstream", FORMATS)
def test_a_search_that_must_be_used_is_forced_where_that_can_be_done(upstream: Format) -> None:
    asked = {"tools": [{"type": "web_search_preview"}], "tool_choice": {"type": "web_search_preview"}}
    body, outbound = _sent("responses", upstream, asked, "claude-opus-4-6" if upstream == "anthropic" else "")
    if upstream in ("responses", "anthropic"):
        forced = {"responses": {"type": "web_search_preview"}, "anthropic": {"type": "tool", "name": "web_search"}}
        assert body["tool_choice"] == forced[upstream]
        assert not outbound.losses
    else:
        assert not {"tool_choice", "toolConfig"} & body.keys()
        assert "tool_choice" not in body.get("generation_config", {})
        assert [loss.field for loss in outbound.losses] == ["tool_choice"]


@pytest.mark.parametrize("upstream", ["chat", "generate", "interactions"])
def test_a_search_that_is_forbidden_is_not_offered_where_only_functions_can_be_forbidden(upstream: Format) -> None:
    tools = [{"type": "web_search"}, {"type": "function", **CALLED}]
    body, _ = _sent("responses", upstream, {"tools": tools, "tool_choice": "none"})
    assert "earch" not in json.dumps({name: value for name, value in body.items() if name != "model"})


def test_a_function_that_is_named_as_claudes_search_stays_and_the_search_is_a_loss() -> None:
    tools = [{"type": "web_search"}, {"type": "function", **CALLED, "name": "web_search"}]
    body, outbound = _sent("responses", "anthropic", {"tools": tools})
    assert ["input_schema" in tool for tool in body["tools"]] == [True]
    assert [loss.field for loss in outbound.losses] == ["tools.web_search"]


def test_domains_that_are_allowed_and_blocked_are_not_both_said_to_anthropic() -> None:
    tool = ASKED["anthropic"]["tools"][0]
    body, outbound = _sent("anthropic", "responses", {"tools": [tool | {"blocked_domains": ["x.example"]}]})
    assert body["tools"][0]["filters"] == {"allowed_domains": ["example.com"]}
    assert len(outbound.losses) == 2
