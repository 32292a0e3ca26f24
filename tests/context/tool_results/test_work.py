"""How much is looked at, and that what is looked at all at once comes to the same as one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat.size import of_text
from app.context.tool_results import Parked, fitting, parsed
from app.context.tool_results.needles import Needle, stands
from app.context.tool_results.searching import Searched
from app.context.tool_results.shapes import SEP, Lines
from tests.context.tool_results.making import csv_text, log, orders, reviews, shown

ROWS = {
    "objects": reviews(900),
    "numbers": [at * 1.5 for at in range(30_000)],
    "words": [f"file_{at}  {'-' * (at % 9)} ==== " for at in range(9000)],
    "keys": [f"{at:040x}" for at in range(3000)],
    "Japanese": [{"名前": "佐藤" * 9, "番号": at} for at in range(3000)],
    "uneven": [{f"f{at % 7}": at, "n": None} for at in range(9000)],
}


@pytest.mark.parametrize("name", ROWS)
def test_a_form_that_is_measured_in_pieces_has_the_tokens_of_the_whole(name: str) -> None:
    made, text = shown(json.dumps(ROWS[name], ensure_ascii=False))
    assert made.after == of_text(text, "other")


@pytest.mark.parametrize(
    "text", [csv_text(orders()), log(), "\n".join("    indented   ----\t" + "x" * at for at in range(900))]
)
def test_a_form_of_lines_that_is_measured_in_pieces_has_the_tokens_of_the_whole(text: str) -> None:
    made, small = shown(text)
    assert made.after == of_text(small, "other")


def test_each_row_of_a_form_is_measured_once_however_many_counts_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = 0
    script_of = fitting.script_of

    def noting(text: str) -> Any:
        nonlocal measured
        measured += len(text)
        return script_of(text)

    monkeypatch.setattr(fitting, "script_of", noting)
    _, text = shown(json.dumps(reviews(3120)))
    assert 0 < measured < 3 * len(text)


_NAMES = st.sampled_from(["a", "b", "c d", "é", 'quo"te', ""])
_VALUES = st.one_of(st.none(), st.integers(), st.text(max_size=3), st.lists(st.booleans(), max_size=2))
_TABLES = st.lists(st.one_of(st.dictionaries(_NAMES, _VALUES), _VALUES.filter(lambda it: it is not None)), min_size=4)


@given(_TABLES)
def test_rows_turned_into_columns_at_once_hold_what_each_row_holds(rows: list[Any]) -> None:
    table = parsed(Parked("array", json.dumps(rows)))
    if isinstance(table, Lines) or table.kind != "array":
        return
    found: list[dict[str, Any]] = [{} for _ in rows]
    for block in table.blocks():
        for name, places, values, framed in block.columns:
            assert framed == b"".join(SEP + value for value in values)
            for row, value in zip(places, values, strict=True):
                found[row][name] = json.loads(value)
    assert found == [row if isinstance(row, dict) else {"value": row} for row in rows]


_WORDS = st.text("abn1\\ ", max_size=12)


@given(st.lists(_WORDS, min_size=1, max_size=40), st.text("ab1", min_size=1, max_size=2), st.booleans())
def test_a_search_through_all_rows_at_once_finds_what_a_look_at_each_finds(
    rows: list[str], form: str, bounded: bool
) -> None:
    texts = [row.encode() for row in rows]
    needle = Needle((form.encode(),), bounded, 1.0)
    expected = {
        at + 7
        for at, text in enumerate(texts)
        if form.encode() in text and (not bounded or stands(form.encode(), text))
    }
    assert Searched(SEP.join(texts), 7, len(texts), SEP).rows(needle, 99) == expected


def test_numbers_that_are_none_become_null_outside_of_words_however_long_the_text() -> None:
    rows = [{"x": 1, "said": "NaN is -Infinity"}] * 3000
    text = json.dumps([*rows, {"x": float("nan"), "said": "no"}, {"x": float("-inf"), "said": "-"}])
    table = parsed(Parked("array", text))
    assert not isinstance(table, Lines)
    assert table.mended
    assert [table.cells(at)["x"] for at in (0, 3000, 3001)] == [b"1", b"null", b"null"]
    assert table.cells(0)["said"] == b'"NaN is -Infinity"'
