"""Neutral events → the events of a Messages stream: blocks one after another, each opened, grown and closed.

The SDK's stream helper wants message_start first, indexes without gaps, and a block's start before its deltas. So what
arrives while a call is being spelled waits until that call is complete.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from app.chat.citations import Citation
from app.chat.events import (
    Cited,
    Event,
    Failed,
    Finished,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCalled,
    Unknown,
    Usage,
)
from app.chat.model import Chat, Native, ToolCall
from app.wires.anthropic.citing import location
from app.wires.anthropic.names import FINISH_IN, FINISH_OUT, NAME, UNSIGNED
from app.wires.envelope import ANYTHING, as_object, as_text, encode
from app.wires.gemini.contents import wrapped
from app.wires.wire import Stamp

Json = dict[str, Any]
Kind = Literal["", "text", "thinking", "tool", "foreign"]
"""What the open block is; `foreign` is one that only Anthropic and its clients understand."""


class Ceremony:
    """One answer. `take` gives the events to say now, `close` those that end it well."""

    def __init__(self, chat: Chat, stamp: Stamp) -> None:
        self._chat = chat
        self._stamp = stamp
        self._shows = _wants_thinking(chat)
        self._model = ""
        self._started = False
        self._begun = False
        self._usage = Usage()
        self._finish: Finished | None = None
        self._open: Kind = ""
        self._index = -1
        self._signed = False
        self._cited = False
        self._call = -1
        self._written: set[int] = set()
        self._waiting: list[Event] = []

    def take(self, event: Event) -> list[Json]:
        """What to say for this event. Usage and the reason wait for the end."""
        match event:
            case Started():
                self._started, self._model = True, self._model or event.model
                return []
            case Usage():
                self._usage = event
                return self._begin() if self._started else []
            case Finished():
                self._finish = event
                return []
            case Failed():
                return []
            case _:
                return [*self._begin(), *self._content(event)]

    def close(self) -> list[Json]:
        """The last block's end, the reason, the usage, and the end itself."""
        events = [*self._begin(), *self._ended()]
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            events += [said for event in waiting for said in self._content(event)]
            events += self._ended()
        usage = usage_object(self._usage)
        events.append({"type": "message_delta", "delta": _reason(self._finish), "usage": usage})
        events.append({"type": "message_stop"})
        return events

    def _begin(self) -> list[Json]:
        """message_start, once: held back until there is something to say, as the prompt's tokens may be known then."""
        if self._begun:
            return []
        self._begun = True
        message: Json = {
            "id": "msg_" + self._stamp.id,
            "type": "message",
            "role": "assistant",
            "model": self._model or self._chat.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage_object(self._usage),
        }
        return [{"type": "message_start", "message": message}]

    # ---- blocks

    def further(self, delta: TextDelta) -> int:
        """The index of the open block if this is more of its words; -1 if another must be opened first."""
        return self._index if self._open == "text" and delta.text and not self._cited else -1

    def _content(self, event: Event) -> list[Json]:
        if self._open == "tool" and not self._belongs(event):
            self._waiting.append(event)
            return []
        match event:
            case TextDelta(text=text) if text:
                events = self._ended() if self._cited else []
                return [
                    *events,
                    *self._grow("text", {"type": "text", "text": ""}, {"type": "text_delta", "text": text}),
                ]
            case Cited(citation=citation):
                return self._cite(citation)
            case ThinkingDelta(text=text) if text:
                return self._think(text) if self._shows or _is_own(event.native) else []
            case ToolCallDelta():
                return self._call_piece(event)
            case ToolCalled():
                return self._called(event)
            case Unknown(native=native) if native.wire == NAME:
                return self._foreign(as_object(ANYTHING.decode(native.body)))
            case _:
                return []

    def _belongs(self, event: Event) -> bool:
        return isinstance(event, ToolCallDelta | ToolCalled) and event.index == self._call

    def _grow(self, kind: Kind, block: Json, delta: Json) -> list[Json]:
        events = [] if self._open == kind else self._start(kind, block)
        return [*events, self._delta(delta)]

    def _start(self, kind: Kind, block: Json) -> list[Json]:
        events = self._ended()
        self._open, self._signed, self._cited = kind, False, False
        self._index += 1
        return [*events, {"type": "content_block_start", "index": self._index, "content_block": block}]

    def _delta(self, delta: Json) -> Json:
        return {"type": "content_block_delta", "index": self._index, "delta": delta}

    def _ended(self) -> list[Json]:
        """The end of the open block. Thinking that its provider did not sign gets our mark."""
        if not self._open:
            return []
        kind, self._open = self._open, ""
        end: Json = {"type": "content_block_stop", "index": self._index}
        if kind == "thinking" and not self._signed:
            return [self._delta({"type": "signature_delta", "signature": UNSIGNED}), end]
        return [end]

    def _think(self, text: str) -> list[Json]:
        events = self._ended() if self._open == "thinking" and self._signed else []
        block = {"type": "thinking", "thinking": "", "signature": ""}
        return [*events, *self._grow("thinking", block, {"type": "thinking_delta", "thinking": text})]

    def _cite(self, citation: Citation) -> list[Json]:
        """A citation of the open text: words that come later do not rest on it, and get a block of their own."""
        said = location(citation) if self._open == "text" else {}
        self._cited = self._cited or bool(said)
        return [self._delta({"type": "citations_delta", "citation": said})] if said else []

    # ---- calls

    def _call_piece(self, piece: ToolCallDelta) -> list[Json]:
        events: list[Json] = []
        if self._open != "tool":
            if piece.index in self._written:
                return []
            events = self._start_call(piece.index, piece.id, piece.name)
        if piece.arguments:
            events.append(self._delta({"type": "input_json_delta", "partial_json": piece.arguments}))
        return events

    def _start_call(self, index: int, identity: str, name: str) -> list[Json]:
        self._call = index
        self._written.add(index)
        return self._start("tool", {"type": "tool_use", "id": identity, "name": name, "input": {}})

    def _called(self, event: ToolCalled) -> list[Json]:
        """The call is complete: what waited for it follows."""
        events: list[Json] = []
        if event.index not in self._written:
            events = self._start_call(event.index, event.call.id, event.call.name)
            if (said := input_of(event.call)) != b"{}":
                events.append(self._delta({"type": "input_json_delta", "partial_json": said.decode()}))
        if self._open == "tool" and event.index == self._call:
            events += self._ended()
            waiting, self._waiting = self._waiting, []
            events += [said for held in waiting for said in self._content(held)]
        return events

    # ---- what only this format has

    def _foreign(self, said: Json) -> list[Json]:
        """A chunk of Anthropic's own that no other format can say, with the index that it has here."""
        match said.get("type"):
            case "content_block_start":
                block = as_object(said.get("content_block"))
                if block.get("type") == "text":  # two texts of one answer: each rests on its own citations
                    return self._ended()
                return self._start("foreign", block)
            case "content_block_stop":
                return self._ended() if self._open == "foreign" else []
            case "content_block_delta":
                return self._foreign_delta(as_object(said.get("delta")))
            case _:
                return [said]

    def _foreign_delta(self, delta: Json) -> list[Json]:
        if delta.get("type") == "signature_delta":  # thinking that is not shown has nothing but its signature
            opening = self._open != "thinking" or self._signed
            block = {"type": "thinking", "thinking": "", "signature": ""}
            events = self._start("thinking", block) if opening else []
            self._signed = True
            return [*events, self._delta(delta)]
        return [self._delta(delta)] if self._open in ("text", "foreign") else []


