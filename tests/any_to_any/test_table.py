"""The conformance table in the docs is what the code does, and nothing in it is lost without a word."""

from __future__ import annotations

import pytest

from tests.any_to_any.clients import FORMATS, Format
from tests.any_to_any.table import DOCS, DROPPED, NEWEST, OLDER, REQUEST_ROWS, cell, made, written


@pytest.mark.parametrize("client", FORMATS)
@pytest.mark.parametrize("models", [NEWEST, OLDER], ids=["newest", "older"])
def test_what_an_upstream_cannot_say_is_reported(client: Format, models: dict[Format, str]) -> None:
    silent = [
        (row.name, upstream)
        for row in REQUEST_ROWS
        if client in row.asks
        for upstream in FORMATS
        if cell(row, client, upstream, models) == DROPPED
    ]
    assert silent == []


@pytest.mark.parametrize("client", FORMATS)
def test_the_same_format_goes_out_byte_for_byte_whatever_it_says(client: Format) -> None:
    kept = {row.name: cell(row, client, client) for row in REQUEST_ROWS if client in row.asks}
    assert set(kept.values()) == {"kept"}, kept


def test_the_table_in_the_docs_is_what_the_code_does() -> None:
    document = DOCS.read_text(encoding="utf-8")
    assert document == written(document, made()), "run: python -m tests.any_to_any.table"
