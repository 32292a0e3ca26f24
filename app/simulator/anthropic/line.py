"""A request's messages as one line of blocks: what bindings, the cache and resumed answers compare.

Messages of one role that follow each other are one turn, a string is a text block, cache marks and nulls say nothing:
two requests that say the same have the same line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.simulator.shapes import Json, as_object, as_text, digest, is_list, is_object, objects

THOUGHTS = ("thinking", "redacted_thinking")
_SILENT = ("cache_control",)


@dataclass(frozen=True, slots=True)
class Placed:
    """A content block and where it stands: `path` as error messages name it, `message` by its index."""

    path: str
    message: int
    role: str
    block: Json

    @property
    def kind(self) -> str:
        """The block's type."""
        return as_text(self.block.get("type"))


def blocks_in(content: object) -> list[Json]:
    """A message's or a result's content as blocks, whichever way it is written."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return objects(content)


def line_of(messages: list[Json]) -> Iterator[Placed]:
    """All blocks of all messages in their order."""
    for at, message in enumerate(messages):
        for index, block in enumerate(blocks_in(message.get("content"))):
            yield Placed(f"messages.{at}.content.{index}", at, as_text(message.get("role")), block)


def after(before: str, role: str, block: Json) -> str:
    """The name of the line that ends with this block, from the name of the line before it."""
    return digest(before, role, plain(block))


def ends_of(messages: list[Json], before: str = "") -> Iterator[tuple[Placed, str, str]]:
    """Every block with the names of the lines that end before and after it; thinking is no part of a line.

    Args:
        before: the name of a line that all of them follow.
    """
    name = before
    for placed in line_of(messages):
        stands_for_all = before != "" and placed.kind == "compaction"
        silent = placed.kind in THOUGHTS or stands_for_all
        end = name if silent else after(name, placed.role, placed.block)
        yield placed, name, end
        name = end


def plain(value: object) -> object:
    """A JSON value without what says nothing: cache marks, nulls, and a string in place of one text block."""
    if is_object(value):
        kept = {key: plain(one) for key, one in value.items() if key not in _SILENT and one is not None}
        if value.get("type") == "tool_result":
            kept["content"] = [plain(one) for one in blocks_in(value.get("content"))]
            kept["is_error"] = value.get("is_error") is True
        return kept
    if is_list(value):
        return [plain(one) for one in value]
    return value


def system_of(body: Json) -> list[object]:
    """The system text as plain blocks."""
    return [plain(block) for block in blocks_in(body.get("system"))]


def tools_of(body: Json) -> list[object]:
    """The tools that are not deferred, by name: their set counts, not their order."""
    tools = [tool for tool in objects(body.get("tools")) if tool.get("defer_loading") is not True]
    return [plain(tool) for tool in sorted(tools, key=lambda tool: as_text(as_object(tool).get("name")))]
