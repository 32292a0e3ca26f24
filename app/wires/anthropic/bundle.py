"""One assistant turn, one message: neutral messages → Anthropic's alternating list.

A client's format may cut a turn into several messages; Anthropic wants all that the model said in one of them, in the
order in which it came (usually thinking, text, tool_use). User and system messages and tool results are the boundaries.
The results of one batch stand first in one user message, each behind a call of the assistant message right before it
(https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use). A message that needs none of this
goes out as its client wrote it, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Literal

import msgspec

from app.chat.model import Loss, Media, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from app.errors import ClientError
from app.wires.anthropic import parts
from app.wires.anthropic.blocks import slices_of
from app.wires.anthropic.marks import on_last_part
from app.wires.anthropic.models import Claude
from app.wires.anthropic.names import NAME, alias_id, legal_id
from app.wires.envelope import RAW_FIELDS, as_object

BEGUN_BY_ASSISTANT = "(The conversation begins with the assistant.)"
GO_ON = "(Go on.)"
NO_RESULT = "[no result: interrupted]"

_TYPE = msgspec.json.Decoder(str)


class Sealed(msgspec.Struct, frozen=True):
    """An assistant turn's blocks as Anthropic itself wrote them, in order."""

    blocks: tuple[msgspec.Raw, ...]


class _Open(msgspec.Struct):
    """A call that waits for its result: how the client knows it, and the id that it has on the wire."""

    client_id: str
    name: str
    id: str


class _Turn(msgspec.Struct):
    """One message on its way out: as its client wrote it (`raw`), or as blocks."""

    role: Literal["user", "assistant", "system"]
    blocks: list[Any]
    raw: msgspec.Raw | None = None

    def opened(self) -> list[Any]:
        """The blocks, taken out of the raw message if need be, so that more can be put behind them."""
        if self.raw is not None:
            self.blocks, self.raw = list(slices_of(self.raw)), None
        return self.blocks

    def written(self) -> Any:
        """The message for the request body."""
        return self.raw if self.raw is not None else {"role": self.role, "content": parts.plain(self.blocks)}


