"""What a format adds whose clients may go on from an earlier answer by its id, and what such formats share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from app.chat.events import Event
from app.chat.model import Chat
from app.chat.reply import Reply
from app.errors import ClientError
from app.wires.envelope import ANYTHING, RAW_FIELDS, RAW_LIST, encode
from app.wires.wire import Problem, Stamp, Writer


class Threads(Protocol):
    """One such format. What was said is kept as lists of the format's own items, JSON, byte for byte."""

    prefix: str
    """What the ids of its answers begin with."""

    def referred(self, body: bytes) -> Mapping[str, str]:
        """The ids of earlier items that a request names in place of the items, and of the answers that they are in."""
        ...

    def said(self, chat: Chat) -> bytes:
        """What this request itself says."""
        ...

    def answered(self, resource: bytes) -> bytes:
        """What an answer says, from the resource that it is."""
        ...

    def passed(self, end: bytes, sealed: bytes, reply: Reply) -> bytes:
        """The resource of an answer that a provider of this format gave.

        Args:
            end: the body, or the event that ended the stream.
            sealed: its items, if they held more than words. reply: what was said.
        """
        ...

    inner: str
    """The field of an event that holds the whole resource."""

    def named(self, resource: bytes, asked: Chat) -> bytes:
        """The resource with what the client itself named as what it goes on from: to a provider that is another id, or
        none. The very same bytes where that stands there already."""
        ...

    def begun(self, said: bytes) -> tuple[str, bytes]:
        """The id and the resource of an answer that a provider has only begun; empty where it is complete.

        `said` is the body, or the event that began the stream.
        """
        ...

    def ended(self, resource: bytes) -> bytes:
        """A complete answer that was asked for by its id, as its provider gave it in the first place."""
        ...

    def unended(self, said: str, param: str) -> ClientError:
        """The error for going on from an answer that is not complete."""
        ...

    def written(self, chat: Chat, stamp: Stamp, events: Sequence[Event]) -> bytes:
        """The resource of an answer that we wrote ourselves to `chat`, as the client got it."""
        ...

    def whole(self, body: bytes, history: Sequence[bytes]) -> bytes:
        """The request as a client would send it that sends everything: with what was said before in front."""
        ...

    def unknown(self, said: str, param: str) -> ClientError:
        """The error for an id that names nothing, as this format's provider says it: clients act on it."""
        ...

    def lost(self, said: str) -> Problem:
        """The same where the answer itself is asked for."""
        ...

    def shown(self, resource: bytes, said: bytes, query: Mapping[str, str]) -> bytes:
        """An answer that is asked for once more; `said` are the items of its request."""
        ...

    def replayed(self, resource: bytes, query: Mapping[str, str]) -> bytes:
        """The same as the events of a stream, from where the query says. Raises ClientError if it is nowhere."""
        ...

    def behind(self, played: bytes, query: Mapping[str, str]) -> bytes:
        """The events of a stream that this format wrote, from where the query says; the last one always. Raises
        ClientError if that is nowhere."""
        ...

    def deleted(self, said: str) -> bytes:
        """That an answer was deleted."""
        ...

    def uncancelled(self) -> ClientError:
        """Why an answer that is complete cannot be cancelled."""
        ...

    def confined(self, chat: Chat) -> ClientError | None:
        """Why only a provider of this format can answer the request, if it is so."""
        ...


def in_background(chat: Chat) -> bool:
    """Whether the client wants an answer that goes on being made although nobody listens."""
    return bytes(chat.rest.get("background", b"")) == b"true"


def events_in(played: bytes) -> list[tuple[bytes, bytes]]:
    """The events of a stream, each with its data."""
    events = [event + b"\n\n" for event in played.split(b"\n\n") if event]
    return [(event, event.partition(b"data: ")[2].strip()) for event in events]


def stated(resource: bytes, field: str, value: Any) -> bytes:
    """The JSON object with this field; the very same bytes if it says so already, or there is nothing to say."""
    fields = RAW_FIELDS.decode(resource)
    if not value or ANYTHING.decode(fields.get(field, b"null")) == value:
        return resource
    return encode(fields | {field: value})


def named_in(threads: Threads, events: bytes, asked: Chat) -> bytes:
    """Whole server-sent events, each resource in them `named`; every other byte as it was."""
    word = b'"' + threads.inner.encode() + b'"'
    if word not in events:
        return events
    lines = events.splitlines(keepends=True)
    return b"".join(_named(threads, line, asked) if word in line else line for line in lines)


def _named(threads: Threads, line: bytes, asked: Chat) -> bytes:
    head, colon, data = line.partition(b":")
    try:
        fields = RAW_FIELDS.decode(data)
        resource = bytes(fields[threads.inner])
        named = threads.named(resource, asked)
    except (msgspec.DecodeError, KeyError):  # no event of ours to change
        return line
    if head != b"data" or named == resource:
        return line
    end = data[len(data.rstrip(b"\r\n")) :]
    return head + colon + b" " + encode(fields | {threads.inner: msgspec.Raw(named)}) + end


def joined(lists: Iterable[bytes]) -> msgspec.Raw:
    """JSON lists as one."""
    inner = [each.strip()[1:-1].strip() for each in lists]
    return msgspec.Raw(b"[" + b",".join(each for each in inner if each) + b"]")


def list_of(items: Iterable[bytes | msgspec.Raw]) -> bytes:
    """Items as a JSON list."""
    return b"[" + b",".join(bytes(item) for item in items) + b"]"


def items_of(listed: bytes) -> list[msgspec.Raw]:
    """The items of a JSON list; none if it is not one."""
    try:
        return RAW_LIST.decode(listed)
    except msgspec.DecodeError:
        return []


def written(writer: Writer, events: Iterable[Event]) -> bytes:
    """All that a writer says of these events."""
    return b"".join(map(writer.write, events)) + writer.close()
