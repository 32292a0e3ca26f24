"""What fetch_rows promises: the original's own rows, its bounds, and for a wrong question what to ask instead."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.family import Family
from app.chat.model import ToolCall
from app.chat.size import of_text
from app.context.tool_results import Parked
from app.tools.fetch_rows import FINEST, GRACE, UNKNOWN, Bounds, answer, fetch
from app.tools.gate import handles_of
from tests.context.tool_results.making import csv_text, log, orders, reviews, words

ORDERS = Parked("array", json.dumps(orders()))
LOG = Parked("log", log())


def fetched(parked: Parked | None, bounds: Bounds = Bounds(), **asked: Any) -> Mapping[str, Any]:  # noqa: B008 - frozen
    """An answer made of rows."""
    return json.loads(fetch(parked, {"handle": "res_1", **asked}, bounds))


def test_rows_200_to_239_are_the_originals() -> None:
    rows = [f'{{"n": {at}, "big": {10**25 + at}, "tenth": 0.10, "s": "caf\\u00e9"}}' for at in range(312)]
    text = fetch(Parked("array", f"[{', '.join(rows)}]"), '{"handle":"res_1","offset":200,"limit":40}')
    assert ",".join(rows[200:240]) in text, "to the letter, in their order"
    form = json.loads(text)
    assert (form["total_rows"], form["offset"], form["returned_rows"], form["next_offset"]) == (312, 200, 40, 240)


FAMILIES = pytest.mark.parametrize("family", ["openai", "claude", "gemini", "other"])


@FAMILIES
def test_one_call_gives_at_most_so_many_rows_and_tokens(family: Family) -> None:
    assert fetched(ORDERS, limit=500)["returned_rows"] == 40
    heavy = Parked("array", json.dumps(reviews(length=400)))
    text = fetch(heavy, {"handle": "res_1"}, Bounds(tokens=3000, family=family))
    form = json.loads(text)
    assert of_text(text, family) <= 3000
    assert len(text) <= 3000 * 4, "by the rule of thumb too"
    assert 0 < form["returned_rows"] < 40
    assert form["next_offset"] == form["returned_rows"]
    assert "offset=" in form["note"]


@FAMILIES
@pytest.mark.parametrize(("words", "whole"), [(25, True), (36, False)])
def test_a_little_more_is_given_only_where_that_is_all_that_was_asked_for(
    family: Family, words: int, whole: bool
) -> None:
    """40 rows of 160 tokens each by OpenAI's tokenizer come as one page; of 220 each, as many as 6000 tokens hold."""
    page = json.dumps([{"id": at, "text": "Good value, quick delivery. " * words} for at in range(100)])
    text = fetch(Parked("array", page), {"handle": "res_1", "offset": 20, "limit": 40}, Bounds(family=family))
    assert of_text(text, "openai") > 6000 if whole else of_text(text, family) <= 6000
    assert of_text(text, "openai") <= 6000 * GRACE
    assert of_text(text, family) <= 6000 * FINEST
    form = json.loads(text)
    assert (form["returned_rows"] == 40) == whole
    assert form["next_offset"] == 20 + form["returned_rows"]


def test_hundreds_of_kilobytes_a_row_are_cut_without_being_counted() -> None:
    rows = Parked("array", json.dumps([{"id": at, "text": "word " * 80_000} for at in range(40)]))
    text = fetch(rows, {"handle": "res_1"})
    assert of_text(text, "other") <= 6000
    assert json.loads(text)["returned_rows"] > 3


def test_reading_on_by_next_offset_gives_every_row_once() -> None:
    seen: list[Any] = []
    offset: int | None = 0
    while offset is not None:
        form = fetched(ORDERS, offset=offset)
        seen += form["rows"]
        offset = form.get("next_offset")
    assert seen == orders()


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ({"field": "status", "op": "=", "value": "failed"}, 1),
        ([{"field": "status", "op": "=", "value": "FAILED"}], 1),
        ({"status": "failed"}, 1),
        ('{"field":"status","value":"failed"}', 1),
        ({"field": "problem", "op": "exists"}, 1),
        ({"field": "problem", "op": "missing"}, 899),
        ({"field": "amount", "op": ">=", "value": "0"}, 900),
        ({"field": "amount", "op": "=", "value": "10.0"}, 1),
        ({"field": "order", "op": "in", "value": ["A-70001", "A-70002"]}, 2),
        ({"field": "order", "op": "in", "value": '["A-70001","A-70002"]'}, 2),
        ({"field": "order", "op": "starts_with", "value": "A-7001"}, 10),
        ({"field": "customer", "op": "contains", "value": "MER 96"}, 9),
        ([{"field": "status", "op": "!=", "value": "paid"}, {"field": "order", "op": "<", "value": "A-70003"}], 2),
    ],
)
def test_where_picks_rows_by_their_fields(where: Any, count: int) -> None:
    assert fetched(ORDERS, where=where)["matching_rows"] == count


