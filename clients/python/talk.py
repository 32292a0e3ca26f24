"""What every Python client says and hears: the lines of conversation.json, the model, the report at the end."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

SAID: dict[str, Any] = json.loads((Path(__file__).parent.parent / "conversation.json").read_text("utf-8"))
MODEL = sys.argv[1]


def get_weather(city: str) -> str:
    """The weather in a city, now.

    Args:
        city: The city's name.
    """
    CALLED.append({"city": city})
    return SAID["result"]


CALLED: list[dict[str, Any]] = []
"""The arguments that the model called the tool with."""


def report(package: str, second: str, chunks: Iterable[str], told: str) -> None:
    """Print what the runner judges: the second answer, the pieces of the stream, the tool's arguments, its answer."""
    pieces = [chunk for chunk in chunks if chunk]
    print(
        json.dumps(
            {
                "version": version(package),
                "second": second,
                "streamed": "".join(pieces),
                "chunks": len(pieces),
                "called": CALLED,
                "told": told,
            }
        )
    )
