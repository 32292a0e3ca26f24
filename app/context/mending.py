"""Every tool call gets its result, every result stands behind its call: providers refuse the whole chat otherwise.

Clients lose results (the user interrupted, a trimmer cut), keep results whose call is gone, or put words between a call
and its results. Mended before every turn, and said in the plan:

- a call without a result gets one that says it was interrupted;
- a result that comes late is moved up to its call;
- a result without a call becomes words of the user;
- a result that is said again behind itself is sent once (Gemini CLI does so in every chat that it resumes);
- an assistant message between calls and their results becomes part of the message that calls.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from app.chat.model import Loss, Message, Part, Text, ToolCall, ToolResult
from app.context.known import Known
from app.context.plan import Decision, Draft
from app.context.policy import Policy

INTERRUPTED = "[no result: interrupted]"


def mend(draft: Draft, known: Known, policy: Policy) -> Draft:
    """The draft with calls and results paired. A chat that is in order keeps its very messages."""
    messages = draft.chat.messages
    if draft.chat.plain or not any(
        type(part) in (ToolCall, ToolResult) for message in messages for part in message.parts
    ):
        return draft
    mender = _Mender(messages)
    mended = mender.run()
    if not mender.losses:
        return draft
    chat = msgspec.structs.replace(draft.chat, messages=mended)
    reason = " ".join(loss.reason for loss in mender.losses[:3])
    decision = Decision("mend", str(len(mender.losses)), reason)
    return draft.decided(decision, chat).lost(mender.losses)


class _Mender:
    """Walks the messages once. `open` holds the calls of the step that still want a result, `taken` those that came."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.losses: list[Loss] = []
        self._messages = list(messages)
        self._out: list[Message] = []
        self._open: list[ToolCall] = []
        self._taken: list[ToolResult] = []
        self._orphans: list[Part] = []
        self._moved: set[tuple[int, int]] = set()

    def run(self) -> tuple[Message, ...]:
        speaking = False
        for index, message in enumerate(self._messages):
            if message.role == "assistant":
                if not speaking:
                    self._settle(index)
                self._speak(index, message, speaking)
                speaking = True
            else:
                self._hear(index, message)
                speaking = False
        self._settle(len(self._messages))
        return tuple(self._out)

    def _speak(self, index: int, message: Message, speaking: bool) -> None:
        """More of a turn that has called already is joined to the calls: their results must stand directly behind."""
        self._open.extend(message.calls)
        if not (speaking and self._out[-1].calls):
            self._out.append(message)
            return
        said = tuple(part for part in message.parts if not isinstance(part, Text) or part.text)
        if said:
            self._out[-1] = self._out[-1].edited((*self._out[-1].parts, *said))
        self.losses.append(Loss(f"messages[{index}]", "An assistant message behind tool calls was joined to them."))

    def _hear(self, index: int, message: Message) -> None:
        kept: list[Part] = []
        changed = False
        for place, part in enumerate(message.parts):
            if not isinstance(part, ToolResult):
                kept.append(part)
            elif (index, place) in self._moved:
                changed = True
            elif self._take(part):
                kept.append(part)
            else:
                changed = True
                self._drop(index, part)
        words = any(not isinstance(part, ToolResult) for part in kept)
        if words or not message.parts:
            self._settle(index + 1)
        if kept or not changed:
            self._out.append(message.edited(tuple(kept)) if changed else message)

    def _take(self, result: ToolResult) -> bool:
        """Whether an open call wants this result."""
        for position, call in enumerate(self._open):
            if _belongs(call, result):
                del self._open[position]
                self._taken.append(result)
                return True
        return False

    def _drop(self, index: int, result: ToolResult) -> None:
        """A result that nobody wants: it was heard already, or becomes words."""
        if any(_same(result, other) for other in self._taken):
            self.losses.append(Loss(f"messages[{index}]", "A tool result that was said twice was sent once."))
        else:
            self._orphan(index, result)

    def _orphan(self, index: int, result: ToolResult) -> None:
        name = f" of {result.name}" if result.name else ""
        self._orphans.append(Text(f"[Result{name}, whose call is no longer in this conversation]\n{result.text}"))
        self._orphans.extend(part for part in result.content if not isinstance(part, Text))
        self.losses.append(Loss(f"messages[{index}]", "A tool result without its call was sent as the user's words."))

    def _settle(self, index: int) -> None:
        """The step is over: what is still open is looked for further on, or answered in the client's place."""
        for call in self._open:
            result = self._late(call, index)
            if result is None:
                result = ToolResult(call.id, (Text(INTERRUPTED),), call.name, is_error=True)
                self.losses.append(
                    Loss(
                        f"messages[{index - 1}]", f"The call of {call.name} had no result: one was added that says so."
                    )
                )
            else:
                self.losses.append(
                    Loss(f"messages[{index}]", f"The result of {call.name} came late: it was moved up to its call.")
                )
            self._out.append(Message("user", (result,)))
        self._open, self._taken = [], []
        if self._orphans:
            self._out.append(Message("user", tuple(self._orphans)))
            self._orphans = []

    def _late(self, call: ToolCall, start: int) -> ToolResult | None:
        """The call's result further on, if no other call of the same id stands between."""
        if not call.id:
            return None
        for index in range(start, len(self._messages)):
            message = self._messages[index]
            if any(other.id == call.id for other in message.calls):
                return None
            for place, part in enumerate(message.parts):
                if isinstance(part, ToolResult) and part.call_id == call.id and (index, place) not in self._moved:
                    self._moved.add((index, place))
                    return part
        return None


def _belongs(call: ToolCall, result: ToolResult) -> bool:
    if call.id and result.call_id:
        return call.id == result.call_id
    return not result.name or call.name == result.name


def _same(one: ToolResult, other: ToolResult) -> bool:
    """Whether the second says what the first says, of the same call."""
    said = (one.call_id, one.content, one.is_error)
    return bool(one.call_id) and said == (other.call_id, other.content, other.is_error)
