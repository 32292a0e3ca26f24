"""What stands in a recorded request: its messages byte for byte, its words, its tokens, and whether it is valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from bench.memory import tokens

SUMMARY_WORDS = ("Summarise", "要約")
"""A request without tools whose system text begins with the first or holds the second asks for a summary."""


class _Raw(msgspec.Struct):
    messages: list[msgspec.Raw]
    tools: msgspec.Raw = msgspec.Raw(b"")
    model: str = ""
    stream: bool = False
    max_tokens: int | None = None
    max_completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a request in any API's form.

    Attributes:
        raw: as it was serialised. words: calls and their arguments included.
        calls: ids of the calls in it. answers: the id of the call whose result it is; None if it is none.
    """

    raw: bytes
    role: str
    words: str
    calls: tuple[str, ...] = ()
    answers: str | None = None

    @property
    def parsed(self) -> dict[str, Any]:
        """The message as Chat Completions has it, without its words."""
        if self.answers is not None:
            return {"role": "tool", "tool_call_id": self.answers}
        return {"role": self.role, "tool_calls": [{"id": call} for call in self.calls]}


@dataclass(frozen=True, slots=True)
class Body:
    """One request to the upstream.

    Attributes:
        messages: each as it was serialised; `tools` too, empty if there are none. The first may be the system text.
        texts: the words of each message, calls and their arguments included.
        roles: of each message. sizes: tokens of each.
        limit: tokens that the answer may take; 0 if nothing was said.
        held: how many of the messages were not sent, as the provider held them under the id `before`.
        chain: what an id of the answer brings back, but the answer itself; only of APIs that keep conversations.
        store: whether the answer may be kept. size: bytes of the request.
    """

    messages: tuple[bytes, ...]
    tools: bytes
    texts: tuple[str, ...]
    roles: tuple[str, ...]
    sizes: tuple[int, ...]
    parsed: tuple[dict[str, Any], ...]
    model: str
    stream: bool
    limit: int
    held: int = 0
    before: str = ""
    chain: tuple[Said, ...] = ()
    store: bool = True
    size: int = 0

    @property
    def marks(self) -> tuple[bytes, ...]:
        """What tells each message from another: its bytes, or, where a provider holds them in a form of its own, who
        said what."""
        if not self.chain:
            return self.messages
        return tuple(f"{role}\n{text}".encode() for role, text in zip(self.roles, self.texts, strict=True))

    @property
    def tokens(self) -> int:
        """Of the whole prompt."""
        return tokens.PER_CHAT + sum(self.sizes) + self.tools_tokens

    @property
    def tools_tokens(self) -> int:
        """Of the tools, which stand in front of the messages."""
        return tokens.of_text(self.tools.decode())

    @property
    def text(self) -> str:
        """All that the model reads, apart from the tools."""
        return "\n".join(self.texts)

    @property
    def asks_for_summary(self) -> bool:
        """Whether this is a request for a summary, not a turn of the chat."""
        if self.tools:
            return False
        system = "\n".join(
            text for text, role in zip(self.texts, self.roles, strict=True) if role in ("system", "developer")
        )
        return system.startswith(SUMMARY_WORDS[0]) or SUMMARY_WORDS[1] in system

    @property
    def newest(self) -> int:
        """Tokens of the newest exchange: from the last words of the user on."""
        last = max((index for index, role in enumerate(self.roles) if role == "user"), default=0)
        return sum(self.sizes[last:])


def body(raw: bytes) -> Body:
    """A request, read."""
    given = msgspec.json.decode(raw, type=_Raw)
    parsed = tuple(msgspec.json.decode(message, type=dict[str, Any]) for message in given.messages)
    texts = tuple(map(_words, parsed))
    return Body(
        messages=tuple(bytes(message) for message in given.messages),
        tools=bytes(given.tools),
        texts=texts,
        roles=tuple(str(message.get("role", "")) for message in parsed),
        sizes=tuple(tokens.PER_MESSAGE + tokens.of_text(text) for text in texts),
        parsed=parsed,
        model=given.model,
        stream=given.stream,
        limit=given.max_completion_tokens or given.max_tokens or 0,
        size=len(raw),
    )


def made(said: Sequence[Said], **more: Any) -> Body:
    """A request of any API, from its messages. Further arguments are fields of Body."""
    return Body(
        messages=tuple(one.raw for one in said),
        texts=tuple(one.words for one in said),
        roles=tuple(one.role for one in said),
        sizes=tuple(tokens.PER_MESSAGE + tokens.of_text(one.words) for one in said),
        parsed=tuple(one.parsed for one in said),
        **more,
    )


def _words(message: dict[str, Any]) -> str:
    content: Any = message.get("content") or ""
    pieces: list[str] = [content] if isinstance(content, str) else [str(part.get("text", "")) for part in content]
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    return "\n".join((*pieces, *(f"{call['name']} {call['arguments']}" for call in calls)))


def extends(before: Body, after: Body) -> bool:
    """Whether `after` begins, byte for byte, with all messages of `before` (and has the same tools in front)."""
    marks = before.marks
    return before.tools == after.tools and after.marks[: len(marks)] == marks


def prefix_share(before: Body, after: Body) -> float:
    """The share (0 to 1) of the bytes of `before` with which `after` begins."""
    first, second = _serialised(before), _serialised(after)
    return common(first, second) / len(first) if first else 1.0


def common(first: bytes, second: bytes) -> int:
    """How many bytes two texts have in common at their beginnings."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if first[:middle] == second[:middle] else (low, middle - 1)
    return low


def _serialised(given: Body) -> bytes:
    return given.tools + b",".join(given.marks)


def shared_tokens(earlier: Sequence[Body], now: Body) -> int:
    """Tokens of the longest byte-equal beginning that `now` shares with any of the earlier requests."""
    return max((_shared(before, now) for before in earlier), default=0)


def _shared(before: Body, now: Body) -> int:
    if before.tools != now.tools:
        return 0
    shared, old = now.tools_tokens, before.marks
    for index, mark in enumerate(now.marks):
        if index < len(old) and old[index] == mark:
            shared += now.sizes[index]
            continue
        if index < len(old) and before.roles[index] == now.roles[index]:
            shared += _same_words(before.texts[index], now.texts[index])
        break
    return shared


def faults(given: Body) -> list[str]:
    """What a strict provider would refuse: calls without results, results without calls, a chat without a user."""
    found: list[str] = []
    waiting: list[str] = []
    for index, message in enumerate(given.parsed):
        role = given.roles[index]
        if role == "tool":
            name = str(message.get("tool_call_id"))
            if name not in waiting:
                found.append(f"message {index} is a result without its call")
            else:
                waiting.remove(name)
            continue
        if waiting:
            found.append(f"message {index} comes before the results of {len(waiting)} calls")
            waiting = []
        waiting = [str(call["id"]) for call in message.get("tool_calls") or ()]
    if waiting:
        found.append(f"{len(waiting)} calls have no result")
    if "user" not in given.roles:
        found.append("nobody asks anything")
    return found


def _same_words(first: str, second: str) -> int:
    """Tokens of the beginning that two texts have in common."""
    start = first.encode()[: common(first.encode(), second.encode())]
    return tokens.of_text(start.decode("utf-8", "ignore"))
