"""What a shop's tool gives: 312 reviews of 48,000 tokens, of which one is odd; and what a model asks of them."""

from __future__ import annotations

import json
from typing import Any

ODD = 217
"""The row that tells of a fire."""

FIRE = "the battery caught fire"
BIG = 10**25
TOOLS: dict[str, dict[str, Any]] = {
    name: {"type": "object", "properties": {"q": {"type": "string"}}} for name in ("reviews", "stock")
}


def rows(count: int = 312) -> list[dict[str, Any]]:
    """Reviews; the same ones for the same number."""
    made: list[dict[str, Any]] = [
        {
            "id": 1000 + at,
            "stars": 3 + at % 3,
            "text": f"Review number {at}: " + "good value and quick delivery, would buy again. " * 11,
            "serial": BIG + at,
            "weight": 0.1,
        }
        for at in range(count)
    ]
    made[ODD % count]["text"] = f"After two weeks {FIRE}."
    return made


def reviews(count: int = 312) -> str:
    """The tool's result."""
    return json.dumps(rows(count))


def calls(*named: tuple[str, dict[str, Any]]) -> str:
    """Words that make the simulated model call these, all in one step."""
    return " ".join(f"call {name} with {json.dumps(arguments)}" for name, arguments in named)


def fetch(handle: str, **asked: Any) -> str:
    """Words that make the simulated model fetch rows."""
    return calls(("fetch_rows", {"handle": handle, **asked}))
