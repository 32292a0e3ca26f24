"""Refusals that a request can be mended for, and sent once more: what no plan can know beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.chat.model import Chat, Loss
from app.errors import UpstreamError
from app.wires.anthropic.binding import refuses_thinking, without_thinking
from app.wires.anthropic.names import NAME as ANTHROPIC

Repair = Callable[[UpstreamError, Chat], Chat]
"""The chat that the refusal does not hold for; the very same one if nothing can be mended."""


def _without_refused_thinking(error: UpstreamError, chat: Chat) -> Chat:
    return without_thinking(chat) if refuses_thinking(error) else chat


REPAIRS: Mapping[str, tuple[Repair, Loss]] = {
    ANTHROPIC: (
        _without_refused_thinking,
        Loss("thinking", "The provider refused earlier thinking: it was sent once more without any."),
    ),
}
"""By the name of the wire, with what is lost."""


def repaired(wire: str, error: UpstreamError, chat: Chat) -> tuple[Chat, Loss] | None:
    """The chat to send in place of the one that was refused, and what it lost; None if there is nothing to mend."""
    if wire not in REPAIRS:
        return None
    repair, loss = REPAIRS[wire]
    mended = repair(error, chat)
    return (mended, loss) if mended is not chat else None