def test_numbers_are_compared_exactly() -> None:
    rows = Parked("array", f'[{{"n":{10**25}}},{{"n":{10**25 + 1}}},{{"n":0.1}},{{"n":1e1}},{{"n":"7"}}]')
    assert fetched(rows, where={"field": "n", "op": "=", "value": str(10**25 + 1)})["row_numbers"] == [1]
    assert fetched(rows, where='{"field":"n","op":"=","value":0.1}')["row_numbers"] == [2]
    assert fetched(rows, where={"field": "n", "op": "=", "value": 10})["row_numbers"] == [3]
    assert fetched(rows, where={"field": "n", "op": ">", "value": 9})["row_numbers"] == [0, 1, 3]


def test_dots_reach_into_objects() -> None:
    rows = Parked("array", json.dumps([{"user": {"name": f"n{at}", "age": at}} for at in range(9)]))
    assert fetched(rows, where={"field": "user.age", "op": ">", "value": 6})["row_numbers"] == [7, 8]


def test_a_search_finds_rows_in_any_case_and_through_escapes() -> None:
    rows = Parked("array", json.dumps([{"t": "Ärger"}, {"t": "バッテリー"}, {"t": "x"}, {"t": "y"}]))
    assert fetched(rows, search="バッテリー")["rows"] == [{"t": "バッテリー"}]
    assert fetched(rows, search="ärger")["row_numbers"] == [0]
    assert "No row matches" in fetched(rows, search="zebra")["note"]


def test_fields_shorten_rows() -> None:
    form = fetched(ORDERS, fields=["status", "order"], limit=2)
    assert form["rows"] == [{"order": "A-70000", "status": "open"}, {"order": "A-70001", "status": "paid"}]
    assert fetched(ORDERS, fields="order", limit=1)["rows"] == [{"order": "A-70000"}]


def test_a_value_that_is_too_long_for_one_call_can_be_read_to_its_end() -> None:
    long = "".join(f"{at:05}." for at in range(9000))
    rows = Parked("array", json.dumps([{"id": at, "text": long} for at in range(5)]))
    read, start = "", 0
    for _ in range(99):
        form = fetched(rows, offset=2, limit=1, fields=["text"], start=start)
        piece: str = form["rows"][0]["text"]
        piece = piece.rpartition("] …")[2]
        body, _, more = piece.partition("… [")
        read += body
        start += len(body)
        if not more:
            break
    assert read == long
    beyond = fetched(rows, offset=2, limit=1, start=len(long) + 9)["rows"][0]
    assert (beyond["id"], beyond["text"]) == (2, f"[{len(long)} characters before] …")


@pytest.mark.parametrize("number", ["1e99999999999999999999", "1E-99999999999999999999", "9" * 4000, "1e400", "-0.0"])
@pytest.mark.parametrize("op", ["=", ">", "in", "contains"])
def test_no_number_is_too_odd_to_be_compared(number: str, op: str) -> None:
    rows = Parked("array", f'[{{"n":{number}}},{{"n":2}},{{"n":3}},{{"n":4}}]')
    form = fetched(rows, where={"field": "n", "op": op, "value": [2] if op == "in" else 2})
    assert {"=": [1], "in": [1], "contains": [1]}.get(op, form["row_numbers"]) == form["row_numbers"]
    assert fetched(rows, where={"field": "n", "op": "<", "value": 4}, limit=1)["total_rows"] == 4


def test_what_stood_beside_the_rows_can_be_had() -> None:
    text = json.dumps({"items": orders(), "page": {"next": "cursor-9", "of": list(range(300))}})
    form = fetched(Parked("array", text), beside=True)
    assert "cursor-9" in json.dumps(form["rows"])


@pytest.mark.parametrize("kind", ["csv", "lines", "markdown"])
def test_every_kind_of_rows_can_be_fetched(kind: Any) -> None:
    text = {
        "csv": csv_text(orders()),
        "lines": "\n".join(map(json.dumps, orders())),
        "markdown": "\n".join(
            ["|order|status|", "|---|---|", *(f"|{row['order']}|{row['status']}|" for row in orders())]
        ),
    }[kind]
    form = fetched(Parked(kind, text), where={"status": "failed"})
    assert [row["order"] for row in form["rows"]] == ["A-70611"]


