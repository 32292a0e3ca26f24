"""One request that reached the provider, and what a test wants to know of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, cast

import msgspec

from app.chat import size
from app.chat.family import family_of
from app.wires.wire import Inbound
from tests.wires.talking import WIRES

Json: TypeAlias = dict[str, Any]

SUMMARISER = ("summarise", "要約")
"""How the system text of a request for a summary begins, or what it holds."""


def strings(value: Any) -> Iterator[str]:
    """All strings inside a JSON value, in order; names of fields are left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in cast("Json", value).values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from strings(inner)


@dataclass(frozen=True)
class Call:
    """One request that reached the provider.

    Attributes:
        at: seconds on a monotonic clock. raw: the body's bytes. body: the same, parsed.
    """

    path: str
    raw: bytes
    body: Json
    at: float

    @property
    def wire(self) -> str:
        """`openai` or `gemini`."""
        return "gemini" if "contents" in self.body else "openai"

    @cached_property
    def model(self) -> str:
        """The model that is asked for."""
        return self.path.rpartition("/")[2].partition(":")[0] if self.wire == "gemini" else self.body["model"]

    @property
    def stream(self) -> bool:
        """Whether it is to be streamed."""
        return "streamGenerateContent" in self.path or bool(self.body.get("stream"))

    @cached_property
    def messages(self) -> list[Json]:
        """The messages, or Gemini's contents, without the leading system messages."""
        if self.wire == "gemini":
            return self.body["contents"]
        said: list[Json] = self.body.get("messages", [])
        leading = next((at for at, one in enumerate(said) if one["role"] not in ("system", "developer")), len(said))
        return said[leading:]

    @cached_property
    def system(self) -> str:
        """The system text."""
        if self.wire == "gemini":
            return "\n".join(strings(self.body.get("systemInstruction", {}).get("parts", [])))
        said: list[Json] = self.body.get("messages", [])
        leading = said[: len(said) - len(self.messages)]
        return "\n".join(text for one in leading for text in strings(one["content"]))

    @cached_property
    def serialized(self) -> bytes:
        """The list of messages as it stood on the wire, without blanks between its values."""
        fields = msgspec.json.decode(self.raw, type=dict[str, msgspec.Raw])
        return msgspec.json.format(bytes(fields["contents" if self.wire == "gemini" else "messages"]), indent=-1)

    def extends(self, before: Call) -> bool:
        """Whether this begins with all that was sent before, byte for byte."""
        return self.serialized.startswith(before.serialized.removesuffix(b"]"))

    @cached_property
    def texts(self) -> list[str]:
        """What each message holds, or each part of Gemini's contents, system texts left out: words, calls, results."""
        if self.wire == "gemini":
            return ["\n".join(strings(_bare(part))) for content in self.messages for part in content["parts"]]
        return ["\n".join(strings(_bare(one))) for one in self.messages]

    @cached_property
    def text(self) -> str:
        """All that the model sees but the system text."""
        return "\n".join(self.texts)

    @cached_property
    def tokens(self) -> int:
        """Estimated tokens of the whole request."""
        chat = WIRES[self.wire].decode(Inbound(self.raw, self.model if self.wire == "gemini" else "", self.stream))
        return size.of_chat(chat, family_of(self.model))

    @cached_property
    def is_summary(self) -> bool:
        """Whether it is made only to write a summary."""
        system = self.system.lower().strip()
        return not self.body.get("tools") and (system.startswith(SUMMARISER[0]) or SUMMARISER[1] in system)


def _bare(piece: Json) -> Json:
    return {name: value for name, value in piece.items() if name not in ("role", "tool_call_id", "thoughtSignature")}
