"""What users reported of stored interactions and responses elsewhere: each report as a promise, with its neighbours."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chaining.conftest import MODELS, StartFront
from tests.chaining.provider import Api, Json, Provider
from tests.chaining.talk import Wire

FORMATS = pytest.mark.parametrize("wire", ["openai", "gemini", "anthropic"])
BOTH = pytest.mark.parametrize("api", ["interactions", "responses"])
LOOKUP = {"type": "object", "properties": {"q": {"type": "string"}}}


def _answer(api: Api, identity: str, text: str = "", call: str = "") -> Json:
    """A prescribed answer of this id, that says a text or makes a call of that id."""
    if api == "interactions":
        step: Json = (
            {"type": "function_call", "id": call, "name": "lookup", "arguments": {"q": "pump"}}
            if call
            else {"type": "model_output", "content": [{"type": "text", "text": text}]}
        )
        used = {"total_input_tokens": 20, "total_output_tokens": 5, "total_tokens": 25}
        status = "requires_action" if call else "completed"
        whole: Json = {"id": identity, "object": "interaction", "status": status, "model": MODELS[api]}
        return {"json": whole | {"steps": [step], "usage": used}}
    item: Json = (
        {
            "type": "function_call",
            "id": f"i_{call}",
            "call_id": call,
            "name": "lookup",
            "arguments": '{"q":"pump"}',
            "status": "completed",
        }
        if call
        else {
            "type": "message",
            "id": f"msg_{identity}",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }
    )
    used = {"input_tokens": 20, "output_tokens": 5, "total_tokens": 25}
    whole = {"id": identity, "object": "response", "status": "completed", "model": MODELS[api]}
    return {"json": whole | {"output": [item], "usage": used}}


@BOTH
@FORMATS
async def test_a_continued_turn_has_its_rules_tools_and_settings_and_nothing_of_the_history(
    front: StartFront, provider: Provider, api: Api, wire: Wire
) -> None:
    provider.script.load([_answer(api, "x_A", "No fog."), _answer(api, "x_B", "Force four.")])
    async with front() as proxy:
        talk = proxy.talk(
            api,
            wire,
            streams=wire == "openai",
            system="Answer like a harbour pilot. RULE-H",
            tools={"lookup": LOOKUP},
            most=700,
            session="s-1",
        )
        await talk.say("First: is FOG-1 expected?")
        said = await talk.say("Second: and wind?")
    call = provider.last
    assert said.text == "Force four."
    assert (call.previous, call.system, call.tools) == ("x_A", "Answer like a harbour pilot. RULE-H", ["lookup"])
    assert 700 in (call.body.get("max_output_tokens"), call.body.get("generation_config", {}).get("max_output_tokens"))
    assert "Second: and wind?" in call.new
    assert "FOG-1" not in call.new


@BOTH
@FORMATS
async def test_a_tool_result_answers_the_providers_own_call_and_repeats_nothing(
    front: StartFront, provider: Provider, api: Api, wire: Wire
) -> None:
    provider.script.load([_answer(api, "x_C", call="fc_77"), _answer(api, "x_D", "On shelf 12.")])
    async with front() as proxy:
        talk = proxy.talk(api, wire, tools={"lookup": LOOKUP}, session="s-1")
        asked = await talk.say("Find the PUMP-9 manual.")
        assert asked.finish in ("tool_use", "tool_calls", "STOP")
        said = await talk.give((asked.calls[0], "SHELF-12"))
    call = provider.last
    assert (call.previous, list(call.results), call.tools) == ("x_C", ["fc_77"], ["lookup"])
    assert "SHELF-12" in call.results["fc_77"]
    assert "PUMP-9" not in call.new
    assert (said.text, said.finish) == ("On shelf 12.", {"anthropic": "end_turn", "gemini": "STOP"}.get(wire, "stop"))


@BOTH
@FORMATS
async def test_a_stored_id_that_is_gone_costs_one_request_and_no_word_of_the_chat(
    front: StartFront, provider: Provider, api: Api, wire: Wire
) -> None:
    provider.script.load([_answer(api, "x_OLD", "Stored: LAMP-3.")])
    async with front() as proxy:
        talk = proxy.talk(api, wire, session="s-1")
        await talk.say("Remember: the harbour light is LAMP-3.")
        provider.chains.lose("x_OLD")
        provider.clear()
        said = await talk.say("Which light was it?")
        lost, whole = provider.calls
        assert (lost.previous, whole.previous) == ("x_OLD", "")
        for words in ("the harbour light is LAMP-3", "Stored: LAMP-3", "Which light was it?"):
            assert words in whole.new
        assert said.text
        await talk.say("And the colour?")
        assert provider.last.previous == provider.chains.bills[-2].id, "the session is not broken"
        assert len(provider.calls) == 3


@BOTH
@FORMATS
async def test_what_a_user_edited_away_is_nowhere(front: StartFront, provider: Provider, api: Api, wire: Wire) -> None:
    provider.script.load([_answer(api, "x_E", "Noted."), _answer(api, "x_F", "GREEN-BOAT.")])
    async with front() as proxy:
        talk = proxy.talk(api, wire, session="s-1")
        await talk.say("My boat is BLUE-BOAT.")
        talk.history[0] = talk.user("My boat is GREEN-BOAT.")
        said = await talk.say("Which boat is mine?")
    assert said.text == "GREEN-BOAT."
    assert provider.last.previous != "x_E"
    assert "GREEN-BOAT" in provider.last.new
    assert b"BLUE-BOAT" not in provider.last.raw
    assert "BLUE-BOAT" not in provider.last.seen


@BOTH
@FORMATS
async def test_two_users_of_one_session_name_never_meet(
    front: StartFront, provider: Provider, api: Api, wire: Wire
) -> None:
    async with front() as proxy:
        mine = proxy.talk(api, wire, session="default")
        await mine.say("The code is ORCHID-7, remember it.")
        for history in ([], mine.history):
            theirs = mine.branch(history)
            theirs.key = "somebody-elses-key"
            headers = {"authorization": f"Bearer {theirs.key}", "x-goog-api-key": theirs.key}
            async with _as(proxy.url, headers) as http:
                theirs.http = http
                said = await theirs.say("What is the code?")
            assert provider.last.previous == ""
            if not history:
                assert "ORCHID-7" not in provider.last.raw.decode() + said.text
        assert said.session != (await mine.say("What is the code?")).session
        assert provider.last.previous == provider.chains.bills[0].id


def _as(url: str, headers: dict[str, str]) -> Any:
    import httpx2

    from tests.chaining.talk import PLAIN

    return httpx2.AsyncClient(base_url=url, headers=headers, timeout=20, **PLAIN)
