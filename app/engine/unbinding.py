"""Thinking that a model binds to its tools is left out where our own tool came to stand among them, or went.

Claude's newest models refuse thinking that was made in front of other tools
(https://docs.claude.com/en/docs/build-with-claude/extended-thinking, "preserved thinking"), and the tool that reads
what is parked is offered only from the first small form on. Allowed are none of it, or all but an oldest run; of one
task's thinking all or none, and what was left out once must not come back, as what was made since is bound to its
absence. So it is left out up to where the user speaks again.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.chat.model import Chat
from app.context.known import Checkpoint
from app.context.thinking import binds_thinking, end_of_task
from app.engine.routing import Candidate
from app.tools.offer import is_offered


def binds(candidate: Candidate) -> bool:
    """Whether the model's thinking holds only behind the prefix that it was made behind."""
    return candidate.upstream.kind == "anthropic" and binds_thinking(candidate.model)


def last_unbound(chat: Chat, checkpoints: Mapping[int, Checkpoint], candidate: Candidate) -> int:
    """The index of the last message that goes without its thinking; -1 if there is none.

    Args:
        checkpoints: by identity of the message that ends the turn.
    """
    if not binds(candidate):
        return -1
    messages, offered = chat.messages, is_offered(chat.tools)
    turns = (checkpoints.get(id(message)) for message in messages)
    last = max((at for at, turn in enumerate(turns) if turn is not None and turn.offered != offered), default=-1)
    return end_of_task(messages, last)