def _wants_thinking(chat: Chat) -> bool:
    """Whether other providers' thinking is written out: not to a client that asked for none, and may look for its
    answer in the first block."""
    asked = chat.sampling.reasoning
    return asked is not None and asked.effort != "none" and asked.show is not False


def _is_own(native: Native | None) -> bool:
    return native is not None and native.wire == NAME


def input_of(call: ToolCall) -> bytes:
    """The arguments as the object that this format wants."""
    return encode(wrapped(call))


def usage_object(usage: Usage) -> Json:
    """Tokens as this format counts them: what was cached stands beside the input, thinking inside the output."""
    return {
        "input_tokens": max(0, usage.input - usage.cached - usage.cache_written),
        "cache_creation_input_tokens": usage.cache_written,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output,
        "output_tokens_details": {"thinking_tokens": usage.reasoning},
    }


def _reason(finish: Finished | None) -> Json:
    """The delta of the last message_delta; Anthropic's own words where they say the same."""
    if finish is None:
        return {"stop_reason": "end_turn", "stop_sequence": None}
    for own in _own_words(finish):
        if FINISH_IN.get(as_text(own.get("stop_reason")), "stop") == finish.reason:
            return {"stop_sequence": None, **own}
    said: Json = {"stop_reason": FINISH_OUT[finish.reason], "stop_sequence": None}
    if finish.reason == "content_filter":
        said["stop_details"] = {"type": "refusal", "category": None, "explanation": None}
    return said


def _own_words(finish: Finished) -> Iterable[Json]:
    if finish.native is not None and finish.native.wire == NAME:
        yield as_object(as_object(ANYTHING.decode(finish.native.body)).get("delta"))
