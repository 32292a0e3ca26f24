"""Critical tokens: what is found in a talk, what is the same fact, and what weighs more."""

from __future__ import annotations

import time

import pytest

from app.context.critical import Critical, Said, critical, keys_of
from app.context.retention import LIGHT


def found(text: str) -> dict[str, Critical]:
    return {one.value: one for one in critical([Said("user", text)])}


def key(text: str) -> str:
    tokens = critical([Said("user", f"so it is {text} then")])
    assert len(tokens) == 1, tokens
    return tokens[0].key


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("url", "https://a.example/x/(y)", "see https://a.example/x/(y)."),
        ("email", "ann@mail.example", "write to ann@mail.example, please"),
        ("path", "apps/billing/ports.yaml", "it is in apps/billing/ports.yaml, there"),
        ("path", "C:\\Users\\ann\\x.txt", "read C:\\Users\\ann\\x.txt now"),
        ("id", "INV-20931", "fix invoice INV-20931."),
        ("id", "ORD_5521", "and ORD_5521 too"),
        ("id", "fix/ports-b7", "on branch fix/ports-b7."),
        ("id", "550e8400-e29b-41d4-a716-446655440000", "job 550e8400-e29b-41d4-a716-446655440000 failed"),
        ("id", "v1.2.3", "with v1.2.3."),
        ("id", "+81 3-1234-5678", "call +81 3-1234-5678."),
        ("money", "$1,200.50", "it costs $1,200.50 in all"),
        ("money", "3万円", "予算は3万円です"),
        ("date", "30 Nov 2026", "by 30 Nov 2026."),
        ("time", "10:30 a.m.", "at 10:30 a.m. there"),
        ("number", "12 GB", "with 12 GB of it"),
        ("number", "302号室", "部屋は302号室です"),
        ("number", "8472", "the limit is 8472."),
        ("code", "fetch_all()", "use fetch_all() here"),
        ("code", "`main`", "merge into `main` first"),
        ("name", "Jan van de Berg", "we met Jan van de Berg there"),
        ("name", "佐藤さん", "昨日、佐藤さんと会いました"),
        ("name", "株式会社ミライ", "取引先は株式会社ミライです"),
        ("name", "東京駅", "集合は東京駅です"),
        ("name", "北館けやきの間", "面接は北館けやきの間で行います"),
        ("name", "第二会議室", "第二会議室に集まります"),
        ("id", "db1.example.net:5432", "it listens on db1.example.net:5432."),
        ("id", "10.20.30.40:8080", "接続先は 10.20.30.40:8080 です。"),
        ("quote", "do not do it", 'they said "do not do it" again'),
    ],
)
def test_every_kind_is_found_as_first_written(kind: str, value: str, text: str) -> None:
    tokens = found(text)
    assert value in tokens, tokens
    assert tokens[value].kind == kind
    assert value in tokens[value].context


@pytest.mark.parametrize(
    "same",
    [
        ("1,200", "1200", "１２００", "1200.0"),
        ("1.2万円", "12000円", "¥12,000"),
        ("$1,200.50", "1,200.50 USD"),
        ("1.200,50 €", "€1,200.50"),
        ("2026-11-30", "30 Nov 2026", "November 30th, 2026", "2026年11月30日", "令和8年11月30日", "11/30/2026"),
        ("10:30", "10時30分", "10:30 a.m.", "午前10時半"),
        ("INV-20931", "ＩＮＶ－２０９３１", "inv-20931"),
        ("https://A.example/x/", "https://a.example/x"),
    ],
)
def test_one_fact_has_one_key_however_it_is_written(same: tuple[str, ...]) -> None:
    assert len({key(text) for text in same}) == 1, [key(text) for text in same]


def test_plain_words_and_first_words_of_sentences_are_no_facts() -> None:
    assert not found("The team talked about pipes and valves at length. Pipes are well-known. Good.")


def test_a_name_that_begins_a_sentence_counts_once_it_stands_elsewhere() -> None:
    assert {one.key for one in critical([Said("user", "Miller called. I told Miller so.")])} == {"name:miller"}


