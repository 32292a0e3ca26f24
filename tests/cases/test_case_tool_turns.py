"""Tool calls and their results: open calls, parallel calls, ids, names and schemas that the provider would refuse."""

from __future__ import annotations

import re
from typing import Any

import httpx2
import pytest

from app.simulator.running import Running
from tests.cases.exchanges import (
    OPENAI,
    ask,
    called,
    chat,
    gemini_call,
    gemini_chunk,
    gemini_said,
    gemini_streamed,
    openai_said,
    pairing_faults,
    result,
    tool,
    turn_faults,
)

VALVE = tool("set_valve", "valve", "state")
FERRY = tool("next_ferry", "quay")


def _call(call_id: str, arguments: str = '{"valve":"V2","state":"open"}') -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "set_valve", "arguments": arguments}}


@pytest.mark.parametrize("model", [OPENAI, "gemini-3-flash-preview"])
async def test_a_call_that_was_never_answered_does_not_block_the_chat(
    http: httpx2.AsyncClient, sim: Running, model: str
) -> None:
    heard = await ask(
        http,
        chat(
            {"role": "system", "content": "Plant manual, edition 12."},
            "Open valve V2.",
            {"role": "assistant", "content": None, "tool_calls": [_call("call_v2")]},
            "Leave that. What is 6 * 7?",
            model=model,
            tools=[VALVE],
        ),
    )
    body = sim.journal.last.body

    assert (heard.status, heard.text) == (200, "6 * 7 = 42")
    assert sim.journal.last.refused is None
    if model == OPENAI:
        assert pairing_faults(body["messages"]) == []
        assert body["messages"][0]["content"] == "Plant manual, edition 12."
        assert "6 * 7" in body["messages"][-1]["content"]
    else:
        assert turn_faults(body["contents"]) == []


