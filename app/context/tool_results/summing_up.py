"""The schema and the digest of a table: each field's type and filled share, counts, extremes, dates; within a room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from app.context.tool_results.columns import FieldStats
from app.context.tool_results.fields import Choice, Dropped
from app.context.tool_results.shapes import quoted, spelled

MOST_COUNTED = 12
"""Values of one field whose counts are told."""

LONGEST_VALUE = 60
"""Bytes of a value whose count is told."""

Entry: TypeAlias = tuple[str, bytes]


def schema(fields: Sequence[FieldStats], total: int, choice: Choice, more: int) -> list[bytes]:
    """One entry a field: its name, type, filled share, and why it is not shown."""
    gone = {each.field: each for each in choice.dropped}
    entries = [_field(each, total, gone.get(each.name)) for each in fields]
    return [*entries, spelled([("more_fields", b"%d" % more)])] if more else entries


def _field(stats: FieldStats, total: int, dropped: Dropped | None) -> bytes:
    share = stats.filled / total if total else 0.0
    filled = b"1" if stats.filled == total else quoted(min(max(round(share, 2), 0.01 if stats.filled else 0), 0.99))
    entry = [("field", quoted(stats.name)), ("type", quoted(stats.kind())), ("filled", filled)]
    if dropped is not None:
        entry.append(("left_out", quoted(dropped.why)))
        if dropped.why == "constant":
            entry.append(("value", dropped.as_.encode()))
        elif dropped.why == "duplicate":
            entry.append(("same_as", quoted(dropped.as_)))
    return spelled(entry)


def digest(fields: Sequence[FieldStats], total: int) -> list[Entry]:
    """What can be told of each field over all rows, in the fields' order; fields of which nothing can are not there."""
    entries: list[Entry] = []
    for each in fields:
        if each.constant(total) or not each.filled:
            continue
        told = _told(each, total)
        if told:
            entries.append((each.name, spelled(told)))
    return entries


def _told(stats: FieldStats, total: int) -> list[Entry]:
    told: list[Entry] = []
    counts = stats.counts
    if stats.numbers and stats.low:
        told += [("min", stats.low[0].text), ("max", stats.high[0].text)]
        if (mean := stats.mean) is not None:
            told.append(("mean", quoted(float(f"{mean:.6g}"))))
    if stats.dates is not None:
        told += [("from", stats.dates[0]), ("to", stats.dates[1])]
    few = counts is not None and len(counts) <= MOST_COUNTED
    if counts is not None and (few or not (stats.numbers or stats.dates)):
        told += _counts(counts)
    return told


def _counts(counts: Mapping[bytes, int]) -> list[Entry]:
    pairs = [(value, count) for value, count in counts.items() if len(value) <= LONGEST_VALUE]
    pairs.sort(key=lambda each: -each[1])
    shown: dict[str, bytes] = {}
    for value, count in pairs[:MOST_COUNTED]:
        name = _name(value)
        shown[value.decode() if name in shown else name] = b"%d" % count
    if not shown:
        return []
    told: list[Entry] = [("counts", spelled(shown.items()))]
    if len(pairs) > MOST_COUNTED:
        told.append(("other_values", b"%d" % (len(pairs) - MOST_COUNTED)))
    return told


def _name(value: bytes) -> str:
    """A value as a key: a string by its words, anything else as it is spelled."""
    return msgspec.json.decode(value, type=str) if value[:1] == b'"' else value.decode()
