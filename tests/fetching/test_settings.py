"""What one tool needs is said in the TOML file or in a request, and what became of each result is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.chat.size import of_text
from app.cli import main
from app.settings import ToolTable
from tests.chaining.provider import Json, Provider
from tests.fetching.conftest import StartFront, with_reviews
from tests.fetching.shop import reviews

KEEP = ["id", "stars"]


@pytest.mark.parametrize("where", ["settings", "request", "both"])
async def test_one_tools_fields_and_budget_are_obeyed(front: StartFront, provider: Provider, where: str) -> None:
    in_file: dict[str, dict[str, Any]] = {
        "settings": {"keep_fields": KEEP, "budget": 3000},
        "both": {"budget": 3000, "keep_fields": ["text"]},
    }
    in_body: dict[str, dict[str, Any]] = {
        "request": {"keep_fields": KEEP, "budget": 3000},
        "both": {"keep_fields": KEEP},
    }
    tools = {"tools": {"reviews": ToolTable(**in_file[where])}} if where in in_file else {}
    async with front("chat", **tools) as proxy:
        options: Json = {"options": {"tools": {"reviews": in_body[where]}}} if where in in_body else {}
        await with_reviews(proxy.talk(**options))
        form = proxy.small()[0]
        assert form["rows"][0].keys() == set(KEEP)
        assert form["returned_rows"] > 100
        assert of_text(json.dumps(form, separators=(",", ":")), "openai") <= 3000
        assert "foldline" not in proxy.last.body
    assert provider.refused == []


@pytest.mark.parametrize("where", ["settings", "request"])
async def test_one_tools_results_are_left_alone_if_so_said(front: StartFront, where: str) -> None:
    tools = {"tools": {"reviews": ToolTable(compact=False)}} if where == "settings" else {}
    async with front("chat", **tools) as proxy:
        options: Json = {"options": {"tools": {"reviews": {"compact": False}}}} if where == "request" else {}
        said = await with_reviews(proxy.talk(**options))
        assert "tool_results" not in said.plan
        assert reviews() in proxy.seen


async def test_a_request_may_undo_what_the_settings_say_of_a_tool(front: StartFront) -> None:
    async with front("chat", tools={"reviews": ToolTable(compact=False)}) as proxy:
        said = await with_reviews(proxy.talk(options={"tools": {"reviews": {"compact": True}}}))
        assert said.plan.startswith("tool_results=1")


@pytest.mark.parametrize(
    ("tools", "field", "hint"),
    [
        ([], "foldline.tools", "must be an object"),
        ({"reviews": 3}, "foldline.tools.reviews", "must be an object with keep_fields, budget, compact"),
        ({"reviews": {"rows": 3}}, "foldline.tools.reviews.rows", "There are: keep_fields, budget, compact"),
        ({"reviews": {"budget": 0}}, "foldline.tools.reviews.budget", "a whole number of at least 1"),
        ({"reviews": {"budget": True}}, "foldline.tools.reviews.budget", "a whole number of at least 1"),
        ({"reviews": {"compact": "no"}}, "foldline.tools.reviews.compact", "true or false"),
        ({"reviews": {"keep_fields": "id"}}, "foldline.tools.reviews.keep_fields", "a list of field names"),
    ],
)
async def test_a_wrong_setting_is_refused_by_its_place(front: StartFront, tools: Any, field: str, hint: str) -> None:
    async with front("chat") as proxy:
        body: Json = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hi."}], "foldline": {"tools": tools}}
        answer = await proxy.http.post("/v1/chat/completions", json=body)
        assert answer.status_code == 400
        error = answer.json()["error"]
        assert error["param"] == field
        assert error["message"].startswith(field)
        assert hint in error["message"]
        assert proxy.asked == []


async def test_a_turns_record_and_a_dry_run_tell_of_each_result(front: StartFront) -> None:
    async with front("chat") as proxy:
        talk = proxy.talk()
        said = await with_reviews(talk)
        decision = (await proxy.record(said.turn))["decisions"][0]
        result = decision["results"][0]
        assert (result["tool"], result["total"], result["kind"]) == ("reviews", 312, "array")
        assert result["before"] > 40_000
        assert result["after"] <= 6000
        assert {each["field"]: each["why"] for each in result["dropped"]} == {"weight": "constant"}
        planned = (await proxy.http.post("/foldline/plan", json=_body(talk.history[:3]))).json()
        told = next(each for each in planned["decisions"] if each["step"] == "tool_results")
        assert told["results"][0]["handle"] == result["handle"] == proxy.handle


def test_explain_shows_each_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "request.json"
    call: Json = {"id": "c1", "type": "function", "function": {"name": "reviews", "arguments": "{}"}}
    history: list[Json] = [
        {"role": "user", "content": "What do they say?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": reviews()},
    ]
    file.write_text(json.dumps(_body(history)))
    assert main(["explain", str(file)]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("result"))
    assert "tokens" in row
    assert "reviews in message 3, array:" in row
    assert "of 312 rows, without weight (constant); the whole: res_" in row


def _body(history: list[Any]) -> Json:
    tool: Json = {"type": "function", "function": {"name": "reviews", "parameters": {"type": "object"}}}
    return {"model": "gpt-5", "messages": history, "tools": [tool]}
