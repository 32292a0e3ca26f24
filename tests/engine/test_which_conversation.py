"""Which conversation is it: every way in which a client may say so, and which of two wins."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat.address import addresses
from app.engine.sessions import HEADERS, LONGEST_ID, named, said_id, session_of
from app.state.keys import Session
from tests.wires.talking import HELLO, Json, decoded

TENANT = b"12345678"
PLAIN: Json = {}
WAYS: list[tuple[str, dict[str, str], Json]] = [
    ("ours", {"x-foldline-session": "ours"}, PLAIN),
    ("option", {}, {"foldline": {"session": "option"}}),
    *((f"h{i}", {name.decode(): f"h{i}"}, PLAIN) for i, name in enumerate(HEADERS)),
    ("field", {}, {"session_id": "field"}),
    ("meta", {}, {"metadata": {"session_id": "meta"}}),
    ("user", {}, {"metadata": {"user_id": json.dumps({"device_id": "d", "session_id": "user"})}}),
]
"""In the order of precedence: the id, the headers and the body fields that say it."""


def _said(headers: dict[str, str], body: Json, client: str = "openai") -> str:
    chat = decoded(client, HELLO[client] | body)
    return said_id(chat, {name.encode(): value.encode("latin-1") for name, value in headers.items()})


@pytest.mark.parametrize(("expected", "headers", "body"), WAYS, ids=[way[0] for way in WAYS])
def test_each_way_of_saying_it_is_heard(expected: str, headers: dict[str, str], body: Json) -> None:
    assert _said(headers, body) == expected
    if not body or "foldline" in body or "session_id" in body:
        assert _said(headers, body, "gemini") == expected


@pytest.mark.parametrize("place", range(len(WAYS) - 1))
def test_of_two_ways_the_one_that_stands_first_wins(place: int) -> None:
    for other in WAYS[place + 1 :]:
        headers = other[1] | WAYS[place][1]
        body: Json = {**other[2], **WAYS[place][2]}
        if "metadata" in other[2] and "metadata" in WAYS[place][2]:
            body = {"metadata": {**other[2]["metadata"], **WAYS[place][2]["metadata"]}}
        assert _said(headers, body) == WAYS[place][0]


KNOWN_CLIENTS = {
    "x-claude-code-session-id",
    "session-id",
    "thread-id",
    "x-session-id",
    "x-openwebui-chat-id",
    "helicone-session-id",
    "x-litellm-session-id",
    "x-conversation-id",
    "x-thread-id",
}


def test_all_clients_that_send_an_id_unasked_are_known() -> None:
    assert {name.decode() for name in HEADERS} >= KNOWN_CLIENTS


def test_a_sub_agent_of_claude_code_is_a_conversation_of_its_own() -> None:
    main = {"x-claude-code-session-id": "s"}
    assert _said(main, {}) == "s"
    assert _said({**main, "x-claude-code-agent-id": "a"}, {}) == "s/a"


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"x-session-id": ""}, {}),
        ({"x-session-id": "  "}, {}),
        ({"x-session-id": "x" * (LONGEST_ID + 1)}, {}),
        ({"x-session-id": "a\tb"}, {}),
        ({}, {"foldline": {"session": ""}}),
        ({}, {"foldline": {"session": 5}}),
        ({}, {"session_id": 5}),
        ({}, {"session_id": None}),
        ({}, {"metadata": "text"}),
        ({}, {"metadata": {"session_id": 5}}),
        ({}, {"metadata": {"user_id": "plain"}}),
        ({}, {"metadata": {"user_id": "{oops"}}),
        ({}, {"metadata": {"user_id": "{}"}}),
        ({}, {"metadata": None}),
    ],
)
def test_what_is_no_id_is_passed_over(headers: dict[str, str], body: Json) -> None:
    assert _said(headers, body) == ""


def test_an_unusable_id_gives_way_to_the_next_one() -> None:
    assert _said({"x-session-id": "", "x-thread-id": "t"}, {}) == "t"


def _session(text: str, tenant: bytes = TENANT, **headers: str) -> Session:
    chat = decoded("openai", {"model": "m", "messages": [{"role": "user", "content": text}]})
    named_headers = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    return session_of(chat, named_headers, addresses(chat.messages, tenant), tenant)


def test_without_an_id_the_beginning_of_the_conversation_is_its_name() -> None:
    assert _session("hello") == _session("  hello ")
    assert _session("hello") != _session("good bye")


def test_an_id_means_something_only_inside_its_tenant() -> None:
    assert _session("a", x_session_id="s") == _session("b", x_session_id="s")
    assert _session("a", x_session_id="s") != _session("a", b"87654321", x_session_id="s")
    assert _session("a") != _session("a", b"87654321")


def test_the_id_that_we_gave_leads_back_to_the_same_session_but_never_into_another_tenants() -> None:
    ours = _session("a", x_session_id="s")
    assert _session("quite different", x_foldline_session=ours.id) == ours
    stolen = named(ours.id, b"87654321")
    assert stolen != ours
    assert stolen.tenant == b"87654321".hex()


@pytest.mark.parametrize("strange", ["日本", "a b", "s-123", "x" * LONGEST_ID, "{}*"])
def test_any_printable_id_makes_a_well_formed_session(strange: str) -> None:
    session: Any = named(strange, TENANT)
    assert Session.parse(session.id) == session
