"""Which calls are ours, what they get, and that a model cannot go on fetching for ever."""

from __future__ import annotations

import json

from app.chat.model import Tool, ToolCall
from app.context.tool_results import Parked
from app.tools.gate import handles_of, results, split
from app.tools.offer import NAME, name_for, offer
from tests.context.tool_results.making import orders

PARKED = {"res_1": Parked("array", json.dumps(orders()))}
OURS = ToolCall("c1", NAME, '{"handle":"res_1","limit":1}')
THEIRS = ToolCall("c2", "get_orders", "{}")


def test_calls_are_sorted_by_whose_tool_they_are_to() -> None:
    assert split((OURS, THEIRS), NAME).ours == (OURS,)
    assert split((OURS, THEIRS), NAME).theirs == (THEIRS,)
    assert split((OURS, THEIRS), "").theirs == (OURS, THEIRS), "what was not offered is not ours"


def test_each_call_gets_its_result_in_order() -> None:
    bad = ToolCall("c3", NAME, '{"handle":"res_2"}')
    one, two = results((OURS, bad), PARKED.get)
    assert (one.call_id, one.name, one.is_error) == ("c1", NAME, False)
    assert json.loads(one.text)["rows"] == orders(1)
    assert (two.call_id, two.is_error) == ("c3", True)


def test_the_handles_to_look_up_are_known_beforehand() -> None:
    assert handles_of((OURS, OURS, ToolCall("c", NAME, '{"handle":"res_9"}'), ToolCall("d", NAME, "{"))) == (
        "res_1",
        "res_9",
    )


def test_a_result_that_cannot_be_read_just_now_is_not_called_unknown() -> None:
    (given,) = results((OURS,), lambda handle: None, away=("res_1",))
    assert given.is_error
    assert "just now" in given.text
    assert "no result under this handle" not in given.text


def test_after_so_many_calls_in_one_turn_the_model_is_told_to_go_on_without() -> None:
    given = results((OURS, OURS, OURS), PARKED.get, answered=1, most=3)
    assert [each.is_error for each in given] == [False, False, True]
    assert "Go on with what you have" in given[2].text


def test_the_tools_name_is_one_that_the_client_does_not_use() -> None:
    assert name_for(()) == "fetch_rows"
    taken = (Tool("fetch_rows"), Tool("foldline_fetch_rows"))
    assert name_for(taken) not in {tool.name for tool in taken}


def test_the_tool_is_always_the_very_same_and_plain_enough_for_every_provider() -> None:
    assert offer() == offer()
    text = json.dumps(offer().schema)
    assert not any(word in text for word in ("anyOf", "oneOf", "null", "$ref", "additionalProperties"))
