"""The numbers that steps obey, after settings, route and request have each had their say."""

from __future__ import annotations

from typing import Literal

import msgspec


class Policy(msgspec.Struct, frozen=True):
    """One request's policy. Sizes are in tokens, `keep_recent` in messages."""

    profile: Literal["chat", "agent"] = "chat"
    fold_at_tokens: int = 8000
    fold_to_tokens: int = 4000
    keep_recent: int = 6
    heavy_tool_tokens: int = 4000
    tool_result_tokens: int = 6000
    tool_text_tokens: int = 20000
    fetch_rows_limit: int = 40
    summary_tokens: int = 1024
    min_retention: float = 0.9
    chain: Literal["auto", "never"] = "auto"
    strict: bool = False
    off: bool = False
