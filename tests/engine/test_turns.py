"""A turn from its bytes to its answer: pairs, retries, fallbacks, breaks, the store, the observers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from app.engine.routing import Route
from app.errors import UpstreamError
from app.state.keys import Session
from tests.engine.scripts import GEMINI_3, Given, Stage, broken, call, gemini_says, openai_says, whole
from tests.wires.talking import Json, sse

ASKED: Json = {"role": "user", "content": "hi"}
SAID: dict[str, Json] = {
    "openai": {"messages": [ASKED]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
}


def _gemini_words(text: str) -> Given:
    return gemini_says({"text": text})


SPEAKS: dict[str, Callable[[str], Given]] = {"openai": openai_says, "gemini": _gemini_words}
ANSWERS: dict[str, Json] = {
    "openai": {
        "id": "u1",
        "model": "gpt-x",
        "choices": [{"message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}],
    },
    "gemini": {
        "candidates": [{"content": {"parts": [{"text": "hello"}]}, "finishReason": "STOP"}],
        "modelVersion": "m",
    },
}
PAIRS = [(client, upstream) for client in SAID for upstream in SPEAKS]


def _error(upstream: str, status: int, message: str = "no") -> Given:
    openai = {"error": {"message": message, "type": "server_error", "param": None, "code": None}}
    gemini = {"error": {"code": status, "message": message, "status": "UNAVAILABLE"}}
    return whole(openai if upstream == "openai" else gemini, status)


# ---- both ways, streamed and whole


@pytest.mark.parametrize(("client", "upstream"), PAIRS)
@pytest.mark.parametrize("stream", [True, False])
async def test_every_client_gets_every_providers_answer(client: str, upstream: str, stream: bool) -> None:
    stage = await Stage.open(upstream)
    stage.replies(SPEAKS[upstream]("hello") if stream else whole(ANSWERS[upstream]))
    seen = await stage.says(client, SAID[client], stream=stream)
    assert seen.reply.text == "hello"
    assert (seen.status, seen.ended) == (200, True)
    assert {
        "x-foldline-session",
        "x-foldline-turn",
        "x-foldline-tokens",
        "x-foldline-plan",
        "x-request-id",
    } <= seen.headers.keys()
    assert stage.got[0].headers["content-type"] == "application/json"


@pytest.mark.parametrize("client", SAID)
async def test_the_same_format_passes_the_providers_own_bytes(client: str) -> None:
    stage = await Stage.open(client)
    answer = SPEAKS[client]("hello")
    stage.replies(answer)
    assert (await stage.says(client, SAID[client])).data == b"".join(p for p in answer.pieces if isinstance(p, bytes))
    odd = json.dumps(ANSWERS[client] | {"unknown": 10**25}, indent=3).encode()
    stage.replies(whole(odd))
    assert (await stage.says(client, SAID[client], stream=False)).data == odd


@pytest.mark.parametrize(("client", "upstream"), PAIRS)
async def test_a_provider_that_streams_or_not_as_it_likes_is_put_right(client: str, upstream: str) -> None:
    stage = await Stage.open(upstream)
    stage.replies(whole(ANSWERS[upstream]), SPEAKS[upstream]("hello"))
    assert (await stage.says(client, SAID[client], stream=True)).reply.text == "hello"
    assert (await stage.says(client, SAID[client], stream=False)).reply.text == "hello"


async def test_keys_headers_and_options_stay_where_they_belong() -> None:
    stage = await Stage.open("openai")
    stage.replies(openai_says("a"), openai_says("a"))
    own = {
        "openai-organization": "o",
        "x-foldline-session": "s",
        "cookie": "c",
        "authorization": "Bearer client-key",
        "host": "h",
    }
    await stage.says("openai", {**SAID["openai"], "foldline": {"session": "x"}}, headers=own)
    got = stage.got[-1]
    assert got.headers["authorization"] == "key"
    assert got.headers["openai-organization"] == "o"
    assert not {"x-foldline-session", "cookie", "host"} & got.headers.keys()
    assert "foldline" not in got.body
    await stage.says("gemini", SAID["gemini"], headers=own)
    assert "openai-organization" not in stage.got[-1].headers


# ---- retries and fallbacks


@pytest.mark.parametrize("status", [500, 502, 503, 504, 529])
async def test_a_providers_own_failure_is_tried_again_before_the_client_hears_of_it(status: int) -> None:
    stage = await Stage.open("openai")
    stage.replies(_error("openai", status), broken_before_it_arrived(), openai_says("hello"))
    seen = await stage.says("openai", SAID["openai"])
    assert seen.reply.text == "hello"
    assert len(stage.got) == 3
    assert len(stage.waits) == 2
    assert stage.turns[0].sent_upstream == 3


def broken_before_it_arrived() -> UpstreamError:
    return UpstreamError("No connection to the provider.", sent=False)


@pytest.mark.parametrize("status", [400, 401, 404, 429])
async def test_a_refusal_is_not_tried_again(status: int) -> None:
    stage = await Stage.open("openai")
    stage.replies(_error("openai", status))
    seen = await stage.says("openai", SAID["openai"])
    assert len(stage.got) == 1
    assert seen.status == (502 if status == 401 else status), "our own key's refusal is not the client's fault"


async def test_retries_end_with_the_providers_own_error() -> None:
    stage = await Stage.open("openai", max_retries=1)
    stage.replies(_error("openai", 503, "first"), _error("openai", 503, "second"))
    seen = await stage.says("openai", SAID["openai"])
    assert (seen.status, seen.json["error"]["message"]) == (503, "second")
    assert stage.turns[0].outcome == "failed"


async def test_a_failing_provider_is_not_hammered_by_everybodys_retries() -> None:
    stage = await Stage.open("openai")
    for _ in range(40):
        stage.replies(*(_error("openai", 503) for _ in range(3)))
        await stage.says("openai", SAID["openai"])
        stage.no_more_replies()
    assert len(stage.got) < 40 + 10 + 40 * 0.2 + 2


@pytest.mark.parametrize("failure", [503, 429, 504])
async def test_a_fallback_answers_when_the_first_choice_cannot(failure: int) -> None:
    routes = [Route("gemini-*", "gemini", fallbacks=("gpt-x",)), Route("*", "openai")]
    stage = await Stage.open(routes=routes, max_retries=0)
    stage.replies(_error("gemini", failure), openai_says("from openai"))
    seen = await stage.says("openai", SAID["openai"])
    assert seen.reply.text == "from openai"
    assert [got.url.split("/")[2] for got in stage.got] == ["gemini.test", "openai.test"]
    assert (stage.turns[0].upstream, stage.turns[0].model) == ("openai", "gpt-x")


async def test_a_request_that_is_itself_wrong_is_not_carried_to_the_fallback() -> None:
    stage = await Stage.open(routes=[Route("gemini-*", "gemini", fallbacks=("gpt-x",)), Route("*", "openai")])
    stage.replies(_error("gemini", 400, "bad"))
    seen = await stage.says("openai", SAID["openai"])
    assert seen.status == 400
    assert len(stage.got) == 1


async def test_a_model_that_no_route_takes_is_not_found() -> None:
    stage = await Stage.open(routes=[Route("gpt-*", "openai")])
    seen = await stage.says("openai", SAID["openai"])
    assert (seen.status, seen.json["error"]["code"]) == (404, "model_not_found")
    assert stage.turns[0].outcome == "refused"


MALFORMED: Json = {"candidates": [{"content": {"parts": []}, "finishReason": "MALFORMED_FUNCTION_CALL"}]}


async def test_a_call_that_gemini_garbled_is_asked_for_once_more_and_the_client_sees_only_the_good_one() -> None:
    stage = await Stage.open("gemini")
    stage.replies(Given([sse(MALFORMED)]), gemini_says({"text": "good"}))
    seen = await stage.says("openai", SAID["openai"])
    assert seen.reply.text == "good"
    assert len(stage.got) == 2


async def test_a_call_garbled_twice_is_an_honest_error() -> None:
    stage = await Stage.open("gemini")
    stage.replies(Given([sse(MALFORMED)]), Given([sse(MALFORMED)]))
    seen = await stage.says("openai", SAID["openai"], stream=True)
    assert seen.status == 502
    assert "MALFORMED_FUNCTION_CALL" in seen.json["error"]["message"]


async def test_what_the_client_has_seen_is_never_asked_for_again() -> None:
    stage = await Stage.open("gemini")
    stage.replies(Given([sse({"candidates": [{"content": {"parts": [{"text": "so far"}]}}]}), sse(MALFORMED)]))
    seen = await stage.says("openai", SAID["openai"])
    assert len(stage.got) == 1
    assert seen.status == 200
    assert seen.reply.failed is not None
    assert not seen.ended


# ---- breaks


@pytest.mark.parametrize(("client", "upstream"), PAIRS)
@pytest.mark.parametrize("how", ["error", "silence"])
async def test_a_stream_that_breaks_is_an_error_for_the_client_and_leaves_its_record_but_no_checkpoint(
    client: str, upstream: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = await Stage.open(upstream)
    remember, kept = stage.store.remember, list[Any]()

    async def noted(session: Session, checkpoints: Any, **more: Any) -> str:
        kept.extend(checkpoints)
        return await remember(session, checkpoints, **more)

    monkeypatch.setattr(stage.store, "remember", noted)
    first = SPEAKS[upstream]("hel").pieces[: 2 if upstream == "openai" else 1]
    stage.replies(Given([*first, *([broken()] if how == "error" else [])]))
    seen = await stage.says(client, SAID[client])
    assert seen.reply.failed is not None
    assert not seen.ended, "the connection is cut, so that no client takes it for a clean end"
    assert stage.turns[0].outcome == "failed"
    assert kept == []
    assert json.loads(await _stored(stage, seen))["turn"]["outcome"] == "failed"


@pytest.mark.parametrize(("client", "upstream"), PAIRS)
async def test_a_stream_that_breaks_before_its_first_byte_still_gets_a_real_status(client: str, upstream: str) -> None:
    stage = await Stage.open(upstream)
    stage.replies(Given([broken()]))
    seen = await stage.says(client, SAID[client])
    assert seen.status == 502
    assert seen.json["error"]["message"] == "reset"


async def _stored(stage: Stage, seen: Any) -> Any:
    session = Session.parse(seen.headers["x-foldline-session"])
    assert session is not None
    return await stage.store.turn(session, seen.headers["x-foldline-turn"])


@pytest.mark.parametrize(("client", "upstream"), PAIRS)
async def test_a_turn_is_remembered_before_the_bytes_that_end_its_answer(
    client: str, upstream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = await Stage.open(upstream)
    remember = stage.store.remember

    async def noted(*args: Any, **kwargs: Any) -> str:
        stage.diary.append("remembered")
        return await remember(*args, **kwargs)

    monkeypatch.setattr(stage.store, "remember", noted)
    stage.replies(SPEAKS[upstream]("hello"))
    seen = await stage.says(client, SAID[client])
    assert stage.diary.count("remembered") == 1
    last = "ended" if (client, upstream) == ("gemini", "gemini") else "sent"
    assert stage.diary.index("remembered") < len(stage.diary) - 1 - stage.diary[::-1].index(last)
    record = await _stored(stage, seen)
    assert record is not None
    assert seen.headers["x-foldline-turn"] in str(json.loads(record))
    assert "hello" not in record.decode(), "a turn's record holds no chat text"


async def test_an_answer_that_only_paused_is_not_a_prefix_to_go_on_from() -> None:
    stage = await Stage.open("gemini")
    stage.replies(gemini_says({"text": "half"}, finish="CONTINUATION"))
    seen = await stage.says("openai", SAID["openai"])
    assert await _stored(stage, seen) is None


async def test_a_client_that_leaves_ends_the_providers_work() -> None:
    stage = await Stage.open("openai")
    waiting = asyncio.Event()

    class Endless(Given):
        async def chunks(self) -> AsyncIterator[bytes]:
            yield sse({"id": "u", "choices": [{"index": 0, "delta": {"content": "x"}}]})
            waiting.set()
            await asyncio.sleep(60)

    answer = Endless([])
    stage.replies(answer)
    task = asyncio.create_task(stage.says("openai", SAID["openai"]))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert answer.closed
    assert stage.engine.inflight.open == 0


# ---- without the store


async def test_a_store_that_is_away_costs_savings_and_never_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    from app.state.store import Recalled

    stage = await Stage.open("openai")

    async def away(*args: Any, **kwargs: Any) -> Recalled:
        return Recalled(bypassed="timed out")

    async def skipped(*args: Any, **kwargs: Any) -> str:
        return "timed out"

    monkeypatch.setattr(stage.store, "recall", away)
    monkeypatch.setattr(stage.store, "remember", skipped)
    stage.replies(openai_says("hello"))
    seen = await stage.says("openai", SAID["openai"])
    assert seen.reply.text == "hello"
    assert seen.headers["x-foldline-plan"] == "state=bypassed"
    assert stage.turns[0].bypassed == "timed out"


# ---- strict, faults of ours, observers


async def test_strict_refuses_what_the_other_format_cannot_say() -> None:
    stage = await Stage.open("gemini", strict=True)
    seen = await stage.says("openai", {**SAID["openai"], "logit_bias": {"1": 1}})
    assert (seen.status, seen.json["error"]["param"]) == (400, "logit_bias")
    assert stage.got == []


@pytest.mark.parametrize(
    ("client", "body", "param"),
    [
        ("openai", {"messages": []}, "messages"),
        ("openai", {"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ("openai", {"messages": [ASKED], "foldline": {"colour": 1}}, "foldline.colour"),
        ("gemini", {"contents": []}, "contents"),
    ],
)
async def test_a_request_that_is_wrong_is_refused_in_the_clients_own_dialect(
    client: str, body: Json, param: str
) -> None:
    stage = await Stage.open()
    seen = await stage.says(client, body)
    assert seen.status == 400
    assert param in (seen.json["error"].get("param") or seen.json["error"]["message"])
    assert stage.turns[0].outcome == "refused"


async def test_a_fault_of_ours_is_logged_and_said_without_its_details(caplog: pytest.LogCaptureFixture) -> None:
    def clumsy(*args: Any) -> Any:
        raise RuntimeError("secret detail")

    stage = await Stage.open(steps=(clumsy,))
    seen = await stage.says("openai", SAID["openai"])
    assert seen.status == 500
    assert "secret detail" not in seen.data.decode()
    assert "secret detail" in caplog.text


async def test_observers_are_told_once_of_every_turn_without_a_word_of_the_chat() -> None:
    stage = await Stage.open("gemini")
    stage.replies(gemini_says({"text": "hello"}), _error("gemini", 400))
    await stage.says("openai", {"messages": [{"role": "user", "content": "my secret question"}]})
    await stage.says("openai", SAID["openai"])
    first, second = stage.turns
    assert (first.outcome, first.dialect, first.upstream, first.model, first.status) == (
        "answered",
        "openai_chat",
        "gemini",
        GEMINI_3,
        200,
    )
    assert (first.input_tokens, first.sent_upstream, first.stream) == (7, 1, True)
    assert (second.outcome, second.error, second.status) == ("failed", "bad_request", 400)
    assert "secret question" not in repr(first)


async def test_words_moved_by_mending_are_said_in_the_plan() -> None:
    stage = await Stage.open("openai")
    stage.replies(openai_says("ok"))
    seen = await stage.says(
        "openai",
        {"messages": [ASKED, {"role": "assistant", "tool_calls": [call("c1")]}, {"role": "user", "content": "stop"}]},
    )
    assert seen.headers["x-foldline-plan"] == "mend=1"
    assert [m["role"] for m in stage.got[-1].body["messages"]] == ["user", "assistant", "tool", "user"]


async def test_a_redirect_is_refused_because_it_could_carry_a_key_away() -> None:
    stage = await Stage.open("openai")
    stage.replies(whole(b"", 302, location="https://evil.test"))
    assert (await stage.says("openai", SAID["openai"])).status == 502
    assert len(stage.got) == 1
