"""`foldline sessions`: what is stored can be listed, looked at and forgotten."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from app.cli import main
from app.state.keys import Session
from app.state.store import Store

KNOWN = Session(tenant="0123456789abcdef", root="0123456789abcdef01234567")


@pytest.fixture
def stored(place: Path) -> str:
    """The id of a session with one turn and a memory, in the embedded store of the working directory."""

    async def remember() -> None:
        store = await Store.open("embedded://", ttl_seconds=3600)
        await store.remember(KNOWN, (), info={"model": "lab", "upstream": "openai"})
        await store.set_memory(KNOWN, {"name": "Aoi"})
        await store.close()

    asyncio.run(remember())
    assert (place / ".foldline").is_dir()
    return KNOWN.id


def test_a_session_can_be_listed_shown_and_forgotten(stored: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions"]) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert head.split() == ["ID", "LAST", "USED", "TURNS", "MODEL"]
    assert line.split()[0] == stored
    assert line.split()[-2:] == ["1", "lab"]

    assert main(["sessions", "show", stored]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["turns"], shown["upstream"], shown["memory"]) == (1, "openai", {"name": "Aoi"})

    assert main(["sessions", "forget", stored]) == 0
    assert main(["sessions", "forget", stored]) == 1
    assert main(["sessions", "show", stored]) == 1
    capsys.readouterr()
    assert main(["sessions", "list"]) == 0
    assert capsys.readouterr().out == "No sessions are stored.\n"


@pytest.mark.parametrize("arguments", [["show"], ["forget", "nonsense"]])
def test_what_is_no_id_is_refused_with_the_way_to_find_one(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sessions", *arguments]) == 1
    assert "`foldline sessions` lists them" in capsys.readouterr().err


def test_state_in_another_processes_memory_is_said_to_be_out_of_reach(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REDIS_URL", "memory://")
    assert main(["sessions"]) == 2
    assert "no other process sees it" in capsys.readouterr().err
