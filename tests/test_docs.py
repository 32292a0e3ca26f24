"""The docs name every setting, header, command, metric and error there is, and their links lead somewhere."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from app.cli import COMMANDS, main
from app.commands.config import default_said, shown
from app.context import carry
from app.context.budget import budget_of
from app.context.folds import Check
from app.context.policy import PER_REQUEST, Policy
from app.errors import STATUS, Kind
from app.observe import Metrics, StoreMetrics
from app.settings import ALSO, NAMES, Settings
from app.settings.tables import Route, ToolTable, UpstreamTable
from app.state.store import Store

ROOT = Path(__file__).parents[1]
READMES = (ROOT / "README.md", ROOT / "README.ja.md")
PAGES = (*READMES, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md")))


@cache
def text(name: str) -> str:
    """A page of the docs."""
    return (ROOT / name).read_text(encoding="utf-8")


def rows(name: str) -> dict[str, list[str]]:
    """The rows of a page's tables by the first code word in them."""
    found: dict[str, list[str]] = {}
    for line in text(name).splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| `") and (name_of := re.match(r"`([^`]+)`", cells[0])):
            found[name_of[1]] = cells
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_stands_in_the_docs_with_its_default(name: str) -> None:
    cells = rows("docs/settings.md")[name.upper()]
    expected = default_said(name) or shown(Settings(), name)
    if name == "redis_url":
        expected = "embedded://"
    assert cells[1].replace("`", "") == expected


@pytest.mark.parametrize("name", ALSO)
def test_every_plain_name_stands_beside_its_setting(name: str) -> None:
    meaning = rows("docs/settings.md")[name.upper()][-1]
    assert all(f"`{plain}`" in meaning for plain in ALSO[name])


def test_no_setting_is_documented_that_is_not_there() -> None:
    documented = {name for name in rows("docs/settings.md") if re.fullmatch(r"[A-Z][A-Z_]+", name)}
    assert documented == {name.upper() for name in NAMES}


@pytest.mark.parametrize("table", [Route, UpstreamTable, ToolTable])
def test_every_key_of_a_table_stands_in_the_docs(table: type[Route | UpstreamTable | ToolTable]) -> None:
    for name in table.model_fields:
        assert f"`{name}`" in text("docs/settings.md") or f"`{name.upper()}`" in text("docs/settings.md")


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.name)
def test_every_command_and_response_header_stands_in_each_readme(readme: Path) -> None:
    said = readme.read_text(encoding="utf-8")
    assert [command.name for command in COMMANDS if f"`foldline {command.name}" not in said] == []
    assert [header for header in headers() if f"`{header}`" not in said] == []


def headers() -> list[str]:
    """Every x-foldline-… header that the program's text has."""
    return sorted(set(re.findall(r"\bx-foldline-[a-z]+(?:-[a-z]+)*", sources().lower())))


@cache
def sources() -> str:
    """The program's text."""
    return "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "app").rglob("*.py"))


def test_the_headers_are_found_in_the_program() -> None:
    assert {"x-foldline-session", "x-foldline-turn", "x-foldline-tokens", "x-foldline-plan"} <= set(headers())


async def test_every_metric_stands_in_the_docs() -> None:
    metrics = Metrics()
    store = await Store.open("memory://", ttl_seconds=60)
    metrics.registry.register(StoreMetrics(store))
    names = {f"{each.name}_total" if each.type == "counter" else each.name for each in metrics.registry.collect()}
    await store.close()
    documented = {name for name in rows("docs/deploy.md") if name.startswith("foldline_")}
    assert len(names) > 5
    assert documented == names


def test_every_step_of_a_plan_stands_in_the_docs() -> None:
    steps = re.findall(r'(?:^STEP = |\bDecision\()"([a-z_]+)"', sources(), re.MULTILINE)
    assert {"summary", "trim", "memory", "restore"} <= set(steps)
    documented = {name.partition("=")[0] for name in rows("docs/explain.md") if "=" in name}
    assert documented == {*steps, "state"}


def test_every_option_of_a_request_stands_in_the_docs() -> None:
    options = text("docs/settings.md").partition("## In one request")[2].partition("\n## ")[0]
    assert {name for name in PER_REQUEST if f"`{name}`" not in options} == set()


def test_every_field_of_a_dry_run_stands_in_the_docs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "request.json"
    file.write_text(json.dumps({"model": "lab", "messages": [{"role": "user", "content": "hello"}]}))
    assert main(["explain", "--json", str(file)]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert {name for name in fields if f"`{name}`" not in text("docs/explain.md")} == set()


def test_every_field_of_a_check_stands_in_the_docs() -> None:
    said = text("docs/folding.md")
    assert {name for name in Check.__struct_fields__ if f'"{name}"' not in said} == set()


def test_the_wrapper_of_a_fold_stands_in_the_docs_word_for_word() -> None:
    said = text("docs/folding.md")
    assert carry.OPENING in said
    assert carry.CLOSING in said
    assert f"\n{carry.FACTS}\n- " in said


def test_the_thresholds_in_the_docs_are_those_of_the_program() -> None:
    budget = budget_of(Policy(), 0, 0)
    table = text("docs/folding.md").partition("| threshold |")[2].partition("\n\n")[0]
    assert re.findall(r"\| ([\d,]+) \|", table) == [f"{each:,}" for each in (budget.to, budget.soft, budget.at)]


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.name)
def test_the_numbers_of_each_readme_are_the_measured_ones(readme: Path) -> None:
    said = readme.read_text(encoding="utf-8")
    for language in ("English", "Japanese"):
        table = text("docs/benchmarks.md").partition(f"\n| {language} | in view |")[2].partition("\n\n")[0]
        found = re.search(r"^\| foldline, half \| (\d+)/60 \|[^|]*\| (\d+)% \|", table, re.MULTILINE)
        assert found is not None
        assert re.search(rf"\b{found[1]}\b", said), f"{readme.name} should say {found[1]} of 60, {language}"
        assert f"{found[2]} %" in said, f"{readme.name} should say {found[2]} %, {language}"


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_error_stands_in_the_docs_with_its_status(kind: Kind) -> None:
    assert rows("docs/errors.md")[kind][1] == str(STATUS[kind])


def test_every_direct_dependency_has_its_reason() -> None:
    project = tomllib.loads(text("pyproject.toml"))
    needed = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    needed += [*project["dependency-groups"]["build"]]
    names = {re.match(r"[A-Za-z0-9_-]+", requirement).group() for requirement in needed}  # type: ignore[union-attr]  # all match
    said = text("docs/dependencies.md").partition("## Deliberately absent")[0]
    assert {name for name in names if f"`{name}`" not in said} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"https?:", target):
            continue
        file, _, anchor = target.partition("#")
        path = page.parent / file if file else page
        assert path.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(path), f"{page.name} links to {target}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as they are usually made."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_both_readmes_have_the_same_parts() -> None:
    shapes = [re.findall(r"^(#+) ", path.read_text(encoding="utf-8"), re.MULTILINE) for path in READMES]
    assert shapes[0] == shapes[1]
    commands = [re.findall(r"```sh\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL) for path in READMES]
    assert [len(block.splitlines()) for block in commands[0]] == [len(block.splitlines()) for block in commands[1]]
