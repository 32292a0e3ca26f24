"""Log lines as text or JSON, with every known secret blotted out by its value, wherever it turns up."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterable
from typing import Literal

SHORTEST = 6
"""Characters. Blotting out shorter secrets would hit innocent words."""

_LOOKS_LIKE_A_KEY = re.compile(r"(sk-[A-Za-z0-9_-]{8,}|AIza[A-Za-z0-9_-]{20,}|Bearer\s+[A-Za-z0-9._~+/=-]{6,})")


class Blotter(logging.Filter):
    """Rewrites each record: secrets become ***. Tracebacks are formatted first, so that they are covered too."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        known = sorted((re.escape(s) for s in set(secrets) if len(s) >= SHORTEST), key=len, reverse=True)
        self._known = re.compile("|".join(known)) if known else None

    def blot(self, text: str) -> str:
        """The text without secrets."""
        if self._known is not None:
            text = self._known.sub("***", text)
        return _LOOKS_LIKE_A_KEY.sub("***", text)

    def filter(self, record: logging.LogRecord) -> bool:
        """Always true: nothing is dropped, only covered."""
        record.msg, record.args = self.blot(record.getMessage()), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = self.blot(record.exc_text)
        return True


class Incomplete(logging.Filter):
    """Drops the server's complaint about a response that was cut on purpose: that is how a client learns of a break."""

    def filter(self, record: logging.LogRecord) -> bool:
        """False for that one line."""
        return "returned without completing response" not in record.getMessage()


class JsonLine(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record."""
        fields = {
            "at": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        if record.exc_text:
            fields["traceback"] = record.exc_text
        return json.dumps(fields, ensure_ascii=False)


def set_up_logs(level: str, format: Literal["console", "json"], secrets: Iterable[str]) -> None:  # noqa: A002 (the setting's own word)
    """One handler on stderr for all loggers of the process."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        JsonLine() if format == "json" else logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S")
    )
    handler.addFilter(Incomplete())
    handler.addFilter(Blotter(secrets))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for talkative in ("uvicorn.error", "httpx2"):
        logging.getLogger(talkative).setLevel(logging.WARNING)
