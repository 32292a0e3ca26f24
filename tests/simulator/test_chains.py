"""What the simulated providers keep: for how long, for whom, how it is lost, and what each turn costs."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from app.simulator.app import FIXED_TIME, create_simulator
from app.simulator.billing import Bill
from app.simulator.chains import DAY, ChainLostError, Chains, Turn

GEMINI, OPENAI = "/v1/interactions", "/v1/responses"
PREVIOUS = {GEMINI: "previous_interaction_id", OPENAI: "previous_response_id"}
BOTH = pytest.mark.parametrize("path", [GEMINI, OPENAI])


@dataclass
class Provider:
    """A simulator whose clock and memory are at hand."""

    now: int = FIXED_TIME
    chains: Chains = field(init=False)
    http: httpx2.AsyncClient = field(init=False)

    def __post_init__(self) -> None:
        self.chains = Chains(lambda: self.now)
        app = create_simulator(chains=self.chains, clock=lambda: self.now)
        headers = {"authorization": "Bearer lab", "x-goog-api-key": "lab"}
        transport = httpx2.ASGITransport(app=app)
        self.http = httpx2.AsyncClient(transport=transport, base_url="http://x", headers=headers)

    async def ask(self, path: str, text: str, after: str = "", *, key: str = "lab", **fields: Any) -> httpx2.Response:
        """One turn, after the one of that id."""
        body = {"model": "lab", "input": text} | ({PREVIOUS[path]: after} if after else {}) | fields
        headers = {"authorization": f"Bearer {key}", "x-goog-api-key": key}
        return await self.http.post(path, json=body, headers=headers)

    async def told(self, path: str, text: str, after: str = "", **fields: Any) -> str:
        """The id of a turn that went well."""
        answer = await self.ask(path, text, after, **fields)
        assert answer.status_code == 200, answer.text
        return answer.json()["id"]


@pytest.fixture
async def provider() -> AsyncGenerator[Provider]:
    made = Provider()
    async with made.http:
        yield made


def _is_lost(answer: httpx2.Response, path: str) -> bool:
    """Whether this is what that provider says of an id that it does not know."""
    error = answer.json()["error"]
    if path == GEMINI:
        return (answer.status_code, error["code"]) == (404, "not_found")
    return (answer.status_code, error["code"]) == (400, "previous_response_not_found")


@BOTH
async def test_a_lost_turn_is_unknown_and_so_is_what_continues_it(provider: Provider, path: str) -> None:
    first = await provider.told(path, "my name is Ada")
    second = await provider.told(path, "hello", first)
    assert provider.chains.lose(first) == 1
    assert _is_lost(await provider.ask(path, "x", first), path)
    assert _is_lost(await provider.ask(path, "x", second), path)
    assert (await provider.http.get(f"{path}/{second}")).status_code == 200


@BOTH
async def test_all_turns_of_one_key_can_be_lost(provider: Provider, path: str) -> None:
    mine, others = await provider.told(path, "hello"), await provider.told(path, "hello", key="other")
    await provider.ask(path, "hi [[lose=all]]")
    assert _is_lost(await provider.ask(path, "x", mine), path)
    assert (await provider.ask(path, "x", others, key="other")).status_code == 200
    assert provider.chains.lose() >= 2
    assert _is_lost(await provider.ask(path, "x", others, key="other"), path)


@BOTH
async def test_an_answer_can_be_forgotten_as_soon_as_it_is_given(provider: Provider, path: str) -> None:
    first = await provider.told(path, "my name is Ada [[lose]]")
    assert _is_lost(await provider.ask(path, "x", first), path)
    assert (await provider.ask(path, "my name is Ada, what is my name?")).status_code == 200


@BOTH
@pytest.mark.parametrize("stream", [True, False])
async def test_a_loss_can_be_the_first_event_of_a_stream(provider: Provider, path: str, stream: bool) -> None:
    first = await provider.told(path, "hello [[lose=stream]]")
    answer = await provider.ask(path, "x", first, stream=stream)
    events = [line for line in answer.text.splitlines() if line.startswith("data: {")]
    assert (answer.status_code, len(events)) == (200, 1)
    event = json.loads(events[0][6:])
    if path == GEMINI:
        assert (event["event_type"], event["error"]["code"]) == ("error", "not_found")
        assert answer.text.endswith("event: done\ndata: [DONE]\n\n")
    else:
        assert (event["type"], event["code"], event["sequence_number"]) == ("error", "previous_response_not_found", 0)


async def test_google_may_say_400_of_an_unknown_id(provider: Provider) -> None:
    first = await provider.told(GEMINI, "hello [[lose=400]]")
    answer = await provider.ask(GEMINI, "x", first)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request")
    assert "previous_interaction_id" in answer.json()["error"]["message"]


@BOTH
async def test_a_turn_can_seem_to_run_for_a_while(provider: Provider, path: str) -> None:
    first = await provider.told(path, "my name is Ada [[running=2]]")
    answers = [await provider.ask(path, "what is my name?", first) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [400, 400, 200]
    assert "still in progress" in answers[0].text
    assert "Your name is Ada." in answers[2].text
    for_ever = await provider.told(path, "hello [[running]]")
    assert (await provider.http.get(f"{path}/{for_ever}")).json()["status"] == "in_progress"
    assert (await provider.ask(path, "x", for_ever)).status_code == 400
    assert (await provider.http.post(f"{path}/{for_ever}/cancel")).json()["status"] == "cancelled"


@BOTH
async def test_orders_about_a_chain_hold_for_one_request_and_are_not_read_out(provider: Provider, path: str) -> None:
    answer = await provider.ask(path, "say: hello there [[running=0]]")
    assert '"hello there"' in answer.text
    assert (await provider.ask(path, "how many messages?", answer.json()["id"])).status_code == 200


@pytest.mark.parametrize(("path", "key", "days"), [(GEMINI, "lab", 55), (GEMINI, "free-tier", 1), (OPENAI, "lab", 30)])
async def test_turns_are_kept_as_long_as_the_provider_says(provider: Provider, path: str, key: str, days: int) -> None:
    first = await provider.told(path, "hello", key=key)
    provider.now += days * DAY - 1
    second = await provider.told(path, "hello", first, key=key)
    provider.now += 1
    assert _is_lost(await provider.ask(path, "x", first, key=key), path)
    assert _is_lost(await provider.ask(path, "x", second, key=key), path)


@BOTH
async def test_each_answer_has_a_bill_for_all_that_was_read(provider: Provider, path: str) -> None:
    first = await provider.told(path, "a" * 4000)
    second = await provider.ask(path, "b" * 400, first)
    third = await provider.ask(path, "c" * 40, second.json()["id"], store=False)
    bills = provider.chains.bills
    usages = [answer.json()["usage"] for answer in (second, third)]
    said = [usage.get("total_input_tokens") or usage.get("input_tokens") for usage in usages]
    assert (bills[0].id, bills[1].id) == (first, second.json()["id"])
    assert [bill.input for bill in bills[1:]] == said
    assert bills[1].input == bills[0].input + bills[0].output + 100 + 4 + 4
    assert 0 == bills[0].cached < bills[1].cached < bills[2].cached < bills[2].input
    assert all(bill.total == bill.input + bill.output + bill.thought for bill in bills)


@BOTH
async def test_a_refused_request_costs_nothing(provider: Provider, path: str) -> None:
    await provider.ask(path, "x", "unknown")
    await provider.ask(path, "[[fail=500]]")
    assert (provider.chains.bills, len(provider.chains)) == ((), 0)


@BOTH
async def test_a_stream_that_breaks_off_was_an_answer_all_the_same(provider: Provider, path: str) -> None:
    """The connection failed, and not the provider: it goes on from what the client has never seen whole."""
    answer = await provider.ask(path, "my name is Ada [[truncate=2]]", stream=True)
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
    assert len(events) == 2
    identity = (events[0].get("interaction") or events[0]["response"])["id"]
    assert "Your name is Ada." in (await provider.ask(path, "what is my name?", identity)).text


def _turn(identity: str, parent: str = "", text: str = "") -> Turn:
    return Turn(identity, "me", parent, ({"text": text},), (), "completed", FIXED_TIME + DAY, {})


def test_the_turns_that_were_not_used_for_longest_go_first() -> None:
    chains = Chains(lambda: FIXED_TIME, most=3)
    for identity, parent in (("a", ""), ("b", "a"), ("c", ""), ("d", "")):
        chains.keep(_turn(identity, parent))
        if identity == "c":
            assert [turn.id for turn in chains.line("me", "b")] == ["a", "b"]
    assert (len(chains), chains.found("me", "c")) == (3, None)
    assert [turn.id for turn in chains.line("me", "b")] == ["a", "b"]


def test_what_is_kept_is_bounded_by_its_size_too() -> None:
    chains = Chains(lambda: FIXED_TIME, most_characters=5000)
    for number in range(20):
        chains.keep(_turn(str(number), text="x" * 1000))
    assert [turn.id for number in range(20) if (turn := chains.found("me", str(number)))] == ["16", "17", "18", "19"]
    with pytest.raises(ChainLostError):
        chains.line("me", "3")


def test_the_newest_bills_are_kept() -> None:
    chains = Chains(lambda: FIXED_TIME, most=5)
    for number in range(20_000):
        chains.bill(Bill(str(number), 1))
    assert (len(chains.bills), chains.bills[-1].id) == (10_000, "19999")
