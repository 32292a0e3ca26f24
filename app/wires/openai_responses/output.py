"""The output items of one answer as they grow: which of their words were said already, and which calls are whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from app.chat.events import Cited, Event, TextDelta, ThinkingDelta, ToolCallDelta, ToolCalled, Unknown
from app.chat.model import Chat, Native, ToolCall
from app.wires.envelope import as_list, as_object, as_text
from app.wires.openai_responses.citing import SEARCH, citation, searched
from app.wires.openai_responses.names import NAME, RESULTS, reverse, spaced

GROWS: dict[str, str] = {
    "output_text": "message",
    "refusal": "message",
    "reasoning_summary_text": "reasoning",
    "reasoning_text": "reasoning",
    "function_call_arguments": "function_call",
    "custom_tool_call_input": "custom_tool_call",
}
"""What a delta adds to → the item that it is part of."""

Shown = Literal["", "summary", "content"]


class Item(msgspec.Struct):
    """An output item as far as it is read."""

    type: str = ""
    id: str | None = None
    content: list[dict[str, Any]] | None = None
    summary: list[dict[str, Any]] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    input: str | None = None
    namespace: str | None = None


ITEM = msgspec.json.Decoder(Item)


class _Slot:
    """One place in the output. By part: `said` counts the characters that went out, `starts` tells where they begin
    among all visible words, `cited` counts its annotations."""

    __slots__ = (
        *("arguments", "call", "call_id", "called", "cited", "done", "kind", "name", "raw", "said", "shown", "starts"),
    )

    def __init__(self) -> None:
        self.kind = ""
        self.said: dict[int, int] = {}
        self.starts: dict[int, int] = {}
        self.cited: dict[int, int] = {}
        self.shown: Shown = ""
        self.call: int | None = None
        self.call_id = ""
        self.name = ""
        self.arguments = ""
        self.called = False
        self.done = False
        self.raw = msgspec.Raw(b"")


REFUSAL = "refusal"
"""The part by which a model declines."""


class Output:
    """Takes pieces of items in any order. `calls` counts the calls, `items` are the finished items as they came."""

    def __init__(self, chat: Chat) -> None:
        self.calls = 0
        self._names = reverse(chat)
        self._slots: dict[int, _Slot] = {}
        self._by_id: dict[str, int] = {}
        self._thought: tuple[int, int] | None = None
        self._length = 0

    @property
    def items(self) -> list[msgspec.Raw]:
        """The finished items, in order."""
        return [slot.raw for _, slot in sorted(self._slots.items()) if bytes(slot.raw)]

    def added(self, index: int | None, raw: msgspec.Raw, native: Native) -> list[Event]:
        """An item begins."""
        item = ITEM.decode(raw)
        slot = self._slot(index, item.id, item.type)
        return self._named(slot, item, native)

    def grew(
        self, what: str, index: int | None, identity: str | None, part: int, more: str, native: Native
    ) -> list[Event]:
        """An item grew by these words."""
        kind = GROWS.get(what)
        if kind is None:
            return [Unknown(native)]
        slot = self._slot(index, identity, kind)
        match kind:
            case "message":
                return self._text(slot, part, more, native, refusal=what == REFUSAL)
            case "reasoning":
                return self._thinking(slot, "summary" if "summary" in what else "content", part, more, native)
            case "function_call":
                slot.arguments += more
                return [] if slot.call is None else [ToolCallDelta(slot.call, arguments=more, native=native)]
            case _:  # free text: its call is told when it is whole
                return []

    def finished(self, index: int | None, raw: msgspec.Raw, native: Native) -> list[Event]:
        """An item is whole: whatever its deltas left out is said now."""
        item = ITEM.decode(raw)
        slot = self._slot(index, item.id, item.type)
        if slot.done:
            return []
        slot.done, slot.raw = True, raw
        match item.type:
            case "message":
                return [
                    event
                    for part, body in enumerate(item.content or ())
                    for event in self._part(slot, part, body, native)
                ]
            case "reasoning":
                return self._thought_whole(slot, item, native)
            case "function_call":
                return self._called(slot, item, native)
            case "custom_tool_call":
                slot.name, slot.call_id, slot.arguments = self._name(item), item.call_id or "", item.input or ""
                self._numbered(slot)
                return self._whole_calls()
            case name if name == SEARCH:
                return [searched(raw)]
            case _:
                return [Unknown(Native(NAME, raw))]

    def annotated(self, index: int | None, identity: str | None, part: int, annotation: dict[str, Any]) -> list[Event]:
        """A part got a citation, or another annotation."""
        return [self._cited(self._slot(index, identity, "message"), part, annotation)]

    def _cited(self, slot: _Slot, part: int, annotation: dict[str, Any]) -> Cited:
        slot.cited[part] = slot.cited.get(part, 0) + 1
        return Cited(citation(annotation, slot.starts.get(part, self._length), slot.said.get(part, 0)))

    def _part(self, slot: _Slot, part: int, body: dict[str, Any], native: Native) -> list[Event]:
        """A part of a message is whole."""
        left = _left(slot, part, _words(body))
        events = self._text(slot, part, left, native, refusal=body.get("type") == REFUSAL)
        untold = as_list(body.get("annotations"))[slot.cited.get(part, 0) :]
        return [*events, *(self._cited(slot, part, as_object(each)) for each in untold)]

    def rest(self, output: Sequence[msgspec.Raw], native: Native) -> list[Event]:
        """The whole output came: what no event had told before, and the calls that nobody finished."""
        events: list[Event] = []
        for position, raw in enumerate(output):
            if not ((slot := self._slots.get(position)) and slot.done):
                events += self.finished(position, raw, native)
        for slot in self._slots.values():
            slot.done = slot.done or slot.call is not None
        return events + self._whole_calls(last=True)

    def _whole_calls(self, *, last: bool = False) -> list[Event]:
        """The calls that are whole, in the order of the output: a later one waits for those before it."""
        events: list[Event] = []
        for place, (position, slot) in enumerate(sorted(self._slots.items())):
            if position != place and not last:
                break
            if slot.kind not in RESULTS or slot.called or (last and slot.call is None):
                continue
            if not slot.done or slot.call is None:
                break
            slot.called = True
            kind: Literal["function", "custom"] = "custom" if slot.kind == "custom_tool_call" else "function"
            events.append(ToolCalled(slot.call, ToolCall(slot.call_id, slot.name, slot.arguments, kind=kind)))
        return events

    def _slot(self, index: int | None, identity: str | None, kind: str) -> _Slot:
        """The item's place: by its index, or where a server leaves that out by its id, or else the newest one."""
        if index is None:
            index = self._by_id.get(identity or "")
        if index is None:
            newest = max(self._slots, default=-1)
            fits = not identity and newest >= 0 and self._slots[newest].kind == kind and not self._slots[newest].done
            index = newest if fits else newest + 1
        slot = self._slots.get(index)
        if slot is None:
            slot = self._slots[index] = _Slot()
        slot.kind = slot.kind or kind
        if identity:
            self._by_id.setdefault(identity, index)
        return slot

    def _name(self, item: Item) -> str:
        """The tool as the client calls it."""
        name = item.name or ""
        return self._names.get(name, spaced(item.namespace or "", name))

    def _numbered(self, slot: _Slot) -> int:
        if slot.call is None:
            slot.call = self.calls
            self.calls += 1
        return slot.call

    def _named(self, slot: _Slot, item: Item, native: Native) -> list[Event]:
        """A function call whose name is known: with what came of its arguments before."""
        if item.type != "function_call" or slot.call is not None or not item.name:
            return []
        slot.name = self._name(item)
        slot.call_id = item.call_id or item.id or ""
        if not slot.arguments:
            slot.arguments = item.arguments or ""
        return [ToolCallDelta(self._numbered(slot), slot.call_id, slot.name, slot.arguments, native)]

    def _called(self, slot: _Slot, item: Item, native: Native) -> list[Event]:
        whole = item.arguments if item.arguments is not None else slot.arguments
        events: list[Event] = []
        if slot.call is None:
            slot.arguments = ""
            events += self._named(slot, item, native)
        elif whole.startswith(slot.arguments) and len(whole) > len(slot.arguments):
            events.append(ToolCallDelta(slot.call, arguments=whole[len(slot.arguments) :], native=native))
        slot.arguments = whole
        self._numbered(slot)
        return events + self._whole_calls()

    def _text(self, slot: _Slot, part: int, words: str, native: Native, *, refusal: bool = False) -> list[Event]:
        if not words:
            return []
        slot.starts.setdefault(part, self._length)
        slot.said[part] = slot.said.get(part, 0) + len(words)
        self._length += len(words)
        return [TextDelta(words, native, refusal)]

    def _thinking(self, slot: _Slot, shown: Shown, part: int, words: str, native: Native) -> list[Event]:
        """Reasoning, its parts apart. Of an item's summary and its raw text, the first to come is shown."""
        slot.shown = slot.shown or shown
        if not words or slot.shown != shown:
            return []
        slot.said[part] = slot.said.get(part, 0) + len(words)
        before, self._thought = self._thought, (id(slot), part)
        apart = "\n\n" if before not in (None, self._thought) else ""
        return [ThinkingDelta(apart + words, native)]

    def _thought_whole(self, slot: _Slot, item: Item, native: Native) -> list[Event]:
        shown: Shown = slot.shown or ("summary" if item.summary else "content")
        events: list[Event] = []
        for part, body in enumerate((item.summary if shown == "summary" else item.content) or ()):
            events += self._thinking(slot, shown, part, _left(slot, part, _words(body)), native)
        return events


def _words(part: dict[str, Any]) -> str:
    return as_text(part.get("text")) or as_text(part.get("refusal"))


def _left(slot: _Slot, part: int, words: str) -> str:
    """What of a part's words has not gone out yet."""
    return words[slot.said.get(part, 0) :]
