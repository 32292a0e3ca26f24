"""Rows are found in whatever format they came: JSON Lines, CSV, TSV, Markdown, deep objects, JSON in a string."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat.model import Media, Text, ToolResult
from app.context.tool_results import Parked, compacted, parsed
from app.context.tool_results.recognising import recognised
from app.context.tool_results.shapes import Lines, Table
from tests.context.tool_results.making import (
    csv_text,
    form_of,
    handle_of,
    log,
    orders,
    result,
    shown,
    small_form,
    words,
)


def table_of(text: str) -> Table:
    """The rows in a text that has some."""
    found = recognised(text)
    assert not isinstance(found, Lines), found.kind
    return found


def test_json_lines_are_rows_and_a_broken_one_becomes_a_string() -> None:
    lines = [json.dumps(row) for row in orders()]
    lines[40] = '{"order": "A-70040", "cust'
    made, text = shown("\n".join(lines) + "\n")
    form = json.loads(text)
    assert (made.kind, form["total_rows"]) == ("lines", 900)
    assert '{"order": "A-70040", "cust' in form["rows"]
    assert json.loads(lines[611]) in form["rows"], "the failed one"


@pytest.mark.parametrize(("mark", "kind"), [(",", "csv"), (";", "csv"), ("\t", "tsv")])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separated_values_are_rows_with_exact_totals(mark: str, kind: str, end: str) -> None:
    rows = [{**row, "note": f"one{mark} two" if at % 2 else "x"} for at, row in enumerate(orders())]
    made, text = shown(csv_text(rows, mark).replace("\n", end))
    form = json.loads(text)
    assert (made.kind, form["total_rows"]) == (kind, 900)
    assert form["rows"][0] == {
        "order": "A-70000",
        "customer": "customer 0",
        "amount": 10,
        "status": "open",
        "note": "x",
    } | {name: value for name, value in form["rows"][0].items() if name in ("amount", "problem")}
    assert form["rows"][1]["note"] == f"one{mark} two"
    assert "failed" in [row["status"] for row in form["rows"]]


def test_a_column_is_numbers_only_if_every_cell_is_spelled_as_one() -> None:
    text = "id,zip,big,price\n" + "".join(f"{at},{at % 200:03},{10**25 + at},{at}.50\n" for at in range(2000))
    rows = table_of(text)
    assert rows.raw(7) == b'{"id":7,"zip":"007","big":10000000000000000000000007,"price":7.50}'
    assert rows.raw(1999) == b'{"id":1999,"zip":"199","big":10000000000000000000001999,"price":1999.50}'


def test_quoted_cells_may_hold_line_breaks_and_quotes() -> None:
    text = 'id,say\n1,"two\nlines"\n2,"a ""word"""\n3,x\n4,y\n'
    rows = table_of(text)
    assert [json.loads(rows.raw(at)) for at in range(4)] == [
        {"id": 1, "say": "two\nlines"},
        {"id": 2, "say": 'a "word"'},
        {"id": 3, "say": "x"},
        {"id": 4, "say": "y"},
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Dear all, this is, as you know,\na letter, with commas.\nIt has, in all,\nfour lines, or five,\nand no rows.",
        "a,b\n1,2\n3\n4,5,6\n7\n8,9\n",
        "2026-03-01 12:00:00,123 INFO one\n2026-03-01 12:00:01,124 INFO two\n" * 5,
        'name,say\na,"never closed\nb,c\nd,e\nf,g\n',
        "x = f(a, b)\ny = f(c, d)\nz = f(e, g)\nw = f(h, i)\nv = g(h, i)\n",
    ],
)
def test_words_with_commas_are_no_table(text: str) -> None:
    assert isinstance(recognised(text), Lines)


def test_a_markdown_table_is_rows_and_the_words_around_it_are_told() -> None:
    lines = [f"| {row['order']} | {row['amount']} | {row['status']} |" for row in orders()]
    form = form_of(
        "\n".join(["# Orders", "", "| order | amount | status |", "|---|---:|---|", *lines, "", "That is all."])
    )
    assert form["total_rows"] == 900
    assert form["rows"][0]["order"] == "A-70000"
    assert "failed" in [row["status"] for row in form["rows"]]
    assert "# Orders" in form["note"]


def test_a_deep_object_is_shown_by_its_sections_each_with_its_path() -> None:
    services: dict[str, Any] = {
        f"svc{at}": {
            "image": f"shop/svc:{at}",
            "env": {f"KEY_{key}": f"{at * key}" for key in range(30)},
            "replicas": 3,
        }
        for at in range(90)
    }
    services["svc57"]["replicas"] = 0
    made, text = shown(json.dumps({"version": 10**25, "services": services}, indent=2), "What is wrong with svc57?")
    form = json.loads(text)
    assert made.kind == "object"
    rows = {row["path"]: row["value"] for row in form["rows"]}
    assert rows["services.svc57"]["replicas"] == 0
    assert "10000000000000000000000000" in text


