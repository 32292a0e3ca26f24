"""Sockets that we listen on send at once."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from app.commands.listening import listen
from app.simulator.running import open_listener


@pytest.mark.parametrize("opening", [listen, open_listener], ids=["proxy", "simulator"])
async def test_no_answer_waits_for_an_acknowledgement(opening: Callable[[str, int], socket.socket]) -> None:
    """asyncio sets TCP_NODELAY only on sockets whose protocol is named: without it the second write of every answer on
    a kept connection is held back for some 40 ms."""
    with opening("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP
