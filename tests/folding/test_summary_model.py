"""The model that writes summaries is pinned, and the one that really served is compared with it and shown."""

from __future__ import annotations

import pytest

from tests.folding.conftest import StartFront
from tests.folding.exchanges import TOOL
from tests.folding.provider import Provider, Said
from tests.folding.records import check_of
from tests.folding.talk import Wire
from tests.folding.words import prose

AT = 1800


@pytest.mark.parametrize("level", ["info", "warning"])
async def test_another_model_than_the_pinned_one_is_logged_counted_and_shown(
    front: StartFront, provider: Provider, capfd: pytest.CaptureFixture[str], level: str
) -> None:
    provider.summarise = lambda call: Said("They went on.", served="gpt-4o-mini-2024-07-18")
    async with front(fold_at_tokens=AT, summary_model="gpt-5-mini", log_level=level) as proxy:
        talk = proxy.talk()
        talk.pretend(*(prose(120, at) for at in range(24)))
        answer = await talk.say("question?")
        check = check_of(await proxy.record(answer.turn))
        assert await proxy.metric("foldline_summary_drift_total") == 1
    assert [call.model for call in provider.summaries] == ["gpt-5-mini"]
    assert (check["pinned"], check["served"], check["drifted"]) == ("gpt-5-mini", "gpt-4o-mini-2024-07-18", True)
    warned = [line for line in capfd.readouterr().err.splitlines() if "gpt-4o-mini-2024-07-18" in line]
    assert len(warned) == 1
    assert "warning" in warned[0].lower()
    assert "gpt-5-mini" in warned[0]


@pytest.mark.parametrize(
    ("wire", "pinned", "served"),
    [
        ("openai", "gpt-5-mini", "gpt-5-mini-2025-08-07"),
        ("gemini", "gemini-2.5-flash", "gemini-2.5-flash-001"),
        ("gemini", "gemini-2.5-flash", "models/gemini-2.5-flash"),
        ("openai", "gpt-5-mini", "GPT-5-mini"),
    ],
)
async def test_a_version_of_the_pinned_model_is_no_drift(
    front: StartFront, provider: Provider, capfd: pytest.CaptureFixture[str], wire: Wire, pinned: str, served: str
) -> None:
    provider.summarise = lambda call: Said("They went on.", served=served)
    async with front(fold_at_tokens=AT, summary_model=pinned, log_level="info") as proxy:
        talk = proxy.talk(wire=wire)
        talk.pretend(*(prose(120, at) for at in range(24)))
        answer = await talk.say("question?")
        check = check_of(await proxy.record(answer.turn))
        assert await proxy.metric("foldline_summary_drift_total") == 0
    assert check["served"] == served
    assert not check["drifted"]
    assert "drift" not in capfd.readouterr().err


async def test_a_smaller_sister_of_the_pinned_model_is_drift(front: StartFront, provider: Provider) -> None:
    provider.summarise = lambda call: Said("They went on.", served="gemini-2.5-flash-lite")
    async with front(fold_at_tokens=AT, summary_model="gemini-2.5-flash") as proxy:
        talk = proxy.talk(wire="gemini")
        talk.pretend(*(prose(120, at) for at in range(24)))
        await talk.say("question?")
        assert await proxy.metric("foldline_summary_drift_total") == 1


@pytest.mark.parametrize(
    ("wire", "pinned", "asked"),
    [
        ("gemini", "auto", "gemini-2.5-flash"),
        ("openai", "auto", "gpt-5"),  # a server that is merely compatible has models of its own
        ("openai", "gemini-2.5-flash", "gemini-2.5-flash"),
        ("gemini", "gpt-5-mini", "gpt-5-mini"),
    ],
)
async def test_summaries_are_asked_of_the_pinned_model_wherever_it_is_served(
    front: StartFront, provider: Provider, wire: Wire, pinned: str, asked: str
) -> None:
    keys = {"openai_api_key": "sk-own", "gemini_api_key": "g-own"}
    async with front(fold_at_tokens=AT, summary_model=pinned, **keys) as proxy:
        talk = proxy.talk(wire=wire)
        talk.pretend(*(prose(120, at) for at in range(24)))
        assert (await talk.say("question?")).status == 200
    assert [call.model for call in provider.summaries] == [asked]


async def test_a_summariser_is_asked_without_tools_at_a_low_temperature(front: StartFront, provider: Provider) -> None:
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(more={"tools": [TOOL["openai"]], "temperature": 1.0}, system="Speak like a pirate. RULE-3")
        talk.pretend(*(prose(120, at) for at in range(24)))
        await talk.say("question?")
    for call in provider.summaries:
        assert "tools" not in call.body
        assert "RULE-3" not in call.raw.decode()
        assert call.body.get("temperature", 0) <= 0.3
