"""OpenAI's answers: the same events whatever order, cuts or gaps they come with, and what is kept of them."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.events import (
    Event,
    Failed,
    Finished,
    Searched,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCalled,
    Unknown,
)
from app.chat.model import ToolCall
from app.wires.openai_responses import OPENAI_RESPONSES
from app.wires.wire import Reader
from tests.wires.openai_responses.speaking import (
    ASK,
    CALL,
    HELLO,
    SAID,
    TARGET,
    THOUGHT,
    Json,
    body_of,
    decoded,
    edited,
    events_of,
    response,
    said,
    told,
)

CUSTOM: Json = {"type": "custom_tool_call", "id": "ctc_a", "call_id": "call_p", "name": "patch", "input": "*** Begin"}
BEGUN = {"type": "response.created", "response": response(status="in_progress")}
ENDED = {"type": "response.completed", "response": response(THOUGHT, SAID, CALL, CUSTOM)}


def _added(index: int, item: Json, **empty: Any) -> Json:
    return {"type": "response.output_item.added", "output_index": index, "item": item | empty}


def _done(index: int, item: Json) -> Json:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def _delta(kind: str, index: int, item: Json, delta: str, **more: Any) -> Json:
    return {"type": f"response.{kind}.delta", "output_index": index, "item_id": item["id"], "delta": delta, **more}


STREAM: list[Json] = [
    BEGUN,
    {"type": "response.in_progress", "response": response(status="in_progress")},
    _added(0, THOUGHT, summary=[], encrypted_content="gAAAAA"),
    {"type": "response.reasoning_summary_part.added", "output_index": 0, "item_id": "rs_a", "summary_index": 0},
    _delta("reasoning_summary_text", 0, THOUGHT, "Look ", summary_index=0),
    _delta("reasoning_summary_text", 0, THOUGHT, "her up.", summary_index=0),
    {"type": "response.reasoning_summary_text.done", "output_index": 0, "item_id": "rs_a", "text": "Look her up."},
    _done(0, THOUGHT),
    _added(1, SAID, content=[], status="in_progress"),
    {"type": "response.content_part.added", "output_index": 1, "item_id": "msg_a", "content_index": 0},
    _delta("output_text", 1, SAID, "In ", content_index=0, logprobs=[]),
    _delta("output_text", 1, SAID, "room 4.", content_index=0, logprobs=[]),
    {"type": "response.output_text.done", "output_index": 1, "item_id": "msg_a", "text": "In room 4."},
    _done(1, SAID),
    _added(2, CALL, arguments=""),
    _delta("function_call_arguments", 2, CALL, '{"who":'),
    _delta("function_call_arguments", 2, CALL, ' "Ann"}'),
    {"type": "response.function_call_arguments.done", "output_index": 2, "arguments": CALL["arguments"]},
    _done(2, CALL),
    _added(3, CUSTOM, input=""),
    _delta("custom_tool_call_input", 3, CUSTOM, "*** Begin"),
    _done(3, CUSTOM),
    ENDED,
]
DATA = said(*STREAM)
CALLS = (
    ToolCall("call_a", "find", '{"who": "Ann"}'),
    ToolCall("call_p", "patch", "*** Begin", kind="custom"),
)


def _read(data: bytes, *, stream: bool = True, store: bool | None = None) -> Reader:
    reader = OPENAI_RESPONSES.reader(edited(decoded(HELLO), store=store), stream, lambda: "1")
    reader.feed(data)
    reader.close()
    return reader


def _whole(body: Json) -> list[Event]:
    return events_of([json.dumps(body).encode()], stream=False)


def _end(events: list[Event]) -> Finished | Failed:
    assert isinstance(events[-1], Finished | Failed)
    assert sum(isinstance(event, Finished | Failed) for event in events) == 1
    return events[-1]


def _story(events: list[Event]) -> Any:
    reply = told(events)
    assert reply.usage is not None
    usage = reply.usage
    numbers = (usage.input, usage.output, usage.cached, usage.cache_written, usage.reasoning)
    return (
        reply.id,
        reply.model,
        reply.thinking,
        reply.text,
        reply.calls,
        numbers,
        reply.finished and reply.finished.reason,
    )


TOLD = ("resp_up", "gpt-real", "Look her up.", "In room 4.", CALLS, (9, 4, 2, 1, 3), "tool_calls")


def test_a_stream_and_an_answer_in_one_piece_tell_the_same_story() -> None:
    assert _story(events_of([DATA])) == TOLD
    assert _story(_whole(response(THOUGHT, SAID, CALL, CUSTOM))) == TOLD


@settings(max_examples=60, deadline=None)
@given(cuts=st.lists(st.integers(1, len(DATA) - 1), max_size=8))
def test_a_stream_cut_anywhere_gives_the_same_events(cuts: list[int]) -> None:
    marks = [0, *sorted(set(cuts)), len(DATA)]
    assert events_of([DATA[a:b] for a, b in itertools.pairwise(marks)]) == events_of([DATA])


@settings(max_examples=80, deadline=None)
@given(left_out=st.sets(st.integers(0, len(STREAM) - 2)))
def test_events_that_are_missing_are_made_good_by_those_that_say_more(left_out: set[int]) -> None:
    """Only words of an item whose earlier deltas are missing, and so come out of order, cannot be."""
    deltas = {number for number, event in enumerate(STREAM) if event["type"].endswith(".delta")}
    if left_out & deltas and not deltas <= left_out:
        left_out |= deltas
    assert _story(events_of([said(*(event for n, event in enumerate(STREAM) if n not in left_out))])) == TOLD


def test_deltas_that_come_before_their_item_are_not_lost() -> None:
    end = {"type": "response.completed", "response": response(CALL)}
    early = _delta("function_call_arguments", 0, CALL, '{"who":')
    events = events_of([said(BEGUN, early, _added(0, CALL, arguments=""), _done(0, CALL), end)])
    pieces = [event for event in events if isinstance(event, ToolCallDelta)]
    assert (pieces[0].id, pieces[0].name) == ("call_a", "find")
    assert "".join(piece.arguments for piece in pieces) == CALL["arguments"]


def test_two_calls_at_once_are_kept_apart() -> None:
    other: Json = CALL | {"id": "fc_b", "call_id": "call_b", "arguments": "{}"}
    events = events_of(
        [
            said(
                _added(0, CALL, arguments=""),
                _added(1, other, arguments=""),
                _delta("function_call_arguments", 1, other, "{}"),
                _delta("function_call_arguments", 0, CALL, CALL["arguments"]),
                _done(1, other),
                _done(0, CALL),
                {"type": "response.completed", "response": response(CALL, other)},
            )
        ]
    )
    joined = {0: "", 1: ""}
    for event in events:
        if isinstance(event, ToolCallDelta):
            joined[event.index] += event.arguments
    assert joined == {0: CALL["arguments"], 1: "{}"}
    calls = [(event.index, event.call.id) for event in events if isinstance(event, ToolCalled)]
    assert calls == [(0, "call_a"), (1, "call_b")]  # in the order of the output, whichever was done first


def test_a_call_that_was_never_announced_still_stands_before_a_later_one() -> None:
    end = {"type": "response.completed", "response": response(CALL, CUSTOM)}
    assert told(events_of([said(BEGUN, _done(1, CUSTOM), end)])).calls == CALLS


def test_without_item_indexes_or_ids_pieces_still_find_their_item() -> None:
    bare: list[Json] = [
        {k: v for k, v in event.items() if k not in ("output_index", "item_id", "content_index", "summary_index")}
        for event in STREAM
    ]
    assert _story(events_of([said(*bare, names=False)])) == TOLD


def test_a_refusal_is_what_the_model_says() -> None:
    refusing: Json = SAID | {"content": [{"type": "refusal", "refusal": "I cannot."}]}
    end = {"type": "response.completed", "response": response(refusing)}
    assert (
        told(events_of([said(_delta("refusal", 0, SAID, "I can", content_index=0), _done(0, refusing), end)])).text
        == "I cannot."
    )


def test_parts_of_reasoning_stand_apart_and_raw_reasoning_is_shown_where_there_is_no_summary() -> None:
    parts = [{"type": "summary_text", "text": text} for text in ("One.", "Two.")]
    raw: Json = {
        "type": "reasoning",
        "id": "rs_b",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "Raw."}],
    }
    end = {"type": "response.completed", "response": response(THOUGHT | {"summary": parts}, raw)}
    streamed = [
        _delta("reasoning_summary_text", 0, THOUGHT, "One.", summary_index=0),
        _delta("reasoning_summary_text", 0, THOUGHT, "Two.", summary_index=1),
        _delta("reasoning_text", 1, raw, "Raw.", content_index=0),
    ]
    assert told(events_of([said(end)])).thinking == "One.\n\nTwo.\n\nRaw."
    assert told(events_of([said(*streamed, end)])).thinking == "One.\n\nTwo.\n\nRaw."


def test_what_openais_own_tools_do_is_not_modelled_and_not_lost() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    searching = {"type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws_1"}
    end = {"type": "response.completed", "response": response(search, SAID)}
    events = events_of([said(BEGUN, _added(0, search), searching, _done(0, search), end)])
    assert [type(event) for event in events if isinstance(event, Unknown | Searched)] == [Unknown, Searched]
    assert _end(events) == Finished("stop", events[-1].native)  # type: ignore[union-attr] - checked by _end


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("max_output_tokens", "length"), ("content_filter", "content_filter"), ("steered", "stop"), (None, "stop")],
)
def test_an_incomplete_answer_says_why_it_ended(reason: str | None, expected: str) -> None:
    body = response(SAID, status="incomplete", incomplete_details={"reason": reason} if reason else None)
    for events in (_whole(body), events_of([said({"type": "response.incomplete", "response": body})])):
        end = _end(events)
        assert isinstance(end, Finished)
        assert end.reason == expected


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("rate_limit_exceeded", "rate_limited"),
        ("server_error", "upstream_failed"),
        ("insufficient_quota", "out_of_quota"),
        ("context_length_exceeded", "too_long"),
        ("invalid_prompt", "bad_request"),
        ("something_new", "upstream_failed"),
    ],
)
def test_every_form_of_an_error_is_understood(code: str, kind: str) -> None:
    error = {"code": code, "message": "No."}
    failed = response(status="failed", error=error)
    streams: list[list[Json]] = [
        [BEGUN, {"type": "response.failed", "response": failed}],
        [BEGUN, {"type": "error", **error, "param": None}],
        [BEGUN, {"type": "error", "error": error}],
        [BEGUN, {"type": "error", **error}, {"type": "response.failed", "response": failed}],
    ]
    for events in (_whole(failed), *(events_of([said(*stream)]) for stream in streams)):
        end = _end(events)
        assert isinstance(end, Failed)
        assert (end.error.kind, end.error.code, end.error.message) == (kind, code, "No.")


def test_an_error_without_a_type_is_an_error_too() -> None:
    data = b'data: {"error": {"message": "No.", "code": "server_error"}}\n\n'
    assert isinstance(_end(events_of([data])), Failed)


@pytest.mark.parametrize("cut", range(0, DATA.index(b"response.completed"), 97))
def test_a_stream_without_its_last_event_is_broken_and_never_a_short_answer(cut: int) -> None:
    assert isinstance(_end(events_of([DATA[:cut]])), Failed)
    assert isinstance(_end(events_of([DATA[:cut] + b"\n\ndata: [DONE]\n\n"])), Failed)


def test_nothing_counts_behind_the_last_event() -> None:
    assert events_of([DATA + DATA]) == events_of([DATA])


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"object": "response"}', b"<html>", b'{"status": "queued", "output": []}']
)
def test_what_is_no_answer_is_a_failure(body: bytes) -> None:
    assert isinstance(_end(events_of([body], stream=False)), Failed)


def test_what_cannot_be_read_in_a_stream_is_unknown_or_a_failure() -> None:
    odd = said({"type": "response.output_text.delta", "output_index": "first", "delta": "x"})
    events = events_of([odd + DATA])
    assert isinstance(events[0], Unknown)
    assert isinstance(_end(events), Finished)
    assert isinstance(_end(events_of([b"data: {nonsense\n\n" + DATA])), Failed)


# ---- what is kept


def test_the_handle_is_the_responses_id_if_the_provider_kept_it() -> None:
    assert _read(DATA).handle() == "resp_up"
    assert _read(DATA, store=True).handle() == "resp_up"
    assert _read(DATA, store=False).handle() == ""
    kept_not = said(BEGUN, {"type": "response.completed", "response": response(SAID, store=False)})
    assert _read(kept_not).handle() == ""
    short = {"type": "response.incomplete", "response": response(SAID, status="incomplete")}
    assert _read(said(short)).handle() == "resp_up"
    assert _read(json.dumps(response(SAID)).encode(), stream=False).handle() == "resp_up"


@pytest.mark.parametrize("data", [DATA[:-40], said(BEGUN, {"type": "response.failed", "response": response()})])
def test_a_broken_answer_leaves_nothing_behind(data: bytes) -> None:
    reader = _read(data)
    assert (reader.handle(), reader.sealed()) == ("", b"")


def test_what_is_sealed_are_openais_own_items_byte_for_byte_as_they_were_when_done() -> None:
    raw = json.dumps(CALL, indent=1).replace('"Ann', '"\\u0041nn')
    stream = DATA.replace(json.dumps(_done(2, CALL))[1:].encode(), b"", 0)
    event = f'{{"type":"response.output_item.done","output_index":0,"item":{raw}}}'.replace("\n", " ")
    stream = said(BEGUN) + f"data: {event}\n\n".encode() + said({"type": "response.completed", "response": response()})
    assert _read(stream).sealed() == b"[" + raw.replace("\n", " ").encode() + b"]"
    assert json.loads(_read(DATA).sealed()) == [THOUGHT, SAID, CALL, CUSTOM]


def test_words_alone_need_no_seal() -> None:
    assert _read(json.dumps(response(SAID)).encode(), stream=False).sealed() == b""
    phased = SAID | {"phase": "final_answer"}
    assert json.loads(_read(json.dumps(response(phased)).encode(), stream=False).sealed()) == [phased]


def test_reasoning_that_was_not_stored_is_kept_only_with_its_encrypted_content() -> None:
    bare: Json = {"type": "reasoning", "id": "rs_b", "summary": []}
    data = json.dumps(response(bare, THOUGHT, CALL, bare)).encode()
    assert json.loads(_read(data, stream=False, store=False).sealed()) == [THOUGHT, CALL]
    assert json.loads(_read(data, stream=False).sealed()) == [bare, THOUGHT, CALL]


def test_what_was_sealed_goes_back_as_it_was() -> None:
    chat = decoded(body_of(ASK))
    reply = told(events_of([DATA], chat=chat))
    turn = OPENAI_RESPONSES.restore(reply.message, _read(DATA).sealed(), in_loop=True)
    assert turn.parts == reply.message.parts
    body = OPENAI_RESPONSES.encode(edited(chat, messages=(*chat.messages, turn)), TARGET).body
    assert json.loads(body)["input"][1:] == [THOUGHT, SAID, CALL, CUSTOM]


def test_nothing_is_paused() -> None:
    assert _read(DATA).onward(decoded(HELLO)) is None


def test_a_tool_is_named_as_the_client_named_it() -> None:
    asked = {
        "model": "m",
        "messages": [{"role": "user", "content": "x"}],
        "tools": [{"type": "function", "function": {"name": "mail.send"}}],
    }
    chat = decoded(asked, client="openai")
    name = json.loads(OPENAI_RESPONSES.encode(chat, TARGET).body)["tools"][0]["name"]
    (call,) = told(_events_for(chat, CALL | {"name": name})).calls
    assert call.name == "mail.send"


def test_a_tool_in_a_namespace_is_named_with_it() -> None:
    (call,) = told(_events_for(decoded(HELLO), CALL | {"namespace": "mail", "name": "send"})).calls
    assert call.name == "mail__send"


def _events_for(chat: Any, item: Json) -> list[Event]:
    return events_of(
        [said(_added(0, item), _done(0, item), {"type": "response.completed", "response": response(item)})], chat=chat
    )


def test_deltas_go_out_as_they_come() -> None:
    reader = OPENAI_RESPONSES.reader(decoded(HELLO), True, lambda: "1")
    kinds: list[type] = []
    for block in DATA.split(b"\n\n"):
        kinds += [type(event) for event in reader.feed(block + b"\n\n")]
    assert kinds.count(TextDelta) == 2
    assert kinds.count(ThinkingDelta) == 2
    assert kinds.index(TextDelta) < kinds.index(Finished)
