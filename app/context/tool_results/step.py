"""The step of the plan: every bulky tool result of a chat gets its small form, the same one on every turn.

It runs first, on the client's own chat: then everything behind it sees the sizes that really go out.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Protocol

import msgspec

from app.chat.family import family_of
from app.chat.model import Chat, Message, Part, Text, ToolResult
from app.context.plan import Decision, Draft
from app.context.tool_results.compacting import Compacted, compacted, words_of
from app.context.tool_results.fields import Dropped
from app.context.tool_results.handles import Handles
from app.context.tool_results.room import Room
from app.context.tool_results.settings import DEFAULT, Limits, ToolSettings
from app.context.tool_results.shapes import ROWS, Kind, Parked

STEP = "tool_results"

WORTH_KEEPING = 4000
"""Characters of a result from which on it is remembered whether and how it was made small."""

NAMED = 3
"""Results that the reason names."""

CROWDED = " Some take less than they may, since all results of their step would else fill over half of the window."

_ASIDES = ("system-reminder", "memory")
"""What programs write into users' messages between tags of this name."""


class Knowing(Protocol):
    """What the step asks of Known."""

    @property
    def handles(self) -> Handles | None:
        """None: nothing can be parked, so nothing is made small."""
        ...


class Sizes(Protocol):
    """What the step asks of Policy."""

    @property
    def tool_result_tokens(self) -> int:
        """What a small form made of rows may take."""
        ...

    @property
    def tool_text_tokens(self) -> int:
        """What one made of text may take."""
        ...

    @property
    def heavy_tool_tokens(self) -> int:
        """From here on a tool's `keep_fields` are obeyed even if the whole would fit."""
        ...

    @property
    def tool_step_tokens(self) -> int:
        """What all results of one step, those between two answers of the model, may take together; 0: any number."""
        ...

    @property
    def tools(self) -> Mapping[str, ToolSettings]:
        """Settings of single tools, by name."""
        ...


class Shrunk(msgspec.Struct, frozen=True):
    """One result that was made small, for the report.

    Args:
        message, part: where it stands in the client's chat, counted from 0.
        tool: its name, '' if nobody said. before, after: tokens. total, returned: rows or lines.
    """

    message: int
    part: int
    tool: str
    kind: Kind
    handle: str
    before: int
    after: int
    total: int
    returned: int
    dropped: tuple[Dropped, ...] = ()


class Compaction(Decision, frozen=True):
    """The step's decision, with one entry a result."""

    results: tuple[Shrunk, ...] = ()


def tool_results(draft: Draft, known: Knowing, policy: Sizes) -> Draft:
    """The draft with every bulky tool result made small; the same draft if there is none."""
    if draft.chat.plain or known.handles is None:
        return draft
    walk = _Walk(draft.chat, known.handles, policy)
    messages = tuple(walk.message(index, message) for index, message in enumerate(draft.chat.messages))
    if not walk.shrunk:
        return draft
    found = tuple(walk.shrunk)
    before, after = sum(each.before for each in found), sum(each.after for each in found)
    reason = _reason(found) + (CROWDED if walk.crowded else "")
    decision = Compaction(STEP, str(len(found)), reason, before, after, found)
    return draft.decided(decision, msgspec.structs.replace(draft.chat, messages=messages))


def parked_of(chat: Chat, decision: Compaction) -> dict[str, Parked]:
    """The whole of each result that was made small, by its handle: what is to be stored.

    Args:
        chat: the client's own, which the decision was made about.
    """
    parked: dict[str, Parked] = {}
    for each in decision.results:
        part = chat.messages[each.message].parts[each.part]
        if isinstance(part, ToolResult):
            parked[each.handle] = Parked(each.kind, words_of(part))
    return parked


