"""Made results of each kind, and the small forms of them."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

from app.chat.model import Text, ToolResult
from app.context.tool_results import DEFAULT, LIMITS, Compacted, Limits, ToolSettings, compacted

WORDS = [
    "light",
    "sturdy",
    "color",
    "screen",
    "battery",
    "shipping",
    "quality",
    "cable",
    "small",
    "price",
    "case",
    "value",
    "sound",
    "lens",
    "strap",
    "manual",
]


def handle_of(text: bytes) -> str:
    """A handle as the engine makes it, without its secret."""
    return f"res_{hashlib.blake2b(text, digest_size=10).hexdigest()}"


def result(text: str, name: str = "get_data") -> ToolResult:
    """A tool's answer in words."""
    return ToolResult("call_1", (Text(text),), name)


def small_form(
    text: str, question: str = "", settings: ToolSettings = DEFAULT, limits: Limits = LIMITS
) -> Compacted | None:
    """What becomes of a text."""
    return compacted(result(text), question, settings, handle_of, limits)


def shown(
    text: str, question: str = "", settings: ToolSettings = DEFAULT, limits: Limits = LIMITS
) -> tuple[Compacted, str]:
    """The small form of a text that must have one, and its words."""
    made = small_form(text, question, settings, limits)
    assert made is not None
    part = made.content[0]
    assert isinstance(part, Text)
    return made, part.text


def form_of(
    text: str, question: str = "", settings: ToolSettings = DEFAULT, limits: Limits = LIMITS
) -> Mapping[str, Any]:
    """The small form of a text made of rows, read as JSON."""
    return json.loads(shown(text, question, settings, limits)[1])


def words(count: int, seed: int) -> str:
    """So many words, always the same ones for a seed."""
    return " ".join(random.Random(seed).choices(WORDS, k=count))


def reviews(count: int = 312, odd: int = 217, length: int = 80) -> list[dict[str, Any]]:
    """Reviews of about 150 tokens each; one of them is unlike the others, and says so in its words only."""
    made: list[dict[str, Any]] = [
        {
            "id": 1000 + at,
            "rating": 3 + at % 3,
            "title": words(5, at),
            "text": words(length, at + 10_000),
            "verified": True,
            "reply": None,
            "day": f"2026-0{1 + at % 9}-1{at % 10}",
        }
        for at in range(count)
    ]
    if odd < count:
        made[odd]["text"] = "It melted on order INV-20931. " + words(length - 10, 5)
    return made


def orders(count: int = 900, odd: int = 611) -> list[dict[str, Any]]:
    """Orders with a status; a single one has failed."""
    made: list[dict[str, Any]] = [
        {
            "order": f"A-{70_000 + at}",
            "customer": f"customer {at % 97}",
            "amount": round(10 + (at * 7919 % 9000) / 100, 2),
            "status": ("open", "paid", "shipped")[at % 3],
            "problem": None,
        }
        for at in range(count)
    ]
    if odd < count:
        made[odd] |= {"status": "failed", "problem": "card refused"}
    return made


def log(count: int = 9000, odd: int = 5400) -> str:
    """A server's log with one line of trouble."""
    lines = [
        f"2026-03-01T12:{at // 60 % 60:02}:{at % 60:02}.123Z INFO svc[{at % 4}] request {at} served in {at * 7 % 90} ms"
        for at in range(count)
    ]
    if odd < count:
        lines[odd] = lines[odd].replace("INFO", "ERROR").split(" request")[0] + " disk quota exceeded on volume v7"
    return "\n".join(lines)


def csv_text(rows: Sequence[Mapping[str, Any]], mark: str = ",") -> str:
    """Rows as CSV, cells in quotes where they need them."""
    lines = [mark.join(rows[0])]
    for row in rows:
        cells = ["" if value is None else str(value) for value in row.values()]
        lines.append(mark.join(f'"{cell}"' if mark in cell else cell for cell in cells))
    return "\n".join(lines) + "\n"
