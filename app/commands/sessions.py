"""`foldline sessions`: looks into stored sessions, and forgets one."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from app.commands.command import Command

if TYPE_CHECKING:
    from app.settings import Settings
    from app.state.keys import Session
    from app.state.store import Store

LIMIT = 100
"""Sessions that `list` shows unless asked for more."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What to do, and with which session."""
    parser.add_argument("action", nargs="?", choices=("list", "show", "forget"), default="list", help="by default list")
    parser.add_argument("id", nargs="?", metavar="ID", help="a session's id, as in the x-foldline-session header")
    parser.add_argument("--limit", type=int, default=LIMIT, metavar="N", help=f"sessions to list, by default {LIMIT}")


def run(given: argparse.Namespace) -> int:
    """List, show or forget.

    Raises:
        ClientError: the id is not one.
        SettingsError: state is only in a running server's memory.
        StateError: the store cannot be reached.
    """
    from app.settings import SettingsError, load

    settings = load(given.config)
    if settings.redis_url.get_secret_value().startswith("memory://"):
        raise SettingsError("REDIS_URL memory:// keeps state inside the server, where no other process sees it.")
    return asyncio.run(_act(given, settings))


async def _act(given: argparse.Namespace, settings: Settings) -> int:
    session = None if given.action == "list" else _session(given.id)
    async with _store(settings) as store:
        match given.action:
            case "show" if session:
                return await _show(store, session)
            case "forget" if session:
                return await _forget(store, session)
            case _:
                return await _list(store, given.limit)
