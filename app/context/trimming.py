"""Trimming: where a summary cannot help, the oldest messages are left out, and the plan says so.

Never the system prompt, never the user's last words, never half of a tool exchange. What is left out leaves its
critical values behind, word for word. What was left out once stays out on the next turns (the turn's checkpoint holds
the fold), so that the prompt keeps its beginning; and it comes back as soon as a summary of it is made.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.chat import size
from app.context.budget import CERTAIN
from app.context.critical import Critical, critical
from app.context.folds import Fold, Span, stretches
from app.context.heard import heard_in
from app.context.known import Known
from app.context.plan import Decision, Draft
from app.context.policy import Policy
from app.context.reachable import reachable
from app.context.retention import Fact, carried, verdict
from app.context.sight import Sight
from app.context.summary import NEARLY

STEP = "trim"


def trim(draft: Draft, known: Known, policy: Policy) -> Draft:
    """The draft without what does not fit; the same draft if all does, or if a summary is still to be made first."""
    if known.scale is None or not draft.tokens or (known.waits and any(need.urgent for need in draft.needs)):
        return draft
    sight = Sight(draft.chat, known, policy, known.scale)
    now = draft.fold
    if _fits(sight, now, draft.tokens):
        return draft.decided(_still(sight, now, draft.tokens)) if now is not None and now.drops else draft
    line, task_end = _line(sight, now)
    if line:
        parked = reachable(draft.decisions, max(sight.line(now), task_end), line, known.handles)
        now = _without(sight, now, line, task_end, parked)
        tokens = sight.prompt(now)
        draft = draft.folded(now, tokens, sight.guess(now, tokens)).decided(_saying(sight, now, draft.tokens, tokens))
    elif now is not None and now.drops:
        draft = draft.decided(_still(sight, now, draft.tokens))
    window = sight.scale.window
    if window and draft.tokens > window * CERTAIN:
        return draft.refused(
            f"This model takes {window} tokens, and the newest message alone, with what must stay beside it, has about "
            f"{draft.tokens}. Shorten it, or send it in parts."
        )
    return draft


def _fits(sight: Sight, now: Fold | None, tokens: int) -> bool:
    """Within the budget apart from the newest exchange, and within the window with it.

    Without a store only the window counts: nothing was or could be summed up, and to leave messages out of every turn
    would lose more than it saves.
    """
    budget = sight.budget
    if sight.known.overflowed:
        return tokens <= budget.at
    if budget.window and tokens > budget.window:
        return False
    if sight.known.bypassed or tokens <= budget.at:
        return True
    return tokens - sight.exchange(sight.cuts(sight.line(now))) <= budget.at


def _line(sight: Sight, now: Fold | None) -> tuple[int, int]:
    """Where to cut, and the end of the task that stays if that is inside a loop (else 0). (0, 0): nowhere.

    Less far down than a summary would go: more stays word for word.
    """
    start = sight.line(now)
    found = sight.cuts(start)
    budget = sight.budget
    stateless = sight.known.bypassed and budget.window
    target = budget.window * 9 // 10 if stateless else (budget.at + budget.to) // 2
    base = sight.fixed + sight.carried(now) + budget.facts // 2
    early = [line for line in found.plain if line <= len(sight.messages) - sight.policy.keep_recent]
    if early and target < base + sight.tail(early[-1]) <= budget.at * NEARLY:
        return early[-1], 0
    for line in found.plain:
        if base + sight.tail(line) <= target:
            return line, 0
    task = sight.tail(found.newest) - sight.tail(found.task_end)
    alone = base + sight.tail(found.newest)
    limit = budget.window if stateless else budget.at
    if alone > limit and found.loop:
        lines = [line for line in found.loop if line > found.task_end]
        for line in lines:
            if base + task + sight.tail(line) <= target:
                return line, found.task_end
        if lines:
            return lines[-1], found.task_end
    return (found.plain[-1], 0) if found.plain else (0, 0)


def _without(sight: Sight, now: Fold | None, line: int, task_end: int, parked: tuple[Critical, ...]) -> Fold:
    """The fold that leaves out what stands between the one in force and `line`; `parked` are the handles in that."""
    addresses, start = sight.known.addresses, sight.line(now)
    spans = list(now.spans if now else ())
    gone = sight.messages[start:line]
    if task_end > start:
        spans.append(Span(addresses[task_end - 1], "verbatim"))
        gone = sight.messages[task_end:line]
    elif not task_end:
        gone = (*sight.verbatim(spans), *gone)
        spans = [Span(span.upto, "dropped") if span.kind == "verbatim" else span for span in spans]
    if spans and spans[-1].kind == "dropped":
        spans.pop()
    spans.append(Span(addresses[line - 1], "dropped"))
    lost = (*critical(heard_in(gone)), *parked)
    return Fold(addresses[line - 1], tuple(spans), _facts(sight, now, spans, lost))


def _facts(sight: Sight, now: Fold | None, spans: list[Span], lost: Sequence[Critical]) -> tuple[Fact, ...]:
    """What is carried word for word: the values of what is left out, and those carried before."""
    family = sight.scale.family
    text = "\n".join(span.text for span in spans if span.text)
    missing = verdict(lost, text).missing
    before = now.facts if now else ()
    room = sight.budget.facts_beside(size.of_text(text, family))
    return carried(missing, room, lambda line: size.of_text(line, family), before=before, text=text)


def _saying(sight: Sight, fold: Fold, before: int, after: int) -> Decision:
    count = _dropped(sight, fold)
    reason = (
        f"{count} of the oldest messages are left out, as the prompt would take about {before} tokens and a summary of "
        f"them is not there; {len(fold.facts)} of their facts are carried word for word."
    )
    return Decision(STEP, str(count), reason, before, after)


def _still(sight: Sight, fold: Fold, tokens: int) -> Decision:
    count = _dropped(sight, fold)
    reason = f"The same {count} messages are left out as on the turn before, so that the prompt keeps its beginning."
    return Decision(STEP, str(count), reason, tokens, tokens)


def _dropped(sight: Sight, fold: Fold) -> int:
    return sum(each.end - each.start for each in stretches(fold, sight.ends) if each.kind == "dropped")
