"""The running tool loop: the thinking that its answers had must be back, all of it or, without budgets, none at all.

Nothing is stored: the id of each call tells whether its answer began with thinking.
"""

from __future__ import annotations

import re

from app.simulator.anthropic.line import THOUGHTS, blocks_in, line_of
from app.simulator.anthropic.problems import refused
from app.simulator.anthropic.thoughts import unlike_the_original
from app.simulator.anthropic.turns import in_loop, running_turn
from app.simulator.shapes import Json, as_text, digest

_BEGINS = (
    "When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceding the lastmost "
    "set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To "
    "avoid this requirement, disable `thinking`. Please consult our documentation at "
    "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
)
_ID = re.compile(r"toolu_([0-9a-f]{20})([0-9a-f]{4})")


def call_id(seed: str, index: int, *, thought: bool) -> str:
    """The id of an answer's call; `thought` tells whether thinking stands before it."""
    base = digest(seed, "call", index, length=20)
    return f"toolu_{base}{_tail(base, thought=thought)}"


def check_loop(messages: list[Json], mode: str) -> None:
    """RefusalError if the request goes on with a tool loop and lacks thinking of its running turn.

    Args:
        mode: as `fields.mode_of` has it. With budgets (`enabled`) the turn must begin with thinking; in `adaptive` mode
            a history without any thinking at all passes.
    """
    if mode not in ("adaptive", "enabled") or not in_loop(messages):
        return
    since = running_turn(messages)
    answers = [(at, blocks_in(one.get("content"))) for at, one in enumerate(messages) if one.get("role") == "assistant"]
    answers = [(at, blocks) for at, blocks in answers if at >= since and blocks]
    if mode == "enabled" and answers:
        _check_beginning(*answers[0])
    thoughts = any(placed.kind in THOUGHTS for placed in line_of(messages))
    if mode == "adaptive" and not thoughts:
        return
    for at, blocks in answers:
        kinds = [as_text(block.get("type")) for block in blocks]
        calls = [as_text(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
        has = [index for index, kind in enumerate(kinds) if kind in THOUGHTS]
        if not has and any(_had_thought(name) for name in calls):
            raise unlike_the_original(f"messages.{at}.content.0")
        if has and "tool_use" in kinds and has[-1] > kinds.index("tool_use"):
            raise unlike_the_original(f"messages.{at}.content.{has[-1]}")


def _check_beginning(at: int, blocks: list[Json]) -> None:
    found = as_text(blocks[0].get("type"))
    if found in THOUGHTS:
        return
    raise refused(
        f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. {_BEGINS}"
    )


def _had_thought(name: str) -> bool:
    found = _ID.fullmatch(name)
    return found is not None and found[2] == _tail(found[1], thought=True)


def _tail(base: str, *, thought: bool) -> str:
    return digest(base, "after thinking" if thought else "at once", length=4)