class Bundle:
    """The messages for one request. `losses` says what could not be said.

    Args:
        messages: the whole chat without its leading system texts.
        rules: of the model that it goes to.
        prefill: whether the last message may be the assistant's.
    """

    def __init__(self, messages: Iterable[Message], rules: Claude, *, prefill: bool) -> None:
        self.losses: list[Loss] = []
        self._rules = rules
        self._turns: list[_Turn] = []
        self._open: list[_Open] = []
        self._ids: set[str] = set()
        self._last: Message | None = None
        said = (message for message in messages if message.role != "assistant" or _is_said(message))
        for speaking, run in groupby(said, key=lambda message: message.role == "assistant"):
            (self._speak if speaking else self._hear)(list(run))
        self._end(prefill)

    def written(self) -> list[Any]:
        """The messages for the request body."""
        return [turn.written() for turn in self._turns]

    @property
    def unthought(self) -> bool:
        """Whether a tool loop is running whose last assistant turn does not begin with thinking: with a budget for it,
        thinking is refused then."""
        if len(self._turns) < 2 or not _begins_with(self._turns[-1], "tool_result"):
            return False
        return not _begins_with(self._turns[-2], "thinking", "redacted_thinking")

    # ---- what the assistant said

    def _speak(self, run: list[Message]) -> None:
        self._last = run[-1]
        if len(run) == 1 and self._as_it_is(run[0]) and not self._last_is("assistant"):
            self._turns.append(_Turn("assistant", [], _raw(run[0])))
            self._register(run[0].calls)
            return
        blocks: list[Any] = []
        for message in run:
            blocks.extend(self._said(message))
        self._append("assistant", blocks)

    def _as_it_is(self, message: Message) -> bool:
        """Whether the client's own bytes can stand: no blank text, no id that is illegal or there already."""
        if _raw(message) is None or not message.parts:
            return False
        if any(isinstance(part, Text) and not part.text.strip() for part in message.parts):
            return False
        ids = [call.id for call in message.calls]
        return len(set(ids)) == len(ids) and all(legal_id(id_) and id_ not in self._ids for id_ in ids)

    def _register(self, calls: Iterable[ToolCall]) -> None:
        for call in calls:
            self._ids.add(call.id)
            self._open.append(_Open(call.id, call.name, call.id))

    def _said(self, message: Message) -> list[Any]:
        if message.native and isinstance(message.native.body, Sealed):
            return self._sealed(message.calls, message.native.body)
        if (raw := _raw(message)) is not None and self._as_it_is(message):
            self._register(message.calls)
            return list(slices_of(raw))
        said = on_last_part(message) if raw is None else message
        return [block for part in said.parts if (block := self._spoken(part)) is not None]

    def _sealed(self, calls: Sequence[ToolCall], sealed: Sealed) -> list[Any]:
        """Anthropic's own blocks. Its calls and the client's are the same ones, in the same order."""
        asked = iter(calls)
        for block in sealed.blocks:
            fields = RAW_FIELDS.decode(block)
            if _TYPE.decode(fields["type"]) == "tool_use":
                identity, name = _TYPE.decode(fields["id"]), _TYPE.decode(fields["name"])
                call = next(asked, None)
                self._ids.add(identity)
                self._open.append(_Open(call.id if call else identity, call.name if call else name, identity))
        return list(sealed.blocks)

    def _spoken(self, part: Part) -> Any:
        """Thinking without Anthropic's own proof is left out: nobody wants it back."""
        match part:
            case Text():
                return parts.text(part) if part.text.strip() else None
            case Thinking(native=native):
                return parts.own(native) if part.signature else None
            case ToolCall():
                identity = alias_id(part.id or f"call_{len(self._ids)}", self._ids)
                self._ids.add(identity)
                self._open.append(_Open(part.id, part.name, identity))
                return parts.call(part, identity)
            case Media(native=native):
                if (mine := parts.own(native)) is None:
                    words = f"Claude has no place for the {part.kind} that the model made."
                    self.losses.append(Loss("messages", words))
                return mine
            case Opaque():
                return parts.said(part, self.losses)
            case ToolResult():
                return None

    # ---- what it heard

    def _hear(self, run: list[Message]) -> None:
        if len(run) == 1 and (raw := _raw(run[0])) is not None and self._answers_in_order(run[0]):
            self._open = []
            if self._last_is("user"):
                self._turns[-1].opened().extend(slices_of(raw))
            else:
                self._turns.append(_Turn("user", [], raw))
            return
        inside = self._later_system(run)
        results: dict[int, Any] = {}
        others: list[Any] = []
        open_ = self._open
        for message in run[: len(run) - len(inside)]:
            said = on_last_part(message) if _raw(message) is None else message
            for part in said.parts:
                if isinstance(part, ToolResult):
                    self._answer(part, open_, results, others)
                else:
                    others.extend(self._heard(part, message.role == "system"))
        missing = {place: _no_result(call.id) for place, call in enumerate(open_) if place not in results}
        if missing:
            self.losses.append(Loss("messages", "A tool call had no result: one was added that says so."))
        answers = results | missing
        self._open = []
        self._append("user", [*(answers[place] for place in sorted(answers)), *others])
        for message in inside:
            self._turns.append(_system_turn(message))

    def _answers_in_order(self, message: Message) -> bool:
        """Whether a user's message can stand as it is: results first, one for each open call, no blank text."""
        if message.role != "user" or not message.parts:
            return False
        ids: list[str] = []
        for place, part in enumerate(message.parts):
            if isinstance(part, ToolResult):
                if place != len(ids):
                    return False
                ids.append(part.call_id)
            elif isinstance(part, Text) and not part.text.strip():
                return False
        return len(ids) == len(self._open) and {call.id for call in self._open} == set(ids) and self._same_ids()

    def _same_ids(self) -> bool:
        return all(call.id == call.client_id for call in self._open)

    def _later_system(self, run: Sequence[Message]) -> Sequence[Message]:
        """The system messages at the end of a run that can stay what they are. They must follow a user's turn, and be
        last or followed by the assistant (https://platform.claude.com/docs/en/build-with-claude/system-messages)."""
        start = len(run)
        while start and run[start - 1].role == "system":
            start -= 1
        before = any(_says_something(message) for message in run[:start]) or (start == 0 and self._last_is("user"))
        return [message for message in run[start:] if _says_something(message)] if self._rules.inside and before else ()

    def _answer(self, result: ToolResult, open_: Sequence[_Open], results: dict[int, Any], others: list[Any]) -> None:
        for place, call in enumerate(open_):
            same = call.client_id == result.call_id if result.call_id and call.client_id else call.name == result.name
            if place not in results and (same or (not result.call_id and not result.name)):
                results[place] = parts.result(result, call.id, self.losses)
                return
        self.losses.append(Loss("messages", "A tool result without its call was sent as the user's words."))
        others.extend(body for part in result.content if (body := parts.said(part, self.losses)) is not None)

    def _heard(self, part: Part, system: bool) -> list[Any]:
        if system and isinstance(part, Text):  # moved to the front it would change the prefix for all that follows
            words = f"<system-reminder>\n{part.text}\n</system-reminder>"
            return [{"type": "text", "text": words, **parts.mark(part.native)}] if part.text.strip() else []
        if isinstance(part, Text) and not part.text.strip():
            return []
        if isinstance(part, Text | Media | Opaque):
            body = parts.said(part, self.losses)
            return [] if body is None else [body]
        return []

    # ---- the list as a whole

    def _append(self, role: Literal["user", "assistant"], blocks: list[Any]) -> None:
        if not blocks:
            return
        if self._last_is(role):
            self._turns[-1].opened().extend(blocks)
        else:
            self._turns.append(_Turn(role, blocks))

    def _last_is(self, role: str) -> bool:
        return bool(self._turns) and self._turns[-1].role == role

    def _end(self, prefill: bool) -> None:
        """The user speaks first, and last where the model takes no prefilled answer."""
        if not self._turns:
            raise ClientError("The conversation holds no text, file or tool result to send.", param="messages")
        if self._turns[0].role == "assistant" and not _begins_with(self._turns[0], "compaction"):
            self._turns.insert(0, _Turn("user", [{"type": "text", "text": BEGUN_BY_ASSISTANT}]))
            self.losses.append(Loss("messages[0]", "Claude wants the user first: a line saying so was put before it."))
        if self._open:
            self.losses.append(Loss("messages", "A tool call had no result: one was added that says so."))
            self._turns.append(_Turn("user", [_no_result(call.id) for call in self._open]))
        if self._turns[-1].role != "assistant" or self._goes_on():
            return
        if prefill:
            _strip_end(self._turns[-1])
        else:
            self._turns.append(_Turn("user", [{"type": "text", "text": GO_ON}]))
            self.losses.append(
                Loss("messages[-1]", "This model takes no prefilled answer: it is asked to go on instead.")
            )

    def _goes_on(self) -> bool:
        """Whether the last message is the model's own unfinished turn, which may stand last: paused among server tools,
        or a compaction."""
        if self._last is None:
            return False
        if self._last.native and isinstance(self._last.native.body, Sealed):
            return True
        last = self._last.parts[-1] if self._last.parts else None
        return isinstance(last, Opaque) and last.native.wire == NAME


