"""A long chat is folded by a real small model's own summary, or made to fit without; its refusals are understood."""

from __future__ import annotations

import re

import httpx2
import openai
import pytest

from tests_real.conftest import PATIENCE, Front, Message, StartFront, told, until, user
from tests_real.serve import NAME, WINDOW

FACTS = (
    "The order number is 4711-B and it costs 1,250 euros.",
    "The meeting is on 14 March 2027 in room 305.",
    "The server stands at https://status.example.org/v2/health.",
    "The file lies at /srv/data/report-2026.csv.",
)
ASKED = {"max_tokens": 8}

TRIP = (
    "I would like to plan a trip to Kyoto with Aoi Tanaka in April. We both like gardens and old temples, and we "
    "would rather walk than take taxis. Could you help us to find a good order for the days?",
    "That sounds lovely. April is the season of the cherry blossoms, so the gardens will be at their best. I "
    "suggest to begin with the eastern hills, where the temples lie close together and one can walk from one to the"
    " next.",
    "The budget for both of us is 2400 EUR, flights not included. Our booking code at the hotel is QX7T2L, please "
    "keep it in mind. We arrive on 3 April 2027 in the evening and stay for six nights.",
    "I have noted the budget and the booking code. Six nights are enough for the city and for one day in Nara. A "
    "room near the station makes the day trips easier, while a room in the old town has the nicer evenings.",
    "We are both vegetarians, so please remember that for everything that has to do with food, also for breakfast. "
    "I have heard that many soups are made with fish. Is there a way to ask for a meal without it?",
    "Yes, the temple kitchens cook without any fish or meat. Around the gardens there are several small restaurants"
    " with dishes of tofu. For breakfast the bakeries near the river are a safe choice.",
    "What should we pack? Aoi gets cold easily, and I do not like to carry much. We have one suitcase and one small"
    " bag between us, and there may be rain in the first days of the month.",
    "Take layers, a light rain coat each, and shoes that are easy to take off, since the temples ask for that. The "
    "evenings are cold. The hotel has a laundry, so a few clothes are enough.",
    "Good. My sister lends us her camera, and she says that the mornings are best for photos. Which places are "
    "worth getting up early for, and which of them could wait until the afternoon?",
    "The bamboo grove is best before the crowds come, and so is the long row of gates at the shrine in the south. "
    "The market and the castle can wait, and the castle is at its best in the evening light.",
    "Then let us see the grove on the first morning. How do we get there from the hotel, and is there a place for a"
    " cup of tea on the way back? We do not want to hurry on that day.",
    "The local train goes every quarter of an hour, and it takes twenty minutes. Behind the grove there is a tea "
    "house in a garden, where one can sit as long as one likes and look at the moss.",
    "That is just what we like. What is the second day good for, if the rain comes? We would not mind a museum, as "
    "long as it is not too crowded, or a place where we could watch somebody at a craft.",
    "The museum of crafts has weavers and lacquer makers at work, and it is quiet on weekdays. The covered market "
    "is around the corner, and so is a small shop for paper.",
    "Then we take the museum. And could we see a garden in the evening, with lights in the trees? Aoi has heard of "
    "one, but she does not remember the name of the temple any more.",
    "Several temples light their gardens in that week. The one by the pond is the most beautiful, and you can walk "
    "there from the museum in a quarter of an hour.",
    "Good, that is our second day. What about the third one? We thought of the deer in Nara and the big temple.",
)
"""Turn by turn, the user first."""

ONE_TURN = 15
"""Messages of it that the first turn has: long enough for a summary to be made, and not yet for it to be needed."""

TRIES = 6
"""Summaries that a model of this size may spoil before the gate lets one pass."""


def _talk(turns: int, sentences: int) -> list[Message]:
    """A chat whose every turn holds a fact and some padding, about 20 tokens a sentence."""
    said: list[Message] = []
    for turn in range(turns):
        padding = f"Please keep part {turn} of the plan in mind, as the team will need it again later on. " * sentences
        said.append(user(f"{FACTS[turn % len(FACTS)]} {padding}"))
        said.append({"role": "assistant", "content": f"I have noted part {turn} of the plan."})
    return [*said, user("What did we speak about?")]


async def _answer(proxy: Front, messages: list[Message], session: str = "", **options: bool) -> httpx2.Response:
    body = {"model": NAME, "messages": messages, "temperature": 0, **ASKED, "foldline": options}
    headers = {"x-foldline-session": session} if session else {}
    answer = await proxy.http.post("/v1/chat/completions", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer


async def _turn(proxy: Front, messages: list[Message]) -> tuple[str, int]:
    """The plan of a turn, and the tokens of the prompt by the model's own count."""
    answer = await _answer(proxy, messages)
    return answer.headers["x-foldline-plan"], answer.json()["usage"]["prompt_tokens"]


async def _summaries(proxy: Front, outcome: str = "") -> float:
    """How many summaries were made, refused or failed."""
    said = (await proxy.http.get("/metrics")).text
    counted = re.findall(r'^foldline_summaries_total{.*outcome="(\w+)".*} (\S+)$', said, re.MULTILINE)
    return sum(float(number) for each, number in counted if outcome in ("", each))


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


async def test_a_fold_is_of_the_models_own_words_made_behind_one_turn_and_used_on_the_next(front: StartFront) -> None:
    talk = [{"role": ("user", "assistant")[index % 2], "content": said} for index, said in enumerate(TRIP)]
    async with front(fold_at_tokens=720, fold_to_tokens=500, keep_recent=2) as proxy:
        session = ""
        for number in range(TRIES):
            session = f"trip-{number}"
            assert (await _answer(proxy, talk[:ONE_TURN], session)).headers["x-foldline-plan"] == "none"

            async def ended(made: int = number) -> bool:
                return await _summaries(proxy) > made

            await until(ended, "a summary ends", 1, PATIENCE)
            if await _summaries(proxy, "made"):
                break
        answer = await _answer(proxy, talk, session)
        record = (await proxy.http.get(f"/foldline/turns/{answer.headers['x-foldline-turn']}")).json()
        whole = (await _answer(proxy, talk, off=True)).json()["usage"]["prompt_tokens"]
    assert answer.headers["x-foldline-plan"].startswith("summary=1-")
    fold = record["fold"]
    assert fold["check"]["served"] == NAME
    assert not fold["check"]["drifted"]
    assert fold["check"]["score"] >= 0.9
    (span,) = fold["spans"]
    assert span["kind"] == "summary"
    assert any(map(str.isalpha, span["text"]))
    assert answer.json()["usage"]["prompt_tokens"] < whole
