"""The contract that every format keeps: bytes in, neutral values out, and back.

A wire is stateless. What it must remember within one answer lives in the Reader (the provider's bytes → events) and the
Writer (events → the client's bytes) that it makes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Protocol, runtime_checkable

import msgspec

from app.chat.events import Event
from app.chat.model import Chat, Loss, Message
from app.errors import ProxyError, UpstreamError


class Inbound(msgspec.Struct, frozen=True):
    """A client's request as a wire needs it: the body, and what its format says in the path instead."""

    body: bytes
    model: str = ""
    stream: bool = False
    framing: Literal["sse", "array"] = "sse"


class Target(msgspec.Struct, frozen=True):
    """What encoding needs to know of the upstream.

    Args:
        name: the upstream's name in the settings.
        model: the model to ask for there.
        own: the provider's own service, not a compatible server (which may know fewer, or older, fields).
        marks: where the client set no marks for the provider's prompt cache, they are set for it, if there are such.
    """

    name: str
    model: str
    own: bool = True
    marks: bool = False


class Outbound(msgspec.Struct, frozen=True):
    """A request for the provider: the path below its base URL, the body, and what could not be said.

    `untouched` tells that `body` is the client's own, byte for byte.
    """

    path: str
    body: bytes
    losses: tuple[Loss, ...] = ()
    untouched: bool = False


class Problem(msgspec.Struct, frozen=True):
    """An error as a client of this format expects it, before any answer went out."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}
    content_type: str = "application/json"


class Stamp(msgspec.Struct, frozen=True):
    """Identity of an answer that we write ourselves: an id of ours (a writer puts its format's prefix before it), and
    Unix seconds."""

    id: str
    created: int


class Reader(Protocol):
    """Reads one answer of a provider."""

    def feed(self, data: bytes) -> list[Event]:
        """The events that these further bytes complete. Never raises: what cannot be read becomes Failed or Unknown."""
        ...

    def close(self) -> list[Event]:
        """The provider's bytes ended. If its terminal event is missing this gives Failed."""
        ...

    def sealed(self) -> bytes:
        """What the provider said in this answer that a client may drop, for Wire.restore; empty if there is nothing."""
        ...

    def handle(self) -> str:
        """The provider's id to continue from; empty if it keeps nothing of this answer."""
        ...

    def onward(self, chat: Chat) -> Chat | None:
        """The request for the rest of an answer to `chat` that ended as `paused`; None if there is none to be had."""
        ...


class Writer(Protocol):
    """Writes one answer for a client."""

    content_type: str
    keepalive: bytes

    def write(self, event: Event) -> bytes:
        """The bytes to send now for this event; empty if it waits for more, or says nothing in this format."""
        ...

    def close(self) -> bytes:
        """What ends the answer well. For an answer in one piece this is all of it."""
        ...

    def fail(self, error: ProxyError) -> bytes:
        """The error as this format says it inside a stream that has begun."""
        ...


@runtime_checkable
class Interrupting(Protocol):
    """A writer whose format says an error in another way inside an answer that its provider itself began."""

    def interrupt(self, error: ProxyError) -> bytes:
        """The error as the next event of an answer whose events so far were the provider's own."""
        ...


class Wire(Protocol):
    """One format, both directions."""

    name: str
    proves_calls: bool
    """Whether the provider wants its own proof on calls, and refuses those of another model without it."""

    def decode(self, inbound: Inbound, before: Chat | None = None) -> Chat:
        """A client's request as a Chat. Raises ClientError naming the field at fault.

        `before` may be an earlier chat that this one goes on from (see prefix.py): a wire that can then reads only what
        is new, and gives the earlier messages as the very same objects.
        """
        ...

    def encode(self, chat: Chat, target: Target) -> Outbound:
        """The chat as this provider wants it. Raises ClientError for what cannot be sent there at all."""
        ...

    def reader(self, chat: Chat, stream: bool, new_id: Callable[[], str]) -> Reader:
        """A reader for the answer to `chat`, streamed or in one piece.

        `new_id` gives letters and digits, at most 30, for calls that the provider gave no usable id.
        """
        ...

    def writer(self, chat: Chat, stamp: Stamp, stream: bool) -> Writer:
        """A writer for the client that sent `chat`."""
        ...

    def problem(self, error: ProxyError) -> Problem:
        """An error before any byte of an answer."""
        ...

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
        """A provider's error answer, understood."""
        ...

    def restore(self, message: Message, sealed: bytes, in_loop: bool) -> Message:
        """The assistant message as the provider itself wrote it, from what `Reader.sealed` kept.

        `in_loop`: no plain user message stands after it, so it belongs to the tool loop that is running. Gives the very
        same message if nothing was missing.
        """
        ...
