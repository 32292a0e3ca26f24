"""An answer that Gemini pauses is one answer to clients of other formats, and goes on from its last hop."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.simulator.chains import owner_of
from tests.chaining.conftest import StartFront
from tests.chaining.provider import Json, Provider, Refusal, strings
from tests.chaining.talk import Wire

FORMATS = pytest.mark.parametrize("wire", ["openai", "gemini", "anthropic"])
STREAMED = pytest.mark.parametrize("streams", [False, True])
FINISH: dict[Wire, tuple[str, str]] = {
    "openai": ("stop", "tool_calls"),
    "gemini": ("STOP", "STOP"),
    "anthropic": ("end_turn", "tool_use"),
}


@FORMATS
@STREAMED
async def test_several_hops_are_one_answer(front: StartFront, provider: Provider, wire: Wire, streams: bool) -> None:
    async with front() as proxy:
        talk = proxy.talk("interactions", wire, streams=streams)
        said = await talk.say("[[words=23]] [[continue=5]]")
        assert said.text == " ".join(f"word{at}" for at in range(1, 24))
        assert said.finish == FINISH[wire][0]
        assert len(provider.calls) == 5
        bills = provider.chains.bills
        assert said.input == sum(bill.input for bill in bills) - (wire == "anthropic") * sum(
            bill.cached for bill in bills
        )
        hops = [call.body for call in provider.calls[1:]]
        assert [hop["previous_interaction_id"] for hop in hops] == [bill.id for bill in bills[:-1]]
        assert not any(hop.get("input") for hop in hops)
        assert (await talk.say("How many messages?")).chain == "continue"
        assert provider.last.previous == bills[-1].id, "from the last hop"
        assert len(provider.last.items) == 1
    assert provider.refused == []


@FORMATS
async def test_an_answer_lost_while_it_was_paused_begins_anew_and_nothing_is_said_twice(
    front: StartFront, provider: Provider, wire: Wire
) -> None:
    async with front() as proxy:
        talk = proxy.talk("interactions", wire)
        error = {"code": "not_found", "message": "Requested entity was not found."}
        provider.refusals.append(Refusal(404, json.dumps({"error": error}).encode()))
        said = await talk.say("[[words=23]] [[continue=5]]")
        assert said.text == " ".join(f"word{at}" for at in range(1, 24))
        assert len(provider.calls) == 7
        assert (await talk.say("How many messages?")).chain == "continue"
    assert provider.refused == []


def _hop(identity: str, status: str, *steps: Json, token: str = "") -> Json:
    used = {"total_input_tokens": 20, "total_output_tokens": 5, "total_tokens": 25}
    whole: Json = {"id": identity, "object": "interaction", "status": status, "model": "gemini-3-flash-preview"}
    return {"json": whole | {"steps": list(steps), "usage": used} | ({"continuation_token": token} if token else {})}


def _words(text: str) -> Json:
    return {"type": "model_output", "content": [{"type": "text", "text": text}]}


def _calls(identity: str, town: str) -> Json:
    return {"type": "function_call", "id": identity, "name": "get_weather", "arguments": {"town": town}}


@FORMATS
@STREAMED
async def test_calls_of_several_hops_are_answered_together(
    front: StartFront, provider: Provider, wire: Wire, streams: bool
) -> None:
    town = {"type": "object", "properties": {"town": {"type": "string"}}}
    provider.script.load(
        [
            _hop("v1_A", "requires_continuation", _words("Let me "), _calls("fc_1", "Oslo"), token="t-1"),
            _hop("v1_B", "requires_continuation", _words("see. "), token="t-2"),
            _hop("v1_C", "requires_action", _calls("fc_2", "Bodo")),
        ]
    )
    async with front() as proxy:
        talk = proxy.talk("interactions", wire, streams=streams, tools={"get_weather": town})
        said = await talk.say("Look at the sky.")
        assert said.text.replace("\n", "") == "Let me see. "
        assert [call.arguments for call in said.calls] == [{"town": "Oslo"}, {"town": "Bodo"}]
        assert said.finish == FINISH[wire][1]
        assert (said.input, said.output) == (60, 15)
        assert [call.body.get("continuation_token") for call in provider.calls] == [None, "t-1", "t-2"]
        assert [call.previous for call in provider.calls] == ["", "v1_A", "v1_B"]
        provider.script.load([_hop("v1_D", "completed", _words("Rain."))])
        await talk.give((said.calls[1], "rain in Bodo"), (said.calls[0], "sun in Oslo"))
        assert provider.last.previous == "v1_C"
        assert {identity: "Oslo" in text for identity, text in provider.last.results.items()} == {
            "fc_1": True,
            "fc_2": False,
        }


@STREAMED
async def test_hops_that_nobody_keeps_carry_the_input_again(
    front: StartFront, provider: Provider, streams: bool
) -> None:
    async with front(chain="never") as proxy:
        talk = proxy.talk("interactions", streams=streams)
        said = await talk.say("[[words=12]] [[continue=5]]")
        assert said.text.split()[-1] == "word12"
        assert [(call.previous, call.stored, len(call.items)) for call in provider.calls] == [("", False, 1)] * 3
        await talk.say("How many messages?")
        assert provider.last.previous == ""
    assert provider.refused == []


@STREAMED
async def test_hops_that_fail_are_an_error_and_no_base(front: StartFront, provider: Provider, streams: bool) -> None:
    import openai

    provider.script.load(
        [
            _hop("v1_A", "requires_continuation", _words("Let me "), token="t-1"),
            {"status": 500, "json": {"error": {"code": "api_error", "message": "It broke."}}},
        ]
    )
    async with front(max_retries=0) as proxy:
        talk = proxy.talk("interactions", streams=streams)
        with pytest.raises(openai.APIError):
            await talk.say("Look at the sky.")
        await talk.say("Look at the sky.")
        assert provider.last.previous == ""


@STREAMED
async def test_a_client_of_the_same_format_gets_its_hops_as_they_are(
    front: StartFront, provider: Provider, streams: bool, key: str
) -> None:
    asked = {"model": "gemini-3-flash-preview", "input": "[[words=12]] [[continue=5]]", "stream": streams}

    async def hop(body: Json) -> tuple[bytes, Any]:
        raw = json.dumps(body).encode()
        answer = await proxy.http.post(
            "/v1beta/interactions", content=raw, headers={"content-type": "application/json"}
        )
        assert answer.status_code == 200, answer.text
        assert provider.last.raw == raw, "byte for byte"
        if not streams:
            return raw, answer.json()
        events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
        return raw, next(one for one in events if one["event_type"] == "interaction.completed")["interaction"]

    async with front() as proxy:
        _, first = await hop(asked)
        assert first["status"] == "requires_continuation"
        assert len(provider.calls) == 1
        turn = provider.chains.found(owner_of("google", key), provider.newest)
        assert turn is not None
        assert first["continuation_token"] == turn.answer["continuation_token"]
        said = list(strings(first.get("steps")))
        while first["status"] == "requires_continuation":
            onward = {"model": asked["model"], "stream": streams}
            onward |= {"previous_interaction_id": first["id"], "continuation_token": first["continuation_token"]}
            _, first = await hop(onward)
            said += strings(first.get("steps"))
        assert len(provider.calls) == 3
        assert streams or "word12" in said[-1]
        await proxy.http.post(
            "/v1beta/interactions",
            json={"model": asked["model"], "input": "Go on.", "previous_interaction_id": first["id"]},
        )
        assert provider.last.seen.count("word12") == 1, "all that was said is seen, and seen once"
        assert "word1 " in provider.last.seen
        assert provider.refused == []
