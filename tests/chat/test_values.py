"""The nouns: frozen, and an edited message forgets what the peer wrote."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from app.chat import events, model
from app.chat.events import Failed, Finished, Started, TextDelta, ThinkingDelta, ToolCallDelta, ToolCalled, Usage
from app.chat.model import Chat, Media, Message, Native, Text, Thinking, ToolCall, ToolResult
from app.chat.reply import Reply
from app.chat.size import rough
from app.errors import UpstreamError

STRUCTS = [
    kind
    for module in (model, events)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__module__ == module.__name__
]
MESSAGE = Message("assistant", (Thinking("hm"), Text("hi"), ToolCall("c", "f", "{}")), Native("w", b"{}"))


@pytest.mark.parametrize("kind", STRUCTS, ids=lambda kind: kind.__name__)
def test_every_value_is_frozen(kind: type[msgspec.Struct]) -> None:
    assert kind.__struct_config__.frozen


def test_a_message_cannot_be_changed_in_place() -> None:
    with pytest.raises(AttributeError):
        MESSAGE.parts = ()  # type: ignore[misc]  # that is what must fail
    with pytest.raises(AttributeError):
        MESSAGE.parts[1].text = "bye"  # type: ignore[union-attr,misc]  # this too


def test_an_edited_message_forgets_what_the_peer_wrote() -> None:
    edited = MESSAGE.edited((Text("bye"),))
    assert (edited.native, edited.role, edited.parts) == (None, "assistant", (Text("bye"),))
    assert MESSAGE.native is not None, "the original is untouched"


def test_a_carrying_message_says_the_same_with_another_peers_words() -> None:
    other = Native("other", b"[]")
    carrying = MESSAGE.carrying(other)
    assert carrying.native is other
    assert carrying.parts is MESSAGE.parts


def test_calls_and_results_are_found_in_order() -> None:
    results = (ToolResult("a", (Text("1"), Media("image", url="u"), Text("2"))), ToolResult("b", ()))
    assert MESSAGE.calls == (ToolCall("c", "f", "{}"),)
    assert Message("user", (results[0], Text("x"), results[1])).results == results
    assert results[0].text == "12"


def test_a_chat_needs_no_more_than_a_model_and_messages() -> None:
    chat = Chat("m", ())
    assert (chat.system, chat.tools, chat.stream, chat.framing, chat.native) == ((), (), False, "sse", None)


def test_a_reply_is_what_the_client_will_send_back() -> None:
    reply = Reply()
    call = ToolCall("c", "f", "{}")
    said: list[Any] = [
        Started("r1", "m1"),
        ThinkingDelta("h"),
        ThinkingDelta("m"),
        TextDelta("o"),
        TextDelta("k"),
        ToolCallDelta(0, "c", "f"),
        ToolCalled(0, call),
        Usage(1, 1),
        Usage(5, 2),
        Finished("tool_calls"),
    ]
    for event in said:
        reply.add(event)
    assert reply.message == Message("assistant", (Thinking("hm"), Text("ok"), call))
    assert (reply.id, reply.model, reply.usage) == ("r1", "m1", Usage(5, 2))
    assert reply.finished == Finished("tool_calls")
    assert reply.failed is None
    assert Reply().message == Message("assistant", ())


def test_a_failed_reply_says_so() -> None:
    reply = Reply()
    error = Failed(UpstreamError("gone"))
    reply.add(error)
    assert reply.failed is error


def test_a_rough_size_is_a_quarter_of_the_bytes() -> None:
    assert rough(b"x" * 400) == 100
    assert rough(b"") == 0
