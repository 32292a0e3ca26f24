"""The benchmark runs from its first server to its last table, and leaves nothing behind."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKS = ("chat2", "chat20-known", "stream50")
SHORT = [
    *("--servers", "bare,litellm", "--workloads", ",".join(WORKS), "--open", "20"),
    *("--rounds", "1", "--seconds", "0.2", "--hang-ups", "1"),
]


@dataclass(frozen=True)
class Outcome:
    """What one run said, the numbers that it wrote, and its own temporary directory."""

    told: str
    results: dict[str, dict[str, dict[str, float]]]
    directory: Path


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """One short run, as a user would start it."""
    directory = tmp_path_factory.mktemp("bench")
    file = directory / "result.json"
    missing = ["--litellm", str(directory / "none")]
    done = subprocess.run(
        [sys.executable, "-m", "bench", *SHORT, *missing, "--json", str(file)],
        cwd=ROOT,
        env={"PATH": "/usr/sbin:/usr/bin:/bin", "TMPDIR": str(directory)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Outcome(done.stdout, json.loads(file.read_text())["results"], directory)


@pytest.mark.parametrize("work", WORKS)
def test_the_benchmark_measures_a_server_and_the_upstream_itself_in_every_kind_of_workload(outcome: Outcome, work: str):
    assert f"## {work}" in outcome.told
    assert set(outcome.results[work]) == {"direct", "bare"}
    for row in outcome.results[work].values():
        assert row["requests"] > 0
        assert row["errors"] == 0


def test_the_benchmark_holds_streams_open_and_hangs_up(outcome: Outcome):
    assert outcome.results["open"]["bare"]["alive"] == 20
    assert outcome.results["hang-up"]["bare"]["hang_up_max_ms"] < 1000


def test_a_peer_that_is_not_installed_is_left_out_and_named(outcome: Outcome):
    assert "litellm: not installed" in outcome.told


def test_the_benchmark_ends_what_it_started_and_removes_what_it_wrote(outcome: Outcome):
    assert [each.name for each in outcome.directory.iterdir()] == ["result.json"]
    assert _processes_naming(str(outcome.directory)) == []


def _processes_naming(word: str) -> list[str]:
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_text("utf-8", "replace") if entry.name.isdigit() else ""
            where = str((entry / "cwd").readlink()) if entry.name.isdigit() else ""
        except OSError:
            continue
        if word in command or where.startswith(word):
            found.append(command)
    return found
