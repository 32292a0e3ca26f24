"""The same result has the same small form on every turn; properties that hold for any data."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.model import Text
from app.chat.size import of_text
from app.context.tool_results import LIMITS, Compacted, Limits, ToolSettings
from app.context.tool_results.settings import LEAST
from tests.context.tool_results.making import small_form, words

NAMES = st.sampled_from(("id", "name", "状態", "a b", 'quote"d', "path.to", "x"))
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=40),
    st.integers(0, 60).map(lambda count: words(count, count)),
    st.sampled_from(("2026-01-05", "2026-11-30T10:00:00Z", "", "error", [1, [2]], {"deep": {"er": [0.1]}})),
)


def words_of(made: Compacted) -> str:
    """The small form itself."""
    part = made.content[0]
    assert isinstance(part, Text)
    return part.text


ROWS = st.lists(st.one_of(st.dictionaries(NAMES, VALUES, max_size=6), VALUES), min_size=4, max_size=30)
LINES = st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=60), min_size=1, max_size=40)


@settings(max_examples=60, deadline=None)
@given(
    rows=ROWS,
    times=st.integers(1, 40),
    budget=st.integers(1, 2500),
    indent=st.sampled_from((None, 2)),
    question=st.text(max_size=30),
)
def test_any_rows_become_valid_json_within_the_budget_and_the_rows_are_the_sources(
    rows: list[Any], times: int, budget: int, indent: int | None, question: str
) -> None:
    many = rows * times
    text = json.dumps(many, indent=indent, ensure_ascii=bool(times % 2))
    made = small_form(text, question, ToolSettings(budget=budget))
    if made is None:
        return
    small = words_of(made)
    assert made.after == of_text(small, LIMITS.family) <= max(budget, LEAST)
    assert small_form(text, question, ToolSettings(budget=budget)) == made
    form: dict[str, Any] = json.loads(small)
    assert form["returned_rows"] == len(form["rows"]) == made.returned
    assert form["truncated"] or form["returned_rows"] == form["total_rows"]
    if made.kind == "array" and not made.dropped and "are cut" not in form["note"]:
        assert form["total_rows"] == len(many)
        if indent is None:
            assert all(json.dumps(row, ensure_ascii=bool(times % 2)) in text for row in form["rows"])
        assert all(row in many for row in form["rows"])


@settings(max_examples=40, deadline=None)
@given(lines=LINES, times=st.integers(1, 60), budget=st.integers(1, 1500), end=st.sampled_from(("\n", "\r\n")))
def test_any_text_keeps_its_budget_and_always_has_the_same_form(
    lines: list[str], times: int, budget: int, end: str
) -> None:
    text = end.join(lines * times)
    made = small_form(text, "what?", ToolSettings(budget=budget))
    if made is None:
        return
    assert made.after <= max(budget, LEAST)
    assert small_form(text, "what?", ToolSettings(budget=budget)) == made


def test_a_form_depends_on_the_text_the_question_and_the_settings_alone() -> None:
    text = json.dumps([{"id": at, "words": words(30, at)} for at in range(400)])
    one = small_form(text, "about 17")
    assert one == small_form(text, "about 17")
    assert one != small_form(text, "about 17", ToolSettings(budget=3000))
    assert one != small_form(text, "about 17", limits=Limits(rows=5000))
    assert one is not None
    assert one.handle == (small_form(text, "another question") or one).handle
