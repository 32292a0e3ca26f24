"""Conversations: made, read, added to by responses and by hand, with OpenAI's SDK."""

from __future__ import annotations

from typing import Any

import httpx2
import openai
import pytest

from app.simulator.running import Running
from tests.running import Proxy, StartFoldline

MODELS = ("gpt-4.1", "gemini-3-flash-preview", "claude-sonnet-4-5")


def _client(proxy: Proxy, key: str) -> openai.AsyncOpenAI:
    plain = openai.DefaultAsyncHttpxClient(verify=False, trust_env=False)
    return openai.AsyncOpenAI(api_key=key, base_url=proxy.openai_url, max_retries=0, timeout=10, http_client=plain)


ASSENT: Any = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Noted."}]}


def _user(text: str) -> Any:
    return {"type": "message", "role": "user", "content": text}


def _texts(items: list[Any]) -> list[str]:
    return [item.content[0].text for item in items]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_responses_are_added_to_a_conversation_and_know_it(
    foldline: StartFoldline, key: str, name: str, api: str
) -> None:
    async with foldline(openai_api=api) as proxy, _client(proxy, key) as chat:
        items = [_user("The code is PLUM-1."), ASSENT]
        made = await chat.conversations.create(metadata={"topic": "codes"}, items=items)
        assert made.id.startswith("conv_")
        first = await chat.responses.create(model=name, input="What is the code?", conversation=made.id)
        assert "PLUM-1" in first.output_text
        await chat.responses.create(model=name, input="The berth is KIWI-7.", conversation=made.id)
        stream = await chat.responses.create(
            model=name, input="What is the berth?", conversation={"id": made.id}, stream=True
        )
        last: Any = [event async for event in stream][-1]
        assert "KIWI-7" in last.response.output_text
        listed = (await chat.conversations.items.list(made.id, order="asc")).data
        assert len(listed) == 8
        assert [text for text in _texts(listed) if text.endswith("?")] == ["What is the code?", "What is the berth?"]
        again = await chat.conversations.retrieve(made.id)
        assert (again.id, again.metadata, again.created_at) == (made.id, {"topic": "codes"}, made.created_at)


async def test_items_are_added_found_and_deleted_by_hand(chat: openai.AsyncOpenAI) -> None:
    made = await chat.conversations.create()
    added = await chat.conversations.items.create(made.id, items=[_user("The code is PLUM-1."), _user("Well.")])
    assert _texts(added.data) == ["The code is PLUM-1.", "Well."]
    more = await chat.conversations.items.create(made.id, items=[_user("The code is KIWI-7.")])
    one: Any = await chat.conversations.items.retrieve(more.data[0].id or "", conversation_id=made.id)
    assert one == more.data[0]

    said = await chat.responses.create(model="gpt-4.1", input="What is the code?", conversation=made.id)
    assert "KIWI-7" in said.output_text
    await chat.conversations.items.delete(more.data[0].id or "", conversation_id=made.id)
    with pytest.raises(openai.NotFoundError):
        await chat.conversations.items.retrieve(more.data[0].id or "", conversation_id=made.id)
    left = (await chat.conversations.items.list(made.id, order="asc")).data
    assert [item.id for item in left[:2]] == [item.id for item in added.data]
    await chat.conversations.items.delete(said.output[0].id or "", conversation_id=made.id)
    again = await chat.responses.create(model="gpt-4.1", input="What is the code?", conversation=made.id)
    assert "PLUM-1" in again.output_text
    assert (await chat.responses.retrieve(said.id)).output_text == said.output_text


async def test_pages_of_items_are_walked_by_the_sdk(chat: openai.AsyncOpenAI) -> None:
    made = await chat.conversations.create(items=[_user(f"Note {number}.") for number in range(20)])
    await chat.conversations.items.create(made.id, items=[_user(f"Note {number}.") for number in range(20, 27)])
    newest: list[Any] = [item async for item in await chat.conversations.items.list(made.id)]
    assert _texts(newest) == [f"Note {number}." for number in reversed(range(27))]
    oldest: list[Any] = [item async for item in await chat.conversations.items.list(made.id, order="asc", limit=4)]
    assert oldest == newest[::-1]


async def test_a_deleted_conversation_is_unknown_and_its_responses_are_not(chat: openai.AsyncOpenAI) -> None:
    made = await chat.conversations.create(items=[_user("The code is PLUM-1.")])
    said = await chat.responses.create(model="gpt-4.1", input="Well.", conversation=made.id)
    gone = await chat.conversations.delete(made.id)
    assert (gone.id, gone.deleted, gone.object) == (made.id, True, "conversation.deleted")
    calls = (
        chat.conversations.retrieve(made.id),
        chat.conversations.delete(made.id),
        chat.conversations.update(made.id, metadata={}),
        chat.conversations.items.create(made.id, items=[_user("x")]),
        chat.responses.create(model="gpt-4.1", input="x", conversation=made.id),
    )
    for call in calls:
        with pytest.raises(openai.NotFoundError) as caught:
            await call
        assert caught.value.message.endswith(f"Conversation with id '{made.id}' not found.")
    later = await chat.responses.create(model="gpt-4.1", input="What is the code?", previous_response_id=said.id)
    assert "PLUM-1" in later.output_text