def test_lines_come_with_their_numbers_from_an_offset() -> None:
    source = log().split("\n")
    lines = fetch(LOG, {"handle": "res_1", "offset": 5390, "limit": 30}).split("\n")
    assert lines[1:] == [f"{at + 1}: {source[at]}" for at in range(5390, 5420)]
    assert "offset=5420" in lines[0]


def test_lines_that_contain_words_come_with_their_neighbours() -> None:
    source = log().split("\n")
    lines = fetch(LOG, {"handle": "res_1", "search": "Disk Quota"}).split("\n")
    assert lines[1:] == [f"{at + 1}: {source[at]}" for at in (5399, 5400, 5401)]
    assert "1 match" in lines[0]


def test_lines_keep_the_budget() -> None:
    text = fetch(LOG, {"handle": "res_1"}, Bounds(tokens=1000))
    assert of_text(text, "other") <= 1000
    assert "Ask again with offset=" in text


def test_a_bad_handle_of_any_sort_gets_the_same_answer() -> None:
    said = answer(None, '{"handle":"res_of_somebody_else"}')
    assert said.is_error
    assert UNKNOWN in json.loads(said.text)["error"]
    assert answer(None, "{}") == said


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ("{", "no JSON"),
        ("[]", "must be an object"),
        ('{"handle":"r","offset":-1}', "0 or more"),
        ('{"handle":"r","offset":"many"}', "whole numbers"),
        ('{"handle":7}', "handle and search are text"),
        ('{"handle":"r","where":{"field":"order","op":"contains","value":"' + "x" * 5000 + '"}}', "4,000 are the most"),
        ('{"handle":"r","where":{"field":"order","op":"in","value":[' + ",".join(["7"] * 5000) + "]}}", "are the most"),
        ('{"handle":"r","where":{"field":"order","op":">"}}', "no value to compare with"),
        ('{"handle":"r","fields":["nope"]}', "Their fields: order, customer, amount"),
        ('{"handle":"r","where":{"field":"nope","op":"=","value":1}}', "Their fields: order"),
        ('{"handle":"r","where":{"field":"order","op":"~","value":1}}', "op is one of"),
        ('{"handle":"r","where":"order = 7"}', "op is one of"),
        ('{"handle":"r","where":[7]}', "not understood"),
        ('{"handle":"r","where":{"field":"order","op":"in","value":7}}', "a list"),
        ('{"handle":"r","where":[' + ",".join(['{"status":"x"}'] * 20) + "]}", "are the most"),
        ('{"handle":"r","where":' + "[" * 3000 + "]" * 3000 + "}", "JSON"),
    ],
)
def test_a_wrong_question_is_answered_with_what_to_do(arguments: str, hint: str) -> None:
    said = answer(ORDERS, arguments)
    assert said.is_error
    assert hint in json.loads(said.text)["error"]


@pytest.mark.parametrize("named", ["order", "order,status", '["order"]', '["order", "status"]'])
def test_fields_may_come_as_text(named: str) -> None:
    assert fetched(ORDERS, fields=named, limit=1)["rows"][0]["order"] == "A-70000"


def test_a_handle_may_stand_in_quotes() -> None:
    assert handles_of([ToolCall("c1", "fetch_rows", json.dumps({"handle": ' "res_1" '}))]) == ("res_1",)


@pytest.mark.parametrize(
    "arguments", ['{"handle":"r","offset":"3","limit":"2"}', '{"handle":"r","offset":3.0,"limit":2,"x":1}']
)
def test_numbers_in_quotes_and_arguments_that_do_not_exist_are_forgiven(arguments: str) -> None:
    assert [row["order"] for row in json.loads(fetch(ORDERS, arguments))["rows"]] == ["A-70003", "A-70004"]


def test_an_offset_behind_the_end_says_where_the_end_is() -> None:
    assert "only 900" in fetched(ORDERS, offset=1000)["note"]
    assert "below 9000" in fetch(LOG, {"handle": "r", "offset": 90_000})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda each: st.lists(each) | st.dictionaries(st.text(max_size=5), each),
    max_leaves=6,
)


@settings(max_examples=50, deadline=None)
@given(
    asked=st.dictionaries(st.sampled_from(("offset", "limit", "fields", "where", "search", "start", "beside")), JSON),
    tokens=st.integers(300, 3000),
    parked=st.sampled_from((ORDERS, Parked("text", words(3000, 1)), Parked("csv", csv_text(orders(50))))),
)
def test_no_question_raises_and_every_answer_keeps_its_budget(
    asked: dict[str, Any], tokens: int, parked: Parked
) -> None:
    said = answer(parked, {"handle": "r", **asked}, Bounds(tokens=tokens))
    if not said.is_error:
        assert of_text(said.text, "other") <= tokens * FINEST
