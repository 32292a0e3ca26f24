"""What the provider keeps with a conversation and is not told again never outlives the client's own words for it."""

from __future__ import annotations

from typing import Any

import httpx2
import openai
import pytest

from tests.chaining.conftest import MODELS, Front, StartFront
from tests.chaining.provider import Api, Json, Provider, strings

BOTH = pytest.mark.parametrize("api", ["interactions", "responses"])
RULES = ("system", "developer")


class ItemTalk:
    """A Responses client that keeps all items itself, its instructions among them."""

    def __init__(self, proxy: Front, api: Api = "responses") -> None:
        base = f"{proxy.url}/v1"
        sdk = openai.AsyncOpenAI(api_key=proxy.key, base_url=base, max_retries=0, timeout=20, http_client=proxy.http)
        self._create: Any = sdk.responses.with_raw_response.create  # items as plain JSON are no types of the SDK's
        self._model = MODELS[api]
        self.said: list[Json] = []

    async def say(self, text: str, *front: Json, **more: Any) -> httpx2.Headers:
        """The next turn, with these items before all others; the answer's headers."""
        asked: Json = {"role": "user", "content": text}
        whole = await self._create(model=self._model, input=[*front, *self.said, asked], **more)
        output = whole.parse().output
        self.said += [asked, *(item.model_dump(mode="json", exclude_none=True) for item in output)]
        return whole.headers


def _rule(word: str, role: str = "developer") -> Json:
    return {"role": role, "content": f"Speak like a {word}."}


def _chain(headers: httpx2.Headers) -> str:
    return dict(step.split("=") for step in headers["x-foldline-plan"].split("; "))["chain"]


def _rules(provider: Provider) -> list[tuple[str, str]]:
    """The instructions among all items that the model sees."""
    seen = (*provider.last.held, *provider.last.items)
    return [
        (item["role"], "".join(strings(item["content"])).replace("input_text", ""))
        for item in seen
        if item.get("role") in RULES
    ]


async def test_instructions_among_the_items_that_stay_the_same_go_out_once(
    front: StartFront, provider: Provider
) -> None:
    async with front() as proxy:
        talk = ItemTalk(proxy)
        await talk.say("hello", _rule("PILOT"))
        assert _chain(await talk.say("and now?", _rule("PILOT"))) == "continue"
        parts = [{"text": "Speak like a PILOT.", "type": "input_text"}]
        assert _chain(await talk.say("spelled otherwise?", {"content": parts, "role": "developer"})) == "continue"
        assert "PILOT" not in provider.last.new
        assert provider.last.seen.count("PILOT") == 1
    assert provider.refused == []


@pytest.mark.parametrize(
    "now",
    [(_rule("BAKER"),), (), (_rule("PILOT"), _rule("BAKER")), (_rule("PILOT", "system"),)],
    ids=["another", "none", "one-more", "another-rank"],
)
async def test_instructions_among_the_items_that_changed_are_the_only_ones_that_the_model_sees(
    front: StartFront, provider: Provider, now: tuple[Json, ...]
) -> None:
    async with front() as proxy:
        talk = ItemTalk(proxy)
        await talk.say("hello", _rule("PILOT"))
        await talk.say("still there?", _rule("PILOT"))
        headers = await talk.say("and now?", *now)
        assert _chain(headers) == "cut"
        assert _rules(provider) == [(item["role"], item["content"]) for item in now]
        record = await proxy.record(headers["x-foldline-turn"])
        told = next(each["reason"] for each in record["decisions"] if each["step"] == "chain")
        assert told.startswith("What stands at the head of the conversation changed")
        assert _chain(await talk.say("and then?", *now)) == "continue"
        assert _rules(provider) == [(item["role"], item["content"]) for item in now]
    assert provider.refused == []


async def test_instructions_that_another_format_says_in_a_field_of_their_own_are_not_taken_for_items(
    front: StartFront, provider: Provider
) -> None:
    """A chat that goes on in another client has its instructions where that one puts them, and only there."""
    async with front() as proxy:
        chat = proxy.talk("responses", system="Speak like a PILOT.")
        await chat.say("hello")
        talk = ItemTalk(proxy)
        talk.said = [{"role": message["role"], "content": message["content"]} for message in chat.history]
        assert _chain(await talk.say("and now?", _rule("BAKER"))) == "cut"
        assert [content for _, content in _rules(provider)] == ["Speak like a BAKER."]
        assert provider.last.system == ""

        chat.history += [chat.user("and now?"), {"role": "assistant", "content": talk.said[-1]["content"][0]["text"]}]
        assert (await chat.say("and then?")).chain == "cut"
        assert _rules(provider) == []
        assert provider.last.system == "Speak like a PILOT."
    assert provider.refused == []


async def test_the_line_that_asks_for_json_holds_for_no_longer_than_the_client_asks(
    front: StartFront, provider: Provider
) -> None:
    async with front() as proxy:
        talk = proxy.talk("responses")
        wanted = proxy.talk("responses", body={"response_format": {"type": "json_object"}})
        wanted.history = talk.history
        await talk.say("hello")
        await wanted.say("as JSON, please")
        assert "Answer with JSON." in provider.last.seen
        await talk.branch(wanted.history).say("in plain words again")
        assert "Answer with JSON." not in provider.last.seen
    assert provider.refused == []


@BOTH
async def test_what_is_sent_every_time_may_change_within_a_chain(
    front: StartFront, provider: Provider, api: Api
) -> None:
    async with front() as proxy:
        talk = ItemTalk(proxy, api)
        await talk.say("hello", instructions="Speak like a PILOT.", max_output_tokens=900)
        assert (
            _chain(await talk.say("and now?", instructions="Speak like a BAKER.", max_output_tokens=800)) == "continue"
        )
        assert provider.last.system == "Speak like a BAKER."
        assert "PILOT" not in provider.last.seen
    assert provider.refused == []


async def test_items_that_go_to_a_provider_without_items_for_instructions_change_within_a_chain(
    front: StartFront, provider: Provider
) -> None:
    async with front() as proxy:
        talk = ItemTalk(proxy, "interactions")
        await talk.say("hello", _rule("PILOT"))
        assert _chain(await talk.say("and now?", _rule("BAKER"))) == "continue"
        assert provider.last.system == "Speak like a BAKER."
    assert provider.refused == []
