"""What the provider said and the client dropped is put back, to that provider and model only."""

from __future__ import annotations

import json
from typing import Any

from app.context.known import Checkpoint
from app.engine.routing import Route
from app.wires.gemini.names import BYPASS
from tests.engine.scripts import GEMINI_3, TENANT, Given, Stage, call, gemini_says, openai_says
from tests.wires.talking import Json, sse

ASKED: Json = {"role": "user", "content": "how is the weather?"}
SIGNED: Json = {"functionCall": {"id": "fc1", "name": "weather", "args": {"n": 1}}, "thoughtSignature": "c2lnMQ=="}
TOOLS = [
    {
        "type": "function",
        "function": {"name": "weather", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    }
]


def _plain(calls: Any) -> Json:
    """An assistant message as a client that knows nothing but OpenAI's own fields sends it back."""
    return {"role": "assistant", "content": None, "tool_calls": [call(c.id, c.name, c.arguments) for c in calls]}


def _result(identity: str, text: str = "sunny") -> Json:
    return {"role": "tool", "tool_call_id": identity, "content": text}


async def test_a_signature_that_an_openai_client_dropped_goes_back_in_the_very_part_it_came_in() -> None:
    stage = await Stage.open("gemini")
    stage.replies(
        gemini_says({"text": "Let me see."}, SIGNED, {"functionCall": {"name": "weather", "args": {}}}),
        gemini_says({"text": "Sunny."}),
    )
    seen = await stage.says("openai", {"messages": [ASKED], "tools": TOOLS})
    first, second = seen.reply.calls
    assert (first.id, second.id[:5]) == ("fc1", "call_")
    history = [
        ASKED,
        {**_plain((first, second)), "content": "Let me see."},
        _result(second.id, "b"),
        _result(first.id, "a"),
    ]
    seen = await stage.says("openai", {"messages": history, "tools": TOOLS})
    model, results = stage.got[-1].body["contents"][1:]
    assert model == {
        "role": "model",
        "parts": [{"text": "Let me see."}, SIGNED, {"functionCall": {"name": "weather", "args": {}}}],
    }
    assert results["parts"] == [
        {"functionResponse": {"name": "weather", "id": "fc1", "response": {"output": "a"}}},
        {"functionResponse": {"name": "weather", "response": {"output": "b"}}},
    ]
    assert seen.headers["x-foldline-plan"] == "restore=1"
    assert seen.reply.text == "Sunny."


async def test_history_that_gemini_never_saw_carries_the_documented_bypass_string_on_the_first_call_of_each_step() -> (
    None
):
    stage = await Stage.open("gemini")
    stage.replies(gemini_says({"text": "ok"}))
    steps = [
        {"role": "assistant", "tool_calls": [call("a"), call("b")]},
        _result("a"),
        _result("b"),
        {"role": "assistant", "tool_calls": [call("c")]},
        _result("c"),
    ]
    await stage.says("openai", {"messages": [ASKED, *steps]})
    models = [content["parts"] for content in stage.got[-1].body["contents"] if content["role"] == "model"]
    assert [[part.get("thoughtSignature") for part in parts] for parts in models] == [[BYPASS, None], [BYPASS]]


async def test_a_signature_is_not_shown_to_another_model_or_another_upstream() -> None:
    routes = [Route("gpt-*", "openai"), Route("gemini-3-pro*", "gemini"), Route("*", "gemini")]
    stage = await Stage.open(routes=routes)
    stage.replies(gemini_says(SIGNED), openai_says("hm"), gemini_says({"text": "ok"}), gemini_says({"text": "ok"}))
    seen = await stage.says("openai", {"messages": [ASKED]})
    history = [ASKED, _plain(seen.reply.calls), _result("fc1")]
    await stage.says("openai", {"model": "gpt-x", "messages": history})
    assert "c2lnMQ" not in stage.got[-1].raw.decode()
    await stage.says("openai", {"model": "gemini-3-pro-preview", "messages": history})
    assert "c2lnMQ" not in stage.got[-1].raw.decode()
    assert BYPASS in stage.got[-1].raw.decode()
    await stage.says("openai", {"messages": history})
    assert "c2lnMQ" in stage.got[-1].raw.decode()


async def test_a_signature_never_crosses_to_another_tenant() -> None:
    stage = await Stage.open("gemini")
    stage.replies(gemini_says(SIGNED), gemini_says({"text": "ok"}))
    seen = await stage.says("openai", {"messages": [ASKED]})
    await stage.says("openai", {"messages": [ASKED, _plain(seen.reply.calls), _result("fc1")]}, tenant=b"tenant-2")
    assert "c2lnMQ" not in stage.got[-1].raw.decode()


async def test_an_edited_answer_gets_nothing_back() -> None:
    stage = await Stage.open("gemini")
    stage.replies(gemini_says({"text": "It is A.", "thoughtSignature": "c2lnMQ=="}), gemini_says({"text": "ok"}))
    await stage.says("openai", {"messages": [ASKED]})
    await stage.says("openai", {"messages": [ASKED, {"role": "assistant", "content": "It is B."}, ASKED]})
    assert "c2lnMQ" not in stage.got[-1].raw.decode()
    assert "It is B." in stage.got[-1].raw.decode()


async def test_a_gemini_client_that_kept_its_signatures_sends_its_own_bytes() -> None:
    stage = await Stage.open("gemini")
    stage.replies(gemini_says(SIGNED), gemini_says({"text": "ok"}))
    asked = {"role": "user", "parts": [{"text": "x"}]}
    await stage.says("gemini", {"contents": [asked]})
    raw = b'{ "contents": [{"role":"user","parts":[{"text":"x"}]}, {"role":"model","parts":[{"functionCall":{"id":"fc1","name":"weather","args":{"n":1}},"thought_signature":"c2lnMQ=="}]}, {"role":"user","parts":[{"functionResponse":{"id":"fc1","name":"weather","response":{}}}]}] }'  # noqa: E501 (one body)
    await stage.says("gemini", {}, raw=raw)
    assert stage.got[-1].raw == raw


async def test_a_gemini_client_that_dropped_its_signatures_gets_them_put_back() -> None:
    stage = await Stage.open("gemini")
    stage.replies(gemini_says(SIGNED), gemini_says({"text": "ok"}))
    asked = {"role": "user", "parts": [{"text": "x"}]}
    await stage.says("gemini", {"contents": [asked]})
    bare = {"role": "model", "parts": [{"functionCall": SIGNED["functionCall"]}]}
    answer = {"role": "user", "parts": [{"functionResponse": {"id": "fc1", "name": "weather", "response": {"a": 1}}}]}
    await stage.says("gemini", {"contents": [asked, bare, answer], "labels": {"k": "v"}})
    assert stage.got[-1].body == {
        "contents": [asked, {"role": "model", "parts": [SIGNED]}, answer],
        "labels": {"k": "v"},
    }


async def test_a_call_that_another_model_made_for_a_gemini_client_gets_the_bypass_string_while_its_loop_runs() -> None:
    stage = await Stage.open(routes=[Route("gpt-*", "openai"), Route("*", "gemini")])
    stage.replies(openai_says("hm", [call("c1", "weather", '{"n":1}')]), *[gemini_says({"text": "ok"})] * 3)
    asked: Json = {"role": "user", "parts": [{"text": "x"}]}
    seen = await stage.says("gemini", {"contents": [asked]}, model="gpt-x")
    called: Json = {"functionCall": {"id": seen.reply.calls[0].id, "name": "weather", "args": {"n": 1}}}
    bare: Json = {"role": "model", "parts": [{"text": "hm"}, called]}
    response = {"id": seen.reply.calls[0].id, "name": "weather", "response": {"a": 1}}
    answer: Json = {"role": "user", "parts": [{"functionResponse": response}]}
    await stage.says("gemini", {"contents": [asked, bare, answer], "labels": {"k": "v"}})
    signed = {"role": "model", "parts": [{"text": "hm"}, {**called, "thoughtSignature": BYPASS}]}
    assert stage.got[-1].body == {"contents": [asked, signed, answer], "labels": {"k": "v"}}
    over = {"contents": [asked, bare, answer, {"role": "model", "parts": [{"text": "ok"}]}, asked]}
    await stage.says("gemini", over)
    assert stage.got[-1].body == over


async def test_a_call_whose_maker_nobody_knows_goes_out_as_its_client_wrote_it() -> None:
    stage = await Stage.open("gemini")
    stage.replies(gemini_says({"text": "ok"}))
    bare = {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {"n": 1}}}]}
    answer = {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": {"a": 1}}}]}
    raw = json.dumps({"contents": [{"role": "user", "parts": [{"text": "x"}]}, bare, answer]}).encode()
    await stage.says("gemini", {}, raw=raw)
    assert stage.got[-1].raw == raw


async def test_an_answer_that_gemini_paused_is_asked_on_with_its_token_and_seen_as_one() -> None:
    stage = await Stage.open("gemini")
    paused: Json = {"content": {"parts": []}, "finishReason": "CONTINUATION", "continuationToken": "dG9r"}
    first = [{"candidates": [{"content": {"parts": [{"text": "one "}]}}]}, {"candidates": [paused]}]
    used: Json = {"usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 2}}
    stage.replies(Given([sse(*({**chunk, **used} for chunk in first))]), gemini_says({"text": "two"}))
    seen = await stage.says("openai", {"messages": [ASKED]})
    assert (seen.reply.text, seen.reply.finished and seen.reply.finished.reason) == ("one two", "stop")
    assert seen.reply.usage is None or seen.reply.usage.input == 14
    assert stage.got[1].body == {**stage.got[0].body, "continuationToken": "dG9r"}


async def test_reasoning_goes_back_inside_the_tool_loop_and_not_after_it() -> None:
    stage = await Stage.open("openai")
    thinks = openai_says("", [call("c1")], reasoning_content="I should call f.")
    stage.replies(thinks, openai_says("done"), openai_says("bye"))
    seen = await stage.says("openai", {"messages": [ASKED]})
    loop = [ASKED, _plain(seen.reply.calls), _result("c1")]
    await stage.says("openai", {"messages": loop})
    assert stage.got[-1].body["messages"][1]["reasoning_content"] == "I should call f."
    await stage.says(
        "openai", {"messages": [*loop, {"role": "assistant", "content": "done"}, {"role": "user", "content": "thanks"}]}
    )
    assert "reasoning_content" not in stage.got[-1].raw.decode()
    assert stage.got[-1].body["messages"][1] == loop[1], "the rest of the body is the client's own"


async def test_signed_reasoning_details_and_signatures_on_calls_always_go_back() -> None:
    stage = await Stage.open("openai")
    details = [{"type": "reasoning.encrypted", "data": "b3BhcXVl", "index": 0}]
    google = {"google": {"thought_signature": "c2ln"}}
    stage.replies(openai_says("", [call("c1", extra_content=google)], reasoning_details=details), openai_says("ok"))
    seen = await stage.says("openai", {"messages": [ASKED]})
    await stage.says(
        "openai", {"messages": [ASKED, _plain(seen.reply.calls), _result("c1"), {"role": "user", "content": "and?"}]}
    )
    back = stage.got[-1].body["messages"][1]
    assert back["reasoning_details"] == details
    assert back["tool_calls"][0]["extra_content"] == google


async def test_an_answer_that_the_client_split_in_two_messages_is_put_back_as_the_one_it_was() -> None:
    stage = await Stage.open("gemini")
    stage.replies(gemini_says({"text": "Let me see."}, SIGNED), gemini_says({"text": "ok"}))
    seen = await stage.says("openai", {"messages": [ASKED]})
    split = [{"role": "assistant", "content": "Let me see."}, _plain(seen.reply.calls)]
    await stage.says("openai", {"messages": [ASKED, *split, _result("fc1")]})
    assert stage.got[-1].body["contents"][1] == {"role": "model", "parts": [{"text": "Let me see."}, SIGNED]}


async def test_with_off_nothing_is_put_back_and_nothing_mended() -> None:
    stage = await Stage.open("openai")
    stage.replies(openai_says("", [call("c1")], reasoning_content="hm"), openai_says("ok"))
    seen = await stage.says("openai", {"messages": [ASKED]})
    history = [ASKED, _plain(seen.reply.calls), _result("c1"), _result("orphan")]
    await stage.says("openai", {"messages": history, "foldline": {"off": True}})
    assert stage.got[-1].body["messages"] == history


async def test_the_store_holds_what_only_the_provider_knows_at_the_address_of_the_next_turn() -> None:
    stage = await Stage.open("gemini")
    stage.replies(gemini_says(SIGNED), gemini_says({"text": "ok"}))
    seen = await stage.says("openai", {"messages": [ASKED]})
    again = await stage.says("openai", {"messages": [ASKED, _plain(seen.reply.calls), _result("fc1")]})
    assert again.turn is not None
    known = again.turn.known
    held = known.checkpoints[known.addresses[1]]
    assert isinstance(held, Checkpoint)
    assert (held.upstream, held.model, held.served, held.wire) == ("gemini", GEMINI_3, GEMINI_3, "gemini")
    assert (
        held.sealed
        == b'[{"functionCall": {"id": "fc1", "name": "weather", "args": {"n": 1}}, "thoughtSignature": "c2lnMQ=="}]'
    )
    assert held.input_tokens == 7
    assert known.deepest() == 2


async def test_a_title_call_beside_the_main_chat_under_the_same_id_does_not_disturb_it() -> None:
    stage = await Stage.open("gemini")
    stage.replies(gemini_says(SIGNED), gemini_says({"text": "Weather"}), gemini_says({"text": "ok"}))
    same = {"x-session-id": "window-1"}
    seen = await stage.says("openai", {"messages": [ASKED]}, headers=same)
    title = await stage.says(
        "openai", {"messages": [{"role": "user", "content": "Give this chat a title: weather"}]}, headers=same
    )
    after = await stage.says("openai", {"messages": [ASKED, _plain(seen.reply.calls), _result("fc1")]}, headers=same)
    assert "c2lnMQ" in stage.got[-1].raw.decode()
    assert len({each.headers["x-foldline-session"] for each in (seen, title, after)}) == 1
    assert TENANT.hex() in seen.headers["x-foldline-session"]


async def test_a_branch_of_a_chat_keeps_what_it_shares() -> None:
    stage = await Stage.open("gemini")
    said = {"text": "A", "thoughtSignature": "c2lnQQ=="}
    stage.replies(gemini_says(said), gemini_says({"text": "B"}), gemini_says({"text": "C"}))
    await stage.says("openai", {"messages": [ASKED]})
    for question in ("and then?", "and instead?"):
        history = [ASKED, {"role": "assistant", "content": "A"}, {"role": "user", "content": question}]
        await stage.says("openai", {"messages": history})
        assert stage.got[-1].body["contents"][1]["parts"] == [said]


async def test_a_late_signature_comes_back_with_its_words() -> None:
    stage = await Stage.open("gemini")
    late = {"text": "", "thoughtSignature": "bGF0ZQ=="}
    stage.replies(gemini_says({"text": "It "}, {"text": "rains."}, late), Given(gemini_says({"text": "ok"}).pieces))
    await stage.says("openai", {"messages": [ASKED]})
    await stage.says("openai", {"messages": [ASKED, {"role": "assistant", "content": "It rains."}, ASKED]})
    assert stage.got[-1].body["contents"][1]["parts"] == [{"text": "It rains."}, late]