class _Walk:
    """Goes through a chat once, in order. What stood before a result is all that its form may depend on."""

    def __init__(self, chat: Chat, handles: Handles, policy: Sizes) -> None:
        self.shrunk: list[Shrunk] = []
        self.crowded = False
        self._handles = handles
        self._tools = policy.tools
        self._limits = Limits(
            policy.tool_result_tokens,
            policy.tool_text_tokens,
            policy.heavy_tool_tokens,
            family_of(chat.model),
            handles.fetch,
        )
        self._room = Room(policy.tool_step_tokens, self._limits.family)
        self._asked = ""
        self._called: dict[str, str] = {}

    def message(self, index: int, message: Message) -> Message:
        """The message with its bulky results made small; the very same one if it has none."""
        if message.role == "assistant":
            self._called.update((call.id, call.name) for call in message.calls)
            self._room.empty()
            return message
        parts: list[Part] = []
        changed = answers = False
        for place, part in enumerate(message.parts):
            if isinstance(part, ToolResult):
                answers = True
                small = self._result(index, place, part)
                changed = changed or small is not part
                parts.append(small)
            else:
                parts.append(part)
        if message.role == "user":
            self._listen(message, answers=answers)
        return message.edited(tuple(parts)) if changed else message

    def _result(self, index: int, place: int, result: ToolResult) -> ToolResult:
        name = result.name or self._called.get(result.call_id, "")
        small = None
        if not result.is_error and name != self._limits.fetch:
            small = self._fitted(result, self._tools.get(name, DEFAULT))
        self._room.take(words_of(result), small.after if small is not None else 0)
        if small is None:
            return result
        self.shrunk.append(
            Shrunk(
                index, place, name, small.kind, small.handle, small.before, small.after, small.total, small.returned,
                small.dropped,
            )
        )  # fmt: skip
        return ToolResult(result.call_id, small.content, result.name)

    def _fitted(self, result: ToolResult, settings: ToolSettings) -> Compacted | None:
        """The result within its own budget, and within what those before it in the same step have left of the room."""
        small = self._small(result, settings)
        share = self._room.share(words_of(result), small.after if small is not None else 0) if settings.compact else 0
        if not share:
            return small
        tight = self._small(result, settings.within(share))
        self.crowded = self.crowded or tight is not None
        return tight or small

    def _small(self, result: ToolResult, settings: ToolSettings) -> Compacted | None:
        text = words_of(result)
        handles = self._handles
        if len(text) < WORTH_KEEPING:
            return compacted(result, self._asked, settings, handles.handle_of, self._limits)
        key = _key(text, self._asked, settings, self._limits, handles.handle_of(b""))
        if key in handles.made:
            known = handles.made[key]
            return known if known is None else _as_of(result, known)
        made = handles.made[key] = compacted(result, self._asked, settings, handles.handle_of, self._limits)
        return made

    def _listen(self, message: Message, *, answers: bool) -> None:
        """What the user asks; words beside results are added to what was asked before them."""
        said = "\n".join(part.text for part in message.parts if isinstance(part, Text))
        said = _without_asides(said).strip()
        if said:
            self._asked = f"{self._asked}\n{said}" if answers else said


def _without_asides(said: str) -> str:
    for name in _ASIDES:
        first, *others = said.split(f"<{name}")
        kept = [first]
        for other in others:
            _, closed, behind = other.partition(f"</{name}>")
            kept.append(behind if closed else f"<{name}{other}")
        said = "".join(kept)
    return said


def _key(text: str, asked: str, settings: ToolSettings, limits: Limits, bound: str) -> bytes:
    """Of all that a small form depends on; `bound` tells whose handles are made, so that nobody gets another's."""
    digest = sha256(msgspec.msgpack.encode((asked, settings, limits, bound)))
    digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.digest()


def _as_of(result: ToolResult, known: Compacted) -> Compacted:
    """A small form that was made of the same words: the media are this result's own."""
    words = next(part for part in known.content if isinstance(part, Text))
    first = next(place for place, part in enumerate(result.content) if isinstance(part, Text))
    content = tuple(
        words if place == first else part
        for place, part in enumerate(result.content)
        if place == first or not isinstance(part, Text)
    )
    return Compacted(
        content, known.before, known.after, known.kind, known.handle, known.total, known.returned, known.dropped,
        known.truncated,
    )  # fmt: skip


def _reason(found: tuple[Shrunk, ...]) -> str:
    said = [
        f"{each.tool[:60] or 'a tool'} from about {each.before} to {each.after} tokens "
        f"({each.returned} of {each.total} {'rows' if each.kind in ROWS else 'lines'})"
        for each in found[:NAMED]
    ]
    if len(found) > NAMED:
        said.append(f"and {len(found) - NAMED} more")
    count = "1 tool result was" if len(found) == 1 else f"{len(found)} tool results were"
    return f"{count} made small: {', '.join(said)}. The whole stays to be had under a handle."
