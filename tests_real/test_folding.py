"""A long chat is made to fit a real small model, whatever its summaries are worth; its refusals are understood."""

from __future__ import annotations

import openai
import pytest

from tests_real.conftest import Front, Message, StartFront, told, user
from tests_real.serve import NAME, WINDOW

FACTS = (
    "The order number is 4711-B and it costs 1,250 euros.",
    "The meeting is on 14 March 2027 in room 305.",
    "The server stands at https://status.example.org/v2/health.",
    "The file lies at /srv/data/report-2026.csv.",
)
ASKED = {"max_tokens": 8}


def _talk(turns: int, sentences: int) -> list[Message]:
    """A chat whose every turn holds a fact and some padding, about 20 tokens a sentence."""
    said: list[Message] = []
    for turn in range(turns):
        padding = f"Please keep part {turn} of the plan in mind, as the team will need it again later on. " * sentences
        said.append(user(f"{FACTS[turn % len(FACTS)]} {padding}"))
        said.append({"role": "assistant", "content": f"I have noted part {turn} of the plan."})
    return [*said, user("What did we speak about?")]


async def _turn(proxy: Front, messages: list[Message]) -> tuple[str, int]:
    """The plan of a turn, and the tokens of the prompt by the model's own count."""
    body = {"model": NAME, "messages": messages, "temperature": 0, **ASKED}
    answer = await proxy.http.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    return answer.headers["x-foldline-plan"], answer.json()["usage"]["prompt_tokens"]


async def test_a_chat_over_its_threshold_goes_out_shorter_and_stays_so(front: StartFront) -> None:
    talk = _talk(5, 4)
    policy = {"fold_at_tokens": 500, "fold_to_tokens": 250, "keep_recent": 2, "summary_tokens": 100}
    async with front() as whole:
        plan, full = await _turn(whole, talk)
        assert plan == "none"
    async with front(**policy) as proxy:
        plan, first = await _turn(proxy, talk)
        assert "summary=" in plan or "trim=" in plan  # a summary that is refused, or comes too late, is trimmed for
        again, second = await _turn(proxy, [*talk, {"role": "assistant", "content": "Plans."}, user("And what else?")])
        assert "summary=" in again or "trim=" in again
    assert first < full * 0.8
    assert second < full


async def test_a_chat_that_the_server_refuses_as_too_long_is_made_to_fit_unseen_by_the_client(
    front: StartFront,
) -> None:
    talk = _talk(12, 9)
    async with front() as proxy:
        with pytest.raises(openai.BadRequestError) as refused:
            await told(proxy.openai, talk, **ASKED, extra_body={"foldline": {"off": True}})
        assert f"exceeds the available context size ({WINDOW} tokens)" in refused.value.message
        plan, tokens = await _turn(proxy, talk)
    assert "summary=" in plan or "trim=" in plan
    assert tokens < WINDOW
