"""What a small form of text promises: head, tail, the lines that matter, their numbers, and its budget."""

from __future__ import annotations

import re
import time

import pytest

from app.chat.size import of_text
from app.context.tool_results import LIMITS, Limits, ToolSettings
from app.context.tool_results.markup import words_of
from app.context.tool_results.text_lines import kind_of
from tests.context.tool_results.making import log, shown, small_form, words

CODE = "\n\n".join(
    f"def step_{at}(draft: Draft) -> Draft:\n    total = {at}\n    for each in draft.parts:\n"
    f"        total += each.size * {at}\n    return draft.with_total(total)"
    for at in range(1200)
)
PROSE = "\n\n".join(f"## Part {at}\n\n{words(60, at).capitalize()}." for at in range(900))
TRACE = "\n".join(
    ["Traceback (most recent call last):"]
    + [f'  File "/srv/app/room_{at}.py", line {at}, in run_{at}\n    step_{at}(draft)' for at in range(2500)]
    + ["ValueError: the draft has no parts"]
)
PAGE = (
    "<!doctype html><html><head><title>Shop</title><style>p{}</style></head><body>"
    + "".join(
        f"<h2>Item {at}</h2><p>{words(60, at)} <a href='/item/{at}'>see</a> &amp; buy</p><script>x()</script>"
        for at in range(900)
    )
    + "</body></html>"
)


@pytest.mark.parametrize(
    ("kind", "text"), [("log", log()), ("code", CODE), ("text", PROSE), ("trace", TRACE), ("html", PAGE)]
)
def test_each_kind_of_text_is_told_apart_and_keeps_its_budget(kind: str, text: str) -> None:
    made, small = shown(text)
    assert made.kind == kind
    assert 19_000 < made.after == of_text(small, LIMITS.family) <= 20_000
    assert made.truncated
    assert "fetch_rows" in small.split("\n")[0]
    assert made.handle in small.split("\n")[0]


@pytest.mark.parametrize("text", [log(), CODE, PROSE, TRACE])
def test_lines_are_shown_with_their_numbers_and_every_gap_is_told(text: str) -> None:
    source = text.split("\n")
    _, small = shown(text)
    at = 0
    for line in small.split("\n")[1:]:
        if gap := re.fullmatch(r"\[… [\d,]+ lines left out: (\d+)-(\d+) …\]", line):
            assert int(gap[1]) == at + 1
            at = int(gap[2])
        elif gap := re.fullmatch(r"\[… line (\d+) left out …\]", line):
            assert int(gap[1]) == at + 1
            at += 1
        else:
            number, _, words_there = line.partition(": ")
            assert int(number) == at + 1
            assert words_there == source[at]
            at += 1
    assert at == len(source)


def test_head_and_tail_are_there() -> None:
    source = log().split("\n")
    small = shown(log())[1]
    assert all(line in small for line in (*source[:12], *source[-12:]))


def test_the_one_line_of_trouble_is_shown_with_the_lines_around_it() -> None:
    source = log().split("\n")
    small = shown(log(), settings=ToolSettings(budget=3000))[1]
    assert all(line in small for line in source[5398:5403])


def test_a_line_that_is_unlike_all_others_is_shown_though_it_says_nothing_of_trouble() -> None:
    lines = log().split("\n")
    lines[3000] = "2026-03-01T12:50:00.123Z INFO certificate of host db renewed by hand"
    assert lines[3000] in shown("\n".join(lines), settings=ToolSettings(budget=3000))[1]


def test_many_lines_of_the_same_trouble_do_not_hide_a_rare_one() -> None:
    lines = [line.replace("INFO", "ERROR") if at % 3 else line for at, line in enumerate(log().split("\n"))]
    assert "disk quota exceeded" in shown("\n".join(lines), settings=ToolSettings(budget=3000))[1]


def test_lines_that_match_the_question_are_shown() -> None:
    assert "def step_777(" in shown(CODE, "What does step_777 do?", ToolSettings(budget=3000))[1]
    assert "request 4711 served" in shown(log(), "How long did request 4711 take?", ToolSettings(budget=3000))[1]


def test_of_code_the_definitions_come_first() -> None:
    small = shown(CODE, settings=ToolSettings(budget=4000))[1]
    assert small.count("def step_") > 40


def test_of_a_page_the_words_stay_and_the_markup_goes() -> None:
    small = shown(PAGE)[1]
    assert "## Item 0" in small
    assert "(/item/0)" in small
    assert "& buy" in small
    assert not re.search(r"<script|<p>|x\(\)|p\{\}", small)


def test_words_of_a_page_are_those_that_are_seen() -> None:
    page = "<html><body><ul><li>one</li><li>two</li></ul><table><tr><th>a</th><th>b</th></tr></table><!-- no --></body>"
    assert words_of(page).split("\n") == ["- one", "- two", "a | b"]


def test_a_file_within_its_budget_is_the_whole_file() -> None:
    assert small_form(CODE[:40_000]) is None


def test_one_endless_line_is_wrapped_and_its_beginning_and_end_are_there() -> None:
    text = "var a=1;" + "b(c[0],d);" * 30_000 + "end_of_it()"
    made, small = shown(text)
    assert made.after <= 20_000
    assert "var a=1;" in small
    assert "end_of_it()" in small
    assert "wrapped" in small


@pytest.mark.parametrize("budget", [1, 200, 500])
def test_a_tiny_budget_still_gives_the_handle(budget: int) -> None:
    made, small = shown(log(), settings=ToolSettings(budget=budget))
    assert made.after <= max(budget, 200)
    assert made.handle in small


def test_without_a_way_to_fetch_the_form_promises_none() -> None:
    small = shown(log(), limits=Limits(fetch=""))[1]
    assert "fetch" not in small
    assert "cannot be had from here" in small


def test_japanese_trouble_is_seen() -> None:
    lines = [f"{at}件目 処理を終えました {words(3, at)}" for at in range(4000)]
    lines[2222] = "2222件目 接続に失敗しました"
    assert lines[2222] in shown("\n".join(lines), settings=ToolSettings(budget=3000))[1]


@pytest.mark.parametrize("text", ["", "\n\n", "word", "| a |"])
def test_nearly_nothing_is_text(text: str) -> None:
    assert kind_of(text) == "text"


@pytest.mark.parametrize(
    "piece",
    [
        "<!--",
        "<script>",
        "<a href=x>",
        "<a ",
        "<h1 ",
        "<li ",
        "<a href=",
        "</td>",
        "&amp;",
        "<p",
        '"NaN\\"',
        "|-|\n",
        " |--",
    ],
)
def test_hostile_text_takes_no_more_than_its_length(piece: str) -> None:
    """Each of these once made a pattern look at the whole text again and again: minutes instead of moments."""
    for text in ("<html>" + piece * 60_000, "[" + piece * 60_000):
        started = time.process_time()
        small_form(text)
        assert time.process_time() - started < 20
