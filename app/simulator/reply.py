"""What the simulator answers, as a value: status, headers, the body in the pieces that go out, and how it ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.simulator.shapes import Json, dump

Headers: TypeAlias = tuple[tuple[str, str], ...]
Ending: TypeAlias = Literal["clean", "reset", "hang"]


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer.

    Attributes:
        pieces: the body; each piece leaves in a network write of its own.
        measured: the answer carries a content-length; otherwise it goes out in HTTP chunks.
        first_seconds: wait before the status line.
        pause_seconds: wait between pieces.
        end: `clean` ends as HTTP asks for; `reset` cuts the connection; `hang` says nothing more until the client goes.
    """

    status: int = 200
    headers: Headers = (("content-type", "application/json"),)
    pieces: tuple[bytes, ...] = ()
    measured: bool = True
    first_seconds: float = 0.0
    pause_seconds: float = 0.0
    end: Ending = "clean"


class RefusalError(Exception):
    """The request breaks one of the provider's rules. `reply` is the provider's answer to that, `said` its sentence."""

    def __init__(self, reply: Reply, said: str) -> None:
        super().__init__(said)
        self.reply = reply
        self.said = said


def json_reply(body: object, status: int = 200, headers: Headers = ()) -> Reply:
    """A whole JSON answer with its length."""
    head = (("content-type", "application/json; charset=UTF-8"), *headers)
    return Reply(status=status, headers=head, pieces=(encoded(body),))


def encoded(body: object) -> bytes:
    """JSON as UTF-8. A lone surrogate, which UTF-8 cannot say, goes out as its escape."""
    text = dump(body)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def sse(events: Iterable[str | Json], newline: str = "\n") -> tuple[bytes, ...]:
    """Server-sent events with nothing but data lines, one piece an event."""
    texts = (event if isinstance(event, str) else encoded(event).decode() for event in events)
    return tuple(f"data: {text}{newline}{newline}".encode() for text in texts)


def stream_reply(pieces: tuple[bytes, ...], media_type: str = "text/event-stream", headers: Headers = ()) -> Reply:
    """A streamed answer in HTTP chunks."""
    return Reply(headers=(("content-type", media_type), *headers), pieces=pieces, measured=False)
