"""A connection that does not open has a deadline of its own, wherever it hangs."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from typing import Any

import aiohttp.resolver
import pytest

from app.errors import UpstreamError
from app.upstreams.by_aiohttp import AiohttpTransport
from app.upstreams.lean.transport import LeanTransport
from app.upstreams.transport import Timeouts, Transport


@pytest.fixture(params=[LeanTransport, AiohttpTransport], ids=["lean", "aiohttp"])
async def transport(request: pytest.FixtureRequest) -> AsyncGenerator[Transport]:
    """Connects within 0.2 s, and waits for an answer much longer."""
    opened: Transport = request.param(Timeouts(connect=0.2, first_byte=30, idle=30))
    yield opened
    await opened.aclose()


async def gives_up(transport: Transport, url: str) -> None:
    """It says in time that there is no connection, and that nothing was sent."""
    began = time.monotonic()
    with pytest.raises(UpstreamError, match="No connection") as caught:
        await transport.post(url, {}, b"{}")
    assert time.monotonic() - began < 2
    assert (caught.value.kind, caught.value.status, caught.value.sent) == ("timeout", 504, False)


async def test_a_host_that_answers_no_packet(transport: Transport) -> None:
    with ExitStack() as stack:
        full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):  # the kernel drops what no longer fits
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        await gives_up(transport, f"http://127.0.0.1:{full.getsockname()[1]}/")


async def test_a_host_that_never_shakes_hands(transport: Transport) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        await gives_up(transport, f"https://127.0.0.1:{silent.getsockname()[1]}/")


async def test_a_name_that_takes_for_ever_to_look_up(transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hangs(*_: Any, **__: Any) -> list[Any]:
        await asyncio.sleep(30)
        return []

    monkeypatch.setattr(aiohttp.resolver.ThreadedResolver, "resolve", hangs)
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", hangs)
    await gives_up(transport, "http://slow.invalid/")
