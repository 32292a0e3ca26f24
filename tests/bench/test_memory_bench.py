"""The conversation bench: its arithmetic on examples made by hand, and one quick run from end to end."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.memory import tokens
from bench.memory.bodies import Body, body, extends, faults, prefix_share, shared_tokens
from bench.memory.facts import MOST, facts
from bench.memory.outcome import Outcome, outcome
from bench.memory.play import Run, window
from bench.memory.prices import Paid, Price, cost, paid, total
from bench.memory.summarisers import good, half, none
from bench.memory.talk import talk
from bench.memory.targets import targets
from bench.memory.upstream import Record

ROOT = Path(__file__).resolve().parents[2]
PLAIN = Price("plain", input=2.0, cached=0.5, output=8.0, least=100, step=10)
WRITING = Price("writing", input=2.0, cached=0.2, output=8.0, write=2.5, least=100)


def sent(*messages: dict[str, Any], **more: Any) -> Body:
    return body(json.dumps({"model": "m", "messages": messages, **more}, ensure_ascii=False).encode())


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def test_a_request_extends_another_only_if_it_begins_with_every_byte_of_its_messages():
    first = sent(user("one"))
    assert extends(first, sent(user("one"), assistant("two"), user("three")))
    assert not extends(first, sent(user("one "), assistant("two"), user("three")))
    assert not extends(first, sent({"content": "one", "role": "user"}, user("three")))
    assert not extends(first, sent(user("one"), user("three"), tools=[{"type": "function"}]))


def test_the_prefix_share_is_the_share_of_the_request_before_that_stands_at_the_beginning_of_the_next():
    first = sent(user("aaaa"), user("bbbb"))
    assert prefix_share(first, sent(user("aaaa"), user("bbbb"), user("c"))) == 1
    one = len(json.dumps(user("aaaa")))
    changed = prefix_share(first, sent(user("aaaa"), user("xxxx")))
    same_start = len(',{"role": "user", "content": "')
    assert changed == pytest.approx((one + same_start) / (2 * one + 1))


def test_the_tokens_shared_with_an_earlier_request_are_those_of_its_longest_equal_beginning():
    old, older = sent(user("hello there"), assistant("good morning")), sent(user("something else"))
    now = sent(user("hello there"), assistant("good morning"), user("and now this"))
    assert shared_tokens([older, old], now) == now.sizes[0] + now.sizes[1]
    assert shared_tokens([older], sent(assistant("never said"))) == 0
    assert shared_tokens([], now) == 0


def test_a_cached_prefix_is_paid_at_its_discount_in_the_providers_steps_and_only_from_its_least_size_on():
    assert paid(PLAIN, prompt=1000, shared=557, whole=0, answered=20) == Paid(450, 550, 0, 20)
    assert paid(PLAIN, prompt=1000, shared=99, whole=0, answered=20) == Paid(1000, 0, 0, 20)
    assert cost(PLAIN, Paid(450, 550, 0, 20)) == pytest.approx((450 * 2 + 550 * 0.5 + 20 * 8) / 1e6)


def test_where_writing_to_the_cache_costs_something_only_whole_earlier_requests_are_read_from_it():
    assert paid(WRITING, prompt=1000, shared=990, whole=600, answered=5) == Paid(0, 600, 400, 5)
    assert paid(WRITING, prompt=90, shared=80, whole=80, answered=5) == Paid(90, 0, 0, 5)
    assert cost(WRITING, Paid(0, 600, 400, 5)) == pytest.approx((600 * 0.2 + 400 * 2.5 + 5 * 8) / 1e6)


def test_a_conversation_costs_the_sum_of_its_requests_each_reading_what_the_one_before_wrote():
    long = "word " * 200
    first = sent({"role": "system", "content": "s"}, user(long))
    second = sent({"role": "system", "content": "s"}, user(long), assistant("fine"), user(long))
    told = sum(first.sizes)
    assert total(WRITING, [(first, 0, 10), (second, told, 10)]) == pytest.approx(
        cost(WRITING, Paid(0, 0, first.tokens, 10)) + cost(WRITING, Paid(0, told, second.tokens - told, 10))
    )


def test_a_call_without_its_result_and_a_result_without_its_call_are_faults():
    call: dict[str, Any] = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    called: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "seen"}
    assert faults(sent(user("go"), called, result)) == []
    assert faults(sent(user("go"), called, user("and?"))) == ["message 2 comes before the results of 1 calls"]
    assert faults(sent(user("go"), called)) == ["1 calls have no result"]
    assert faults(sent(user("go"), result)) == ["message 1 is a result without its call"]


def test_a_sliding_window_keeps_the_system_text_and_the_newest_messages_within_its_budget():
    chat = [{"role": "system", "content": "rules"}, *(user(f"message {number}") for number in range(50))]
    kept = window(100)(chat)
    assert kept[0] == chat[0]
    assert kept[1:] == chat[-len(kept) + 1 :]
    assert 90 < sent(*kept).tokens <= 100
    assert window(1)(chat) == [chat[0], chat[-1]]


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_seed_always_makes_the_same_talk_and_every_value_stands_in_it_exactly_once(language: str):
    made = talk(7, language, 120)
    assert made == talk(7, language, 120)
    assert made != talk(8, language, 120)
    assert len(made.planted) == 60
    everything = "\n".join(made.said)
    assert [fact.value for fact in made.planted if everything.count(fact.value) != 1] == []
    assert [fact for fact in made.planted if fact.question not in made.said[-1]] == []


def test_every_kind_of_fact_comes_in_both_languages():
    import random

    kinds = [{fact.kind for fact in facts(random.Random(1), language, MOST)} for language in ("en", "ja")]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_good_summariser_keeps_every_fact_the_second_loses_about_half_and_the_third_all(language: str):
    made = talk(3, language, 80)
    text = "\n".join(made.said[:-1])
    summaries = [summarise(text, 0) for summarise in (good, half, none)]
    kept = [sum(fact.value in summary for fact in made.planted) for summary in summaries]
    assert kept[0] == len(made.planted)
    assert 0.25 < kept[1] / len(made.planted) < 0.75
    assert kept[2] == 0


def test_what_a_run_shows_counts_facts_requests_and_summaries():
    made = talk(1, "en", 4, count=2)
    one, two = sent(user("a")), sent(user("a"), assistant("b"), user(made.planted[0].value))
    question = sent({"role": "system", "content": "Summarise this"}, user("a"))
    records = (_record(one), _record(question), _record(two))
    seen = outcome(Run("foldline, half", made, records, (0.1, 0.2, 0.3)), budget=4)
    assert (seen.in_view, seen.facts) == (1, 2)
    assert (seen.chat, seen.sent) == (one.tokens + two.tokens, one.tokens + two.tokens + question.tokens + 7)
    assert (seen.summaries, seen.extending, seen.prefix, seen.peak) == (1, 1, 1, two.tokens)
    assert seen.over == two.tokens - two.newest - 4
    assert seen.p50 == pytest.approx(200)


def test_targets_are_measured_on_the_worst_run_through_foldline():
    made = talk(1, "en", 3, count=1)
    all_of_it = outcome(Run("everything", made, (_record(sent(user("word " * 400))),), (0.1,)), budget=100)
    few = outcome(Run("foldline, half", made, (_record(sent(user(made.planted[0].value))),), (0.1,)), budget=100)
    met = {target.text: target.met for target in targets({"everything": all_of_it, "foldline, half": few})}
    assert set(met.values()) == {True}
    worse = outcome(Run("foldline, none", made, (_record(sent(user("word " * 300))),) * 2, (0.1,)), budget=1)
    told = {each.text: each for each in targets({"everything": all_of_it, "foldline, none": worse})}
    assert not told["tokens, of sending everything"].met


def _record(request: Body) -> Record:
    return Record(request, request.asks_for_summary, cached=0, answered=7, at=0)


@dataclass(frozen=True)
class Quick:
    """What a quick run said and wrote, and where it ran."""

    told: str
    results: dict[str, Any]
    directory: Path


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Quick:
    """One quick run, as a user would start it."""
    directory = tmp_path_factory.mktemp("memory")
    file = directory / "result.json"
    done = subprocess.run(
        [sys.executable, "-m", "bench.memory", "--quick", "--judges", str(directory / "none"), "--json", str(file)],
        cwd=ROOT,
        env={"PATH": "/usr/sbin:/usr/bin:/bin", "TMPDIR": str(directory)},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Quick(done.stdout, json.loads(file.read_text()), directory)


def test_a_quick_run_plays_every_policy_and_says_of_every_target_if_it_is_met(quick: Quick):
    runs = quick.results["runs"]["en"]
    assert set(runs) == {"everything", "window", "foldline, half"}
    assert all(run["failures"] == [] and run["faults"] == [] for run in runs.values())
    rows = [line for line in quick.told.splitlines() if line.startswith("| en |")]
    assert len(rows) == 6
    assert all(row.endswith(("| met |", "| NOT MET |")) for row in rows)


def test_a_quick_run_folds_and_everything_sent_directly_is_everything(quick: Quick):
    runs = quick.results["runs"]["en"]
    everything = runs["everything"]
    assert (everything["in_view"], everything["extending"], everything["summaries"]) == (everything["facts"], 1, 0)
    assert runs["foldline, half"]["summaries"] > 0
    assert runs["foldline, half"]["chat"] < everything["chat"]


def test_without_the_outside_tokenizer_the_bench_says_what_it_counts_by(quick: Quick):
    assert "not installed" in quick.told
    assert quick.results["tokens"] == tokens.tokenizer()


def test_a_quick_run_removes_what_it_wrote(quick: Quick):
    assert [each.name for each in quick.directory.iterdir()] == ["result.json"]


@pytest.mark.parametrize("api", ["interactions", "responses"])
def test_a_quick_run_against_an_upstream_that_keeps_chains_continues_them_and_holds_the_same_facts(
    api: str, quick: Quick, tmp_path: Path
):
    file = tmp_path / "result.json"
    done = subprocess.run(
        [sys.executable, "-m", "bench.memory", "--quick", "--upstream", api, "--judges", "none", "--json", str(file)],
        cwd=ROOT,
        env={"PATH": "/usr/sbin:/usr/bin:/bin", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    run = json.loads(file.read_text())["runs"]["en"]["foldline, half"]
    plain = quick.results["runs"]["en"]["foldline, half"]
    assert (run["in_view"], run["faults"], run["failures"]) == (plain["in_view"], [], [])
    assert run["continued"] > 0.5
    assert plain["continued"] == 0
    assert run["wired"] < plain["wired"]


def test_an_outcome_can_be_written_as_json():
    made = talk(1, "en", 3, count=1)
    seen = outcome(Run("window", made, (_record(sent(user("a"))),), (0.1,)), budget=100)
    assert Outcome(**json.loads(json.dumps(seen.as_json()))).in_view == 0
