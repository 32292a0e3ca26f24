"""A clean place to read settings from: an empty directory, and an environment without any of their names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.settings import ALSO, PREFIX


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The working directory of the test, where .env and foldline.toml are looked for."""
    plain = {name for names in ALSO.values() for name in names}
    for name in [*os.environ]:
        if name.startswith(PREFIX) or name.removesuffix("_FILE") in plain:
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path
