"""Thought signatures: clients of other formats drop them, and Gemini 3 refuses the next turn without them."""

from __future__ import annotations

import re

import httpx2
import pytest

from app.simulator.running import Running
from tests.cases.exchanges import (
    GEMINI,
    ask,
    called,
    chat,
    gemini_call,
    gemini_chunk,
    gemini_said,
    gemini_streamed,
    result,
    tool,
    turn_faults,
)

BYPASS = "skip_thought_signature_validator"
SHELF = tool("count_shelf", "bin")
QUESTION = "How many gaskets lie in bin Q-7?"


async def test_a_signature_that_the_client_dropped_goes_back_with_its_call(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    sim.script([gemini_said(gemini_call("count_shelf", {"bin": "Q-7"}, "c2lnbmVkLW9uZQ=="))])
    first = await ask(http, chat(QUESTION, tools=[SHELF]))
    sim.script([gemini_said({"text": "Twelve."})])
    second = await ask(http, chat(QUESTION, called(first), result(first.calls[0], '{"n":12}'), tools=[SHELF]))

    contents = sim.journal.last.body["contents"]
    assert contents[-2]["parts"][0]["thoughtSignature"] == "c2lnbmVkLW9uZQ=="
    assert turn_faults(contents) == []
    assert (second.status, second.text) == (200, "Twelve.")


@pytest.mark.parametrize("arguments", ['{"bin":"Q-7"}', '{ "bin" : "Q-7" }', '{"bin":"\\u0051-7"}'])
async def test_the_signature_is_found_however_the_client_spells_the_arguments(
    http: httpx2.AsyncClient, sim: Running, arguments: str
) -> None:
    sim.script([gemini_said(gemini_call("count_shelf", {"bin": "Q-7"}, "c2lnbmVkLXR3bw=="))])
    first = await ask(http, chat(QUESTION, tools=[SHELF]))
    call = {**first.calls[0], "id": "renamed_by_the_client", "arguments": arguments}
    first.calls = [call]
    await ask(http, chat(QUESTION, called(first), result(call, "12"), tools=[SHELF]))

    assert sim.journal.last.body["contents"][-2]["parts"][0]["thoughtSignature"] == "c2lnbmVkLXR3bw=="


async def test_a_signature_that_came_late_in_a_stream_goes_back_too(http: httpx2.AsyncClient, sim: Running) -> None:
    sim.script(
        [
            gemini_streamed(
                gemini_chunk({"text": "Let me see."}),
                gemini_chunk({"text": "", "thoughtSignature": "bGF0ZS1vbmU="}, finish="STOP"),
            )
        ]
    )
    first = await ask(http, chat(QUESTION, stream=True))
    assert first.text == "Let me see."
    await ask(http, chat(QUESTION, {"role": "assistant", "content": first.text}, "And in bin Q-8?"))

    parts = sim.journal.last.body["contents"][1]["parts"]
    assert [part["thoughtSignature"] for part in parts if "thoughtSignature" in part] == ["bGF0ZS1vbmU="]


async def test_of_parallel_calls_only_the_signed_one_is_signed_and_each_turn_stays_whole(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    question = "How warm is it in Kiruna and in Ystad?"
    meter = tool("read_meter", "town")
    signed = gemini_call("read_meter", {"town": "Kiruna"}, "cGFyLTE=")
    sim.script([gemini_said(signed, gemini_call("read_meter", {"town": "Ystad"}))])
    first = await ask(http, chat(question, tools=[meter]))
    kiruna, ystad = first.calls
    answers = [result(ystad, "11 C in the south"), result(kiruna, "-3 C in the north")]  # in the order they finished
    await ask(http, chat(question, called(first), *answers, tools=[meter]))

    contents = sim.journal.last.body["contents"]
    calls, results = contents[-2]["parts"], contents[-1]["parts"]
    assert [part["functionCall"]["args"]["town"] for part in calls] == ["Kiruna", "Ystad"]
    assert [part.get("thoughtSignature") for part in calls] == ["cGFyLTE=", None]
    assert ["north" in str(part["functionResponse"]["response"]) for part in results] == [True, False]
    assert turn_faults(contents) == []


async def test_every_step_of_a_running_tool_loop_keeps_its_own_signature(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    history: list[object] = [QUESTION]
    for step in range(3):
        sim.script([gemini_said(gemini_call("count_shelf", {"bin": f"Q-{step}"}, f"c3RlcC0{step}"))])
        heard = await ask(http, chat(*history, tools=[SHELF]))
        history += [called(heard), result(heard.calls[0], str(step))]
    await ask(http, chat(*history, tools=[SHELF]))

    models = [one for one in sim.journal.last.body["contents"] if one["role"] == "model"]
    assert [one["parts"][0]["thoughtSignature"] for one in models] == ["c3RlcC00", "c3RlcC01", "c3RlcC02"]


async def test_a_call_that_nobody_signed_carries_the_documented_stand_in(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    call = {"id": "call_elsewhere", "name": "count_shelf", "arguments": '{"bin":"Q-9"}'}
    foreign = {"role": "assistant", "content": None, "tool_calls": [_spoken(call)]}
    heard = await ask(http, chat(QUESTION, foreign, result(call, "3"), tools=[SHELF]))

    assert sim.journal.last.body["contents"][-2]["parts"][0]["thoughtSignature"] == BYPASS
    assert sim.journal.last.refused is None
    assert heard.status == 200


async def test_a_signature_never_goes_to_another_model(http: httpx2.AsyncClient, sim: Running) -> None:
    sim.script([gemini_said(gemini_call("count_shelf", {"bin": "Q-7"}, "bWluZS1vbmx5"))])
    first = await ask(http, chat(QUESTION, tools=[SHELF]))
    answered = [called(first), result(first.calls[0], "12")]
    await ask(http, chat(QUESTION, *answered, tools=[SHELF], model="gemini-3.1-pro-preview"))

    assert b"bWluZS1vbmx5" not in sim.journal.last.raw


async def test_another_tenant_with_the_very_same_chat_gets_no_signature(http: httpx2.AsyncClient, sim: Running) -> None:
    sim.script([gemini_said(gemini_call("count_shelf", {"bin": "Q-7"}, "dGVuYW50LWE="))])
    first = await ask(http, chat(QUESTION, tools=[SHELF]))
    again = chat(QUESTION, called(first), result(first.calls[0], "12"), tools=[SHELF])
    await ask(http, again, authorization="Bearer somebody-else")

    assert b"dGVuYW50LWE=" not in sim.journal.last.raw


@pytest.mark.parametrize("length", [4, 300, 9000])
async def test_a_call_id_is_short_and_plain_however_long_the_signature_is(
    http: httpx2.AsyncClient, sim: Running, length: int
) -> None:
    signature = "WFla" * (length // 4)
    sim.script([gemini_said(gemini_call("count_shelf", {"bin": "Q-1"}, signature))])
    heard = await ask(http, chat(QUESTION, model=GEMINI, tools=[SHELF]))

    assert re.fullmatch(r"[A-Za-z0-9_-]{1,40}", heard.calls[0]["id"])
    assert "WFlaWFla" not in heard.calls[0]["id"]


def _spoken(call: dict[str, str]) -> dict[str, object]:
    return {
        "id": call["id"],
        "type": "function",
        "function": {"name": call["name"], "arguments": call["arguments"]},
    }
