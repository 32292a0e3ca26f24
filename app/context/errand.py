"""What has to be asked to make one fold, and how the answer becomes part of it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from app.chat import size
from app.chat.model import Chat, Message
from app.context.asking import Wish
from app.context.budget import SMALLEST, Budget
from app.context.critical import Critical, Said, critical, keys_of
from app.context.folds import Fold, Span, texts_of
from app.context.heard import heard_in
from app.context.known import Known
from app.context.plan import Draft, Need
from app.context.policy import Policy
from app.context.reachable import reachable
from app.context.retention import LIGHT, Fact
from app.context.sight import Sight
from app.context.tool_results.step import tool_results

ROOM = 3
"""A new segment joins the others if a third of the budget is left for it; else it takes their place."""

MOST_CRITICAL = 240
"""Critical tokens that one summary is held to, the weightiest: more would not fit beside each other."""


class Errand(msgspec.Struct, frozen=True):
    """One summary to be made.

    Args:
        upto: the fold line. wish: for the summariser. said: what the answer is checked against.
        spans: the fold's cover before the new segment. facts: carried so far.
        tokens: estimated, of what is folded now. budget: the request's.
        counted: what counted in earlier checks, None if that is not known. parked: handles in what is folded now.
    """

    upto: bytes
    wish: Wish
    said: tuple[Said, ...]
    spans: tuple[Span, ...]
    facts: tuple[Fact, ...]
    tokens: int
    budget: Budget
    counted: frozenset[str] | None = None
    parked: tuple[Critical, ...] = ()

    def wanted(self) -> tuple[Critical, ...]:
        """What must not get lost."""
        return (*critical(self.said, MOST_CRITICAL, self.counted), *self.parked)

    def words(self, text: str) -> str:
        """All that the summaries of the fold say, with `text` as the newest one."""
        return "\n".join([*(span.text for span in self.spans if span.text), text])

    def fold(self, text: str, facts: tuple[Fact, ...]) -> Fold:
        """The fold, with `text` as its newest segment."""
        return Fold(self.upto, (*self.spans, Span(self.upto, "summary", text)), facts)


def errand(chat: Chat, known: Known, policy: Policy, need: Need) -> Errand:
    """What to ask for, to fill a need that the plan of the same chat has."""
    assert known.scale is not None  # noqa: S101 (a plan without sizes has no needs)
    small = tool_results(Draft(chat, said=chat.messages), known, policy)
    chat = small.chat
    sight = Sight(chat, known, policy, known.scale)
    base = sight.base(need.messages)
    kept, open_, first, loop = _cover(sight, base, need.messages)
    room = max(sight.budget.summary - _tokens(sight, kept), SMALLEST)
    taken = _tokens(sight, open_)
    rolled: tuple[str, ...] = ()
    gaps: tuple[Message, ...] = ()
    if (room - taken) * ROOM < sight.budget.summary or any(span.kind == "verbatim" for span in open_):
        rolled = texts_of(open_)
        gaps = sight.verbatim((*kept, *open_), len(kept))
        limit = max(room * 2 // 3, SMALLEST)
    else:
        kept = (*kept, *open_)
        limit = room - taken
    messages = (*gaps, *chat.messages[first : need.messages])
    tokens = sum(map(sight.size_of, messages)) + sum(size.of_text(text, sight.scale.family) for text in rolled)
    wish = Wish(messages, before=texts_of(kept), rolled=rolled, limit=limit, loop=loop)
    said = (*(Said("summary", text) for text in rolled), *heard_in(messages))
    return Errand(
        need.address,
        wish,
        said,
        kept,
        base.facts if base else (),
        tokens,
        sight.budget,
        _counted(sight, need.messages),
        reachable(small.decisions, first, need.messages, known.handles),
    )


def _counted(sight: Sight, line: int) -> frozenset[str] | None:
    """What counted in the checks of the known folds before a line; None if one of them was not checked."""
    found: set[str] = set()
    for end, fold in sight.summaries:
        if end >= line:
            break
        if fold.check is None:
            return None
        values = fold.check.values
        found.update(values, *map(keys_of, values), *(fact.keys for fact in fold.facts if fact.weight >= LIGHT))
    return frozenset(found)


def _cover(sight: Sight, base: Fold | None, line: int) -> tuple[tuple[Span, ...], tuple[Span, ...], int, bool]:
    """The spans that surely stay, those that the new segment may join or replace, the first message to sum up, and
    whether that is inside a task.

    Inside the task of an agent the task itself stays word for word, and what stands before it as it was.
    """
    spans = base.spans if base else ()
    start = sight.line(base)
    found = sight.cuts(start)
    if line in found.plain:
        return (), spans, start, False
    tasks = [index for index, span in enumerate(spans) if span.kind == "verbatim"]
    if tasks and found.task_end == start:
        return spans[: tasks[-1] + 1], spans[tasks[-1] + 1 :], start, True
    task = Span(sight.known.addresses[found.task_end - 1], "verbatim")
    return (*spans, task), (), found.task_end, True


def _tokens(sight: Sight, spans: Sequence[Span]) -> int:
    return sum(size.of_text(text, sight.scale.family) for text in texts_of(spans))
