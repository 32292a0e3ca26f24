"""A chain that its provider has lost costs one more request, unseen by the client, and is never tried again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import SecretStr

from app.simulator.chains import DAY, owner_of
from tests.chaining.conftest import StartFront
from tests.chaining.provider import VENDOR, Api, Json, Provider, Refusal
from tests.chaining.talk import Said, Talk, Wire

BOTH = pytest.mark.parametrize("api", ["interactions", "responses"])


def _google(answered: int, code: Any, message: str, **more: Any) -> Refusal:
    return Refusal(answered, json.dumps({"error": {"code": code, "message": message, **more}}).encode())


def _openai(status: int, message: str, code: str | None = None, param: str | None = None) -> Refusal:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Refusal(status, json.dumps({"error": error}).encode())


def _event(name: str, body: Any, end: str = "") -> Refusal:
    return Refusal(200, f"event: {name}\ndata: {json.dumps(body)}\n\n{end}".encode(), "text/event-stream")


PREVIOUS = "previous_response_id"
GONE = "Previous response with id 'resp_x' not found."
NOT_FOUND = {"code": "not_found", "message": "Requested entity was not found."}
DONE = "event: done\ndata: [DONE]\n\n"
FAILED: Json = {
    "id": "resp_y",
    "object": "response",
    "status": "failed",
    "output": [],
    "error": {"code": "previous_response_not_found", "message": GONE},
}
WORDINGS: dict[Api, dict[str, Refusal]] = {
    "interactions": {
        "documented": _google(404, "not_found", "Requested entity was not found."),
        "named": _google(404, "not_found", "Interaction v1_OLD was not found."),
        "as a bad request": _google(400, "invalid_request", "Invalid previous_interaction_id: v1_OLD was not found."),
        "with a code of its own": _google(400, "previous_interaction_not_found", "No such interaction."),
        "bare": _google(400, "invalid_request", "Requested entity was not found."),
        "in Google's older form": _google(404, 404, "Requested entity was not found.", status="NOT_FOUND"),
        "in a list": Refusal(404, b'[{"error":{"code":404,"message":"Requested entity was not found."}}]'),
        "of another project": _google(
            403, "permission_denied", "You do not have permission to access the Interaction v1_OLD or it may not exist."
        ),
        "still running": _google(400, "invalid_request", "previous_interaction_id: v1_OLD is still in progress."),
        "not ready": _google(400, "failed_precondition", "The previous interaction has not been completed yet."),
        "in a stream": _event("error", {"event_type": "error", "error": NOT_FOUND}, DONE),
        "in a stream without an end": _event("error", {"event_type": "error", "error": NOT_FOUND}),
    },
    "responses": {
        "usual": _openai(400, GONE, "previous_response_not_found", PREVIOUS),
        "without a code": _openai(400, GONE, None, PREVIOUS),
        "as a 404": _openai(404, GONE, None, PREVIOUS),
        "an item that was not kept": _openai(
            404, "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."
        ),
        "still running": _openai(400, "Previous response with id 'resp_x' is still in progress.", None, PREVIOUS),
        "in conflict": _openai(409, "The previous response has not finished yet."),
        "in a stream": _event(
            "error", {"type": "error", "code": "previous_response_not_found", "message": GONE, "param": PREVIOUS}
        ),
        "in a stream, nested": _event(
            "error", {"type": "error", "error": {"code": "previous_response_not_found", "message": GONE}}
        ),
        "as a failed response": _event("response.failed", {"type": "response.failed", "response": FAILED}),
    },
}
EACH = [
    (api, name, "stream" in name or at % 2 == 1)
    for api, wordings in WORDINGS.items()
    for at, name in enumerate(wordings)
]
"""Each wording, whole or streamed in turn; errors inside a stream only streamed."""


async def _recovers(talk: Talk, provider: Provider, dead: str) -> Said:
    """One turn whose chain is lost: one request more than usual, and the client notices nothing."""
    before = len(provider.calls)
    said = await talk.say("What is the code?")
    lost, whole = provider.calls[before:]
    assert (lost.previous, whole.previous) == (dead, "")
    assert "PLUM-1" in said.text, "the model still knows what was said first"
    assert whole.seen.count("PLUM-1") >= 1
    assert said.chain == "cut"
    return said


async def _never_again(talk: Talk, provider: Provider, dead: str) -> None:
    """The next turns go on in the new chain, on every branch."""
    before, fresh = len(provider.calls), provider.newest
    said = await talk.say("and once more?")
    assert (said.chain, provider.last.previous) == ("continue", fresh)
    again = talk.branch(talk.history[:-4])
    await again.say("which crate, I wonder?")
    assert dead not in [call.previous for call in provider.calls[before:]]
    assert len(provider.calls) == before + 2


@pytest.mark.parametrize(("api", "wording", "streams"), EACH)
async def test_whatever_the_words_the_chat_is_sent_whole_once_and_goes_on_in_a_new_chain(
    front: StartFront, provider: Provider, api: Api, wording: str, streams: bool
) -> None:
    async with front(max_retries=0) as proxy:
        talk = proxy.talk(api, streams=streams)
        await talk.say("The code is PLUM-1, remember it.")
        dead = provider.newest
        provider.refusals.append(WORDINGS[api][wording])
        said = await _recovers(talk, provider, dead)
        record = await proxy.record(said.turn)
        assert record["turn"]["sent_upstream"] == 2
        assert record["turn"]["outcome"] == "answered"
        await _never_again(talk, provider, dead)


async def test_a_chain_that_another_key_of_ours_began_is_lost_and_no_fault_of_the_key(
    front: StartFront, provider: Provider
) -> None:
    async with front(max_retries=0, gemini_api_key=SecretStr("a-key-of-ours")) as proxy:
        talk = proxy.talk("interactions")
        await talk.say("The code is PLUM-1, remember it.")
        dead = provider.newest
        provider.refusals.append(WORDINGS["interactions"]["of another project"])
        await _recovers(talk, provider, dead)
        await _never_again(talk, provider, dead)


@BOTH
@pytest.mark.parametrize("wire", ["openai", "gemini", "anthropic"])
@pytest.mark.parametrize("turn", [1, 2, 5])
async def test_a_chain_may_be_lost_on_any_turn(
    front: StartFront, provider: Provider, api: Api, wire: Wire, turn: int
) -> None:
    async with front() as proxy:
        talk = proxy.talk(api, wire, streams=turn == 2)
        await talk.say("The code is PLUM-1, remember it.")
        for number in range(turn - 1):
            await talk.say(f"Berth {number}?")
        dead = provider.newest
        provider.chains.lose()
        await _recovers(talk, provider, dead)
        await talk.say("and once more?")
        assert provider.last.previous == provider.chains.bills[-2].id


@BOTH
@pytest.mark.parametrize("how", ["stream", "refused", "deleted", "expired", "running"])
@pytest.mark.parametrize("streams", [False, True])
async def test_however_it_is_lost(
    front: StartFront, provider: Provider, api: Api, how: str, key: str, streams: bool
) -> None:
    async with front() as proxy:
        talk = proxy.talk(api, streams=streams)
        await talk.say("The code is PLUM-1, remember it.")
        dead, owner = provider.newest, owner_of(VENDOR[api], key)
        match how:
            case "deleted":
                provider.chains.forget(owner, dead)
            case "expired":
                provider.now += 60 * DAY
            case "running":
                provider.chains.hold(owner, dead)
            case _:
                provider.chains.lose(dead, way="stream" if how == "stream" else "refused")
        await _recovers(talk, provider, dead)
        await _never_again(talk, provider, dead)


@BOTH
async def test_each_lost_beginning_of_a_chat_is_found_out_once(front: StartFront, provider: Provider, api: Api) -> None:
    async with front() as proxy:
        talk = proxy.talk(api)
        for text in ("The code is PLUM-1, remember it.", "Berth 2?", "Berth 3?"):
            await talk.say(text)
        provider.chains.lose()
        early = talk.branch(talk.history[:2])
        await early.say("which crate?")
        provider.clear()
        await early.say("sure?")
        assert [call.previous for call in provider.calls] == [provider.chains.bills[-2].id]
        await talk.say("which crate?")
        assert [bool(call.previous) for call in provider.calls[1:]] == [True, False]
        await talk.say("sure?")
        assert len(provider.calls) == 4


@BOTH
async def test_a_refusal_that_is_about_something_else_is_the_clients_to_see(
    front: StartFront, provider: Provider, api: Api
) -> None:
    import openai

    wrong = (
        _google(400, "invalid_request", "generation_config.temperature: must be from 0 to 2.")
        if api == "interactions"
        else _openai(400, "Invalid 'temperature': must be at most 2.", "decimal_above_max_value", "temperature")
    )
    async with front(max_retries=0) as proxy:
        talk = proxy.talk(api)
        await talk.say("The code is PLUM-1, remember it.")
        first = provider.newest
        provider.refusals.append(wrong)
        with pytest.raises(openai.BadRequestError, match="temperature"):
            await talk.say("which crate?")
        assert len(provider.calls) == 2
        await talk.say("which crate?")
        assert provider.last.previous == first, "the chain is as good as before"
