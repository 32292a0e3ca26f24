"""`foldline sessions`: looks into stored sessions, and forgets one."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from app.commands.command import Command
from app.commands.storing import opened

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
    async with opened(settings) as store:
        match given.action:
            case "show" if session:
                return await _show(store, session)
            case "forget" if session:
                return await _forget(store, session, settings)
            case _:
                return await _list(store, given.limit)


def _session(text: str | None) -> Session:
    from app.errors import ClientError
    from app.state.keys import Session

    session = Session.parse(text or "")
    if session is None:
        raise ClientError("An id is needed, as in the x-foldline-session header; `foldline sessions` lists them.")
    return session


async def _list(store: Store, limit: int) -> int:
    found = await store.sessions(limit)
    if not found:
        print("No sessions are stored.")
        return 0
    print(f"{'ID':<42}  {'LAST USED':<16}  {'TURNS':>5}  MODEL")
    for session, info in found:
        print(f"{session.id:<42}  {_when(info.seen):<16}  {info.turns:>5}  {info.model or '-'}")
    if len(found) == limit:
        print(f"These are {limit}; --limit N shows more.")
    return 0


async def _show(store: Store, session: Session) -> int:
    info, memory = await store.info(session), await store.memory(session)
    if info is None:
        return _unknown(session)
    shown = {
        "session": session.id,
        "first used": _when(info.created),
        "last used": _when(info.seen),
        "turns": info.turns,
        "model": info.model or None,
        "upstream": info.upstream or None,
        **info.more,
        "memory": memory,
    }
    print(json.dumps(shown, indent=2, ensure_ascii=False, default=str))
    return 0


async def _forget(store: Store, session: Session, settings: Settings) -> int:
    from app.engine.erasing import forget
    from app.main import upstreams_of

    async with AsyncExitStack() as stack:
        upstreams = {} if settings.demo else await upstreams_of(settings, stack)
        done = await forget(store, upstreams, session)
    if not done.forgotten and not done.deleted and not done.left:
        return _unknown(session)
    there = f", {done.deleted} answers deleted at providers" if done.deleted else ""
    print(f"Forgotten: {session.id}{there}")
    for each in done.left:
        print(f"foldline: {each.upstream} still keeps {each.id}: {each.why}", file=sys.stderr)
    return 1 if done.left else 0


def _unknown(session: Session) -> int:
    print(f"foldline: nothing is stored under {session.id}; it may have expired", file=sys.stderr)
    return 1


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M") if seconds else "-"


COMMAND = Command("sessions", "Looks into stored sessions, and forgets one.", arguments, run)
