"""A content address for every prefix of a chat: what was said, not how a format wrote it down.

A chat is flattened to atoms (role and words; call name and canonical arguments; result text; media digest) and the
atoms are chained. The address of a message is the chain's digest where that message ends. So the same talk has the same
address through every wire, an edit changes every address after it and none before, and a branch shares exactly the
prefix that it shares.

Left out, because a client may drop or rewrite it: call ids, reasoning, signatures, cache marks, outer white space, the
spelling of arguments, empty content, how one assistant turn was cut into messages, and the order in which parallel
tool results arrive. SHA-256, cut to 16 bytes: processors do it in hardware, and 128 bits rule out a chance meeting. Leading system texts and tools stand outside (`setup`): a clock in the system prompt would
otherwise make every turn new.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import msgspec

from app.chat.model import Media, Message, Opaque, Text, Tool, ToolCall, ToolResult

VERSION = b"a1"
SIZE = 16
CANONICAL_RESULT_BYTES = 65_536
"""A longer tool result is taken as it is written: parsing megabytes only to ignore their spacing is not worth it."""

_TAGS = {"system": b"S", "user": b"U", "assistant": b"A"}
_BASE64 = str.maketrans("-_", "+/", "=\r\n \t")


class _Digest(Protocol):
    def update(self, data: bytes, /) -> object: ...


class Chain:
    """The running address of a growing chat. `extend` takes the next message and returns the address where it ends."""

    __slots__ = ("_base", "_calls", "_open", "_results", "_run", "_said", "_taken")

    def __init__(self, tenant: bytes) -> None:
        """`tenant` keys the hash: equal talks of two tenants have nothing in common."""
        self._base = hashlib.sha256(VERSION + len(tenant).to_bytes(2, "big") + tenant)
        self._open = self._base
        self._run = ""
        self._said: list[str] = []
        self._calls: list[ToolCall] = []
        self._results: list[tuple[int, bytes]] = []
        self._taken: set[int] = set()

    @property
    def address(self) -> bytes:
        """The address (16 bytes) of all that was taken so far."""
        return self._open.digest()[:SIZE]

    def copy(self) -> Chain:
        """A second chain that stands where this one stands."""
        twin = Chain.__new__(Chain)
        twin._base, twin._run = self._base, self._run
        twin._open = self._open.copy()  # a run of user messages grows in place
        twin._said, twin._calls = list(self._said), list(self._calls)
        twin._results, twin._taken = list(self._results), set(self._taken)
        return twin

    def extend(self, message: Message) -> bytes:
        """The address (16 bytes) of the prefix that ends with this message."""
        parts = message.parts
        if len(parts) == 1 and type(part := parts[0]) is Text:
            self._say(message.role, part.text)
        elif message.role == "assistant":
            self._speak(message)
        else:
            self._hear(message)
        return self.address

    def _say(self, role: str, text: str) -> None:
        """The plain message, one text: nearly all of a long chat, so it takes the short way to the same atoms."""
        if role == "assistant":
            if self._run == "assistant":
                self._said.append(text)
                self._speak(Message("assistant", ()))
                return
            self._close("assistant")
            self._said, self._calls = [text], []
            self._open = self._base.copy()
        if words := text.strip():
            data = words.encode("utf-8", "surrogatepass")
            if role != "assistant" and self._run != "user":
                self._close("user")
            self._open.update(_TAGS[role] + len(data).to_bytes(6, "big") + data)

    def _speak(self, message: Message) -> None:
        """An assistant turn is one run of words and calls, however many messages a client makes of it."""
        if self._run != "assistant":
            self._close("assistant")
            self._said, self._calls = [], []
        self._said.extend(part.text for part in message.parts if isinstance(part, Text))
        self._calls.extend(part for part in message.parts if isinstance(part, ToolCall))
        atoms = self._base.copy()
        if words := "".join(self._said).strip():
            _atom(atoms, b"A", _bytes(words))
        for call in self._calls:
            _atom(atoms, b"C", _bytes(call.name), canonical(call.arguments or "{}"))
        for part in message.parts:
            if isinstance(part, Media):
                _atom(atoms, b"M", _media(part))
        self._open = atoms

    def _hear(self, message: Message) -> None:
        tag = _TAGS[message.role]
        for part in message.parts:
            if isinstance(part, ToolResult):
                self._answer(part)
            elif data := _said(part):
                self._close("user")
                _atom(self._open, tag, data)

    def _answer(self, result: ToolResult) -> None:
        """Results of one batch are taken in the order of their calls: clients send them as they come in."""
        if self._run != "results":
            self._close("results")
            self._results, self._taken = [], set()
        self._results.append((self._position(result), _result(result)))
        self._results.sort()
        atoms = self._base.copy()
        for _, data in self._results:
            _atom(atoms, b"R", data)
        self._open = atoms

    def _position(self, result: ToolResult) -> int:
        for index, call in enumerate(self._calls):
            same = call.id == result.call_id if result.call_id and call.id else call.name == result.name
            if same and index not in self._taken:
                self._taken.add(index)
                return index
        return len(self._calls) + len(self._results)

    def _close(self, run: str) -> None:
        if run == "user":
            if self._run != "user":
                self._open = self._open.copy()
            self._base = self._open
        else:
            self._base = self._open
        self._run = run


def addresses(messages: Iterable[Message], tenant: bytes) -> tuple[bytes, ...]:
    """One address for each message, in order."""
    chain = Chain(tenant)
    return tuple(chain.extend(message) for message in messages)


def root(marks: Sequence[bytes], tenant: bytes) -> bytes:
    """The address after the first thing said: it names the family of chats that begin like this one.

    Not simply the first message: one without words (or a system message) leaves the chain where it began.
    """
    start = Chain(tenant).address
    return next((mark for mark in marks if mark != start), start)


def setup(system: Iterable[Message], tools: Iterable[Tool]) -> bytes:
    """A digest (16 bytes) of what stands outside the chain: the leading system texts and the tools."""
    digest = hashlib.sha256(VERSION)
    for message in system:
        for part in message.parts:
            if isinstance(part, Text):
                _atom(digest, b"S", _bytes(part.text))
    for tool in tools:
        body = tool.native.body if tool.native else tool.schema
        _atom(digest, b"T", _bytes(tool.name), _bytes(tool.description), _raw(body))
    return digest.digest()[:SIZE]


def canonical(text: str) -> bytes:
    """JSON text with sorted keys and no spacing; text that is not JSON as it stands."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return _bytes(text.strip())
    return _bytes(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


def _atom(digest: _Digest, tag: bytes, *fields: bytes) -> None:
    """Tag and lengths first, so that no two lists of atoms can run together to the same bytes."""
    digest.update(tag + b"".join(len(field).to_bytes(6, "big") for field in fields))
    for field in fields:
        digest.update(field)


def _said(part: object) -> bytes:
    match part:
        case Text(text=text):
            return _bytes(text.strip())
        case Media():
            return b"\0media" + _media(part)
        case Opaque(native=native):
            return b"\0opaque" + native.wire.encode() + _raw(native.body)
        case _:
            return b""


def _result(result: ToolResult) -> bytes:
    text = result.text.strip()
    words = canonical(text) if text[:1] in "{[" and len(text) <= CANONICAL_RESULT_BYTES else _bytes(text)
    others = b"".join(_said(part) for part in result.content if not isinstance(part, Text))
    return (b"!" if result.is_error else b"=") + words + others


def _media(part: Media) -> bytes:
    if part.data:
        body = _bytes(part.data.translate(_BASE64))
        return part.mime.encode() + hashlib.sha256(body).digest()
    return _bytes(part.url or part.file_id)


def _raw(body: Any) -> bytes:
    if isinstance(body, msgspec.Raw):
        return bytes(body)
    return msgspec.json.encode(body, order="sorted")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
