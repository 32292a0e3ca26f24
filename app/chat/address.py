"""A content address for every prefix of a chat: what was said, not how a format wrote it down.

A chat is flattened to atoms (role and words; call name and canonical arguments; result text; media digest) and the
atoms are chained. The address of a message is the chain's digest where that message ends. So the same talk has the same
address through every wire, an edit changes every address after it and none before, and a branch shares exactly the
prefix that it shares.

Left out, because a client may drop or rewrite it: call ids, reasoning, signatures, cache marks, outer white space, the
spelling of arguments, empty content, how one assistant turn was cut into messages, the order in which parallel tool
results arrive, and that one of them is said twice. Leading system texts and tools stand outside (`setup`): a clock in
the system prompt would otherwise make every turn new. SHA-256, cut to 16 bytes: processors do it in hardware, and 128
bits rule out a chance meeting.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from app.chat.model import Media, Message, Opaque, Text, Tool, ToolCall, ToolResult

VERSION = b"a1"
SIZE = 16
CANONICAL_RESULT_BYTES = 65_536
"""A longer tool result is taken as it is written: parsing megabytes only to ignore their spacing is not worth it."""

LONGEST_RUN = 256
"""Pieces of one run. A longer one is closed and goes on as the next: no real turn comes near, and a made-up one of
50,000 pieces must not be hashed 50,000 times over."""

_sha256 = hashlib.sha256
_TAGS = {"system": b"S", "user": b"U", "assistant": b"A"}
_BASE64 = str.maketrans("-_", "+/", "=\r\n \t")


class Chain:
    """The running address of a growing chat. `extend` takes the next message and returns the address where it ends.

    What is open is a run: the words and calls of one assistant turn, or the results of one batch. A run is hashed anew
    as it grows, behind the digest of all that stands before it; everything else is chained atom by atom.
    """

    __slots__ = ("_base", "_calls", "_open", "_results", "_run", "_said", "_taken")

    def __init__(self, tenant: bytes) -> None:
        """`tenant` keys the hash: equal talks of two tenants have nothing in common."""
        self._base = _sha256(_seed(tenant)).digest()
        self._open = self._base
        self._run = ""
        self._said: list[str] = []
        self._calls: list[ToolCall] = []
        self._results: list[tuple[int, bytes]] = []
        self._taken: set[int] = set()

    @property
    def address(self) -> bytes:
        """The address (16 bytes) of all that was taken so far."""
        return self._open[:SIZE]

    def copy(self) -> Chain:
        """A second chain that stands where this one stands."""
        twin = Chain.__new__(Chain)
        twin._base, twin._open, twin._run = self._base, self._open, self._run  # noqa: SLF001 - the same class
        twin._said, twin._calls = list(self._said), list(self._calls)  # noqa: SLF001 - the same class
        twin._results, twin._taken = list(self._results), set(self._taken)  # noqa: SLF001 - the same class
        return twin

    def extend(self, message: Message) -> bytes:
        """The address (16 bytes) of the prefix that ends with this message."""
        parts, role = message.parts, message.role
        if len(parts) == 1 and type(part := parts[0]) is Text and (role != "assistant" or self._run != "assistant"):
            # the plain message: nearly all of a long chat, so it takes the short way to the same atoms
            if words := part.text.strip():
                data = words.encode("utf-8", "surrogatepass")
                self._base = base = self._open
                self._open = _sha256(base + _TAGS[role] + len(data).to_bytes(6, "big") + data).digest()
                if role == "assistant":
                    self._run, self._said, self._calls = "assistant", [part.text], []
                else:
                    self._run = "user"
        elif role == "assistant":
            self._speak(message)
        else:
            self._hear(message)
        return self._open[:SIZE]

    def _speak(self, message: Message) -> None:
        """An assistant turn is one run of words and calls, however many messages a client makes of it."""
        said = [part.text for part in message.parts if isinstance(part, Text)]
        calls = message.calls
        media = b"".join(_atom(b"M", _media(part)) for part in message.parts if isinstance(part, Media))
        if not (calls or media or any(said)):
            return
        if self._run != "assistant" or len(self._said) + len(self._calls) > LONGEST_RUN:
            self._base, self._run = self._open, "assistant"
            self._said, self._calls = [], []
        self._said.extend(said)
        self._calls.extend(calls)
        words = "".join(self._said).strip()
        atoms = [_atom(b"A", _bytes(words))] if words else []
        atoms += [_atom(b"C", _bytes(call.name), canonical(call.arguments or "{}")) for call in self._calls]
        if atoms or media:
            self._open = _sha256(self._base + b"".join(atoms) + media).digest()

    def _hear(self, message: Message) -> None:
        tag = _TAGS[message.role]
        for part in message.parts:
            if isinstance(part, ToolResult):
                self._answer(part)
            elif data := _said(part):
                self._base, self._run = self._open, "user"
                self._open = _sha256(self._base + _atom(tag, data)).digest()

    def _answer(self, result: ToolResult) -> None:
        """Results of one batch are taken in the order of their calls: clients send them as they come in."""
        if self._run != "results" or len(self._results) > LONGEST_RUN:
            self._base, self._run = self._open, "results"
            self._results, self._taken = [], set()
        atom = _atom(b"R", _result(result))
        if self._repeats(result, atom):
            return
        self._results.append((self._position(result), atom))
        self._results.sort()
        self._open = _sha256(self._base + b"".join(atom for _, atom in self._results)).digest()

    def _repeats(self, result: ToolResult, atom: bytes) -> bool:
        """Whether the very same answer to the same call was given already: some clients say it twice in a chat that
        they resume."""
        return bool(result.call_id) and any(
            self._calls[index].id == result.call_id and (index, atom) in self._results for index in self._taken
        )

    def _position(self, result: ToolResult) -> int:
        for index, call in enumerate(self._calls[:LONGEST_RUN]):
            same = call.id == result.call_id if result.call_id and call.id else call.name == result.name
            if same and index not in self._taken:
                self._taken.add(index)
                return index
        return len(self._calls) + len(self._results)


def addresses(messages: Iterable[Message], tenant: bytes) -> tuple[bytes, ...]:
    """One address for each message, in order."""
    chain = Chain(tenant)
    return tuple(chain.extend(message) for message in messages)


def root(marks: Sequence[bytes], tenant: bytes) -> bytes:
    """The address after the first thing said: it names the family of chats that begin like this one.

    Not simply the first message: one without words (or a system message) leaves the chain where it began.
    """
    start = _sha256(_seed(tenant)).digest()[:SIZE]
    return next((mark for mark in marks if mark != start), start)


def _seed(tenant: bytes) -> bytes:
    return VERSION + len(tenant).to_bytes(2, "big") + tenant


def setup(system: Iterable[Message], tools: Iterable[Tool]) -> bytes:
    """A digest (16 bytes) of what stands outside the chain: the leading system texts and the tools."""
    digest = _sha256(VERSION)
    for message in system:
        for part in message.parts:
            if isinstance(part, Text):
                digest.update(_atom(b"S", _bytes(part.text)))
    for tool in tools:
        body = tool.native.body if tool.native else tool.schema
        digest.update(_atom(b"T", _bytes(tool.name), _bytes(tool.description), _raw(body)))
    return digest.digest()[:SIZE]


def canonical(text: str) -> bytes:
    """JSON text with sorted keys and no spacing; text that is not JSON as it stands."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return _bytes(text.strip())
    return _bytes(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


def _atom(tag: bytes, *fields: bytes) -> bytes:
    """Tag and lengths first, so that no two lists of atoms can run together to the same bytes."""
    return b"".join((tag, *(len(field).to_bytes(6, "big") for field in fields), *fields))


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
        return part.mime.encode() + _sha256(body).digest()
    return _bytes(part.url or part.file_id)


def _raw(body: Any) -> bytes:
    if isinstance(body, msgspec.Raw):
        return bytes(body)
    return msgspec.json.encode(body, order="sorted")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
