"""What a user may say about tool results: the sizes that hold for all of them, and what one tool needs."""

from __future__ import annotations

import msgspec

from app.chat.family import Family

LEAST = 200
"""Tokens of the smallest form. A budget below it counts as this much: a handle and a note must have room."""


class ToolSettings(msgspec.Struct, frozen=True):
    """One tool's own settings, the table `[tools."NAME"]`.

    Args:
        keep_fields: the fields of each row that the model needs; empty: Foldline chooses.
        budget: tokens that one result may take; None: the sizes that hold for all tools.
        compact: False: this tool's results are never made small.
    """

    keep_fields: tuple[str, ...] = ()
    budget: int | None = None
    compact: bool = True

    def within(self, tokens: int) -> ToolSettings:
        """The same with a budget of so many tokens at most."""
        return ToolSettings(self.keep_fields, min(self.budget or tokens, tokens), self.compact)


class Limits(msgspec.Struct, frozen=True):
    """What holds for all tools of one request. Sizes are in tokens, estimated by chat/size.py.

    Args:
        rows: what a small form made of rows may take (TOOL_RESULT_TOKENS).
        text: what one of text, code or a log may take (TOOL_TEXT_TOKENS).
        heavy: a result above this is heavy (HEAVY_TOOL_TOKENS): from there on `keep_fields` are obeyed, even if the
            whole would fit.
        family: whose tokenizer counts.
        fetch: the name of the tool that gives the rest; empty if the model cannot be given one.
    """

    rows: int = 6000
    text: int = 20000
    heavy: int = 4000
    family: Family = "other"
    fetch: str = "fetch_rows"


LIMITS = Limits()
"""The sizes by default."""

DEFAULT = ToolSettings()
"""A tool that nobody set anything for."""
