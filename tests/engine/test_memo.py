"""Reading only what is new gives exactly what reading everything gives."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.address import Chain, addresses
from app.chat.model import Chat
from app.engine.memo import Memo, Seen, goes_on, keys_of
from app.wires.envelope import Envelope
from app.wires.openai_chat import OPENAI_CHAT
from app.wires.prefix import WORTH_IT
from app.wires.wire import Inbound, Target

TENANT = b"tenant-1"
TARGET = Target("openai", "m")
FILLER = "The tide table of the old harbour, page after page. " * 30

words = st.text(max_size=40)
message = st.one_of(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": words.map(lambda w: FILLER + w)}),
    st.fixed_dictionaries({"role": st.just("user"), "content": st.just([{"type": "text", "text": FILLER}])}),
    st.fixed_dictionaries({"role": st.just("system"), "content": words}),
)


def body(messages: list[Any], lead_first: bool, separators: tuple[str, str] | None = None, **extra: Any) -> bytes:
    fields = {"model": "m", "messages": messages} if lead_first else {"messages": messages, "model": "m"}
    return json.dumps(fields | extra, ensure_ascii=False, separators=separators).encode("utf-8", "replace")


def read(data: bytes, before: Chat | None = None) -> Chat:
    return OPENAI_CHAT.decode(Inbound(data), before)


def envelope(chat: Chat) -> Envelope:
    assert chat.native is not None
    assert isinstance(chat.native.body, Envelope)
    return chat.native.body


def seen(chat: Chat) -> Seen:
    chain = Chain(TENANT)
    marks = tuple(map(chain.extend, chat.messages[:-1]))
    return Seen(chat, marks, chain)


def spoken(chat: Chat) -> list[Any]:
    return [(message.role, message.parts) for message in (*chat.system, *chat.messages)]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(message, min_size=3, max_size=8),
    st.lists(message, max_size=4),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_a_resumed_chat_is_the_chat_that_reading_everything_gives(
    first: list[Any], more: list[Any], lead_first: bool, touched_up: bool, compact: bool
) -> None:
    separators = (",", ":") if compact else None
    before = read(body(first, lead_first, separators))
    last = {**first[-1], "cache_control": {"type": "ephemeral"}} if touched_up else first[-1]
    longer = body([*first[:-1], last, *more], lead_first, separators, temperature=0.5)
    resumed, whole = read(longer, before), read(longer)
    assert spoken(resumed) == spoken(whole)
    assert resumed.sampling == whole.sampling
    assert OPENAI_CHAT.encode(resumed, TARGET).body == longer
    if envelope(before).head is not None:
        assert goes_on(resumed, seen(before))
        assert envelope(resumed).head == envelope(whole).head


def talk(count: int, name: str = "") -> list[Any]:
    roles = ("user", "assistant")
    return [{"role": roles[i % 2], "content": f"{name} {i}: {FILLER}"} for i in range(count)]


def test_a_growing_chat_is_found_at_every_turn_and_its_addresses_are_those_of_a_whole_reading() -> None:
    memo, last = Memo(), None
    for count in range(3, 41, 2):
        data = body(talk(count), lead_first=True)
        look = memo.look(keys_of(TENANT, "openai_chat", data), data)
        found = look.seen
        assert (found is None) == (last is None)
        chat = read(data, found.chat if found else None)
        if found:
            assert goes_on(chat, found)
            chain = found.chain.copy()
            marks = found.addresses + tuple(map(chain.extend, chat.messages[len(found.addresses) :]))
            assert marks == addresses(chat.messages, TENANT)
        last = seen(chat)
        memo.keep(look, last)


def test_another_tenant_finds_nothing() -> None:
    memo = Memo()
    data = body(talk(9), lead_first=False)
    memo.keep(memo.look(keys_of(TENANT, "openai_chat", data), data), seen(read(data)))
    assert memo.look(keys_of(TENANT, "openai_chat", data), data).seen is not None
    assert memo.look(keys_of(b"tenant-2", "openai_chat", data), data).seen is None


def test_what_is_kept_is_bounded_and_the_oldest_goes_first() -> None:
    memo = Memo(limit=200_000)
    bodies = [body(talk(12, name=f"chat {n}"), lead_first=True) for n in range(40)]
    for data in bodies:
        memo.keep(memo.look(keys_of(TENANT, "openai_chat", data), data), seen(read(data)))
    assert memo.look(keys_of(TENANT, "openai_chat", bodies[0]), bodies[0]).seen is None
    assert memo.look(keys_of(TENANT, "openai_chat", bodies[-1]), bodies[-1]).seen is not None
    assert memo.size <= 200_000


@pytest.mark.parametrize(
    "trap",
    [
        '{"x": {"messages": LIST}, "messages": LIST, "model": "m"}',
        '{"messages": LIST, "model": "m", "messages": [{"role": "user", "content": "b"}, {"role": "user"}]}',
        '{"messages": [{"role": "user", "content": "LIST"}], "model": "m"}',
    ],
)
def test_a_list_that_only_looks_like_the_chat_is_not_taken_for_it(trap: str) -> None:
    listed = json.dumps(talk(9))
    inner = json.dumps(listed)[1:-1] if '"LIST"' in trap else listed
    first = read(trap.replace("LIST", inner).encode())
    longer = trap.replace(
        "LIST", inner[:-1] + (', {\\"role\\": 1}]' if '"LIST"' in trap else ', {"role": "user", "content": "d"}]')
    )
    assert spoken(read(longer.encode(), first)) == spoken(read(longer.encode()))


def test_chats_that_differ_only_in_their_first_words_do_not_push_each_other_out() -> None:
    memo = Memo()
    bodies = [body(talk(1, name=f"chat {n:04}") + talk(12), lead_first=True) for n in range(40)]
    for data in bodies:
        memo.keep(memo.look(keys_of(TENANT, "openai_chat", data), data), seen(read(data)))
    assert all(memo.look(keys_of(TENANT, "openai_chat", data), data).seen for data in bodies)


def test_a_short_body_is_not_kept() -> None:
    short = body([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], lead_first=True)
    assert len(short) < WORTH_IT
    assert envelope(read(short)).head is None
