"""The house's walls: which room may import which, and what the pure rooms must not touch.

A picture of the rooms stands in docs; this walks the code itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

APP = Path(__file__).parent.parent / "app"
FILES = sorted(APP.rglob("*.py"))

LAYERS = {
    "errors": frozenset[str](),
    "chat": frozenset({"errors"}),
    "wires": frozenset({"chat", "errors"}),
    "context": frozenset({"chat", "errors"}),
    "logs": frozenset({"errors"}),
    "observe": frozenset({"errors"}),
    "state": frozenset({"chat", "context", "errors"}),
    "upstreams": frozenset({"chat", "wires", "errors"}),
    "tools": frozenset({"chat", "context", "wires", "state", "errors"}),
    "engine": frozenset({"chat", "wires", "context", "state", "upstreams", "tools", "observe", "errors"}),
    "web": frozenset({"chat", "wires", "context", "state", "upstreams", "tools", "engine", "observe", "errors"}),
    "settings": frozenset({"errors"}),
    "simulator": frozenset({"errors"}),
}
"""Room → the rooms that it may import. main, cli and commands stand above all of them."""
TOP = frozenset({"main", "cli", "commands"})
PURE = frozenset({"chat", "wires", "context"})
IMPURE_MODULES = frozenset(
    {
        "asyncio",
        "time",
        "random",
        "secrets",
        "uuid",
        "os",
        "logging",
        "socket",
        "threading",
        "subprocess",
        "pathlib",
        "io",
    }
)
OWNERS = {
    "redis": frozenset({"state"}),
    "fakeredis": frozenset({"state"}),
    "aiohttp": frozenset({"upstreams"}),
    "httpx": frozenset({"upstreams", "commands"}),
    "httpx2": frozenset({"upstreams", "commands"}),
    "requests": frozenset[str](),
    "google": frozenset({"upstreams", "commands"}),
    "fastapi": frozenset({"web", "main"}),
    "starlette": frozenset({"web", "main", "simulator"}),
    "pydantic": frozenset({"settings", "cli", "commands"}),
    "pydantic_settings": frozenset({"settings"}),
}
"""Third-party module → the rooms that may import it."""


def _room(file: Path) -> str:
    return file.relative_to(APP).parts[0].removesuffix(".py")


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), str(file))


def _imports(tree: ast.AST) -> Iterator[str]:
    """Every module that is imported, anywhere in the file, as a dotted name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute, so that this test and a reader see where they go"
            yield node.module or ""
            yield from (f"{node.module}.{name.name}" for name in node.names)


def _of(*rooms: str) -> list[Path]:
    return [file for file in FILES if _room(file) in rooms]


def _complaints(files: list[Path], wrong: type[ast.AST] | tuple[type[ast.AST], ...]) -> list[str]:
    return [
        f"{file.relative_to(APP)}:{getattr(node, 'lineno', 0)}"
        for file in files
        for node in ast.walk(_tree(file))
        if isinstance(node, wrong)
    ]


def test_every_room_stands_in_the_picture() -> None:
    rooms = {_room(file) for file in FILES} - {"__init__"}
    assert rooms <= LAYERS.keys() | TOP, "a new room needs its place among the import arrows"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(APP)))
def test_imports_only_point_downwards(file: Path) -> None:
    room = _room(file)
    if room in TOP or room == "__init__":
        return
    for module in _imports(_tree(file)):
        parts = module.split(".")
        if parts[0] == "app" and len(parts) > 1 and (other := parts[1]) in LAYERS.keys() | TOP:
            assert other == room or other in LAYERS[room], f"{room} must not import {module}"


def test_nothing_imports_the_top() -> None:
    for file in FILES:
        if _room(file) not in TOP:
            assert not {module.split(".")[1] for module in _imports(_tree(file)) if module.startswith("app.")} & TOP


def test_only_the_top_reads_settings() -> None:
    readers = {_room(f) for f in FILES if any(m.startswith("app.settings") for m in _imports(_tree(f)))}
    assert readers - {"settings"} <= TOP


@pytest.mark.parametrize("library", sorted(OWNERS))
def test_a_library_stays_in_its_room(library: str) -> None:
    for file in FILES:
        if any(module.split(".")[0] == library for module in _imports(_tree(file))):
            assert _room(file) in OWNERS[library], f"{file.relative_to(APP)} imports {library}"


def test_the_pure_rooms_never_await() -> None:
    waiting = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)
    assert _complaints(_of(*PURE), waiting) == []


@pytest.mark.parametrize("file", _of(*PURE), ids=lambda file: str(file.relative_to(APP)))
def test_the_pure_rooms_have_no_clock_no_chance_no_environment_and_no_log(file: Path) -> None:
    assert {module.split(".")[0] for module in _imports(_tree(file))} & IMPURE_MODULES == set()
    called = {ast.unparse(node.func).split(".")[-1] for node in ast.walk(_tree(file)) if isinstance(node, ast.Call)}
    assert called & {"open", "print", "input"} == set(), "no I/O"
    assert called & {"now", "utcnow", "today"} == set(), "time is passed in"


def test_only_a_chat_is_ever_replaced_never_a_message_or_a_part() -> None:
    """An edited message must drop what the peer wrote: only Message.edited does."""
    bad: list[str] = []
    for file in _of("chat", "wires", "context", "engine", "tools", "web"):
        assert "dataclasses" not in set(_imports(_tree(file))), file
        for node in ast.walk(_tree(file)):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in ("replace", "__replace__")
            ):
                target = ast.unparse(node.args[0]) if node.args else ""
                if ast.unparse(node.func) in ("copy.replace", "msgspec.structs.replace", "structs.replace") and not (
                    target in ("chat", "draft.chat", "self.chat") or file.name == "policy.py"
                ):
                    bad.append(f"{file.relative_to(APP)}:{node.lineno}: {ast.unparse(node)[:80]}")
    assert bad == []


def test_nothing_reads_the_environment_behind_the_settings_back() -> None:
    allowed = {"settings", "commands", "cli"}
    for file in FILES:
        if _room(file) in allowed:
            continue
        for node in ast.walk(_tree(file)):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in ("os.environ", "os.getenv"):
                pytest.fail(f"{file.relative_to(APP)}:{node.lineno} reads the environment")
