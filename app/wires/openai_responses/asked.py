"""A decoded Responses request as it came, with what it asked for, so that a change to any of it can be told."""

from __future__ import annotations

from app.chat.model import Sampling, Tool
from app.wires.envelope import Envelope


class Asked(Envelope, frozen=True):
    """An envelope whose chat may be changed in more than its messages.

    Args:
        tools, sampling, stream, store: as read from the body: while the chat says the same, the raw fields stand.
    """

    tools: tuple[Tool, ...] = ()
    sampling: Sampling = Sampling()
    stream: bool = False
    store: bool | None = None
