"""Proto-JSON spelling: lowerCamelCase and snake_case are the same name."""

from __future__ import annotations

import re
from typing import Any

_SNAKE = re.compile(r"_([a-z0-9])")
_CAMEL: dict[str, str] = {}


def camel(name: str) -> str:
    """A known field's canonical spelling. Remembered, as a few dozen names make up all traffic."""
    known = _CAMEL.get(name)
    if known is None:
        known = _SNAKE.sub(lambda match: match[1].upper(), name)
        if len(_CAMEL) < 512:
            _CAMEL[name] = known
    return known


def camel_keys(value: dict[str, Any]) -> dict[str, Any]:
    """One object's own keys in canonical spelling; what they hold stays as it is."""
    return {camel(name): item for name, item in value.items()}