@pytest.mark.parametrize(
    "rule",
    [
        "About meetings: I prefer nothing before lunch.",
        "Never send private data to external services.",
        "I'm allergic to shrimp.",
        "From now on answer in French.",
        "We decided to go with the smaller boat.",
        "エビアレルギーがあります。",
        "会議は月曜を避けてほしい。",
        "返事は必ずフランス語にしてください。",
    ],
)
def test_a_rule_in_plain_words_of_a_user_is_a_fact_and_reads_as_a_report(rule: str) -> None:
    (found,) = (one for one in critical([Said("user", rule)]) if one.kind == "rule")
    assert found.value == rule
    assert found.context in (f'The user said: "{rule}"', f"ユーザーの発言：「{rule}」")
    assert not [one for one in critical([Said("tool", rule)]) if one.kind == "rule"]


@pytest.mark.parametrize(
    "words",
    [
        "I like it, thanks.",
        "Do you always want tea?",
        "I don't know why it fails.",
        "It always rains here.",
        "That must have been the weather.",
        "よろしくお願いします。",
        "説明してください。",
        "```\nnever_mind = do_not(must)\n```",
    ],
)
def test_small_talk_questions_and_code_state_no_rule(words: str) -> None:
    assert not [one for one in critical([Said("user", words)]) if one.kind == "rule"]


def test_an_assistant_states_no_rule_unless_it_records_one() -> None:
    spoken = Said("assistant", "Always peel carrots before cooking. The user never wants carrots in the soup.")
    rules = [one.context for one in critical([spoken]) if one.kind == "rule"]
    assert rules == ['It was noted: "The user never wants carrots in the soup."']


def test_a_short_rule_comes_with_the_sentence_that_it_is_about() -> None:
    values = [
        one.value for one in critical([Said("user", "The cap is $500 in all. Never exceed it without approval.")])
    ]
    assert "The cap is $500 in all. Never exceed it without approval." in values


def test_at_most_a_quarter_of_all_tokens_are_rules() -> None:
    words = "".join(
        f"Never paint the {colour}{part} door. " for colour in "abcdefgh" for part in ("arch", "oak", "iron")
    )
    assert len([one for one in critical([Said("user", words)], most=40) if one.kind == "rule"]) == 10


def test_users_weigh_more_than_tools_and_rules_more_than_talk() -> None:
    (user,) = critical([Said("user", "it is A-100 here")])
    (tool,) = critical([Said("tool", "it is A-100 here")])
    (rule,) = critical([Said("user", "it must be A-100 here")])
    assert tool.weight < 0.3 < user.weight < rule.weight


def test_a_corrected_value_stays_beside_the_new_one_which_weighs_more() -> None:
    old, new = critical([Said("user", "The limit was 40."), Said("user", "The limit is now 50.")])
    assert (old.value, new.value) == ("40", "50")
    assert new.weight > old.weight


def test_most_keeps_the_weightiest_in_their_order() -> None:
    log = " ".join(f"row-{number}" for number in range(5_000))
    tokens = critical([Said("tool", log), Said("user", "fix INV-1 and INV-2")], most=2)
    assert [one.value for one in tokens] == ["INV-1", "INV-2"]


@pytest.mark.parametrize(
    "piece", ["a", "(", "/", "9", "a.", '"', "Aa ", "山", "-", "9,", "1 ", "+1 ", "../", "`", "```a1 "]
)
def test_the_time_grows_in_proportion_to_the_text(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        start = time.perf_counter()
        critical([Said("user", text)])
        return time.perf_counter() - start

    short = min(seconds(10_000) for _ in range(2))
    assert seconds(100_000) < 40 * short + 0.5  # ten times the text; a quadratic reader takes a hundred times as long


def test_what_a_summary_holds_of_tool_results_does_not_come_to_count_by_that() -> None:
    summary = Said("summary", "Order ORD-77 went out late; the log names INC-48213, 1200 EUR and 10:30.")

    def counts(counted: frozenset[str] | None) -> set[str]:
        return {one.value for one in critical([summary], counted=counted) if one.weight >= LIGHT}

    assert counts(None) == {"ORD-77", "INC-48213", "1200 EUR", "10:30"}
    assert counts(frozenset()) == set()
    assert counts(frozenset(["ORD-77"])) == {"ORD-77"}, "as it was written"
    assert counts(keys_of("€1,200")) == {"1200 EUR"}, "or in another spelling"


def test_a_rule_in_a_summary_always_counts() -> None:
    summary = Said("summary", "The user must never be called before nine.")
    assert [one.kind for one in critical([summary], counted=frozenset()) if one.weight >= LIGHT] == ["rule"]
