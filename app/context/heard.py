"""What the retention gate listens to: what users and assistants said themselves, apart from the data that passed by.

Results of tools are data, and so is a long argument of a call (a file that is written, a query's text): both can be
had again, from the tool or from the client's own files, and no summary holds all that is in them. What users,
assistants or short arguments name (a path, an order, an address) is what the talk is about, wherever it first stood.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from app.chat.model import Message, Part, ToolCall
from app.context.critical import Said
from app.context.transcript import said_of

LONG = 200
"""Characters from which on an argument is data: no path, name or address is that long, and few commands."""


def heard_in(messages: Sequence[Message]) -> tuple[Said, ...]:
    """The words of messages as `said_of` gives them, but long arguments of calls stand with the results of tools."""
    return tuple(said for message in messages for said in _heard(message))


def _heard(message: Message) -> Iterator[Said]:
    if not any(type(part) is ToolCall and len(part.arguments) >= LONG for part in message.parts):
        yield from said_of((message,))
        return
    parts: list[Part] = []
    data: list[str] = []
    for part in message.parts:
        if type(part) is ToolCall and len(part.arguments) >= LONG:
            short, long = _apart(part.arguments)
            parts.append(ToolCall(part.id, part.name, short))
            data += long
        else:
            parts.append(part)
    yield from said_of((message.edited(tuple(parts)),))
    yield from (Said("tool", text) for text in data)


def _apart(arguments: str) -> tuple[str, list[str]]:
    """Short arguments as JSON, and the long ones; what is no JSON object is long as a whole."""
    try:
        named = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return "", [arguments]
    if not isinstance(named, dict):
        return "", [arguments]
    written = {name: _written(value) for name, value in cast("dict[str, Any]", named).items()}
    short = {name: text for name, text in written.items() if len(text) < LONG}
    return msgspec.json.encode(short).decode(), [text for text in written.values() if len(text) >= LONG]


def _written(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
