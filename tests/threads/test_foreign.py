"""Ids that OpenAI made for the client itself: only by its own key, and never read as if nothing had been said."""

from __future__ import annotations

import pytest
from openai import AsyncOpenAI, NotFoundError

from app.simulator.running import Running
from tests.running import running_foldline, settings_beside

MODEL = "gpt-5"


async def test_a_conversation_that_only_openai_knows_goes_on_there_by_the_clients_own_key(sim: Running) -> None:
    async with (
        running_foldline(settings_beside(sim, openai_api="responses")) as url,
        AsyncOpenAI(base_url=sim.openai_url, api_key="k") as direct,
        AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client,
    ):
        conversation = (await direct.conversations.create()).id
        await direct.responses.create(model=MODEL, input="My name is Ingrid.", conversation=conversation)
        answer = await client.responses.create(model=MODEL, input="What is my name?", conversation=conversation)
        assert "Ingrid" in answer.output_text
        named = await client.responses.create(
            model=MODEL,
            input="What is my name?",
            conversation=conversation,
            extra_body={"foldline": {"profile": "chat"}},
        )
        assert "Ingrid" in named.output_text, "also where the body had to be changed"


@pytest.mark.parametrize("settings", [{"openai_api": "responses", "openai_api_key": "house"}, {"openai_api": "chat"}])
async def test_behind_the_operators_key_or_another_provider_it_is_unknown(
    sim: Running, settings: dict[str, str]
) -> None:
    async with (
        running_foldline(settings_beside(sim, **settings)) as url,
        AsyncOpenAI(base_url=sim.openai_url, api_key="k") as direct,
        AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client,
    ):
        conversation = (await direct.conversations.create()).id
        with pytest.raises(NotFoundError):
            await client.responses.create(model=MODEL, input="What is my name?", conversation=conversation)