async def test_of_two_parallel_calls_the_one_without_a_result_is_closed_and_the_other_keeps_its_own(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    calls = [_call("call_a"), _call("call_b")]
    assistant = {"role": "assistant", "content": None, "tool_calls": calls}
    answered = {"role": "tool", "tool_call_id": "call_b", "content": "V2 stands open"}
    await ask(http, chat("Open both.", assistant, answered, "Did it work?", model=OPENAI, tools=[VALVE]))

    messages = sim.journal.last.body["messages"]
    assert pairing_faults(messages) == []
    assert next(one for one in messages if one.get("tool_call_id") == "call_b")["content"] == "V2 stands open"


async def test_a_result_that_belongs_to_no_call_is_not_sent_as_one(http: httpx2.AsyncClient, sim: Running) -> None:
    orphan = {"role": "tool", "tool_call_id": "call_gone", "content": "V9 is rusty"}
    heard = await ask(http, chat("Hello.", orphan, "Go on.", model=OPENAI, tools=[VALVE]))

    assert heard.status == 200
    assert pairing_faults(sim.journal.last.body["messages"]) == []


async def test_parallel_calls_in_separate_chunks_stay_separate_calls(http: httpx2.AsyncClient, sim: Running) -> None:
    quays = ["Moss", "Horten", "Drøbak", "Son"]
    chunks = [gemini_chunk(gemini_call("next_ferry", {"quay": quays[0]}, "ZmVycnk="))]
    chunks += [gemini_chunk(*[gemini_call("next_ferry", {"quay": quay}) for quay in quays[1:3]])]
    chunks += [gemini_chunk(gemini_call("next_ferry", {"quay": quays[3]}), finish="STOP")]
    sim.script([gemini_streamed(*chunks)])
    heard = await ask(http, chat("When do the four ferries leave?", tools=[FERRY], stream=True))

    assert heard.arguments == [{"quay": quay} for quay in quays]
    assert len({call["id"] for call in heard.calls}) == len(quays)
    assert heard.finish == "tool_calls"


async def test_equal_calls_beside_each_other_have_different_ids(http: httpx2.AsyncClient, sim: Running) -> None:
    same = gemini_call("next_ferry", {"quay": "Moss"})
    sim.script([gemini_said(gemini_call("next_ferry", {"quay": "Moss"}, "ZmVycnky"), same, same)])
    heard = await ask(http, chat("Ask thrice.", tools=[FERRY]))

    assert len({call["id"] for call in heard.calls}) == 3


async def test_ids_of_different_turns_never_meet(http: httpx2.AsyncClient, sim: Running) -> None:
    sim.script([gemini_said(gemini_call("next_ferry", {"quay": "Moss"}, "ZmVycnkz"))] * 2)
    first = await ask(http, chat("Once.", tools=[FERRY]))
    second = await ask(http, chat("Once.", called(first), result(first.calls[0], "9:40"), "Again.", tools=[FERRY]))

    assert first.calls[0]["id"] != second.calls[0]["id"]


@pytest.mark.parametrize("stream", [False, True])
async def test_thoughts_stay_out_of_the_answer_and_calls_without_id_or_arguments_are_whole(
    http: httpx2.AsyncClient, sim: Running, stream: bool
) -> None:
    sim.script(
        [
            gemini_said(
                {"text": "INNER: first the whole list, then the harbour.", "thought": True},
                {"text": "One moment."},
                gemini_call("next_ferry", signature="bm8tYXJncw=="),
                gemini_call("next_ferry", {"quay": "Larvik"}),
            )
        ]
    )
    heard = await ask(http, chat("All ferries, then Larvik's.", tools=[FERRY], stream=stream))

    assert heard.text == "One moment."
    assert heard.arguments == [{}, {"quay": "Larvik"}]
    assert [call["name"] for call in heard.calls] == ["next_ferry", "next_ferry"]
    assert all(0 < len(call["id"]) <= 40 for call in heard.calls)
    assert heard.calls[0]["id"] != heard.calls[1]["id"]
    assert heard.finish == "tool_calls"


AWKWARD = [
    "3d_print",
    "crew/list members",
    "värme.läs",
    "a_server_with_a_very_long_name_that_says_everything_about_the_crew_list_by_surname",
    "a_server_with_a_very_long_name_that_says_everything_about_the_crew_list_by_harbour",
]


@pytest.mark.parametrize("wanted", range(len(AWKWARD)))
async def test_names_that_gemini_refuses_are_changed_on_the_way_and_changed_back(
    http: httpx2.AsyncClient, sim: Running, wanted: int
) -> None:
    tools = [tool(name, "x") for name in AWKWARD]
    await ask(http, chat("Say: ready", tools=tools))
    declared = [one["name"] for one in sim.journal.last.body["tools"][0]["functionDeclarations"]]
    sim.script([gemini_said(gemini_call(declared[wanted], {"x": "1"}, "bmFtZWQ="))])
    heard = await ask(http, chat("Now do it.", tools=tools))

    assert len(set(declared)) == len(AWKWARD)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", name) for name in declared)
    assert [call["name"] for call in heard.calls] == [AWKWARD[wanted]]


async def test_a_changed_name_is_the_same_in_the_declaration_the_call_and_the_result(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    tools = [tool(AWKWARD[1], "x")]
    declared = "declared"
    await ask(http, chat("Say: ready", tools=tools))
    declared = sim.journal.last.body["tools"][0]["functionDeclarations"][0]["name"]
    sim.script([gemini_said(gemini_call(declared, {"x": "1"}, "bmFtZWQy"))])
    heard = await ask(http, chat("Do it.", tools=tools))
    await ask(http, chat("Do it.", called(heard), result(heard.calls[0], "done"), tools=tools))

    contents = sim.journal.last.body["contents"]
    assert contents[-2]["parts"][0]["functionCall"]["name"] == declared
    assert contents[-1]["parts"][0]["functionResponse"]["name"] == declared


async def test_a_forced_tool_is_forced_under_its_changed_name(http: httpx2.AsyncClient, sim: Running) -> None:
    choice = {"type": "function", "function": {"name": AWKWARD[0]}}
    await ask(http, chat("Do it.", tools=[tool(AWKWARD[0], "x"), tool("other", "x")], tool_choice=choice))

    body = sim.journal.last.body
    declared = body["tools"][0]["functionDeclarations"][0]["name"]
    assert body["toolConfig"]["functionCallingConfig"] == {"mode": "ANY", "allowedFunctionNames": [declared]}


async def test_optional_fields_of_a_schema_keep_their_type_and_are_nullable(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    """What Pydantic writes for `str | None`, for a nullable type list, and for a real union."""
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "berth": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "Berth"},
            "draught": {"type": ["number", "null"]},
            "mark": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["name"],
    }
    heard = await ask(http, chat("Say: registered", tools=[tool("register", schema=schema)]))

    assert (heard.status, sim.journal.last.refused) == (200, None)
    parameters = _declared(sim)
    properties = parameters["properties"]
    assert properties["berth"]["type"] == ["string", "null"]
    assert properties["draught"]["type"] == ["number", "null"]
    assert _types(properties["mark"]) == {"integer", "string", "null"}
    assert not properties["mark"].keys() & {"default", "enum"}
    assert parameters["required"] == ["name"]


async def test_an_optional_object_and_an_optional_list_keep_what_is_inside(
    http: httpx2.AsyncClient, sim: Running
) -> None:
    inner = {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]}
    schema = {
        "type": "object",
        "$defs": {"Place": inner},
        "properties": {
            "place": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]},
            "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        },
    }
    heard = await ask(http, chat("Say: moored", tools=[tool("moor", schema=schema)]))

    assert (heard.status, sim.journal.last.refused) == (200, None)
    properties = _declared(sim)["properties"]
    assert "null" in _types(properties["place"])
    assert "null" in _types(properties["tags"])
    assert '"lat":{"type":"number"}' in sim.journal.last.raw.decode()
    assert '"items":{"type":"string"}' in sim.journal.last.raw.decode()


def _declared(sim: Running) -> dict[str, Any]:
    """The schema of the first tool, in the field that takes JSON Schema."""
    return sim.journal.last.body["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"]


def _types(schema: dict[str, Any]) -> set[str]:
    """Every type that a value may have, whichever way the schema says so."""
    types = schema.get("type", [])
    found = {types} if isinstance(types, str) else set(types)
    return found.union(*map(_types, schema.get("anyOf", [])))


@pytest.mark.parametrize("stream", [False, True])
async def test_reasoning_of_a_tool_turn_that_the_sdk_dropped_is_put_back(
    http: httpx2.AsyncClient, sim: Running, stream: bool
) -> None:
    """DeepSeek and Kimi refuse the next step without it."""
    model, clock = "deepseek-v4-pro", tool("clock")
    call = {"id": "call_clock_1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
    thought = {"content": None, "tool_calls": [call], "reasoning_content": "The clock will know."}
    sim.script([openai_said(thought, "tool_calls")])
    first = await ask(http, chat("What time is it?", model=model, tools=[clock], stream=stream))
    sim.script([openai_said({"content": "It is 07:15.", "reasoning_content": "Read it out."})])
    history = chat("What time is it?", called(first), result(first.calls[0], "07:15"), model=model, tools=[clock])
    second = await ask(http, history)

    messages = sim.journal.last.body["messages"]
    assert messages[-2]["reasoning_content"] == "The clock will know."
    assert pairing_faults(messages) == []
    assert (second.status, second.text) == (200, "It is 07:15.")
