"""`foldline explain`: what would be done with a request body, without sending it."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from app.commands.command import Command
from app.errors import ProxyError

if TYPE_CHECKING:
    from app.context.preview import Preview
    from app.settings import Settings

UNASKED = "http://127.0.0.1"
"""Stands for the simulator where no provider is set up: nothing is sent, so it need not run."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Which body, and what does not stand in it."""
    parser.add_argument("file", metavar="FILE", help="a request body in any client's format; - reads standard input")
    parser.add_argument("--model", default="", metavar="M", help="the model, for a Gemini body: its path names it")
    parser.add_argument("--format", default="", metavar="F", help="the format, where a body would fit two")
    parser.add_argument("--json", action="store_true", help="print everything as JSON, the request itself too")


def run(given: argparse.Namespace) -> int:
    """Print the plan; 2 if the body cannot be read or asks for what does not exist.

    Raises:
        SettingsError: a setting is wrong.
    """
    from app.settings import load

    settings = load(given.config)
    try:
        made = asyncio.run(_preview(settings, _body(given.file), given.model, given.format))
    except OSError as error:
        return _complain(f"{given.file} cannot be read: {error.strerror or error}.")
    except ProxyError as error:
        return _complain(error.message)
    print(_json(made) if given.json else _table(made))
    return 0


def _body(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()


def _complain(message: str) -> int:
    print(f"foldline: {message}", file=sys.stderr)
    return 2


async def _preview(settings: Settings, body: bytes, model: str, named: str) -> Preview:
    from app.context.steps import STEPS
    from app.engine.counting import Counting
    from app.engine.planning import FixedRules
    from app.engine.preview import preview
    from app.engine.routing import Routes
    from app.main import policy_numbers, routes_of, upstreams_of
    from app.upstreams.limits import Limits

    described = settings.model_copy(update={"simulator_url": settings.simulator_url or UNASKED})
    async with AsyncExitStack() as stack:
        routes = Routes(routes_of(described), await upstreams_of(described, stack))
    rules = FixedRules(routes, policy_numbers(settings), STEPS, settings.strict, time.time, Counting(Limits()))
    return await preview(rules, body, model=model, named=named, headers={}, tenant=b"", recall=None)


def _table(made: Preview) -> str:
    from app.context.report import as_table

    return as_table(made)


def _json(made: Preview) -> str:
    from app.context.report import as_full_json
    from app.wires.envelope import encode

    return encode(as_full_json(made)).decode()


COMMAND = Command("explain", "Reads a request body and prints its plan; sends nothing.", arguments, run)