def _raw(message: Message) -> msgspec.Raw | None:
    body = message.native.body if message.native and message.native.wire == NAME else None
    return body if isinstance(body, msgspec.Raw) else None


def _is_said(message: Message) -> bool:
    """Whether an assistant's message has anything in it that goes out: one without is no boundary."""
    if message.native and isinstance(message.native.body, Sealed):
        return True
    return any(_goes_out(part) for part in message.parts)


def _goes_out(part: Part) -> bool:
    match part:
        case Text():
            return bool(part.text.strip())
        case ToolCall():
            return True
        case Thinking():
            return bool(part.signature) and parts.own(part.native) is not None
        case ToolResult():
            return False
        case Media() | Opaque():
            return parts.own(part.native) is not None


def _says_something(message: Message) -> bool:
    return any(not isinstance(part, Text) or part.text.strip() for part in message.parts)


def _system_turn(message: Message) -> _Turn:
    words = [block for part in message.parts if isinstance(part, Text) and (block := parts.text(part)) is not None]
    return _Turn("system", words, _raw(message))


def _no_result(identity: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, "content": NO_RESULT, "is_error": True}


def _begins_with(turn: _Turn, *kinds: str) -> bool:
    blocks = slices_of(turn.raw) if turn.raw is not None else turn.blocks
    if not blocks:
        return False
    first: Any = blocks[0]
    kind = as_object(first).get("type") if not isinstance(first, msgspec.Raw) else None
    return (kind or _TYPE.decode(RAW_FIELDS.decode(first)["type"])) in kinds


def _strip_end(turn: _Turn) -> None:
    """White space at the end of a prefilled answer is refused."""
    last: Any = turn.opened()[-1]
    fields = dict(RAW_FIELDS.decode(last)) if isinstance(last, msgspec.Raw) else as_object(last)
    value = fields.get("text")
    words = _TYPE.decode(value) if isinstance(value, msgspec.Raw) else value
    if isinstance(words, str) and words != words.rstrip():
        turn.blocks[-1] = {**fields, "text": words.rstrip()}