async def test_a_response_that_was_deleted_stays_in_its_conversation(chat: openai.AsyncOpenAI) -> None:
    made = await chat.conversations.create()
    said = await chat.responses.create(model="gpt-4.1", input="The code is PLUM-1.", conversation=made.id)
    await chat.responses.delete(said.id)
    later = await chat.responses.create(model="gpt-4.1", input="What is the code?", conversation=made.id)
    assert "PLUM-1" in later.output_text


async def test_a_conversation_and_an_answer_before_exclude_each_other(chat: openai.AsyncOpenAI) -> None:
    made = await chat.conversations.create()
    said = await chat.responses.create(model="gpt-4.1", input="Hello.")
    with pytest.raises(openai.BadRequestError) as caught:
        await chat.responses.create(model="gpt-4.1", input="Hm.", conversation=made.id, previous_response_id=said.id)
    assert "exclude each other" in caught.value.message


async def test_a_client_that_names_its_session_still_adds_to_the_conversation(chat: openai.AsyncOpenAI) -> None:
    made = await chat.conversations.create(items=[_user("The code is PLUM-1.")])
    named = {"x-foldline-session": "mine"}
    for number in range(2):
        await chat.responses.create(model="gpt-4.1", input=f"Note {number}.", conversation=made.id, extra_headers=named)
    await chat.conversations.items.create(made.id, items=[_user("Note 2.")])
    said = await chat.responses.create(model="gpt-4.1", input="What is the code?", conversation=made.id)
    assert "PLUM-1" in said.output_text
    listed = (await chat.conversations.items.list(made.id, order="asc")).data
    assert [text for text in _texts(listed) if text.startswith("Note")] == ["Note 0.", "Note 1.", "Note 2."]


BODIES: list[tuple[Any, str]] = [
    ({"metadata": {"a": 1}}, "metadata"),
    ({"metadata": {f"k{number}": "v" for number in range(17)}}, "metadata"),
    ({"metadata": {"a": "v" * 513}}, "metadata.a"),
    ({"items": [_user("x")] * 21}, "items"),
    ({"items": ["x"]}, "items[0]"),
    ({"items": [{"role": "wizard", "content": "x"}]}, "items[0].role"),
]


@pytest.mark.parametrize(("body", "param"), BODIES)
async def test_what_cannot_be_kept_is_refused_by_its_name(http: httpx2.AsyncClient, body: Any, param: str) -> None:
    answer = await http.post("/v1/conversations", json=body)
    assert answer.status_code == 400, answer.text
    assert param in answer.json()["error"]["param"]


async def test_bodies_that_are_no_json_are_refused(http: httpx2.AsyncClient) -> None:
    for body in (b"[", b"[]", b"3", b'{"items":' + b"[" * 3000, b"\xff"):
        answer = await http.post("/v1/conversations", content=body)
        assert answer.status_code == 400, body
        assert answer.json()["error"]["message"]
    made = (await http.post("/v1/conversations")).json()["id"]
    assert (await http.post(f"/v1/conversations/{made}/items", json={})).json()["error"]["param"] == "items"


async def test_another_client_s_conversation_is_as_unknown_as_one_that_never_was(
    proxy: Proxy, chat: openai.AsyncOpenAI, key: str, sim: Running
) -> None:
    made = await chat.conversations.create(items=[_user("The code is PLUM-1.")])
    async with httpx2.AsyncClient(
        base_url=proxy.url, headers={"authorization": f"Bearer {key}-other"}, trust_env=False, verify=False
    ) as stranger:
        for other in ("conv_" + "0" * 48, "conv_abc", made.id):
            one = f"/v1/conversations/{other}"
            missing = {
                "error": {
                    "message": f"Conversation with id '{other}' not found.",
                    "type": "invalid_request_error",
                    "param": None,
                    "code": None,
                }
            }
            answers = [
                await stranger.get(one),
                await stranger.post(one, json={"metadata": {}}),
                await stranger.delete(one),
                await stranger.get(one + "/items"),
                await stranger.post(one + "/items", json={"items": [_user("x")]}),
                await stranger.get(one + "/items/msg_1"),
                await stranger.delete(one + "/items/msg_1"),
            ]
            for answer in answers:
                assert (answer.status_code, answer.json()) == (404, missing)
    assert len((await chat.conversations.items.list(made.id)).data) == 1
