"""What settings mean together: upstreams, default routes, the demo, and what refuses to start."""

from __future__ import annotations

import re
from typing import Any

import pytest

from app.settings import Settings


def settings(**values: Any) -> Settings:
    return Settings(**values)


def test_three_upstreams_exist_without_being_configured() -> None:
    upstreams = settings().every_upstream
    assert {name: upstream.base_url for name, upstream in upstreams.items()} == {
        "gemini": "https://generativelanguage.googleapis.com",
        "openai": "https://api.openai.com/v1",
        "anthropic": "https://api.anthropic.com",
    }
    assert [upstream.api for upstream in upstreams.values()] == ["interactions", "chat", "messages"]
    assert not any(upstream.configured or upstream.holds_key for upstream in upstreams.values())


@pytest.mark.parametrize(
    "values",
    [
        {"openai_api_key": "k"},
        {"openai_base_url": "http://127.0.0.1:1"},
        {"upstreams": {"local": {"kind": "openai", "base_url": "http://127.0.0.1:1"}}},
        {"upstreams": {"gemini": {"kind": "gemini", "vertex_project": "p"}}},
    ],
)
def test_any_upstream_that_is_set_up_ends_the_demo(values: dict[str, Any]) -> None:
    assert settings().demo
    assert not settings(**values).demo


def test_one_configured_upstream_gets_every_model() -> None:
    routes = settings(openai_base_url="http://127.0.0.1:1").every_route
    assert [(route.match, route.upstream) for route in routes] == [("*", "openai")]


def test_with_more_than_one_upstream_models_go_by_their_names_after_the_own_routes() -> None:
    own = {"match": "lab", "upstream": "gemini", "model": "gemini-2.5-flash"}
    routes = settings(openai_api_key="k", gemini_api_key="k", routes=[own]).every_route
    assert [(route.match, route.upstream) for route in routes] == [
        ("lab", "gemini"),
        ("gemini-*", "gemini"),
        ("models/*", "gemini"),
        ("gemma-*", "gemini"),
        ("tunedModels/*", "gemini"),
        ("claude-*", "anthropic"),
        ("*", "openai"),
    ]


def test_a_cloud_project_is_a_credential_of_the_operator_with_its_locations_address() -> None:
    table = {"kind": "gemini", "vertex_project": "p", "vertex_location": "europe-west4"}
    upstream = settings(upstreams={"vertex": table}).every_upstream["vertex"]
    assert upstream.holds_key
    assert upstream.base_url == "https://europe-west4-aiplatform.googleapis.com"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_needs_no_keys(host: str) -> None:
    assert settings(host=host, openai_api_key="k").start_refusal == ""


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.2", "proxy.example.com"])
def test_provider_keys_are_not_lent_to_the_world(host: str) -> None:
    keys: list[dict[str, Any]] = [
        {"openai_api_key": "k"},
        {"upstreams": {"a": {"kind": "openai", "api_key": "k"}}},
        {"upstreams": {"a": {"kind": "gemini", "vertex_project": "p"}}},
    ]
    for key in keys:
        assert "API_KEYS" in settings(host=host, **key).start_refusal
        assert settings(host=host, api_keys=("c",), **key).start_refusal == ""
        assert settings(host=host, allow_anonymous=True, **key).start_refusal == ""
    assert settings(host=host).start_refusal == ""
    assert settings(host=host, openai_base_url="http://10.0.0.1").start_refusal == ""


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"upstreams": {"local": {"kind": "openai", "api": "interactions"}}}, "make it chat or responses"),
        ({"upstreams": {"gemini": {"kind": "gemini", "api": "chat"}}}, "make it interactions or generate"),
        ({"workers": 2, "redis_url": "memory://"}, "WORKERS"),
        ({"fold_at_tokens": 100, "fold_to_tokens": 100}, "FOLD_TO_TOKENS"),
        ({"routes": [{"match": "*", "upstream": "opnai"}]}, r"did you mean openai\?"),
        ({"openai_base_url": "http://localhost:4000/v1"}, "this server itself"),
    ],
)
def test_settings_that_contradict_each_other_refuse_to_start(values: dict[str, Any], said: str) -> None:
    refusal = settings(**values).start_refusal
    assert refusal
    assert re.search(said, refusal)
    assert "\n" not in refusal
