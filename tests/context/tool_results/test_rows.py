"""What a small form of rows promises: exact totals, values as they were spelled, the rows that matter, its budget."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat.size import of_text
from app.context.tool_results import LIMITS, Limits, ToolSettings
from tests.context.tool_results.making import form_of, orders, reviews, shown, small_form, words

FORM = ["handle", "total_rows", "returned_rows", "truncated", "schema", "digest", "rows", "note"]


def test_312_reviews_of_48000_tokens_become_valid_json_within_6000() -> None:
    made, text = shown(json.dumps(reviews()))
    form = json.loads(text)
    assert made.before > 40_000
    assert made.after == of_text(text, LIMITS.family) <= 6000
    assert list(form) == FORM
    assert (form["total_rows"], form["returned_rows"], form["truncated"]) == (312, len(form["rows"]), True)
    assert made.total == 312
    assert form["handle"] in text
    assert "fetch_rows" in form["note"]


def test_it_fills_its_budget_rather_than_guessing_below_it() -> None:
    made, _ = shown(json.dumps(orders()))
    assert 0.95 * 6000 < made.after <= 6000


def test_ten_times_the_rows_keep_the_same_bound() -> None:
    made, text = shown(json.dumps(reviews(3120)))
    assert made.after <= 6000
    assert json.loads(text)["total_rows"] == 3120


def test_whoever_counts_four_characters_a_token_finds_the_bound_kept_too() -> None:
    """Plain words take fewer tokens than that rule says."""
    made, text = shown(json.dumps([f"{at}: " + "good value and quick delivery " * 20 for at in range(500)]))
    assert made.after < 5700
    assert 23_000 < len(text) <= 24_000


def test_shown_rows_are_slices_of_the_source_and_numbers_keep_their_spelling() -> None:
    rows = [
        f'{{"n": {at}, "big": {10**25 + at}, "tenth": 0.10, "e": 1E5, "s": "caf\\u00e9 {at}", "t": "{words(9, at)}"}}'
        for at in range(900)
    ]
    rows[3] = rows[3].replace("0.10", "0.1000")
    rows[4] = rows[4].replace("1E5", "2e-7")
    text = shown("[" + ",\n ".join(rows) + "]")[1]
    form = json.loads(text)
    for row in form["rows"]:
        assert rows[row["n"]] in text, "field order, blanks, escapes and digits are the source's own"


def test_line_breaks_between_values_are_the_only_thing_taken_out_of_a_pretty_printed_row() -> None:
    rows = [{"n": at, "big": 10**25, "price": 0.1, "words": words(8, at)} for at in range(900)]
    text = shown(json.dumps(rows, indent=4))[1]
    form = json.loads(text)
    assert form["rows"] == [{"n": row["n"], "words": rows[row["n"]]["words"]} for row in form["rows"]]
    assert '{"n":0,"words":' in text


@pytest.mark.parametrize(
    ("question", "row"),
    [("What about order INV-20931?", 217), ("Did anything melt?", 217), ("注文 INV-20931 は？", 217)],
)
def test_the_row_that_the_question_is_about_is_shown(question: str, row: int) -> None:
    assert 1000 + row in [each["id"] for each in form_of(json.dumps(reviews()), question)["rows"]]


def test_a_japanese_question_finds_a_row_that_is_written_with_ascii_escapes() -> None:
    rows = reviews()
    rows[250]["text"] = "バッテリーが膨張しました"
    found = form_of(json.dumps(rows), "バッテリーの問題は？")["rows"]
    assert 1250 in [each["id"] for each in found]


@pytest.mark.parametrize(
    ("row", "question"), [("Ремень порвался", "Какой ремень порвался?"), ("Ärgerlich: gerissen", "was war ärgerlich?")]
)
@pytest.mark.parametrize("escaped", [True, False])
def test_a_word_beyond_ascii_is_found_whether_or_not_it_begins_a_sentence(
    row: str, question: str, escaped: bool
) -> None:
    rows = reviews()
    rows[250]["text"] = row
    assert 1250 in [each["id"] for each in form_of(json.dumps(rows, ensure_ascii=escaped), question)["rows"]]


def test_a_number_in_the_question_is_not_found_inside_a_longer_one() -> None:
    rows = [{"code": f"c{480_000 + at * 3}", "note": words(20, at)} for at in range(900)]
    rows[500]["note"] = "see 480777"
    rows[600]["note"] = "see 1480777"
    codes = [each["code"] for each in form_of(json.dumps(rows), "What is 480777?")["rows"]]
    assert rows[500]["code"] in codes
    assert rows[600]["code"] not in codes


def test_the_one_failed_order_is_shown_whatever_was_asked() -> None:
    form = form_of(json.dumps(orders()), "How is business?")
    assert "card refused" in [row.get("problem") for row in form["rows"]]
    assert form["digest"]["status"]["counts"]["failed"] == 1


@pytest.mark.parametrize("odd", [{"load": 977.5}, {"load": -400}, {"load": "n/a"}, {"load": 50, "extra": "x"}, {}])
def test_a_row_that_sticks_out_is_shown(odd: dict[str, Any]) -> None:
    rows: list[dict[str, Any]] = [{"host": f"h{at}", "load": 40 + at % 20, "words": words(12, at)} for at in range(900)]
    rows[444] = {"host": "h444", **odd, "words": words(12, 444)}
    assert "h444" in [row["host"] for row in form_of(json.dumps(rows))["rows"]]


def test_the_digest_tells_of_all_rows() -> None:
    form = form_of(json.dumps(orders()))
    amounts = [order["amount"] for order in orders()]
    told = form["digest"]
    assert told["status"]["counts"] == {"open": 300, "paid": 300, "shipped": 299, "failed": 1}
    assert (told["amount"]["min"], told["amount"]["max"]) == (min(amounts), max(amounts))
    assert told["amount"]["mean"] == pytest.approx(sum(amounts) / len(amounts), rel=1e-5)
    days = form_of(json.dumps(reviews()))["digest"]["day"]
    assert (days["from"], days["to"]) == (min(row["day"] for row in reviews()), max(row["day"] for row in reviews()))


def test_the_schema_gives_each_field_its_type_and_how_much_of_it_is_filled() -> None:
    form = form_of(json.dumps(orders()))
    schema = {each["field"]: each for each in form["schema"]}
    assert list(schema) == ["order", "customer", "amount", "status", "problem"]
    assert (schema["amount"]["type"], schema["amount"]["filled"]) == ("number", 1)
    assert schema["problem"] == {"field": "problem", "type": "string|null", "filled": 0.01}


def test_extremes_beyond_a_float_are_exact() -> None:
    rows = [{"n": 10**25 + at * 7 % 900, "words": words(12, at)} for at in range(900)]
    told = form_of(json.dumps(rows))["digest"]["n"]
    assert (told["min"], told["max"]) == (10**25, 10**25 + 899)


@pytest.mark.parametrize("odd", ["1e99999999999999999999", "-1e99999999999999999999", "1E-99999999999999999999"])
def test_a_number_beyond_all_reckoning_harms_nothing(odd: str) -> None:
    rows = [f'{{"n": {odd if at == 450 else at}, "words": "{words(12, at)}"}}' for at in range(900)]
    assert '"total_rows":900' in shown(f"[{', '.join(rows)}]")[1]


def test_fields_that_say_nothing_go_first_and_the_form_says_which() -> None:
    rows = [
        {
            "id": at,
            "name": words(18, at),
            "again": words(18, at),
            "always": "eu-1",
            "never": None,
            "page": "<p>" + words(500, at),
        }
        for at in range(150)
    ]
    made, text = shown(json.dumps(rows))
    form = json.loads(text)
    assert {each.field: each.why for each in made.dropped} == {
        "again": "duplicate",
        "always": "constant",
        "never": "empty",
        "page": "giant",
    }
    assert all(list(row) == ["id", "name"] for row in form["rows"])
    assert form["truncated"], "pages are missing"
    assert "page (giant)" in form["note"]
    schema = {each["field"]: each for each in form["schema"]}
    assert schema["always"]["value"] == "eu-1"
    assert schema["again"]["same_as"] == "name"


def test_what_says_nothing_may_go_without_anything_being_missing() -> None:
    rows = [{"id": at, "name": words(10, at), "empty": "", "always": words(35, 1)} for at in range(150)]
    form = form_of(json.dumps(rows))
    assert (form["returned_rows"], form["truncated"]) == (150, False)


def test_the_fields_that_the_user_named_are_the_ones_shown() -> None:
    settings = ToolSettings(keep_fields=("rating", "id", "nonsense"))
    form = form_of(json.dumps(reviews()), settings=settings)
    assert all(list(row) == ["id", "rating"] for row in form["rows"])
    assert form["returned_rows"] == 312


def test_named_fields_are_obeyed_from_heavy_on_even_if_all_would_fit() -> None:
    text = json.dumps(reviews(36))
    assert small_form(text) is None
    form = form_of(text, settings=ToolSettings(keep_fields=("id", "rating")))
    assert list(form["rows"][0]) == ["id", "rating"]
    assert small_form(json.dumps(reviews(20)), settings=ToolSettings(keep_fields=("id",))) is None


def test_named_fields_that_no_row_has_count_as_none_named() -> None:
    assert form_of(json.dumps(reviews()), settings=ToolSettings(keep_fields=("gone",)))["rows"][0]["text"]


def test_one_tools_own_budget_holds() -> None:
    made, _ = shown(json.dumps(reviews()), settings=ToolSettings(budget=1500))
    assert made.after <= 1500


def test_rows_under_a_key_are_found_and_what_stood_beside_them_is_told() -> None:
    text = json.dumps({"data": {"items": reviews(), "next": "cursor-99"}, "took": 0.25})
    form = form_of(text)
    assert form["total_rows"] == 312
    assert "data.items" in form["note"]
    assert "cursor-99" in form["note"]
    assert "0.25" in form["note"]


def test_a_row_that_alone_is_too_large_is_cut_and_says_so() -> None:
    rows = [{"id": at, "text": words(1500, at)} for at in range(8)]
    form = form_of(json.dumps(rows), limits=Limits(rows=2000))
    assert (form["returned_rows"], form["truncated"]) == (8, True)
    assert "more characters]" in form["rows"][0]["text"]
    assert "are cut" in form["note"]


@pytest.mark.parametrize("fields", [300, 2000])
def test_very_wide_rows_keep_their_bound_and_say_how_many_fields_there_are(fields: int) -> None:
    rows = [{f"field_{name}": f"{name}:{at * name % 17}" for name in range(fields)} for at in range(60)]
    made, text = shown(json.dumps(rows))
    assert made.after <= 6000
    assert json.loads(text)["returned_rows"] >= 5
    assert "more_fields" in text


def test_rows_that_share_hardly_a_field_say_that_most_fields_are_not_shown() -> None:
    rows = [{"id": at, f"only_{at}": words(12, at)} for at in range(900)]
    form = form_of(json.dumps(rows))
    assert form["truncated"]
    assert "too many to be told" in form["note"]
    kept = form_of(json.dumps(rows), settings=ToolSettings(keep_fields=("only_899",)))
    assert {"only_899": words(12, 899)} in kept["rows"]


def test_mixed_rows_are_shown_as_they_are() -> None:
    rows: list[Any] = [at if at % 3 else [at, words(6, at)] for at in range(3000)]
    form = form_of(json.dumps(rows))
    assert form["rows"][:5] == rows[:5]


def test_nan_is_no_json_and_becomes_null_which_the_note_says() -> None:
    rows = [
        {"id": at, "value": float("nan") if at == 7 else at / 3, "note": f"NaN {words(9, at)}"} for at in range(900)
    ]
    form = form_of(json.dumps(rows))
    assert form["rows"][7]["value"] is None
    assert form["rows"][7]["note"].startswith("NaN ")
    assert "stand as null" in form["note"]


def test_without_a_way_to_fetch_the_form_promises_none() -> None:
    form = form_of(json.dumps(reviews()), limits=Limits(fetch=""))
    assert "fetch" not in form["note"]
    assert "cannot be had from here" in form["note"]


@pytest.mark.parametrize("budget", [1, 200, 260, 400, 800])
@pytest.mark.parametrize("wide", [False, True])
def test_even_a_tiny_budget_gives_valid_json_with_a_handle(budget: int, wide: bool) -> None:
    rows = [
        {f"{words(3, at)} {name}": words(30, at) for name in range(60 if wide else 4)}
        for at in range(40 if wide else 300)
    ]
    made, text = shown(json.dumps(rows), settings=ToolSettings(budget=budget))
    assert made.after <= max(budget, 200)
    form = json.loads(text)
    assert form["truncated"]
    assert form["handle"].startswith("res_")
