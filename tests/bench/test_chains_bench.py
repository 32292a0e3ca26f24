"""The bench of chains: its prompt cache on examples made by hand, its upstreams' chains, and one short run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from app.upstreams.gemini import gemini
from app.upstreams.openai import openai
from bench.chains.billing import Bill, PromptCache
from bench.chains.chats import kinds
from bench.chains.prices import RATES, Rates
from bench.memory.bodies import Body, Said, made
from bench.memory.prices import Price
from bench.memory.spoken import APIS
from bench.memory.summarisers import good, half
from bench.memory.upstream import Upstream, running_upstream

ROOT = Path(__file__).resolve().parents[2]
LONG = "word " * 1500
ASKED = {
    "interactions": ("/v1beta/interactions", "input", "previous_interaction_id", "system_instruction"),
    "responses": ("/v1/responses", "input", "previous_response_id", "instructions"),
}


def sent(*words: str, model: str = "m", tools: bytes = b"") -> Body:
    said = [Said(text.encode(), "user" if at % 2 == 0 else "assistant", text) for at, text in enumerate(words)]
    return made(said, tools=tools, model=model, stream=False, limit=0, size=100)


def test_a_prompt_is_cached_for_five_minutes_from_its_last_use_and_only_if_it_is_long_enough():
    cache, first = PromptCache(), sent(LONG)
    assert cache.read(first, 0) == 0
    grown = sent(LONG, "yes", "more")
    assert cache.read(grown, 300) == first.sizes[0]
    assert cache.read(grown, 500) == sum(grown.sizes)
    assert cache.read(grown, 801) == 0
    assert cache.read(sent("short"), 801) == cache.read(sent("short"), 801) == 0


def test_another_model_other_tools_and_other_words_share_no_cache():
    cache = PromptCache()
    cache.read(sent(LONG), 0)
    assert cache.read(sent(LONG, model="other"), 0) == 0
    assert cache.read(sent(LONG, tools=b"[{}]"), 0) == 0
    assert cache.read(sent(LONG + "."), 0) == 0


RATED = Rates(Price("large", 2, 0.2, 10), Price("small", 0.5, 0.05, 4))


def test_a_bill_counts_what_is_cached_and_what_the_summariser_reads_and_writes_at_their_own_prices():
    bill, prompt = Bill(), sent(LONG)
    bill.take(prompt, 0, summary=False, answered=7)
    assert bill.spent.weighted(RATED) == prompt.tokens
    bill.take(prompt, 10, summary=False, answered=7)
    assert bill.spent.weighted(RATED) == pytest.approx(prompt.tokens * 2 - prompt.sizes[0] * 0.9)
    other = sent(LONG, model="small")
    bill.take(other, 10, summary=True, answered=100)
    assert bill.spent.summaries(RATED) == pytest.approx(other.tokens / 4 + 200)
    assert bill.spent.summaries(RATED.own) == pytest.approx(other.tokens + 500)
    bill.take(other, 20, summary=True, answered=0)
    cached = other.tokens - other.sizes[0] * 0.9
    assert bill.spent.summaries(RATED) == pytest.approx((other.tokens + cached) / 4 + 200)
    assert (bill.asked, bill.requests, bill.wired) == (2, 2, 400)


def test_summaries_are_priced_at_the_model_that_writes_them_by_default():
    assert RATES["interactions"].summary.model == gemini("g", "", "k").small
    assert RATES["responses"].summary.model == openai("o").small


def test_a_good_summariser_leaves_out_what_tools_returned_before_what_was_said_and_keeps_its_draft():
    rows = "\n".join(f"Row {number} has 77{number}." for number in range(200))
    asked = f"<said user>The code is QX-4711.\n<said tool>{rows}\n<said assistant>Noted.\n</said>"
    assert good(asked, 5_000).count("\n") == 200
    assert good(asked, 40) == "- The code is QX-4711."
    again = (
        "<said-draft>\n- The code is QX-4711.\n</said-draft>\n<said-missing>\n- 10:30 (in: at 10:30)\n</said-missing>"
    )
    assert good(again, 100).splitlines() == ["- 10:30 (in: at 10:30)", "- The code is QX-4711."]
    assert half(again, 100) == "- The code is QX-4711."


@pytest.mark.parametrize("api", ["interactions", "responses"])
async def test_a_chain_brings_the_history_back_and_nothing_else_and_is_billed_whole(api: str):
    path, given, previous, system = ASKED[api]
    async with running_upstream() as upstream, aiohttp.ClientSession(upstream.url, trust_env=False) as client:
        first = await _asked(client, path, {"model": "m", given: "The code is 4711.", system: "Be brief."})
        second = await _asked(client, path, {"model": "m", given: "And now?", previous: first["id"]})
        assert second["id"] != first["id"]
        one, two = (record.sent for record in upstream.records)
        assert (one.roles, two.roles) == (("system", "user"), ("user", "assistant", "user"))
        assert two.texts[0] == "The code is 4711."
        assert (two.held, two.before, two.tokens) == (2, first["id"], 3 + sum(two.sizes))
        assert _input_tokens(second) == two.tokens


@pytest.mark.parametrize("api", ["interactions", "responses"])
async def test_an_answer_that_was_not_to_be_stored_and_an_unknown_one_cannot_be_continued(api: str):
    path, given, previous, _ = ASKED[api]
    async with running_upstream() as upstream, aiohttp.ClientSession(upstream.url, trust_env=False) as client:
        await _asked(client, path, {"model": "m", given: "Hello.", "store": False})
        assert upstream.kept == {}
        async with client.post(path, json={"model": "m", given: "And?", previous: "v1_none"}) as answer:
            assert answer.status == 404
        assert len(upstream.refused) == 1


async def _asked(client: aiohttp.ClientSession, path: str, body: dict[str, Any]) -> dict[str, Any]:
    async with client.post(path, json=body) as answer:
        assert answer.status == 200
        return await answer.json()


def _input_tokens(answer: dict[str, Any]) -> int:
    usage = answer["usage"]
    return usage["total_input_tokens"] if "total_input_tokens" in usage else usage["input_tokens"]


@pytest.mark.parametrize("api", list(APIS))
async def test_a_call_and_its_result_are_read_in_every_api_as_what_they_are(api: str):
    from bench.chains.proxy import proxy
    from bench.chains.rhythm import Clock

    kind = kinds(1, 10)["medium tools"]
    upstream = Upstream()
    async with running_upstream(upstream), proxy(upstream.url, APIS[api], Clock(), {}) as through:
        upstream.begin()
        upstream.script = [kind.calls(1)]
        chat: list[dict[str, Any]] = [{"role": "user", "content": "Look it up."}]
        body = {"model": APIS[api].model, "tools": kind.tools, "messages": chat}
        chat.append(await through.ask(body))
        chat += [{"role": "tool", "tool_call_id": chat[-1]["tool_calls"][0]["id"], "content": "[41, 42]"}]
        answer = await through.ask(body)
        assert answer["content"]
        last = upstream.records[-1].sent
        assert last.roles == ("user", "assistant", "tool")
        assert last.parsed[2]["tool_call_id"] == last.parsed[1]["tool_calls"][0]["id"]
        assert "41" in last.texts[2]
        assert bool(last.before) == APIS[api].chains
        assert upstream.refused == []


def test_the_same_seed_makes_the_same_chats_and_bulky_results_are_as_large_as_they_say():
    made_once = kinds(3, 20)
    assert made_once == kinds(3, 20)
    bulky = [turn.result for turn in made_once["bulky tools"].turns if turn.result]
    assert len(bulky) == 3
    assert all(len(one) > 80_000 for one in bulky)


def test_a_short_run_plays_every_way_under_each_rhythm_and_says_if_foldline_costs_too_much(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-m", "bench.chains", "--turns", "10", "--kinds", "short", "--judges", str(tmp_path / "none")],
        cwd=ROOT,
        env={"PATH": "/usr/sbin:/usr/bin:/bin", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| short |")]
    assert [row[1:3] for row in rows[:6]] == [
        [g, w] for g in ("10 s", "20 min") for w in ("resend", "chain", "Foldline")
    ]
    continued = [row[4] for row in rows[:6]]
    assert continued == ["0.0%", "90.0%", "90.0%"] * 2
    assert any("| met |" in line for line in done.stdout.splitlines())
    assert list(tmp_path.iterdir()) == []
