"""Every golden folder is what the code makes of it today."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.wires.goldens import FOLDERS, produced
from tests.wires.talking import PAIRS


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_form_of_a_turn_is_the_one_on_file(folder: Path) -> None:
    for name, text in produced(folder).items():
        assert text == (folder / name).read_text(encoding="utf-8"), f"{folder.name}/{name}"


def test_every_pair_of_formats_has_a_folder() -> None:
    assert {(*tuple(folder.name.split("-to-", 1)[0:1]), folder.name.split("-")[2]) for folder in FOLDERS} == set(PAIRS)
