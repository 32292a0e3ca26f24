"""What an Anthropic client sends: read as neutral values, passed on untouched, said in other formats."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from app.chat.address import addresses, setup
from app.chat.model import Media, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from app.errors import ClientError
from app.wires.anthropic import ANTHROPIC
from app.wires.anthropic.binding import refuses_thinking, without_thinking
from app.wires.anthropic.names import UNSIGNED
from app.wires.wire import Target
from tests.wires.anthropic.saying import (
    MIDDLE,
    NEWEST,
    OLD,
    TARGETS,
    WIRES,
    Json,
    ask,
    decoded,
    fields_lost,
    openai_calls,
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

PNG = "iVBORw0KGgo="
LOOP = [user("go"), said(thought("hm"), "I look.", use("toolu_1", a=1.0)), user([result("toolu_1")])]
SAME = Target("a", OLD)


def parts_of(*blocks: Json) -> tuple[Any, ...]:
    return decoded("anthropic", ask(user(list(blocks)))).messages[0].parts


# ---- read


def test_every_kind_of_block_becomes_the_part_that_it_is() -> None:
    chat = decoded("anthropic", ask(*LOOP, tools=[tool()]))
    thinking, words, call = chat.messages[1].parts
    assert isinstance(thinking, Thinking)
    assert (thinking.text, thinking.signature) == ("hm", "EqSig")
    assert words == Text("I look.")
    assert isinstance(call, ToolCall)
    assert (call.id, call.name, call.arguments) == ("toolu_1", "f", '{"a":1.0}')
    (answer,) = chat.messages[2].parts
    assert isinstance(answer, ToolResult)
    assert (answer.call_id, answer.text, answer.is_error) == ("toolu_1", "ok", False)
    assert not chat.plain
    assert decoded("anthropic", ask()).plain


def test_a_tool_result_may_hold_pictures_and_be_an_error() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    chat = decoded(
        "anthropic", ask(*LOOP[:2], user([result("toolu_1", [text("see"), picture], is_error=True), text("so?")]))
    )
    answer, words = chat.messages[2].parts
    assert isinstance(answer, ToolResult)
    assert answer.is_error
    assert [type(part) for part in answer.content] == [Text, Media]
    assert words == Text("so?")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
            ("file", "application/pdf", "JVBERi0="),
        ),
        ({"type": "url", "url": "https://x/y.pdf"}, ("file", "application/pdf", "https://x/y.pdf")),
        ({"type": "file", "file_id": "file_1"}, ("file", "", "file_1")),
    ],
)
def test_a_document_is_a_file_however_it_is_given(source: Json, expected: tuple[str, str, str]) -> None:
    (part,) = parts_of({"type": "document", "source": source, "title": "t"})
    assert isinstance(part, Media)
    assert (part.kind, part.mime, part.data or part.url or part.file_id) == expected
    assert part.name == "t"


@pytest.mark.parametrize(
    "block",
    [
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}},
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "words"}]}},
        {"type": "search_result", "source": "", "title": "", "content": [{"type": "text", "text": "words"}]},
    ],
)
def test_documents_of_words_are_words_to_every_other_provider(block: Json) -> None:
    assert parts_of(block)[0].text == "words"
    for other in ("openai", "gemini"):
        body = WIRES[other].encode(decoded("anthropic", ask(user([block]))), TARGETS[other]).body
        assert b"words" in body
    edited = decoded("anthropic", ask(user([block]), said("a"), user("b")))
    chat = msgspec.structs.replace(edited, messages=(*edited.messages[:2], edited.messages[2].edited((Text("c"),))))
    assert to_claude(chat)[0]["messages"][0]["content"] == [block], "its own wire gets it as it was"


def test_blocks_that_nobody_knows_are_kept_and_go_only_to_anthropic() -> None:
    strange = {"type": "container_upload", "file_id": "f", "n": 1.0}
    chat = decoded("anthropic", ask(user([strange, text("hi")])))
    assert isinstance(chat.messages[0].parts[0], Opaque)
    body = json.loads(WIRES["openai"].encode(chat, TARGETS["openai"]).body)
    assert body["messages"] == [user("hi")]
    assert "messages" in fields_lost(WIRES["openai"].encode(chat, TARGETS["openai"]))


def test_a_later_system_text_of_a_client_of_this_format_becomes_the_user_s_only_for_a_model_that_refuses_it() -> None:
    later = {"role": "system", "content": "later"}
    chat = decoded("anthropic", ask(user("a"), later, said("b"), user("c"), system="s") | {"model": MIDDLE})
    assert ANTHROPIC.encode(chat, Target("a", MIDDLE)).untouched
    for model in (OLD, "claude-sonnet-5", "claude-haiku-5-5"):
        refusing = decoded("anthropic", ask(user("a"), later, said("b"), user("c"), system="s") | {"model": model})
        body, outbound = to_claude(refusing, model)
        assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
        assert body["messages"][0]["content"][1] == text("<system-reminder>\nlater\n</system-reminder>")
        assert (body["system"], body["max_tokens"], outbound.losses) == ("s", 4096, ())


def test_system_texts_at_the_root_and_inside_are_told_apart() -> None:
    chat = decoded("anthropic", ask(user("hi"), {"role": "system", "content": "later"}, system=[text("a"), text("b")]))
    assert [part.text for part in chat.system[0].parts if isinstance(part, Text)] == ["a", "b"]
    assert [message.role for message in chat.messages] == ["user", "system"]
    assert decoded("anthropic", ask(system="s")).system[0].parts == (Text("s"),)
    assert decoded("anthropic", ask(system="")).system == ()


def test_options_and_unknown_fields_are_kept_apart() -> None:
    chat = decoded(
        "anthropic",
        ask(
            metadata={"user_id": "u"},
            foldline={"session": "s"},
            output_config={"effort": "high", "task_budget": {"type": "tokens", "total": 1}},
            thinking={"type": "adaptive", "display": "summarized"},
            tool_choice={"type": "any", "disable_parallel_tool_use": True},
            stop_sequences=["x"],
        ),
    )
    assert chat.options == {"session": "s"}
    assert set(chat.rest) == {"metadata", "output_config"}
    assert bytes(chat.rest["metadata"]) == b'{"user_id": "u"}'
    s = chat.sampling
    assert (s.stop, s.parallel_tools) == (("x",), False)
    assert s.tool_choice is not None
    assert s.tool_choice.mode == "required"
    assert s.reasoning is not None
    assert (s.reasoning.effort, s.reasoning.show) == ("high", True)


@pytest.mark.parametrize(
    ("thinking", "expected"),
    [
        ({"type": "enabled", "budget_tokens": 2048}, ("", 2048, True)),
        ({"type": "enabled", "budget_tokens": 2048, "display": "omitted"}, ("", 2048, False)),
        ({"type": "disabled"}, ("none", None, None)),
        ({"type": "between_tools"}, ("none", None, None)),
        ({"type": "adaptive"}, ("", None, None)),
        ({"type": "adaptive", "display": "summarized"}, ("", None, True)),
    ],
)
def test_thinking_is_read_as_how_much_to_think(thinking: Json, expected: tuple[str, int | None, bool | None]) -> None:
    reasoning = decoded("anthropic", ask(thinking=thinking)).sampling.reasoning
    assert reasoning is not None
    assert (reasoning.effort, reasoning.budget, reasoning.show) == expected


def test_server_tools_are_hosted_and_stay_with_anthropic() -> None:
    chat = decoded("anthropic", ask(tools=[{"type": "web_search_20260318", "name": "web_search"}, tool("g")]))
    assert [(item.kind, item.name) for item in chat.tools] == [("hosted", "web_search"), ("function", "g")]
    outbound = WIRES["openai"].encode(chat, TARGETS["openai"])
    assert len(json.loads(outbound.body)["tools"]) == 1
    assert "tools.web_search" in fields_lost(outbound)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"model": "m", "max_tokens": 1}, "messages"),
        ({"model": "m", "messages": list[Json]()}, "messages"),
        ({"messages": [user("x")]}, "model"),
        (ask({"role": "tool", "content": "x"}), "messages[0].role"),
        (ask(user([{"type": "text"}])), "messages[0].content[0].text"),
        (ask(user([{"type": "tool_use", "name": "f"}])), "messages[0].content[0].id"),
        (ask(user([{"type": "image", "source": {"type": "base64"}}])), "messages[0].content[0].source"),
        (ask(tools=[{"input_schema": {}}]), "tools[0].name"),
        (ask(tool_choice={"type": "tool"}), "tool_choice"),
        (ask(output_config={"format": {"type": "json_schema"}}), "output_config.format"),
        (ask(max_tokens="x"), "max_tokens"),
        (ask(thread={"type": "continue", "previous_message_id": "msg_1"}), "thread"),
    ],
)
def test_a_mistake_is_named_by_its_field(body: Json, param: str) -> None:
    with pytest.raises(ClientError) as caught:
        decoded("anthropic", body)
    assert caught.value.param == param


def test_a_thread_is_refused_in_the_words_on_which_the_sdk_goes_on_without_one() -> None:
    with pytest.raises(ClientError) as caught:
        decoded("anthropic", ask(thread={"type": "create"}))
    problem = ANTHROPIC.problem(caught.value)
    assert problem.status == 400
    assert json.loads(problem.body)["error"]["details"] == {"error_code": "thread_unsupported_request"}


# ---- passed on


def test_an_untouched_body_goes_out_byte_for_byte() -> None:
    raw = b"".join(
        (
            b'{ "model":"claude-sonnet-4-5", "max_tokens" : 10, "x": 1e2,\n "temperature": 1.0, ',
            b'"messages": [ {"role": "user", "content": "caf\\u00e9"} ,{"role":"assistant","content":',
            b'[{"type":"thinking","thinking":"","signature":"Eq"},{"type":"text","text":"hm"}]}, ',
            b'{"content":[{"type":"text","text":"go"}],"role":"user"} ] }',
        )
    )
    outbound = ANTHROPIC.encode(decoded("anthropic", raw), SAME)
    assert outbound.untouched
    assert outbound.body is raw or outbound.body == raw
    assert outbound.losses == ()
    assert outbound.path == "/messages"


def test_foldlines_own_options_never_reach_the_provider_and_the_rest_keeps_its_spelling() -> None:
    raw = b'{"model":"claude-sonnet-4-5","foldline":{"off":false},"messages":[{"role":"user","content":"\\u0078"}]}'
    outbound = ANTHROPIC.encode(decoded("anthropic", raw), SAME)
    assert not outbound.untouched
    assert b"foldline" not in outbound.body
    assert b'{"role":"user","content":"\\u0078"}' in outbound.body


def test_where_one_message_was_edited_the_others_keep_their_bytes() -> None:
    raw = json.dumps(ask(*LOOP, said("done"), user("more"), tools=[tool()]), indent=1).encode()
    chat = decoded("anthropic", raw)
    messages = (chat.messages[0].edited((Text("shorter"),)), *chat.messages[1:])
    _, outbound = to_claude(msgspec.structs.replace(chat, messages=messages))
    for message in chat.messages[1:]:
        assert message.native is not None
        assert bytes(message.native.body) in outbound.body
    assert b'{"role":"user","content":"shorter"}' in outbound.body


def test_a_renamed_model_gets_what_it_takes_and_nothing_that_it_refuses() -> None:
    chat = decoded("anthropic", ask(temperature=0.5, thinking={"type": "enabled", "budget_tokens": 2048}, x=1))
    body, outbound = to_claude(chat, NEWEST)
    assert body["model"] == NEWEST
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}, "it was shown, and still is"
    assert body["output_config"] == {"effort": "low"}
    assert "temperature" not in body
    assert body["x"] == 1
    assert set(fields_lost(outbound)) == {"temperature", "reasoning"}


def test_tools_that_were_added_go_out_with_the_clients_own_as_they_were() -> None:
    own = tool("f") | {"cache_control": {"type": "ephemeral"}}
    chat = decoded("anthropic", ask(tools=[own]))
    added = decoded("openai", {"model": "m", "messages": [user("x")], "tools": [
        {"type": "function", "function": {"name": "fetch_rows", "parameters": {"type": "object"}}}
    ]}).tools  # fmt: skip
    body, _ = to_claude(msgspec.structs.replace(chat, tools=(*chat.tools, *added)))
    assert body["tools"] == [own, {"name": "fetch_rows", "input_schema": {"type": "object"}}]


def test_reading_on_from_an_earlier_turn_gives_the_same_chat_and_the_same_messages() -> None:
    long = [user("x" * 5000), said(thought("hm"), use("toolu_1")), user([result("toolu_1")]), said("a")]
    first = decoded("anthropic", ask(*long, system="s", tools=[tool()]))
    body = json.dumps(ask(*long, user("next"), said("b"), user("c"), system="s", tools=[tool()])).encode()
    again = decoded("anthropic", body, first)
    whole = decoded("anthropic", body)
    assert again.messages[0] is first.messages[0]
    assert again.system is first.system
    assert addresses(again.messages, b"t") == addresses(whole.messages, b"t")
    assert ANTHROPIC.encode(again, SAME) == ANTHROPIC.encode(whole, SAME)
    edited = msgspec.structs.replace(again, messages=again.messages[2:])
    assert len(to_claude(edited)[0]["messages"]) >= 5


def test_half_an_emoji_is_mended_as_every_provider_refuses_it() -> None:
    raw = b'{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"a \\ud83d b"}]}'
    body, outbound = to_claude(decoded("anthropic", raw))
    assert body["messages"][0]["content"] == "a � b"
    assert not outbound.untouched


# ---- thinking that is not Anthropic's


def test_thinking_with_our_signature_never_reaches_anthropic() -> None:
    body = ask(user("go"), said(thought("other's", UNSIGNED), "hi", use("toolu_1")), user([result("toolu_1")]))
    chat = decoded("anthropic", body)
    assert chat.messages[1].parts[0] == Thinking("other's")
    sent, outbound = to_claude(chat)
    assert UNSIGNED.encode() not in outbound.body
    assert sent["messages"][1]["content"] == [text("hi"), use("toolu_1")]
    assert not outbound.untouched


def test_thinking_without_any_signature_never_reaches_anthropic() -> None:
    chat = decoded("anthropic", ask(user("go"), said(thought("x", ""), "hi"), user("y"), foldline={}))
    assert to_claude(chat)[0]["messages"][1]["content"] == "hi"


# ---- to other providers


@pytest.mark.parametrize("upstream", ["openai", "gemini"])
def test_an_agents_turn_keeps_its_calls_and_results_anywhere(upstream: str) -> None:
    chat = decoded("anthropic", ask(*LOOP, system="s", tools=[tool()]))
    body = json.loads(WIRES[upstream].encode(chat, TARGETS[upstream]).body)
    if upstream == "openai":
        calls = openai_calls(("toolu_1", "f", '{"a":1.0}'), content="I look.")
        reply = {"role": "tool", "tool_call_id": "toolu_1", "content": "ok"}
        assert body["messages"] == [{"role": "system", "content": "s"}, user("go"), calls, reply]
    else:
        parts = body["contents"][1]["parts"]
        assert parts[0] == {"text": "I look."}
        assert parts[1]["functionCall"] == {"name": "f", "args": {"a": 1.0}}
        assert body["contents"][2]["parts"][0]["functionResponse"]["response"] == {"output": "ok"}


def test_a_call_that_was_no_json_comes_back_as_it_was() -> None:
    chat = decoded("anthropic", ask(user("go"), said(use("toolu_1", _raw="oops")), user([result("toolu_1")])))
    assert chat.messages[1].calls[0].arguments == "oops"


def test_the_same_talk_has_the_same_address_through_every_format() -> None:
    mine = decoded("anthropic", ask(*LOOP, said("done"), user("next")))
    theirs = decoded(
        "openai",
        {"model": "m", "messages": [
            user("go"), openai_calls(("c9", "f", '{"a": 1.0}'), content="I look."),
            {"role": "tool", "tool_call_id": "c9", "content": "ok"}, {"role": "assistant", "content": "done"},
            user("next"),
        ]},
    )  # fmt: skip
    assert addresses(mine.messages, b"t") == addresses(theirs.messages, b"t")


def test_a_later_system_message_stays_where_it_was_said() -> None:
    later = {"role": "system", "content": "later"}
    chat = touched(decoded("anthropic", ask(user("a"), later, said("b"), user("c"))))
    inside, outbound = to_claude(chat, MIDDLE)
    assert inside["messages"][1] == later
    assert outbound.losses == ()
    words = to_claude(chat, OLD)[0]["messages"][0]["content"]
    assert words == [text("a"), text("<system-reminder>\nlater\n</system-reminder>")]
    assert [m["role"] for m in to_claude(chat, OLD)[0]["messages"]] == ["user", "assistant", "user"]


def test_the_billing_note_of_claude_code_is_nobodys_words() -> None:
    note = text("x-anthropic-billing-header: cc_version=2; cch=123")
    chat = decoded("anthropic", ask(user("hi"), system=[note, text("You are kind.")]))
    other = decoded("anthropic", ask(user("hi"), system=[text(note["text"] + "4"), text("You are kind.")]))
    assert setup(chat.system, ()) == setup(other.system, ())
    for upstream in ("openai", "gemini"):
        assert b"billing" not in WIRES[upstream].encode(chat, TARGETS[upstream]).body
    assert ANTHROPIC.encode(chat, SAME).untouched
    more = msgspec.structs.replace(chat, system=(*chat.system, Message("system", (Text("More."),))))
    assert to_claude(more)[0]["system"] == [note, text("You are kind."), text("More.")]


# ---- thinking that is refused


@pytest.mark.parametrize(
    "words",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to another conversation.",
        "messages.3: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
    ],
)
def test_a_refusal_of_thinking_is_recognised_and_the_way_out_is_to_send_none(words: str) -> None:
    body = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": words}}).encode()
    assert refuses_thinking(ANTHROPIC.failure(400, {}, body))
    assert not refuses_thinking(ANTHROPIC.failure(400, {}, body.replace(b"thinking", b"text")))
    chat = decoded("anthropic", ask(*LOOP))
    bare = without_thinking(chat)
    assert to_claude(bare)[0]["messages"][1] == said("I look.", use("toolu_1", a=1.0))
    assert without_thinking(bare) is bare
    sealed = ANTHROPIC.restore(Message("assistant", (Text("a"),)), json.dumps([thought("x"), text("a")]).encode(), True)
    put_back = msgspec.structs.replace(chat, messages=(chat.messages[0], sealed, chat.messages[0]))
    assert b"thinking" not in ANTHROPIC.encode(without_thinking(put_back), SAME).body
