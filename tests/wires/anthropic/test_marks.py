"""Cache marks: the client's own stay at their content, ours where growth does not move them, never more than four."""

from __future__ import annotations

import json

from app.chat.model import Chat
from app.wires.anthropic import ANTHROPIC, encode
from app.wires.wire import Target
from tests.wires.anthropic.saying import (
    OLD,
    Json,
    ask,
    decoded,
    openai,
    openai_calls,
    openai_tool,
    result,
    said,
    text,
    thought,
    to_claude,
    tool,
    touched,
    use,
    user,
)

MARK = {"cache_control": {"type": "ephemeral"}}
SUMMARY = '<summary note="x">\nwhat was said\n</summary>'
TARGET = Target("a", OLD)


def marked(chat: Chat) -> Json:
    return json.loads(encode(chat, TARGET, marks=True).body)


def test_the_clients_own_marks_stay_at_their_content_after_bundling() -> None:
    chat = decoded("anthropic", ask(user([text("a", **MARK)]), user([text("b")]), said("c"), user([text("d", **MARK)])))
    body, _ = to_claude(touched(chat))
    assert body["messages"][0]["content"] == [text("a", **MARK), text("b")]
    assert body["messages"][2]["content"] == [text("d", **MARK)]
    assert encode(chat, TARGET, marks=True).untouched, "no marks of ours beside the client's"


def test_marks_that_an_openai_client_set_as_gateways_take_them_are_kept() -> None:
    body, _ = to_claude(
        decoded(
            "openai",
            openai(
                {"role": "system", "content": [text("s", **MARK)]},
                user([text("a", **MARK)]),
                tools=[{"type": "function", "function": {"name": "f"}, **MARK}],
            ),
        )
    )
    assert body["system"] == [text("s", **MARK)]
    assert body["messages"][0]["content"] == [text("a", **MARK)]
    assert body["tools"][0]["cache_control"] == MARK["cache_control"]


def test_a_mark_on_a_whole_message_of_an_openai_client_stands_where_the_message_ends() -> None:
    calls = openai_calls(("t1", "f", "{}"))
    body, _ = to_claude(
        decoded(
            "openai",
            openai(
                {"role": "system", "content": "s", **MARK},
                {**user("a"), **MARK},
                user("b"),
                {**calls, **MARK},
                {"role": "tool", "tool_call_id": "t1", "content": "r", **MARK},
                tools=[openai_tool("f")],
            ),
        )
    )
    assert body["system"] == [text("s", **MARK)]
    assert body["messages"][0]["content"] == [text("a", **MARK), text("b")]
    assert body["messages"][1]["content"] == [use("t1") | MARK]
    assert body["messages"][2]["content"] == [result("t1", "r", **MARK)]


def test_a_mark_stays_on_a_later_system_text_that_becomes_the_user_s() -> None:
    later = {"role": "system", "content": [text("later", **MARK)]}
    body, _ = to_claude(decoded("anthropic", ask(user("a"), later)), OLD)
    assert body["messages"][0]["content"][1]["cache_control"] == MARK["cache_control"]


def test_never_more_than_four_marks_and_the_oldest_of_the_messages_go_first() -> None:
    turns = [m for i in range(5) for m in (user([text(f"q{i}", **MARK)]), {"role": "assistant", "content": "a"})]
    chat = decoded("openai", openai({"role": "system", "content": [text("s", **MARK)]}, *turns, user("end")))
    body, _ = to_claude(chat)
    assert json.dumps(body).count("cache_control") == 4
    assert body["system"] == [text("s", **MARK)]
    kept = [m["content"][0]["text"] for m in body["messages"] if "cache_control" in json.dumps(m)]
    assert kept == ["q2", "q3", "q4"]


def test_a_tools_argument_of_that_name_is_no_mark() -> None:
    calls = [use(f"toolu_{i}", cache_control="x") for i in range(6)]
    history = [user("go"), said(*calls), user([result(f"toolu_{i}") for i in range(6)])]
    body, _ = to_claude(touched(decoded("anthropic", ask(*history, tools=[tool("f", cache_control={})]))))
    assert body["messages"][1]["content"] == calls
    bundled = touched(decoded("anthropic", ask(user("before"), *history)))
    assert to_claude(bundled)[0]["messages"][1]["content"] == calls


def test_marks_of_ours_stand_at_the_end_of_the_system_at_the_fold_and_at_the_newest_message() -> None:
    history = [
        user(SUMMARY),
        {"role": "assistant", "content": "a"},
        user("b"),
        {"role": "assistant", "content": "c"},
        user("d"),
    ]
    body = marked(decoded("openai", openai({"role": "system", "content": "s"}, *history)))
    assert body["system"] == [text("s", **MARK)]
    assert body["messages"][0]["content"] == [text(SUMMARY, **MARK)]
    assert body["messages"][-1]["content"] == [text("d", **MARK)]
    assert json.dumps(body).count("cache_control") == 3


def test_without_a_system_text_the_tools_carry_the_mark() -> None:
    body = marked(decoded("anthropic", ask(user("a"), tools=[tool("f"), tool("g")])))
    assert "cache_control" in body["tools"][1]
    assert "cache_control" not in body["tools"][0]
    assert body["messages"][0]["content"] == [text("a", **MARK)]


def test_marks_of_ours_change_nothing_else() -> None:
    chat = decoded("anthropic", ask(user("a"), said(thought("t"), "b"), user([text("c"), text("d")]), system="s"))
    body = marked(chat)
    assert body["messages"][1] == said(thought("t"), "b")
    stripped = json.loads(json.dumps(body).replace(', "cache_control": {"type": "ephemeral"}', ""))
    assert stripped["messages"][2]["content"] == [text("c"), text("d")]
    assert stripped["system"] == [text("s")]
    assert ANTHROPIC.encode(chat, TARGET).untouched, "unless they are asked for"


def test_a_newest_message_that_cannot_carry_a_mark_goes_without() -> None:
    empty = openai(user("a"), {"role": "assistant", "content": "b"})
    body = marked(decoded("openai", empty))
    assert body["messages"][0]["content"] == [text("a", **MARK)]


def test_marks_of_system_text_and_tools_alone_are_no_more_than_four_and_the_newest_message_keeps_its() -> None:
    front = {"role": "system", "content": [text(f"s{number}", **MARK) for number in range(6)]}
    body, _ = to_claude(
        decoded("openai", openai(front, user([text("u", **MARK)]), tools=[{**openai_tool("f"), **MARK}]))
    )
    assert json.dumps(body).count("cache_control") == 4
    assert body["messages"][0]["content"] == [text("u", **MARK)]
    assert [block["text"] for block in body["system"] if "cache_control" in block] == ["s4", "s5"]