def test_every_value_of_a_deep_object_is_in_one_of_its_sections() -> None:
    deep: dict[str, Any] = {
        "a": [{"b": [words(9, at) for at in range(40)]} for _ in range(9)],
        "odd key.[0]": {"x": list(range(4000))},
    }
    rows = table_of(json.dumps(deep))
    together = "".join(rows.raw(at).decode() for at in range(rows.total))
    assert all(words(9, at) in together for at in range(40))
    assert together.count(words(9, 39)) == 9
    assert '["odd key.[0]"]' in json.loads(rows.raw(rows.total - 1))["path"]


def test_json_that_was_encoded_twice_is_read() -> None:
    assert form_of(json.dumps(json.dumps(orders())))["total_rows"] == 900


@pytest.mark.parametrize(
    "text", ["[" * 5000 + "]" * 5000, "[1, 2", '{"a":' * 2000, "[]", "{}", "[[[]]]", '{"a":{"b":[]}}', "\x00\ud800"]
)
def test_no_text_is_too_odd_to_be_read(text: str) -> None:
    found = recognised(text)
    assert (len(found.lines) if isinstance(found, Lines) else found.total) >= 0


def test_several_text_parts_are_one_result_and_media_stay_where_they_were() -> None:
    picture = Media("image", "image/png", data="aGk=")
    parts = (picture, *(Text(json.dumps(row)) for row in orders()), picture)
    made = compacted(ToolResult("c", parts), "", handle_of=handle_of)
    assert made is not None
    first, small, last = made.content
    assert (first, last) == (picture, picture)
    assert isinstance(small, Text)
    assert json.loads(small.text)["total_rows"] == 900


@pytest.mark.parametrize("text", [json.dumps(orders()), csv_text(orders()), log(), "x\n" * 40_000])
def test_a_parked_result_is_read_as_it_was_when_it_was_made_small(text: str) -> None:
    made = small_form(text)
    assert made is not None
    again = parsed(Parked(made.kind, text))
    assert again.kind == made.kind
    assert (len(again.lines) if isinstance(again, Lines) else again.total) == made.total


def test_errors_and_small_results_and_switched_off_tools_are_never_touched() -> None:
    text = json.dumps(orders())
    assert compacted(ToolResult("c", (Text(text),), is_error=True), "", handle_of=handle_of) is None
    assert small_form(json.dumps(orders(60))) is None
    assert compacted(result(text), "", handle_of=None) is None
    assert compacted(result(text, "fetch_rows"), "", handle_of=handle_of) is None


@pytest.mark.parametrize(
    ("before", "behind", "beside"),
    [
        ("Found 900 orders:\n\n", "", "Found 900 orders:"),
        ("", "\n\n(900 rows in 3 ms)", "(900 rows in 3 ms)"),
        ("Result:\n```json\n", "\n```\n", "Result:\n```json"),
        ("\ufeff", "", ""),
    ],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_rows_with_words_around_them_are_rows(before: str, behind: str, beside: str, indent: int | None) -> None:
    text = before + json.dumps(orders(), indent=indent) + behind
    table = table_of(text)
    assert (table.total, table.beside) == (900, beside)
    assert [json.loads(table.raw(at)) for at in range(900)] == orders()
    assert form_of(text)["total_rows"] == 900


@pytest.mark.parametrize(
    "text",
    [
        "see [1] and [2]: " + words(50, 1),
        'He wrote ["a", "b"] and then ' + words(50, 1),
        '[{"id": 1}, {"id": 2}, {"id": 3}, {"id": 4}, ' + words(50, 1),
    ],
)
def test_words_with_some_brackets_are_words(text: str) -> None:
    assert isinstance(recognised(text), Lines)


@pytest.mark.parametrize("rest", [{}, {"isError": False}])
def test_rows_in_the_envelope_of_a_tool_server_are_rows(rest: dict[str, Any]) -> None:
    inner = json.dumps({"next": "cursor-9", "items": orders()})
    table = table_of(json.dumps({"content": [{"type": "text", "text": inner}], **rest}))
    assert (table.total, table.where) == (900, "content[0].text, items")
    assert json.loads(table.raw(611)) == orders()[611]
    assert "cursor-9" in table.beside


@pytest.mark.parametrize("count", [1, 3])
def test_an_object_of_few_long_texts_shows_as_much_of_each_as_there_is_room_for(count: int) -> None:
    made, text = shown(json.dumps({f"page{at}": words(20_000, at) for at in range(count)}))
    form = json.loads(text)
    assert form["total_rows"] == form["returned_rows"] == count
    assert 2000 < made.after <= 6000
    assert all(len(row["value"]) > 5000 for row in form["rows"])
    assert "reads on" in form["note"]
