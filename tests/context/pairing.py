"""The pairing rules of both formats, written down from their documents: what a provider would refuse."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def check_openai(messages: list[Json]) -> None:
    """Each message with tool_calls is followed at once by one tool message per id, and no other tool message exists."""
    waiting: list[str] = []
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting, f"messages[{index}] answers no call before it"
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting, f"messages[{index}] stands where the results of {waiting} should"
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        assert message.get("content") or waiting, f"messages[{index}] says nothing"
    assert not waiting, f"nothing answers {waiting}"


def check_gemini(contents: list[Json]) -> None:
    """Roles alternate, user first and last; N calls, then one content that begins with their N results in order."""
    assert contents[0]["role"] == contents[-1]["role"] == "user"
    calls: list[Json] = []
    for index, content in enumerate(contents):
        parts = content["parts"]
        assert parts, f"contents[{index}] is empty"
        assert index == 0 or content["role"] != contents[index - 1]["role"], f"contents[{index}] repeats its role"
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if content["role"] == "user":
            assert all("functionResponse" in part for part in parts[: len(results)]), "results stand first"
            assert [r["name"] for r in results] == [c["name"] for c in calls], f"contents[{index}] answers other calls"
            assert [r.get("id") for r in results] == [c.get("id") for c in calls]
            calls = []
        else:
            assert not results
            calls = [part["functionCall"] for part in parts if "functionCall" in part]
    assert not calls


def check_signatures(contents: list[Json]) -> None:
    """The first call of every model content carries a signature; Gemini 3 checks that in the current turn."""
    for content in contents:
        if content["role"] == "model" and (calls := [p for p in content["parts"] if "functionCall" in p]):
            assert calls[0].get("thoughtSignature") or calls[0].get("thought_signature")
