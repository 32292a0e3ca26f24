"""The gate in front of every summary: what it lost is asked for once more, then carried word for word, and shown."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.folding.conftest import StartFront
from tests.folding.provider import Call, Provider, Said
from tests.folding.records import check_of
from tests.folding.talk import Talk, Wire
from tests.folding.words import Language, facts, keeping, keeping_every_second, lost, prose

AT = 1800


def _told(talk: Talk, language: Language = "en", count: int = 12) -> None:
    planted = facts(count, language)
    talk.pretend(*(f"{prose(120, at, language)} {planted[at].said if at < count else ''}" for at in range(24)))


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
        check = check_of(await proxy.record(answer.turn))
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
        check = check_of(await proxy.record(answer.turn))
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
        check = check_of(await proxy.record(answer.turn))
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
        check = check_of(await proxy.record(answer.turn))
        assert await proxy.metric("foldline_summary_retention_count") >= 1
    assert check["kept"] == 0
    assert check["found"] >= 12
    assert lost(planted, provider.last.text) == []


async def test_facts_are_not_asked_for_again_and_again_of_a_model_that_never_listens(
    front: StartFront, provider: Provider
) -> None:
    planted = facts(16)
    provider.summarise = keeping(planted, 0.0)
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk()
        for turn in range(60):
            said = f" {planted[turn].said}" if turn < 16 else ""
            await talk.say(prose(150, turn) + said)
    folds = sum(not after.extends(before) for before, after in pairwise(provider.calls))
    assert folds >= 8
    assert len(provider.summaries) <= folds + 4
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


@pytest.mark.parametrize(
    ("said", "value", "instead"),
    [
        ("The invoice is INV-2041.", "INV-2041", "INV-204"),
        ("The limit is 84721.", "84721", "8472"),
        ("See https://a.example/docs/v2/setup.", "https://a.example/docs/v2/setup", "https://a.example/docs"),
        ("The deadline is 2046-03-14.", "2046-03-14", "2034-03-14"),
        ("締め切りは2046年3月14日です。", "2046年3月14日", "2034年3月14日"),
        ("My contact is Agnieszka Kowalczyk.", "Agnieszka Kowalczyk", "Bartosz Kowalczyk"),
        ("担当は山田花子さんです。", "山田花子さん", "山田太郎さん"),
        ("The table is in apps/billing/ports.yaml.", "apps/billing/ports.yaml", "apps/orders/ports.yaml"),
        ("The budget is $33,450 for now.", "$33,450", "$45,450"),
        ("It opens at 10:30 there.", "10:30", "11:30"),
        ("They run release v4.36.17 there.", "v4.36.17", "v4.48.17"),
    ],
)
async def test_another_value_of_the_same_kind_does_not_count_as_kept(
    front: StartFront, provider: Provider, said: str, value: str, instead: str
) -> None:
    provider.summarise = lambda call: Said(said.replace(value, instead))
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk()
        talk.pretend(*(f"{prose(120, at)} {said if at == 2 else ''}" for at in range(24)))
        await talk.say("question?")
    assert instead in provider.last.text
    assert value in provider.last.text
