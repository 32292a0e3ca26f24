"""What every client of the five formats can do, whatever SDK it is made of: ask, show a picture, answer calls."""

from __future__ import annotations

import base64
import struct
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import httpx2

Json: TypeAlias = dict[str, Any]
Format: TypeAlias = Literal["chat", "responses", "anthropic", "generate", "interactions"]
FORMATS: tuple[Format, ...] = ("chat", "responses", "anthropic", "generate", "interactions")
PLAIN: Json = {"verify": False, "trust_env": False}


@dataclass(frozen=True)
class Setup:
    """What a client says on every turn beside the conversation.

    Attributes:
        tools: JSON schemas of the tools' arguments, by name. schema: the answer's format; None leaves it open.
        thinks: reasoning is asked for, and asked to be shown. most: tokens of an answer.
        bare: what comes back of the reasoning (text, signatures, items, steps) is dropped, as simple clients do.
        search: the fields of the body that ask for a web search.
        options: the body's `foldline` object.
    """

    model: str
    system: str = ""
    tools: Mapping[str, Json] = field(default_factory=dict[str, Json])
    schema: Json | None = None
    thinks: bool = False
    most: int = 0
    streams: bool = False
    bare: bool = False
    search: Json = field(default_factory=dict[str, Any])
    options: Json = field(default_factory=dict[str, Any])

    @property
    def extra(self) -> Json:
        """Further fields of the body."""
        return self.search | ({"foldline": self.options} if self.options else {})


@dataclass(frozen=True)
class Asked:
    """A tool call as the client got it."""

    id: str
    name: str
    arguments: Json


@dataclass(frozen=True)
class Said:
    """An answer as the client's SDK put it together.

    Attributes:
        finish: in the format's own word. input, output: tokens as the format counts them.
        kept: how the client keeps it: messages, items, steps.
        whole: the answer as its format writes it in one piece, as far as it is text and what that rests on.
    """

    text: str
    calls: tuple[Asked, ...]
    finish: str
    input: int
    output: int
    thinking: str
    kept: list[Any]
    whole: Json = field(default_factory=dict[str, Any])


class Client(ABC):
    """A chat that grows. `history` holds the messages as this format writes them."""

    finished: str = ""
    """The format's own word for a good end."""
    calling: str = ""
    """The format's own word for an end in tool calls."""

    def __init__(self, http: httpx2.AsyncClient, url: str, key: str, setup: Setup) -> None:
        self.http, self.url, self.key, self.setup = http, url, key, setup
        self.history: list[Any] = []
        self._sdk: Any = None

    @property
    def sdk(self) -> Any:
        """The SDK's client. Its own types are loose, so that strict checking knows little of its calls."""
        if self._sdk is None:
            self._sdk = self._made()
        return self._sdk

    @abstractmethod
    def _made(self) -> Any:
        """The SDK's client, made."""

    @abstractmethod
    def user(self, text: str, picture: str) -> list[Any]:
        """The messages of a user who says this and shows a picture (base64 of a PNG; empty: none)."""

    @abstractmethod
    def results(self, results: Sequence[tuple[Asked, str, bool]]) -> list[Any]:
        """The messages that hold these results: the call, what the tool said, whether that is an error."""

    @abstractmethod
    async def ask(self, messages: Sequence[Any]) -> Said:
        """Send these messages. Raises the SDK's own errors."""

    async def say(self, text: str, picture: str = "") -> Said:
        """Send the chat with one more message of the user, and keep both that and the answer."""
        return await self._grow(self.user(text, picture))

    async def give(self, *results: tuple[Asked, str] | tuple[Asked, str, bool]) -> Said:
        """Send what the tools said, and keep both that and the answer."""
        return await self._grow(self.results([(*one, False) if len(one) == 2 else one for one in results]))

    async def _grow(self, new: list[Any]) -> Said:
        said = await self.ask([*self.history, *new])
        self.history += [*new, *said.kept]
        return said


def picture(side: int = 8) -> str:
    """A PNG of one colour, in base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"\0" * (side + 1) * side)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return base64.b64encode(png).decode()
