"""Answers that a test prescribes, entry by entry, in place of the model's own.

An entry is a JSON object. `for`: `chat` (default) or `summary`. What to say: `json` (a whole body), `sse` (one string
an event) or `text` (an answer of just that). How: `status`, `headers`, `newline` (line end of the events), `pause_ms`
(between events), `delay_ms` (before the first byte), `cut_inside` (characters inside which a network chunk ends), `end`
(`reset` or `hang`), `gzip`, `fixed_length` (a content-length in place of chunks). Where a request asks for the other
mode (stream or whole) than the entry has, the entry is converted.
"""

from __future__ import annotations

import gzip
import itertools
import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from app.simulator.mind.facts import wants_summary
from app.simulator.mind.talk import Answer
from app.simulator.reply import Ending, Reply, encoded, json_reply
from app.simulator.shapes import Json, as_list, as_number, as_object, as_text, dump, is_object

if TYPE_CHECKING:
    from app.simulator.desk import Asked, Dialect

Kind = Literal["chat", "summary"]
_APART = 0.005  # seconds between cuts, so that each reaches the client by itself


class Script:
    """Queues of prescribed answers; when one is empty, the model answers by itself."""

    def __init__(self) -> None:
        self._queues: dict[str, deque[Json]] = {"chat": deque(), "summary": deque()}
        self._is_summary: Callable[[Any], bool] = asks_for_summary

    def load(self, entries: Iterable[Mapping[str, Any]], is_summary: Callable[[Any], bool] | None = None) -> None:
        """Put entries at the end of their queues.

        Args:
            is_summary: tells from a request's body whether it is made only to write a summary.
        """
        self._is_summary = is_summary or self._is_summary
        for entry in entries:
            kind = "summary" if entry.get("for") == "summary" else "chat"
            self._queues[kind].append(dict(entry))

    def clear(self) -> None:
        """Drop what was not used."""
        for queue in self._queues.values():
            queue.clear()

    def left(self, kind: Kind = "chat") -> int:
        """How many entries of that kind were not used yet."""
        return len(self._queues[kind])

    def taken(self, body: Any) -> Json | None:
        """The next entry for this request, which is used up by this; None if there is none."""
        if not any(self._queues.values()):
            return None
        queue = self._queues["summary" if self._is_summary(body) else "chat"]
        return queue.popleft() if queue else None


def asks_for_summary(body: Any) -> bool:
    """Whether a request of any format looks like one made to write a summary: it says so at its beginning or end."""
    asked = as_object(body)
    if asked.get("tools"):
        return False
    system = [asked.get(key) for key in ("system", "systemInstruction", "system_instruction", "instructions")]
    messages = as_list(asked.get("messages")) or as_list(asked.get("contents")) or as_list(asked.get("input"))
    told = [one for one in messages[:1] if as_object(one).get("role") in ("system", "developer")]
    return any(wants_summary(dump(part)) for part in [*system, *told, *messages[-1:]] if part)


def scripted_reply(entry: Json, asked: Asked, dialect: Dialect) -> Reply:
    """The entry as an answer to this request."""
    reply = _said(entry, asked, dialect)
    pieces = _cut(reply.pieces, [as_text(one) for one in as_list(entry.get("cut_inside"))])
    pause = (as_number(entry.get("pause_ms")) or 0) / 1000
    measured = bool(entry.get("fixed_length", reply.measured))
    if entry.get("gzip"):
        pieces, measured = (gzip.compress(b"".join(pieces), mtime=0),), True
    end = _ending(entry.get("end"))
    headers = dict(reply.headers) | {
        key.lower(): as_text(value) for key, value in as_object(entry.get("headers")).items()
    }
    if entry.get("gzip"):
        headers["content-encoding"] = "gzip"
    return Reply(
        status=int(as_number(entry.get("status")) or 200),
        headers=tuple(headers.items()),
        pieces=pieces,
        measured=measured and end == "clean",
        first_seconds=(as_number(entry.get("delay_ms")) or 0) / 1000,
        pause_seconds=pause or (_APART if entry.get("cut_inside") else 0),
        end=end,
    )


def _said(entry: Json, asked: Asked, dialect: Dialect) -> Reply:
    failed = int(as_number(entry.get("status")) or 200) >= 300
    if "sse" in entry:
        events = [as_text(event) for event in as_list(entry["sse"])]
        return _events(events, as_text(entry.get("newline")) or "\n", asked, dialect)
    if "text" in entry:
        if failed:
            return dialect.refusal(int(entry["status"]), as_text(entry["text"]), asked)
        return dialect.speak(Answer(as_text(entry["text"])), asked)
    body = entry.get("json")
    if dialect.streams(asked) and not failed and is_object(body):
        return dialect.as_stream(body, asked)
    return json_reply(body) if "json" in entry else Reply()


def _events(events: list[str], newline: str, asked: Asked, dialect: Dialect) -> Reply:
    if not dialect.streams(asked):
        return Reply(pieces=(encoded(dialect.as_whole(data_of(events))),))
    pieces = tuple((event.replace("\n", newline) + newline * 2).encode() for event in events)
    return Reply(headers=(("content-type", "text/event-stream"),), pieces=pieces, measured=False)


def data_of(events: Iterable[str]) -> list[Json]:
    """The JSON objects of server-sent events; comments and end marks are left out."""
    found: list[Json] = []
    for event in events:
        lines = [line[5:].strip() for line in event.splitlines() if line.startswith("data:")]
        try:
            value: object = json.loads("\n".join(lines))
        except ValueError:
            continue
        found += [value] if is_object(value) else []
    return found


def _cut(pieces: tuple[bytes, ...], characters: list[str]) -> tuple[bytes, ...]:
    """The same bytes in the same pieces, but cut once more inside each of these characters, where it first stands."""
    if not characters:
        return pieces
    whole = b"".join(pieces)
    cuts = {0, len(whole), *itertools.accumulate(len(piece) for piece in pieces)}
    for character in characters:
        at = whole.find(character.encode())
        cuts |= {at + 1} if at >= 0 and len(character.encode()) > 1 else set()
    return tuple(whole[start:end] for start, end in itertools.pairwise(sorted(cuts)))


def _ending(value: object) -> Ending:
    match value:
        case "reset":
            return "reset"
        case "hang":
            return "hang"
        case _:
            return "clean"
