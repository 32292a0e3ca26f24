"""What is not to be folded goes out as it came: a chat below the threshold, and any chat where folding is off."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from pydantic import SecretStr

from app.settings import load
from tests.folding.conftest import Front, StartFront
from tests.folding.exchanges import TOOL
from tests.folding.provider import Json, Provider
from tests.folding.talk import MODELS, Talk, Wire, client_of
from tests.folding.words import prose
from tests.running import running_foldline

AT = 1500


def _long(talk: Talk, turns: int = 12) -> None:
    talk.pretend(*(prose(150, at) for at in range(2 * turns)))


def _odd(talk: Talk, text: str) -> bytes:
    """The request with blanks, an unknown field and an escape that a proxy of its own would write otherwise."""
    body = {**talk.body([*talk.history, talk.user(text)]), "x_unknown": {"b": 1.50, "a": [1, None]}}
    return json.dumps(body, indent=1, ensure_ascii=True).encode()


async def _passes_untouched(proxy: Front, talk: Talk) -> None:
    sent = _odd(talk, "naïve question?")
    answer = await talk.post(sent)
    assert answer.status == 200
    assert proxy.provider.last.raw == sent
    await proxy.settled()
    assert proxy.provider.summaries == []


@pytest.mark.parametrize(("wire", "stream"), [("openai", True), ("gemini", False)])
@pytest.mark.parametrize("when", ["behind", "before"])
async def test_a_chat_below_the_threshold_goes_out_byte_for_byte(
    front: StartFront, wire: Wire, stream: bool, when: str
) -> None:
    async with front(fold_at_tokens=AT, summary_when=when) as proxy:
        talk = proxy.talk(wire=wire, stream=stream, system="Be brief.")
        talk.pretend(*(prose(60, at) for at in range(8)))
        await _passes_untouched(proxy, talk)


@pytest.mark.parametrize("wire", ["openai", "gemini"])
async def test_folding_that_is_off_for_the_whole_server_leaves_every_chat_as_it_is(
    front: StartFront, wire: Wire
) -> None:
    async with front(fold_at_tokens=0) as proxy:
        talk = proxy.talk(wire=wire)
        _long(talk)
        await _passes_untouched(proxy, talk)


@pytest.mark.parametrize("rule", ["off = true", "fold_at_tokens = 0"])
async def test_folding_that_is_off_for_a_route_leaves_its_chats_as_they_are_and_folds_the_others(
    provider: Provider, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "foldline.toml"
    file.write_text(
        f'openai_base_url = "{provider.url}/v1"\nfold_at_tokens = {AT}\n'
        f'[[routes]]\nmatch = "plain-*"\nupstream = "openai"\n{rule}\n'
    )
    settings = load(str(file), {"redis_url": SecretStr("memory://").get_secret_value(), "log_level": "warning"})
    async with running_foldline(settings) as url, client_of(url, key) as http:
        proxy = Front(url, http, provider)
        for model, folds in (("plain-1", False), (MODELS["openai"], True)):
            talk = proxy.talk(model=model)
            _long(talk)
            sent = _odd(talk, "question?")
            assert (await talk.post(sent)).status == 200
            await proxy.settled()
            assert (provider.last.raw != sent) is folds
            assert bool(provider.summaries) is folds


@pytest.mark.parametrize("wire", ["openai", "gemini"])
@pytest.mark.parametrize("options", [{"off": True}, {"fold_at_tokens": 0}, {"fold_at_tokens": 50_000}])
async def test_a_request_can_keep_itself_from_being_folded(
    front: StartFront, wire: Wire, options: dict[str, object]
) -> None:
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk(wire=wire, options=options)
        _long(talk)
        messages = msgspec.json.encode([*talk.history, talk.user("question?")])
        assert (await talk.ask("question?")).status == 200
        await proxy.settled()
        assert proxy.provider.last.serialized == messages
        assert b"foldline" not in proxy.provider.last.raw
        assert proxy.provider.summaries == []


async def test_a_request_can_ask_for_an_earlier_fold_than_the_server(front: StartFront) -> None:
    async with front(fold_at_tokens=50_000) as proxy:
        talk = proxy.talk(options={"fold_at_tokens": AT})
        _long(talk)
        assert (await talk.ask("question?")).status == 200
        assert proxy.provider.last.tokens <= AT + 500
        assert len(proxy.provider.summaries) == 1


async def test_the_default_threshold_is_8000_tokens_for_a_chat_and_far_more_for_an_agent(front: StartFront) -> None:
    kinds: list[tuple[Json, bool]] = [({}, True), ({"tools": [TOOL["openai"]]}, False)]
    async with front() as proxy:
        for more, folds in kinds:
            proxy.provider.clear()
            talk = proxy.talk(more=more)
            _long(talk, 35)
            assert (await talk.ask("question?")).status == 200
            await proxy.settled()
            assert (proxy.provider.last.tokens < 8000) is folds
            assert bool(proxy.provider.summaries) is folds


async def test_what_the_headers_say_of_a_folded_turn_is_true(front: StartFront) -> None:
    async with front(fold_at_tokens=AT) as proxy:
        talk = proxy.talk()
        _long(talk)
        answer = await talk.ask("question?")
        received, sent = (int(part.partition("=")[2]) for part in answer.headers["x-foldline-tokens"].split(","))
        body = proxy.provider.last
        assert received == pytest.approx(len(talk.history) * 155, rel=0.2)
        assert sent == pytest.approx(body.tokens, rel=0.2)
        first, _, last = answer.plan.partition("summary=")[2].partition(";")[0].partition("-")
        kept = [text for text in body.texts if text in {message["content"] for message in talk.history}]
        assert (int(first), int(last)) == (1, len(talk.history) - len(kept))


@pytest.mark.parametrize("wire", ["openai", "gemini"])
@pytest.mark.parametrize("options", [{"session": "x"}, {"chain": "never"}, {"off": True}])
async def test_a_long_chat_with_options_arrives_whole_on_every_turn(
    front: StartFront, provider: Provider, wire: Wire, options: dict[str, object]
) -> None:
    async with front() as proxy:
        talk = proxy.talk(wire=wire, options=options)
        talk.pretend(*(prose(150, at) for at in range(12)))
        for turn in range(4):
            messages = msgspec.json.encode([*talk.history, talk.user(f"question {turn}?")])
            assert (await talk.say(f"question {turn}?")).status == 200
            assert provider.last.serialized == messages


async def test_a_long_chat_of_a_model_that_is_called_otherwise_upstream_arrives_whole_on_every_turn(
    front: StartFront, provider: Provider
) -> None:
    async with front(routes=({"match": "nick", "upstream": "openai", "model": "gpt-5"},)) as proxy:
        talk = proxy.talk(model="nick")
        talk.pretend(*(prose(150, at) for at in range(12)))
        for turn in range(4):
            messages = msgspec.json.encode([*talk.history, talk.user(f"question {turn}?")])
            assert (await talk.say(f"question {turn}?")).status == 200
            assert provider.last.serialized == messages
            assert provider.last.model == "gpt-5"
