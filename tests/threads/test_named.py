"""An answer names what its client goes on from, although its provider knows that by another id, or not at all."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.threads.test_played import PATHS, events_in


@pytest.mark.parametrize(
    ("format_", "model", "field"),
    [
        ("responses", "gpt-4.1", "previous_response_id"),
        ("interactions", "gemini-3-flash-preview", "previous_interaction_id"),
    ],
)
async def test_an_answer_of_its_own_provider_names_the_answer_before_by_the_id_that_the_client_knows(
    other_way: str, key: str, format_: str, model: str, field: str, stream: bool
) -> None:
    async with _client(other_way, key) as http:
        first = (await http.post(PATHS[format_], json={"model": "claude-sonnet-4-5", "input": "Hello."})).json()
        body = {"model": model, "input": "And now?", field: first["id"], "stream": stream}
        said = await http.post(PATHS[format_], json=body)
        found = _resources(said.text) if stream else [said.json()]
        assert {one[field] for one in found} == {first["id"]}
        kept = (await http.get(f"{PATHS[format_]}/{found[-1]['id']}")).json()
        assert kept[field] == first["id"]


async def test_an_answer_of_openai_names_the_conversation_that_is_kept_here(
    other_way: str, key: str, stream: bool
) -> None:
    async with _client(other_way, key) as http:
        conversation = (await http.post("/v1/conversations", json={})).json()["id"]
        body = {"model": "gpt-4.1", "input": "Hello.", "conversation": conversation, "stream": stream}
        said = await http.post("/v1/responses", json=body)
        found = _resources(said.text) if stream else [said.json()]
        assert [one["conversation"] for one in found] == [{"id": conversation}] * len(found)
        assert len(found) == (3 if stream else 1)


def _client(url: str, key: str) -> httpx2.AsyncClient:
    headers = {"authorization": f"Bearer {key}", "x-goog-api-key": key}
    return httpx2.AsyncClient(base_url=url, headers=headers, trust_env=False, verify=False, timeout=20)


def _resources(stream: str) -> list[dict[str, Any]]:
    return [found for event in events_in(stream) if (found := event.get("response") or event.get("interaction"))]
