"""Heavy work on a large request, done beside the event loop, so that no other stream waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

BESIDE = 512 * 1024
"""Bytes of a request (or characters of a result) from which on work on it is done beside the event loop. Of 10 MB,
reading takes 50 ms, making small 300 and a search 400; a thread costs a small request more than it could win."""

P = ParamSpec("P")
T = TypeVar("T")


async def beside(size: int, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """What the work gives: from a thread of its own if it is on something large, else at once.

    Whoever is cancelled meanwhile leaves the work behind, which ends by itself: it must change nothing that others see.
    """
    return await apart_if(size > BESIDE, work, *args, **named)


async def apart_if(heavy: bool, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """The same, where something else than bytes tells whether the work is heavy."""
    return await asyncio.to_thread(work, *args, **named) if heavy else work(*args, **named)
