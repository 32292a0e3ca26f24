"""The retention gate: what counts as kept, and what is carried word for word through many folds."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.critical import Said, critical
from app.context.retention import Fact, Verdict, carried, verdict

FILLER = "The team talked about pipes and valves at length. "


def cost(line: str) -> int:
    return sum(2 if ord(char) > 0x2FF else 1 for char in line) // 3 + 1


def kept(said: str, text: str) -> Verdict:
    return verdict(critical([Said("user", said)]), text)


@pytest.mark.parametrize(
    ("said", "text", "holds"),
    [
        ("fix INV-2093 first", "INV-20931 is fixed", False),
        ("it takes 12 there", "it takes 1200", False),
        ("it takes 1,200 there", "it takes 1200.", True),
        ("ask for Ann there", "the Annual report", False),
        ("we met Ann Miller", "Miller was met", True),
        ("we met Ann Miller", "Ann was met", False),
        ("by 30 Nov 2026", "2026年11月30日まで", True),
        ("by Nov 30", "by 2026-11-30", True),
        ("by 2025-11-30", "by 2026-11-30", False),
        ("with 12 GB", "with 12", False),
        ("佐藤さんに聞く", "佐藤様に聞いた", True),
        ("merge into `main` first", "merged into main", True),
        ("Never send private data abroad.", "They spoke of pipes. Private data is never sent abroad.", True),
        ("Never send private data abroad.", "Send private data abroad.", False),
        ("Never send private data abroad.", "Never mind. Private talk.\nData abroad.", False),
        ("会議は月曜を避けてほしい。", "ユーザーは会議の月曜開催を避けたい。", True),
        ("会議は月曜を避けてほしい。", "会議は月曜です。", False),
    ],
)
def test_whole_facts_are_kept_in_any_form_and_never_parts_of_them(said: str, text: str, holds: bool) -> None:
    assert (kept(said, text).score == 1.0) is holds


def test_nothing_critical_is_nothing_lost() -> None:
    assert verdict((), "") == Verdict(1.0, 0, 0, ())


def test_tokens_of_one_clause_share_a_line_that_can_be_understood() -> None:
    wanted = critical([Said("user", "Fix invoice INV-20931: the table is in apps/billing/ports.yaml. " + FILLER * 60)])
    (fact,) = carried(wanted, 200, cost)
    assert fact.text == "Fix invoice INV-20931: the table is in apps/billing/ports.yaml."
    assert len(fact.keys) == 2
    assert msgspec.json.decode(msgspec.json.encode(fact), type=Fact) == fact
    assert verdict(wanted, "", (fact,)).score == 1.0


def test_a_rule_and_the_values_in_it_share_one_line_that_is_whole_or_only_its_values() -> None:
    wanted = critical([Said("user", "Never change the order INV-20931 without a word to me.")])
    (fact,) = carried(wanted, 200, cost)
    assert fact.text == 'The user said: "Never change the order INV-20931 without a word to me."'
    assert verdict(wanted, "", (fact,)).score == 1.0
    (tight,) = carried(wanted, 8, cost, before=(fact,))
    assert (tight.text, tight.keys) == ("INV-20931", ("word:inv-20931",))


@pytest.mark.parametrize(
    "said", ["About breakfast: I prefer tea with lemon from Assam.", "朝ごはんについては、レモン入りの紅茶が好みです。"]
)
def test_a_wish_that_only_names_something_outlives_incidental_numbers_and_is_never_cut_to_the_name(said: str) -> None:
    wish = critical([Said("user", said)])
    assert {one.kind for one in wish} == {"rule", "name"}
    (fact,) = carried(wish, 200, cost)
    assert said in fact.text
    noise = critical([Said("user", " ".join(f"It took {300 + at} minutes." for at in range(40)))])
    room = cost(f"- {fact.text}\n") + 60
    crowded = carried(noise, room, cost, before=(fact,))
    assert fact in crowded
    assert 1 < len(crowded) < 41
    assert carried((), cost(f"- {fact.text}\n") - 1, cost, before=(fact,)) == ()


def test_earlier_facts_stay_as_they_are_until_the_summary_holds_them() -> None:
    before = carried(critical([Said("user", "use INV-1 here"), Said("user", "use INV-2 there")]), 200, cost)
    after = carried(critical([Said("user", "and INV-3")]), 200, cost, before=before, text="INV-1 is used.")
    assert [fact.text for fact in after] == [before[1].text, "and INV-3"]


@given(budget=st.integers(0, 300))
@settings(max_examples=25, deadline=None)
def test_the_list_never_takes_more_than_its_budget(budget: int) -> None:
    wanted = critical([Said("user", f"Order ORD-{number} must ship to depot {number * 7}. ") for number in range(30)])
    assert sum(cost(fact.text) for fact in carried(wanted, budget, cost)) <= budget


@given(seed=st.integers(1_000, 9_000), english=st.booleans())
@settings(max_examples=12, deadline=None)
def test_sixty_facts_survive_ten_folds_with_a_summary_that_says_nothing(seed: int, english: bool) -> None:
    ids = [f"INV-{seed + 13 * number}" for number in range(60)]
    filler = FILLER if english else "配管とバルブについて長く話し合いました。"
    facts: tuple[Fact, ...] = ()
    for turn in range(10):
        new = ids[6 * turn : 6 * turn + 6]
        lines = [f"Please settle {one} soon. " if english else f"請求書{one}を処理してください。" for one in new]
        said = [Said("user", "".join(filler * 5 + line for line in lines))]
        said.append(Said("tool", " ".join(f"row_{turn}_{row}=x{row}y" for row in range(300))))
        text = "They talked."
        facts = carried(verdict(critical(said), text).missing, 1024, cost, before=facts, text=text)
    words = "\n".join(fact.text for fact in facts)
    assert [one for one in ids if one not in words] == []
    assert sum(cost(fact.text) for fact in facts) <= 1024
