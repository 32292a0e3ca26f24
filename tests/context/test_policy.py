"""Whose number counts: the request's, else its route's, else the settings', else the profile's."""

from __future__ import annotations

from typing import Any

import pytest

from app.context.policy import PER_REQUEST, Policy, policy_of
from app.errors import ClientError


def _policy(settings: Any = None, route: Any = None, request: Any = None, *, agent: bool = False) -> Policy:
    return policy_of(settings or {}, route or {}, request or {}, agent=agent)


@pytest.mark.parametrize(
    ("settings", "route", "request_", "agent", "expected"),
    [
        ({}, {}, {}, False, {"profile": "chat", "fold_at_tokens": 8000, "fold_to_tokens": 4000, "keep_recent": 6}),
        ({}, {}, {}, True, {"profile": "agent", "fold_at_tokens": 100_000, "fold_to_tokens": 50_000}),
        ({"profile": "chat"}, {}, {}, True, {"profile": "chat", "fold_at_tokens": 8000}),
        ({"profile": "auto"}, {}, {}, True, {"profile": "agent"}),
        ({"profile": "chat"}, {"profile": "agent"}, {}, False, {"profile": "agent"}),
        ({"profile": "chat"}, {"profile": "chat"}, {"profile": "agent"}, False, {"profile": "agent"}),
        ({"keep_recent": 1}, {}, {}, False, {"keep_recent": 1}),
        ({"keep_recent": 1}, {"keep_recent": 2}, {}, False, {"keep_recent": 2}),
        ({"keep_recent": 1}, {"keep_recent": 2}, {"keep_recent": 3}, False, {"keep_recent": 3}),
        ({}, {}, {"keep_recent": 0}, False, {"keep_recent": 0}),
        ({"fold_at_tokens": 1000}, {}, {}, False, {"fold_at_tokens": 1000, "fold_to_tokens": 500}),
        ({"fold_at_tokens": 1000, "fold_to_tokens": 100}, {}, {}, False, {"fold_to_tokens": 100}),
        ({}, {}, {"chain": "never"}, False, {"chain": "never"}),
        ({}, {}, {"off": True}, False, {"off": True}),
        ({}, {}, {"session": "s", "memory": {}}, False, {"off": False, "chain": "auto"}),
    ],
)
def test_the_nearest_say_wins(settings: Any, route: Any, request_: Any, agent: bool, expected: dict[str, Any]) -> None:
    policy = _policy(settings, route, request_, agent=agent)
    assert {name: getattr(policy, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("keep_recent", -1),
        ("keep_recent", "6"),
        ("keep_recent", 1.5),
        ("keep_recent", True),
        ("keep_recent", None),
        ("min_retention", 1.1),
        ("min_retention", "x"),
        ("profile", "robot"),
        ("chain", "maybe"),
        ("off", 1),
        ("colour", 1),
    ],
)
def test_a_wrong_option_is_refused_by_name(option: str, value: Any) -> None:
    with pytest.raises(ClientError) as refusal:
        _policy(request={option: value})
    assert refusal.value.param == f"foldline.{option}"
    assert f"foldline.{option}" in refusal.value.message


def test_every_option_of_the_contract_is_taken() -> None:
    named = {"session", "profile", "fold_at_tokens", "fold_to_tokens", "keep_recent", "chain", "off", "memory"}
    assert named <= PER_REQUEST
