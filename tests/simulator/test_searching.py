"""The simulator's web search: offered by each provider, cited, and held to what the provider wants back of it."""

from __future__ import annotations

import copy
from typing import Any

import httpx2
import pytest

ASK = "Search the web for Mount Fuji"
HEADERS = {"x-api-key": "lab", "anthropic-version": "2023-06-01"}
TOOL = {"type": "web_search_20250305", "name": "web_search"}
Json = dict[str, Any]


def _messages(*messages: Json) -> Json:
    return {"model": "claude-sonnet-4-6", "max_tokens": 500, "tools": [TOOL], "messages": list(messages)}


async def _found(http: httpx2.AsyncClient) -> list[Json]:
    answer = await http.post("/v1/messages", json=_messages({"role": "user", "content": ASK}), headers=HEADERS)
    assert answer.status_code == 200, answer.text
    return answer.json()["content"]


async def _again(http: httpx2.AsyncClient, content: list[Json]) -> httpx2.Response:
    said = {"role": "assistant", "content": content}
    body = _messages({"role": "user", "content": ASK}, said, {"role": "user", "content": "say: thanks"})
    return await http.post("/v1/messages", json=body, headers=HEADERS)


async def test_claude_takes_its_search_back_as_it_was(http: httpx2.AsyncClient) -> None:
    content = await _found(http)
    assert [block["type"] for block in content][:2] == ["server_tool_use", "web_search_tool_result"]
    assert (await _again(http, content)).status_code == 200


@pytest.mark.parametrize("field", ["encrypted_content", "encrypted_index"])
@pytest.mark.parametrize("value", ["", "made up"])
async def test_claude_refuses_a_search_whose_encrypted_parts_are_not_its_own(
    http: httpx2.AsyncClient, field: str, value: str
) -> None:
    content = copy.deepcopy(await _found(http))
    changed = 0
    for block in content:
        for one in (*block.get("content", ()), *block.get("citations", ())):
            if field in one:
                one[field] = value
                changed += 1
    assert changed
    refused = await _again(http, content)
    assert refused.status_code == 400
    assert field in refused.json()["error"]["message"]


async def test_it_searches_only_where_a_search_is_offered(http: httpx2.AsyncClient) -> None:
    body = _messages({"role": "user", "content": ASK}) | {"tools": [TOOL], "tool_choice": {"type": "none"}}
    answer = await http.post("/v1/messages", json=body, headers=HEADERS)
    assert [block["type"] for block in answer.json()["content"]] == ["text"]


async def test_openai_searches_in_chat_only_with_a_model_for_it(http: httpx2.AsyncClient) -> None:
    body: Json = {"messages": [{"role": "user", "content": ASK}], "web_search_options": {}}
    refused = await http.post("/v1/chat/completions", json=body | {"model": "gpt-5.5"})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "web_search_options")
    found = await http.post("/v1/chat/completions", json=body | {"model": "gpt-5-search-api"})
    message = found.json()["choices"][0]["message"]
    cited = [one["url_citation"] for one in message["annotations"]]
    assert ["Mount Fuji" in message["content"][one["start_index"] : one["end_index"]] for one in cited] == [True, True]
