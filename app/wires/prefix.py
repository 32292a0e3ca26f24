"""Reading only what is new: a client that sends its whole chat again begins with the bytes that it sent before.

A `Head` keeps a body up to its last message. If the next body begins with those very bytes, only the rest is parsed;
the messages read before stand for the rest of it. Without the last message, because clients touch that one up: marks
for the provider's cache and reminders move on with the newest message. A cache of work, never of truth: where anything
is unusual the body is read whole.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from app.wires.envelope import RAW_FIELDS, RAW_LIST, is_utf8

WORTH_IT = 4096
"""Bytes of a body below which reading it whole costs less than looking."""


class Head(msgspec.Struct, frozen=True):
    """A body up to its last message, the comma before it left out.

    Args:
        raw: those bytes.
        lead: the fields that stand before the list of messages.
    """

    raw: bytes
    lead: Mapping[str, msgspec.Raw]


class Rest(msgspec.Struct, frozen=True):
    """What a body has behind a head: top-level fields but the list, the new messages, and the head that it makes."""

    fields: Mapping[str, msgspec.Raw]
    slices: tuple[msgspec.Raw, ...]
    head: Head


def head_of(body: bytes, listed: msgspec.Raw, last: msgspec.Raw, key: str) -> Head | None:
    """The head of a body whose field `key` holds the raw list `listed`, which ends with `last`.

    None if it is not worth keeping.
    """
    if len(body) < WORTH_IT:
        return None
    raw = bytes(listed)
    start = body.find(raw[:512])
    while start >= 0 and not body.startswith(raw, start):
        start = body.find(raw[:512], start + 1)
    if start < 0:
        return None
    try:
        lead = RAW_FIELDS.decode(body[:start] + b"0}")  # fails if the same text stood deeper in another field before
    except (msgspec.DecodeError, RecursionError):
        return None
    if bytes(lead.pop(key, b"")) != b"0":
        return None
    return Head(_before_last(body, start + _end(raw), last), lead)


def resume(body: bytes, head: Head, key: str) -> Rest | None:
    """What follows `head` in `body`; None if the body does not simply go on, and is to be read whole."""
    if not body.startswith(head.raw):
        return None
    tail = body[len(head.raw) :]
    if not is_utf8(tail):  # is to be refused
        return None
    opening = b'{"' + key.encode() + b'":'
    try:
        fields = RAW_FIELDS.decode(opening + b"[0" + tail)
        listed = bytes(fields.pop(key))
        slices = RAW_LIST.decode(listed)
    except (msgspec.DecodeError, RecursionError):
        return None
    if len(slices) < 2 or bytes(slices[0]) != b"0":  # nothing new, or the field stands there twice
        return None
    end = len(head.raw) - len(b"[0") + _end(listed)
    return Rest({**head.lead, **fields}, tuple(slices[1:]), Head(_before_last(body, end, slices[-1]), head.lead))


def _before_last(body: bytes, end: int, last: msgspec.Raw) -> bytes:
    """The body up to its last message, which ends at `end`."""
    return body[: end - len(bytes(last))].rstrip(b" \t\r\n,")


def _end(listed: bytes) -> int:
    """Where the last element of a raw list ends."""
    return len(listed[:-1].rstrip())
