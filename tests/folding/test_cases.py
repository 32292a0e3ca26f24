"""What breaks elsewhere when chats are folded, as public bug reports tell it, each with its neighbours."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from tests.folding.conftest import StartFront
from tests.folding.exchanges import TOOL, exchange, faults
from tests.folding.provider import Json, Provider, Said, strings
from tests.folding.talk import MODELS, Talk, Wire
from tests.folding.words import prose

PIPES = "The team talked about pipes and valves at length. " * 60
WIRES: list[Wire] = ["openai", "gemini"]
BOTH = pytest.mark.parametrize("wire", WIRES)
EITHER = pytest.mark.parametrize(("wire", "stream"), [("openai", True), ("gemini", False)])


@pytest.fixture(autouse=True)
def _short(provider: Provider) -> None:
    provider.summarise = lambda call: Said("All of it was agreed.")
    provider.answer = lambda call: Said("Fine.")


# ---- calls and results belong together


@EITHER
@pytest.mark.parametrize("budget", [200, 900])
async def test_a_huge_old_result_never_leaves_its_call_or_loses_it(
    front: StartFront, provider: Provider, wire: Wire, stream: bool, budget: int
) -> None:
    async with front(fold_at_tokens=budget) as proxy:
        talk = proxy.talk(wire=wire, stream=stream, more={"tools": [TOOL[wire]]})
        talk.history.append(talk.user("Read the log."))
        talk.history += exchange(wire, 1, 1, 1500, "U0lHLUxPRw==")
        talk.history += [talk.assistant("Noted."), talk.user("Is the second host up?")]
        talk.history += exchange(wire, 2, 1, 5, "U0lHLVNUQVQ=")
        assert (await talk.go_on()).status == 200
    body = provider.last
    assert faults(body) == []
    assert "Is the second host up?" in body.texts
    assert "result 2.0" in body.text
    if wire == "gemini":
        assert "U0lHLVNUQVQ=" in body.raw.decode()


async def test_words_beside_results_do_not_tear_a_gemini_exchange_apart(front: StartFront, provider: Provider) -> None:
    async with front(fold_at_tokens=500) as proxy:
        talk = proxy.talk(wire="gemini", system="You are a careful clerk. RULE-17", more={"tools": [TOOL["gemini"]]})
        called, given = exchange("gemini", 1, 2, 700)
        called["parts"].insert(0, {"text": "Starting."})
        given["parts"].append({"text": "and now, continue."})
        talk.history += [talk.user("Go through the three files."), called, given]
        talk.history.append(talk.assistant("Two files done."))
        assert (await talk.say("What about the third file?")).status == 200
    body = provider.last
    assert faults(body) == []
    assert body.system == "You are a careful clerk. RULE-17"
    assert body.texts[-1] == "What about the third file?"


@BOTH
@pytest.mark.parametrize("calls", [1, 2, 4])
async def test_parallel_calls_are_folded_or_kept_together_wherever_the_budget_falls(
    front: StartFront, provider: Provider, wire: Wire, calls: int
) -> None:
    async with front(summary_when="before") as proxy:
        for budget in range(300, 1500, 150):
            talk = proxy.talk(wire=wire, more={"tools": [TOOL[wire]]}, options={"fold_at_tokens": budget})
            talk.session = f"s-{budget}"
            for turn in range(4):
                talk.history.append(talk.user(f"Files {turn}."))
                talk.history += [*exchange(wire, turn, calls, 80), talk.assistant(f"Done {turn}.")]
            assert (await talk.say("What about the others?")).status == 200
            assert faults(provider.last) == []
            assert provider.last.texts[-1] == "What about the others?"


@pytest.mark.parametrize(("wire", "model"), [("openai", MODELS["gemini"]), ("gemini", MODELS["openai"])])
async def test_a_folded_chat_is_whole_in_the_other_format_too(
    front: StartFront, provider: Provider, wire: Wire, model: str
) -> None:
    async with front(fold_at_tokens=700) as proxy:
        talk = proxy.talk(wire=wire, model=model, system="RULE-3", more={"tools": [TOOL[wire]]})
        for turn in range(6):
            talk.history.append(talk.user(f"Files {turn}."))
            talk.history += [*exchange(wire, turn, 2, 80), talk.assistant(f"Done {turn}.")]
        assert (await talk.say("What about the others?")).status == 200
    body = provider.last
    assert body.wire != wire
    assert faults(body) == []
    assert "RULE-3" in body.system
    assert body.tokens <= 800


# ---- two at once


@EITHER
async def test_two_requests_of_one_session_at_once_share_one_digest(
    front: StartFront, provider: Provider, wire: Wire, stream: bool
) -> None:
    def digests(call: object) -> Said:
        first = len(provider.summaries) == 1
        return Said(f"DIGEST-{'ONE' if first else 'TWO'}: three topics agreed.", after=0.3 if first else 0)

    provider.summarise = digests
    async with front(fold_at_tokens=700) as proxy:
        talk = proxy.talk(wire=wire, stream=stream, system="RULE-9", session="s-1")
        talk.pretend(*(text for at in range(3) for text in (f"Topic {at}. {PIPES}", f"Point {at} agreed.")))
        answers = await asyncio.gather(talk.ask("NEXT-QUESTION"), talk.ask("NEXT-QUESTION"))
    assert [answer.status for answer in answers] == [200, 200]
    assert len(provider.summaries) == 1
    assert len(provider.calls) == 2
    for call in provider.calls:
        assert call.texts[-1] == "NEXT-QUESTION"
        assert "DIGEST-TWO" not in call.text
        assert "DIGEST-ONE" in call.text
        assert faults(call) == []


# ---- what cannot be shortened


@EITHER
@pytest.mark.parametrize("budget", [50, 300])
async def test_a_question_larger_than_the_budget_arrives_whole_and_nothing_goes_round_in_circles(
    front: StartFront, provider: Provider, wire: Wire, stream: bool, budget: int
) -> None:
    question = "a long pasted paragraph about nothing much; " * 320 + " Q-END-77?"
    async with front(fold_at_tokens=budget) as proxy:
        talk = proxy.talk(wire=wire, stream=stream, system="RULE-2", session="s-1")
        assert (await talk.say(question)).status == 200
        await proxy.settled()
        assert [call.texts for call in provider.calls] == [[question]]
        assert len(provider.summaries) <= 1
        for turn in range(4):
            assert (await talk.say(f"short {turn}?")).status == 200
            await proxy.settled()
        assert len(provider.calls) == 5
        assert len(provider.summaries) <= 5, "no more than one a turn"


# ---- what a chat really takes


@BOTH
async def test_a_picture_is_not_counted_as_text(front: StartFront, provider: Provider, wire: Wire) -> None:
    data = "iVBORw0K" * 9000
    question = "What colour is the roof?"
    async with front(fold_at_tokens=8000) as proxy:
        talk = proxy.talk(wire=wire, model=MODELS["gemini"], session="s-1")
        if wire == "openai":
            picture: Json = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
            talk.history.append({"role": "user", "content": [{"type": "text", "text": question}, picture]})
        else:
            inline: Json = {"inlineData": {"mimeType": "image/png", "data": data}}
            talk.history.append({"role": "user", "parts": [{"text": question}, inline]})
        assert (await talk.go_on()).status == 200
        await proxy.settled()
        for turn in range(3):
            assert (await talk.say(f"And the door {turn}?")).status == 200
            assert data in provider.last.raw.decode()
        await proxy.settled()
    assert provider.summaries == []
    parts = provider.last.body["contents"][0]["parts"]
    assert [part["inlineData"] for part in parts if "inlineData" in part] == [{"mimeType": "image/png", "data": data}]
    assert question in provider.last.texts[0]


@EITHER
@pytest.mark.parametrize(
    "kind",
    ["会議は三番の部屋で十時に始まります。", "회의는 세 시에 큰 방에서 시작합니다. ", "会议十点在三号房间开始。"],
)
async def test_text_without_latin_letters_is_not_counted_at_four_characters_a_token(
    front: StartFront, provider: Provider, wire: Wire, stream: bool, kind: str
) -> None:
    async with front(fold_at_tokens=1000) as proxy:
        talk = proxy.talk(wire=wire, stream=stream, system="短く答えてください。")
        topics = [f"議題{at}。" + kind * 40 for at in range(4)]
        talk.pretend(*(text for topic in topics for text in (topic, "了解しました。")))
        assert (await talk.say("次の会議は何時ですか。")).status == 200
    body = provider.last
    assert topics[0] not in body.text
    assert body.texts[-1] == "次の会議は何時ですか。"
    assert body.system == "短く答えてください。"
    assert body.tokens <= 1100


# ---- what a summary must hold


CRITICAL = ("INV-20931", "apps/billing/ports.yaml", "8472", "fix/ports-b7")


@EITHER
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_ids_paths_and_numbers_survive_a_summary_that_forgets_them(
    front: StartFront, provider: Provider, wire: Wire, stream: bool, order: tuple[int, int]
) -> None:
    provider.summarise = lambda call: Said("The user wants an invoice to be fixed and the assistant is ready.")
    first = (
        f"Fix invoice INV-20931. The table is in apps/billing/ports.yaml, the limit is 8472. {PIPES}",
        f"Understood. I use branch fix/ports-b7. {PIPES}",
    )
    async with front(fold_at_tokens=900) as proxy:
        talk = proxy.talk(wire=wire, stream=stream, system="RULE-4", session="s-1")
        talk.pretend(*(first[at] for at in order), f"Good. {PIPES}", "Ready.")
        assert (await talk.say("Go on with the invoice.")).status == 200
    body = provider.last
    assert [value for value in CRITICAL if value not in body.text] == []
    assert PIPES.strip() not in body.text
    assert body.texts[-1] == "Go on with the invoice."


async def test_what_a_tool_call_and_its_result_said_survives_too(front: StartFront, provider: Provider) -> None:
    async with front(fold_at_tokens=700) as proxy:
        talk = proxy.talk(more={"tools": [TOOL["openai"]]})
        called, given = exchange("openai", 1, 1, 600)
        called["tool_calls"][0]["function"]["arguments"] = '{"path": "srv/data/ledger_2031.csv"}'
        given["content"] += " The checksum is 7f3a9c51d2."
        talk.history += [talk.user("Read it."), called, given, talk.assistant("Read.")]
        talk.pretend(*(prose(100, at) for at in range(6)))
        assert (await talk.say("Go on.")).status == 200
    assert "result 1.0 The" not in provider.last.text
    assert "srv/data/ledger_2031.csv" in provider.last.text
    assert "7f3a9c51d2" in provider.last.text


# ---- the provider's prompt cache


@EITHER
@pytest.mark.parametrize("when", ["behind", "before"])
async def test_the_turn_after_a_fold_extends_the_one_that_folded(
    front: StartFront, provider: Provider, wire: Wire, stream: bool, when: str
) -> None:
    async with front(fold_at_tokens=1200, summary_when=when) as proxy:
        talk = proxy.talk(wire=wire, stream=stream, system="RULE-6", session="s-1")
        talk.pretend(*(text for at in range(3) for text in (f"Topic {at}. {PIPES}", f"Point {at} agreed.")))
        for text in ("Name the last topic.", "Thanks.", "And the first?", "Good."):
            assert (await talk.say(text)).status == 200
            await proxy.settled()
    assert all(after.extends(before) for before, after in pairwise(provider.calls))
    assert len(provider.summaries) == 1


@BOTH
async def test_tools_and_system_text_are_the_same_bytes_before_and_behind_a_fold(
    front: StartFront, provider: Provider, wire: Wire
) -> None:
    async with front(fold_at_tokens=1200) as proxy:
        talk: Talk = proxy.talk(wire=wire, system="RULE-6", more={"tools": [TOOL[wire]]})
        for turn in range(14):
            assert (await talk.say(prose(100, turn))).status == 200
        await proxy.settled()
    fixed: set[tuple[Any, ...]] = {(str(call.body["tools"]), call.system) for call in provider.calls}
    assert len(fixed) == 1
    assert len(provider.summaries) >= 1
    assert all("stat" in "".join(strings(call.body["tools"])) for call in provider.calls)
