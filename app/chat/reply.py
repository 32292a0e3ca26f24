"""An answer put together from its events: what the client saw, as one assistant message."""

from __future__ import annotations

from app.chat.citations import Citation
from app.chat.events import (
    Cited,
    Event,
    Failed,
    Finished,
    Searched,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCalled,
    Usage,
)
from app.chat.model import Message, Part, Text, Thinking, ToolCall


class Reply:
    """Collects events as they pass. `message` is the assistant message so far; parts stand in arrival order."""

    __slots__ = (
        "_calls",
        "_refusal",
        "_text",
        "_thinking",
        "citations",
        "failed",
        "finished",
        "id",
        "model",
        "searches",
        "usage",
    )

    def __init__(self) -> None:
        self.id = ""
        self.model = ""
        self.usage: Usage | None = None
        self.finished: Finished | None = None
        self.failed: Failed | None = None
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[ToolCall] = []
        self.citations: list[Citation] = []
        self.searches: list[Searched] = []

    def add(self, event: Event) -> None:
        """Take the next event. Usage counts are running totals: the last one stands."""
        match event:
            case TextDelta():
                self._text.append(event.text)
                if event.refusal:
                    self._refusal.append(event.text)
            case ThinkingDelta():
                self._thinking.append(event.text)
            case ToolCalled():
                self._calls.append(event.call)
            case Cited():
                self.citations.append(event.citation)
            case Searched():
                self.searches.append(event)
            case Started():
                self.id = event.id or self.id
                self.model = event.model or self.model
            case Usage():
                self.usage = event
            case Finished():
                self.finished = event
            case Failed():
                self.failed = event
            case _:  # deltas of calls, which ToolCalled repeats whole, and what we do not model
                pass

    @property
    def text(self) -> str:
        """The visible words."""
        return "".join(self._text)

    @property
    def refusal(self) -> str:
        """Those of them by which the model declined."""
        return "".join(self._refusal)

    @property
    def content(self) -> str:
        """The visible words but for those: they stand last."""
        return self.text.removesuffix(self.refusal)

    @property
    def thinking(self) -> str:
        """The reasoning that the provider showed."""
        return "".join(self._thinking)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple(self._calls)

    @property
    def message(self) -> Message:
        """The answer as the client will send it back."""
        parts: list[Part] = []
        if thinking := self.thinking:
            parts.append(Thinking(thinking))
        if text := self.text:
            parts.append(Text(text))
        return Message("assistant", (*parts, *self._calls))
