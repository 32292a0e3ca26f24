"""The gate in front of every summary: what it lost is asked for once more, then carried word for word, and all is said."""

from __future__ import annotations

from typing import Any

import pytest

from tests.folding.conftest import StartFront
from tests.folding.provider import Call, Json, Provider, Said
from tests.folding.talk import Talk, Wire
from tests.folding.words import Language, facts, keeping, keeping_every_second, lost, prose

AT = 1800


def _told(talk: Talk, language: Language = "en", count: int = 12) -> None:
    planted = facts(count, language)
    talk.pretend(*(f"{prose(120, at, language)} {planted[at].said if at < count else ''}" for at in range(24)))


def _found(value: Any, name: str) -> list[Any]:
    """All values under this name, however deep."""
    if isinstance(value, dict):
        inside = [one for inner in value.values() for one in _found(inner, name)]
        return [value[name], *inside] if name in value else inside
    return [one for inner in value for one in _found(inner, name)] if isinstance(value, list) else []


def _check(record: Json) -> Json:
    """What the record says of the newest summary."""
    checks = [one for one in _found(record, "check") if one]
    assert len(checks) == 1, record
    return checks[0]


@pytest.mark.parametrize("wire", ["openai", "gemini"])
@pytest.mark.parametrize("language", ["en", "ja"])
async def test_a_summary_that_keeps_enough_is_asked_for_once(
    front: StartFront, provider: Provider, wire: Wire, language: Language
) -> None:
    planted = facts(12, language)
    provider.summarise = keeping(planted)
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(wire=wire)
        _told(talk, language)
        answer = await talk.say("question?")
        check = _check(await proxy.record(answer.turn))
    assert len(provider.summaries) == 1
    assert lost(planted, provider.last.text) == []
    assert check["found"] >= 12
    assert check["kept"] == check["found"]
    assert check["repaired"] == 0
    assert check["served"] == provider.summaries[0].model


@pytest.mark.parametrize("language", ["en", "ja"])
async def test_what_is_missing_is_asked_for_once_more_by_name_and_the_better_summary_is_used(
    front: StartFront, provider: Provider, language: Language
) -> None:
    planted = facts(12, language)
    first, second = keeping(planted, 0.3, opening="FIRST-1 try."), keeping(planted, opening="SECOND-2 try.")

    def summarise(call: Call) -> Said:
        return first(call) if len(provider.summaries) == 1 else second(call)

    provider.summarise = summarise
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk()
        _told(talk, language)
        answer = await talk.say("question?")
        check = _check(await proxy.record(answer.turn))
    assert len(provider.summaries) == 2
    again = provider.summaries[1].text
    kept = [fact for fact in planted if fact.said in first(provider.summaries[0]).text]
    assert lost([fact for fact in planted if fact not in kept], again) == []
    assert "SECOND-2" in provider.last.text
    assert "FIRST-1" not in provider.last.text
    assert lost(planted, provider.last.text) == []
    assert check["kept"] < check["found"]
    assert check["kept"] + check["repaired"] == check["found"]


@pytest.mark.parametrize("wire", ["openai", "gemini"])
@pytest.mark.parametrize("language", ["en", "ja"])
async def test_what_no_answer_brings_back_is_carried_word_for_word(
    front: StartFront, provider: Provider, wire: Wire, language: Language
) -> None:
    planted = facts(12, language)
    provider.summarise = keeping_every_second(planted)
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(wire=wire)
        _told(talk, language)
        answer = await talk.say("question?")
        check = _check(await proxy.record(answer.turn))
    assert len(provider.summaries) == 2
    assert lost(planted, provider.last.text) == []
    assert provider.last.tokens <= AT
    assert 0 < check["kept"] < check["found"]
    assert check["repaired"] == check["found"] - check["kept"]


async def test_a_summary_that_loses_everything_is_shown_as_such(front: StartFront, provider: Provider) -> None:
    planted = facts(12)
    provider.summarise = keeping(planted, 0.0)
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk()
        _told(talk)
        answer = await talk.say("question?")
        check = _check(await proxy.record(answer.turn))
        assert await proxy.metric("foldline_summary_retention_count") >= 1
    assert check["kept"] == 0
    assert check["found"] >= 12
    assert lost(planted, provider.last.text) == []


async def test_facts_are_not_asked_for_again_and_again_of_a_model_that_never_listens(
    front: StartFront, provider: Provider
) -> None:
    planted = facts(40)
    provider.summarise = keeping(planted, 0.0)
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk()
        for turn in range(60):
            said = f" {planted[turn].said}" if turn < 40 else ""
            await talk.say(prose(150, turn) + said)
    assert len(provider.summaries) <= 60 / 4
    assert lost(planted, provider.last.text) == []


@pytest.mark.parametrize(("least", "asked"), [(0.0, 1), (1.0, 2)])
async def test_the_share_that_must_be_kept_can_be_set(
    front: StartFront, provider: Provider, least: float, asked: int
) -> None:
    planted = facts(12)
    provider.summarise = keeping(planted, 0.75)
    async with front(fold_at_tokens=AT, min_retention=least) as proxy:
        talk = proxy.talk()
        _told(talk)
        await talk.say("question?")
    assert len(provider.summaries) == asked


async def test_the_values_of_one_fact_are_not_taken_for_anothers(front: StartFront, provider: Provider) -> None:
    """A summary that says INV-204 has not kept INV-2041, and one that says 8472 has not kept 84721."""
    said = ["The invoice is INV-2041.", "The limit is 84721.", "See https://a.example/docs/v2/setup."]
    provider.summarise = lambda call: Said("The invoice is INV-204. The limit is 8472. See https://a.example/docs.")
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk()
        talk.pretend(*(f"{prose(120, at)} {said[at] if at < 3 else ''}" for at in range(24)))
        await talk.say("question?")
    assert all(value in provider.last.text for value in ("INV-2041", "84721", "https://a.example/docs/v2/setup"))


# ---- the model that really served


@pytest.mark.parametrize("level", ["info", "warning"])
async def test_another_model_than_the_pinned_one_is_logged_counted_and_shown(
    front: StartFront, provider: Provider, capfd: pytest.CaptureFixture[str], level: str
) -> None:
    provider.summarise = lambda call: Said("They went on.", served="gpt-4o-mini-2024-07-18")
    async with front(fold_at_tokens=AT, summary_model="gpt-5-mini", log_level=level) as proxy:
        talk = proxy.talk()
        talk.pretend(*(prose(120, at) for at in range(24)))
        answer = await talk.say("question?")
        check = _check(await proxy.record(answer.turn))
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
        check = _check(await proxy.record(answer.turn))
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
    tool = {"type": "function", "function": {"name": "stat", "parameters": {"type": "object", "properties": {}}}}
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(more={"tools": [tool], "temperature": 1.0}, system="Speak like a pirate. RULE-3")
        _told(talk)
        await talk.say("question?")
    for call in provider.summaries:
        assert "tools" not in call.body
        assert "RULE-3" not in call.raw.decode()
        assert call.body.get("temperature", 0) <= 0.3
