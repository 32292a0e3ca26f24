"""Text for people: colours on a terminal only, and addresses as one types them."""

from __future__ import annotations

import os
import sys
from typing import Literal, TextIO

Colour = Literal["bold", "dim", "red", "green", "yellow"]

_CODES: dict[Colour, str] = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


def coloured(text: str, colour: Colour, stream: TextIO | None = None) -> str:
    """The text in a colour if the stream is a terminal and NO_COLOR is unset, else as it is."""
    if not (stream or sys.stdout).isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m"


def reachable(host: str, port: int) -> str:
    """The URL under which this machine reaches a server that listens on `host`."""
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104 # compared, not bound
    return f"http://{f'[{name}]' if ':' in name and not name.startswith('[') else name}:{port}"
