"""The real clients' lock files and their page agree: what is said to work is what `make test-clients` installs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.commands.env import CLIENTS
from clients.agents import AGENTS
from clients.libraries import LIBRARIES

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/clients.md").read_text("utf-8")
LOCKS = ("requirements-clients.txt", "requirements-clients-older.txt", "clients/javascript/package-lock.json")
NPM = {
    "Claude Code": "@anthropic-ai/claude-code",
    "Codex": "@openai/codex",
    "opencode": "opencode-linux-x64",
    "Gemini CLI": "@google/gemini-cli",
}


def _locked() -> Iterator[tuple[str, str]]:
    for name in LOCKS[:2]:
        yield from re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / name).read_text("utf-8"), re.MULTILINE)
    packages = json.loads((ROOT / LOCKS[2]).read_text("utf-8"))["packages"]
    for path, package in packages.items():
        if path.count("node_modules/") == 1:
            yield path.removeprefix("node_modules/"), package["version"]


def _rows() -> list[list[str]]:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(("| client", "| ---"))]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("row", [row for row in _rows() if row[1] != "–"], ids=lambda row: f"{row[0]}, {row[2]}")
def test_the_page_names_the_version_that_is_tried(row: list[str]) -> None:
    client = row[0]
    package = NPM.get(client) or client.rpartition(" with ")[2].split(" (")[0]
    assert (package, row[1]) in set(_locked())


def test_every_client_that_is_tried_stands_on_the_page() -> None:
    said = {(row[0].split(" (")[0].replace(" with ", ", "), each) for row in _rows() for each in row[2].split(", ")}
    said = {(name.replace("pydantic-ai-slim", "pydantic-ai"), speaks) for name, speaks in said}
    tried = {(library.name, library.speaks) for library in LIBRARIES} | {(one.name, one.speaks) for one in AGENTS}
    assert tried - said == set()


def test_every_client_that_env_knows_is_tried() -> None:
    assert {library.env for library in LIBRARIES} | {agent.env for agent in AGENTS} == set(CLIENTS)


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_file_names_no_place_to_download_from(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert not re.search(r'"resolved"|--index-url|--find-links|\.(?:whl|tgz)\b', text)
    if name.endswith(".txt"):
        assert "://" not in text
