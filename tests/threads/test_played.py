"""A stream that is asked for once more is the stream that was: the same events, from any of them on."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from tests.threads.conftest import UPSTREAMS, Upstream

PATHS = {"responses": "/v1/responses", "interactions": "/v1beta/interactions"}
PLACE = {"responses": ("starting_after", "sequence_number"), "interactions": ("last_event_id", "event_id")}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
TOOL: dict[str, Any] = {"type": "function", "name": "get_weather", "parameters": NOTHING}


@pytest.mark.parametrize("asked", ["Say: ahoy there, all of you", "The weather?"])
async def test_a_client_that_lost_a_stream_goes_on_from_any_event_that_it_has_seen(
    format_: str, upstream: Upstream, one_way: str, other_way: str, key: str, asked: str
) -> None:
    url = other_way if upstream in ("responses", "interactions") else one_way
    headers = {"authorization": f"Bearer {key}", "x-goog-api-key": key}
    async with httpx2.AsyncClient(base_url=url, headers=headers, trust_env=False, verify=False, timeout=20) as http:
        body = {"model": UPSTREAMS[upstream], "input": asked, "stream": True, "tools": [TOOL]}
        seen = events_in((await http.post(PATHS[format_], json=body)).text)
        made = seen[0].get("response") or seen[0]["interaction"]
        parameter, number = PLACE[format_]
        for place in range(len(seen) - 1):
            query = {"stream": "true", parameter: str(seen[place][number])}
            again = await http.get(f"{PATHS[format_]}/{made['id']}", params=query)
            assert events_in(again.text) == seen[place + 1 :]


async def test_a_deleted_stream_is_not_played(format_: str, one_way: str, key: str) -> None:
    headers = {"authorization": f"Bearer {key}", "x-goog-api-key": key}
    async with httpx2.AsyncClient(base_url=one_way, headers=headers, trust_env=False, verify=False, timeout=20) as http:
        body = {"model": "claude-sonnet-4-5", "input": "Hello.", "stream": True}
        seen = events_in((await http.post(PATHS[format_], json=body)).text)
        place = f"{PATHS[format_]}/{(seen[0].get('response') or seen[0]['interaction'])['id']}"
        assert (await http.delete(place)).status_code == 200
        assert (await http.get(place, params={"stream": "true"})).status_code == 404


def events_in(text: str) -> list[dict[str, Any]]:
    """The events of a stream, without its mark of the end."""
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in lines]
