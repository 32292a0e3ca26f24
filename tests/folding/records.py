"""What the record of a turn says of its summary, wherever in it that stands."""

from __future__ import annotations

from typing import Any, cast

from tests.folding.call import Json


def _found(value: Any, name: str) -> list[Any]:
    """All values under this name, however deep."""
    if isinstance(value, dict):
        fields = cast("Json", value)
        inside = [one for inner in fields.values() for one in _found(inner, name)]
        return [fields[name], *inside] if name in fields else inside
    if isinstance(value, list):
        return [one for inner in cast("list[Any]", value) for one in _found(inner, name)]
    return []


def check_of(record: Json) -> Json:
    """What the record says of the newest summary."""
    checks = [one for one in _found(record, "check") if one]
    assert len(checks) == 1, record
    return checks[0]
