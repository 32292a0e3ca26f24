"""A client that hangs up frees the model: it stops long before it has written what nobody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests_real.conftest import ON, Front, StartFront, told, until, user
from tests_real.model import Model
from tests_real.serve import NAME

LONG = 1_500
"""Tokens that would be written if nobody hung up: more than a minute's work."""

QUIET = 1.5
"""Seconds between two looks at the server. It checks whether somebody still waits when it had no result for anyone for
a second, and the answer to a look is a result."""


async def _leave_a_stream(proxy: Front, model: Model) -> None:
    assert not await model.busy()
    stream = await proxy.openai.chat.completions.create(
        model=NAME, messages=[{"role": "user", "content": "Count."}], max_tokens=LONG, stream=True, extra_body=ON
    )
    pieces = 0
    async for _ in stream:
        pieces += 1
        if pieces == 4:
            break
    await stream.close()


async def _leave_a_whole_answer(proxy: Front, model: Model) -> None:
    await _leave(proxy, model, "Count.", stream=False)


async def _leave_before_the_first_word(proxy: Front, model: Model) -> None:
    await _leave(proxy, model, " ".join(f"word{number * 7919 % 1009}" for number in range(300)), stream=True)


async def _leave(proxy: Front, model: Model, text: str, stream: bool) -> None:
    """Ask, and hang up as soon as the model works on it."""
    asked = asyncio.create_task(told(proxy.openai, [user(text)], max_tokens=LONG, stream=stream, extra_body=ON))
    await until(model.busy, "the model works")
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked


@pytest.mark.parametrize("leave", [_leave_a_stream, _leave_a_whole_answer, _leave_before_the_first_word])
async def test_a_client_that_hangs_up_frees_the_model(
    front: StartFront, model: Model, leave: Callable[[Front, Model], Awaitable[None]]
) -> None:
    before = await model.number("tokens_predicted_total")

    async def idle() -> bool:
        await asyncio.sleep(QUIET)
        return not await model.busy()

    async with front() as proxy:
        await leave(proxy, model)
        await until(idle, "the model stops working", seconds=30)
        written = await model.number("tokens_predicted_total") - before
    assert written < LONG / 4
