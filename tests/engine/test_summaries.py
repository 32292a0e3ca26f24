"""Summaries that turns wait for, or find made: each once, checked, kept, and never in the way of an answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from app.chat.address import addresses
from app.context.folds import fold_address
from app.context.known import Checkpoint
from app.engine.routing import Route
from app.state.store import Store
from app.upstreams.upstream import Upstream, with_key
from tests.context.folding import words
from tests.engine.folding import GOOD, POLICY, Folding, folding_stage, long_talk, summary_says
from tests.engine.scripts import TENANT, Given, Seen, whole
from tests.wires.talking import WIRES, Json, decoded


def _failure(status: int) -> Given:
    return whole({"error": {"message": "no", "type": "x", "param": None, "code": None}}, status)


def _nothing(body: Json) -> str:
    return ""


def _folds(store_known: dict[bytes, Checkpoint]) -> list[Checkpoint]:
    return [each for each in store_known.values() if each.fold is not None]


async def _stored(stage: Folding, seen: Seen, messages: list[Json]) -> list[Checkpoint]:
    """The folds that are kept for this chat."""
    assert seen.turn is not None
    found = addresses(decoded("openai", {"model": "m", "messages": messages}).messages, TENANT)
    recalled = await stage.store.recall(seen.turn.session, [fold_address(mark) for mark in found])
    return _folds(recalled.checkpoints)


def _plan(seen: Seen) -> str:
    return seen.headers["x-foldline-plan"]


# ---- when


async def test_a_chat_that_is_long_at_once_waits_for_its_summary_and_goes_out_folded() -> None:
    stage = await folding_stage()
    seen = await stage.says_all(long_talk(17))
    assert seen.reply.text == "fine"
    assert len(stage.asked) == 1
    assert stage.last[0].startswith("<summary")
    assert GOOD in stage.last[0]
    assert stage.last[-1] == long_talk(17)[-1]["content"]
    assert _plan(seen).startswith("summary=1-")
    assert stage.summaries[0].outcome == "made"


async def test_a_summary_made_behind_a_turn_is_used_by_the_next_one_over_the_threshold() -> None:
    stage = await folding_stage()
    await stage.says_all(long_talk(9))  # about 940 tokens: above the line at which it is made ahead
    assert stage.last == [message["content"] for message in long_talk(9)]
    await stage.settled()
    assert len(stage.asked) == 1
    seen = await stage.says_all([*long_talk(9), {"role": "assistant", "content": "fine"}, *long_talk(1, 120, "more")])
    assert stage.last[0].startswith("<summary")
    assert _plan(seen).startswith("summary=1-")
    await stage.settled()
    assert len(stage.asked) == 1


async def test_an_answer_does_not_wait_for_a_summary_that_is_made_behind_it() -> None:
    stage = await folding_stage()
    stage.waits_for = asyncio.Event()
    seen = await stage.says_all(long_talk(9))
    assert seen.reply.text == "fine"
    stage.waits_for.set()
    await stage.settled()


async def test_a_store_that_is_away_gets_no_summaries_made() -> None:
    upstreams = {"openai": Upstream("openai", "openai", WIRES["openai"], "https://o.test/v1", with_key("k", "", "x"))}
    store = await Store.open("redis://127.0.0.1:1", ttl_seconds=60, timeout_seconds=0.1)
    try:
        stage = Folding(store, upstreams, [Route("*", "openai", "gpt-x")])
        seen = await stage.says_all(long_talk(17))
        await stage.settled()
        assert stage.asked == []
        assert _plan(seen) == "state=bypassed"
        assert len(stage.last) == 17
    finally:
        await store.close()


# ---- once


async def test_ten_requests_at_once_pay_for_one_summary() -> None:
    stage = await folding_stage()
    seen = await asyncio.gather(*(stage.says_all(long_talk(17)) for _ in range(10)))
    assert len(stage.asked) == 1
    assert all(each.reply.text == "fine" for each in seen)
    assert len({got.raw for got in stage.chats}) == 1


async def test_another_worker_waits_for_the_one_that_makes_it_and_does_not_ask() -> None:
    one = await folding_stage()
    two = await Folding.beside(one)
    one.waits_for = asyncio.Event()
    first = asyncio.create_task(one.says_all(long_talk(17)))
    await one.reached.wait()
    second = asyncio.create_task(two.says_all(long_talk(17)))
    await asyncio.sleep(0.05)
    assert not second.done()
    one.waits_for.set()
    await asyncio.gather(first, second)
    assert (len(one.asked), len(two.asked)) == (1, 0)
    assert one.last == two.last


async def test_a_client_that_hangs_up_does_not_stop_the_summary_that_it_waited_for() -> None:
    stage = await folding_stage()
    stage.waits_for = asyncio.Event()
    turn = asyncio.create_task(stage.says_all(long_talk(17)))
    await stage.reached.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert stage.chats == []
    stage.waits_for.set()
    await stage.settled()
    await stage.says_all(long_talk(17))
    assert len(stage.asked) == 1
    assert stage.last[0].startswith("<summary")


async def test_a_shutdown_lets_a_summary_finish_or_ends_it() -> None:
    stage = await folding_stage()
    stage.waits_for = asyncio.Event()
    await stage.says_all(long_talk(9))
    await stage.reached.wait()
    await stage.engine.summaries.close(0.01)
    stage.waits_for = None
    await stage.says_all(long_talk(17))
    await stage.settled()
    assert (len(stage.asked), len(stage.summaries)) == (2, 1)
    other = await folding_stage()
    await other.says_all(long_talk(9))
    await other.engine.summaries.close(5)
    assert len(other.asked) == 1
    assert other.summaries[0].outcome == "made"


# ---- checked

TICKET = "The ticket is INC-48213, the page https://example.com/a/17 and the port 18080."
KEPT = "Ticket INC-48213, page https://example.com/a/17, port 18080."


async def test_the_facts_take_what_the_segment_leaves_before_a_summary_is_refused() -> None:
    stage = await folding_stage()
    tickets = [f"INC-48{number}13" for number in range(10, 30)]
    await stage.says_all(long_talk(17, first=" ".join(f"The ticket {one} is open." for one in tickets)))
    assert stage.summaries[0].outcome == "made"
    assert [one for one in tickets if one not in stage.last[0]] == []


async def test_a_summary_that_keeps_what_matters_is_not_asked_for_twice() -> None:
    stage = await folding_stage()
    stage.summariser = lambda body: KEPT
    await stage.says_all(long_talk(17, first=TICKET))
    assert len(stage.asked) == 1
    details = stage.summaries[0]
    assert (details.outcome, details.score, details.facts) == ("made", 1.0, 0)
    assert details.found >= 2
    assert (details.input_tokens, details.output_tokens) == (700, 30)


def _named(body: Json) -> str:
    """What the question says is missing."""
    return body["messages"][-1]["content"].partition("<said-missing>")[2]


async def test_what_a_summary_lost_is_named_in_a_second_question() -> None:
    stage = await folding_stage()
    stage.summariser = lambda body: KEPT if "- INC-48213" in _named(body) else GOOD
    await stage.says_all(long_talk(17, first=TICKET))
    assert len(stage.asked) == 2
    question = stage.asked[1].body["messages"][-1]["content"]
    assert GOOD in question
    assert TICKET in question, "with the words around it"
    assert len(question) < len(stage.asked[0].body["messages"][-1]["content"]) / 2, "and without the conversation"
    assert KEPT in stage.last[0]
    assert stage.summaries[0].asked == 2


async def test_what_both_answers_lost_is_carried_word_for_word() -> None:
    stage = await folding_stage()
    await stage.says_all(long_talk(17, first=TICKET))
    assert len(stage.asked) == 2
    assert "Word for word:" in stage.last[0]
    assert "INC-48213" in stage.last[0]
    assert "https://example.com/a/17" in stage.last[0]
    details = stage.summaries[0]
    assert details.outcome == "made"
    assert details.repaired > 0
    assert details.facts > 0


MANY = " ".join(f"INC-{number}" for number in range(48213, 48333))


async def test_a_summary_that_fails_the_gate_is_not_used_and_not_paid_for_again() -> None:
    stage = await folding_stage()
    chat = long_talk(17, first=MANY)
    seen = await stage.says_all(chat)
    assert seen.reply.text == "fine"
    assert stage.summaries[0].outcome == "refused"
    assert GOOD not in stage.last[0]
    assert "trim=" in _plan(seen)
    paid = len(stage.asked)
    refused = [each.fold for each in await _stored(stage, seen, chat)]
    assert [bool(fold and fold.refused and not fold.spans) for fold in refused] == [True]
    await stage.says_all(chat)
    await stage.settled()
    assert len(stage.asked) == paid


async def test_what_no_second_answer_could_hold_is_not_asked_for() -> None:
    stage = await folding_stage()
    await stage.says_all(long_talk(17, first=MANY))
    assert stage.summaries[0].outcome == "refused"
    assert stage.summaries[0].asked == 1


async def test_after_a_refusal_a_shorter_stretch_is_summed_up_and_used(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = await folding_stage()

    async def no_pause(session: Any, name: str, seconds: float) -> None:
        """As if it had passed already."""

    monkeypatch.setattr(stage.store, "pause", no_pause)
    chat = long_talk(17)
    chat[8]["content"] = f"{MANY} {chat[8]['content']}"
    await stage.says_all(chat)
    assert stage.summaries[0].outcome == "refused"
    seen = await stage.says_all(chat)
    await stage.settled()
    assert [each.outcome for each in stage.summaries][:2] == ["refused", "made"]
    assert _plan(seen).startswith("summary=1-")


@pytest.mark.parametrize(
    "junk",
    [
        pytest.param("", id="nothing"),
        pytest.param("I'm sorry, I cannot help with that.", id="a refusal"),
        pytest.param('{"error": {"message": "overloaded"}}', id="an error as words"),
        pytest.param(words(5000, 7), id="longer than what it stands for"),
        pytest.param(summary_says("They spoke about", finish="length"), id="cut off"),
        pytest.param(_failure(400), id="status 400"),
        pytest.param(_failure(500), id="status 500"),
        pytest.param(whole(b"<html>gateway</html>", 200), id="a web page"),
    ],
)
async def test_a_summariser_that_fails_costs_no_answer_and_the_chat_is_trimmed(junk: str | Given) -> None:
    stage = await folding_stage()
    stage.summariser = lambda body: junk
    seen = await stage.says_all(long_talk(17))
    assert seen.reply.text == "fine"
    assert "trim=" in _plan(seen)
    assert "summary=" not in _plan(seen)
    assert stage.summaries[0].outcome == "failed"
    assert stage.summaries[0].reason
    assert await _stored(stage, seen, long_talk(17)) == []


async def test_another_model_than_the_pinned_one_is_told() -> None:
    stage = await folding_stage()
    stage.summariser = lambda body: summary_says(GOOD, model="gpt-other")
    seen = await stage.says_all(long_talk(17))
    details = stage.summaries[0]
    assert (details.pinned, details.served, details.drifted) == ("gpt-x", "gpt-other", True)
    assert seen.turn is not None
    reasons = [each.reason for each in seen.turn.plan.decisions]
    assert "gpt-other wrote the newest segment, not the pinned gpt-x." in reasons[0]


async def test_a_pinned_model_of_another_provider_never_gets_the_clients_own_key() -> None:
    upstreams = {
        name: Upstream(name, "openai", WIRES["openai"], f"https://{name}.test/v1", with_key("authorization", "", key))
        for name, key in (("openai", ""), ("other", ""))
    }
    store = await Store.open("memory://", ttl_seconds=60, secret="s")
    routes = [Route("small", "other"), Route("*", "openai", "gpt-x")]
    stage = Folding(store, upstreams, routes, policy={**POLICY, "summary_model": "small"})
    seen = await stage.says_all(long_talk(17))
    assert seen.reply.text == "fine"
    assert stage.asked == []
    assert all(got.url.startswith("https://openai.test/") for got in stage.chats)
    assert stage.summaries[0].outcome == "failed"


# ---- left alone after a failure


async def test_a_failing_summariser_is_left_alone_longer_each_time_and_forgiven_when_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = await folding_stage()
    pauses: list[float] = []

    async def pause(session: Any, name: str, seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(stage.store, "pause", pause)
    good, stage.summariser = stage.summariser, _nothing
    for _ in range(4):
        await stage.says_all(long_talk(17))
    assert pauses == [30, 60, 120, 240]
    stage.summariser = good
    await stage.says_all(long_talk(17))
    stage.summariser = _nothing
    await stage.says_all([*long_talk(17), {"role": "assistant", "content": words(800)}, *long_talk(1, 400, "more")])
    assert pauses[4:] == [30]


async def test_no_pause_is_longer_than_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = await folding_stage()
    pauses: list[float] = []

    async def pause(session: Any, name: str, seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(stage.store, "pause", pause)
    stage.summariser = _nothing
    for _ in range(9):
        await stage.says_all(long_talk(17))
    assert pauses[-1] == 3600
    assert pauses == sorted(pauses)


async def test_other_workers_leave_it_alone_too() -> None:
    one = await folding_stage()
    two = await Folding.beside(one)
    one.summariser = _nothing
    await one.says_all(long_talk(17))
    seen = await two.says_all(long_talk(17))
    assert two.asked == []
    assert "trim=" in _plan(seen)


# ---- an answer that is resumed


def _gemini(count: int) -> list[Json]:
    roles = {"user": "user", "assistant": "model"}
    return [{"role": roles[each["role"]], "parts": [{"text": each["content"]}]} for each in long_talk(count)]


async def test_a_resumed_answer_begins_with_the_fold_that_its_first_half_had_and_makes_none() -> None:
    """The token holds only for the contents that the provider got before."""
    stage = await folding_stage("gemini")
    await stage.says("gemini", {"contents": _gemini(17)})
    assert (len(stage.chats), len(stage.asked)) == (1, 1)
    token = {"contents": _gemini(17), "continuationToken": "tok"}
    await stage.says("gemini", token)
    await stage.settled()
    assert (len(stage.chats), len(stage.asked)) == (2, 1)
    assert "<summary" in json.dumps(stage.chats[1].body["contents"][0])
    assert stage.chats[1].body["contents"] == stage.chats[0].body["contents"]


async def test_a_resumed_answer_that_began_without_a_fold_gets_none() -> None:
    stage = await folding_stage("gemini")
    await stage.says("gemini", {"contents": _gemini(17), "continuationToken": "tok"})
    await stage.settled()
    assert stage.asked == []
    assert stage.chats[0].body["contents"] == _gemini(17)
