"""Counting tokens with a real tokenizer (o200k_base, from toktok-rs), or by Foldline's own estimates."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from app.chat import size

PER_MESSAGE = 4
"""Tokens that frame a message: role and ends."""

PER_CHAT = 3
"""Tokens that open the answer."""


def reach(directory: Path) -> None:
    """Make what is installed in the virtual environment `directory` importable, behind everything of our own."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = directory / "lib" / version / "site-packages"
    if packages.is_dir() and str(packages) not in sys.path:
        sys.path.append(str(packages))


@functools.cache
def _tokenizer() -> tuple[Callable[[str], int], str]:
    try:
        counting: Any = importlib.import_module("toktok")
    except ImportError:
        return lambda text: size.of_text(text, "openai"), "Foldline's own estimate (toktok-rs is not installed)"
    return lambda text: int(counting.batch_count([text], "o200k_base")[0]), "o200k_base (toktok-rs)"


def tokenizer() -> str:
    """What counts, in words."""
    return _tokenizer()[1]


@functools.lru_cache(maxsize=65536)
def of_text(text: str) -> int:
    """Tokens of a text."""
    return _tokenizer()[0](text) if text else 0


def warm(texts: Iterable[str]) -> None:
    """Count these once, so that no later turn is timed with it."""
    for text in texts:
        of_text(text)
