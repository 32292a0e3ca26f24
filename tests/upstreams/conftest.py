"""The clients that reach providers run on uvloop, as in production, and on the loop of asyncio, where uvloop is not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest
import uvloop


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Both for the transports, whose ways differ most between the two."""
    usual = {"asyncio": asyncio.new_event_loop}
    return usual | {"uvloop": uvloop.new_event_loop} if item.path.stem == "test_transports" else usual
