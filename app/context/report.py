"""A plan as one header line, as JSON for a turn's record and a dry run, and as a table for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from app.chat.model import Message
from app.context.folds import Fold, ends_of, stretches
from app.context.known import Known
from app.context.plan import Plan
from app.context.preview import Preview
from app.context.tool_results.shapes import ROWS
from app.context.tool_results.step import Compaction, Shrunk
from app.context.transcript import said_of

WIDEST = 400
"""Characters of one cell. Names come from the request, and may be of any length."""

FIELDS = 6
"""Fields that a row about a tool result names."""

Row: TypeAlias = tuple[str, str, str]


def header(plan: Plan, known: Known) -> str:
    """The steps that applied, in short: `mend=1; restore=2; state=bypassed`; `none` if the chat went out as it came."""
    applied = [f"{decision.step}={decision.applied}" for decision in plan.decisions if decision.applied]
    if known.bypassed:
        applied.append("state=bypassed")
    return "; ".join(applied) or "none"


def as_json(plan: Plan, known: Known) -> dict[str, Any]:
    """What was decided, with reasons; what could not be said; what was known."""
    return {
        "decisions": list(plan.decisions),
        "losses": list(plan.losses),
        "fold": _fold(plan.fold, known) if plan.fold else None,
        "needs": [{"kind": need.kind, "messages": need.messages, "urgent": need.urgent} for need in plan.needs],
        "known": {
            "messages": len(known.addresses),
            "prefix": known.deepest(),
            "bypassed": known.bypassed or None,
        },
    }


def _fold(fold: Fold, known: Known) -> dict[str, Any]:
    """What stands for the oldest messages, and how the retention gate judged its newest summary."""
    cover = stretches(fold, ends_of(known.addresses))
    return {
        "messages": cover[-1].end if cover else 0,
        "spans": [
            {"messages": _range(each.start, each.end), "kind": each.kind, "text": each.text or None} for each in cover
        ],
        "facts": [fact.text for fact in fold.facts],
        "check": fold.check,
    }


def _range(start: int, end: int) -> str:
    return f"{start + 1}-{end}"


def _replaced(plan: Plan, messages: Sequence[Message], known: Known) -> list[dict[str, str]]:
    """What the fold stands for, in the client's own words."""
    if plan.fold is None:
        return []
    line = ends_of(known.addresses)[plan.fold.upto]
    return [{"role": said.role, "text": said.text} for message in messages[:line] for said in said_of((message,))]


def as_full_json(preview: Preview) -> dict[str, Any]:
    """A dry run: the plan, where it leads, and the request that would be sent."""
    plan, known, asked = preview.plan, preview.known, preview.asked
    shared = as_json(plan, known)
    shared["known"] |= {"broke": preview.broke or None, "recalled": preview.recalled}
    return {
        "format": preview.format,
        "session": preview.session or None,
        "session_named": preview.named,
        "plan": header(plan, known),
        **shared,
        "system_texts": preview.system,
        "messages": {"received": len(preview.messages), "kept": preview.kept, "others": preview.others},
        "model": preview.wanted,
        "upstream": {"name": preview.upstream, "model": preview.model},
        "fallbacks": [{"name": name, "model": model} for name, model in preview.fallbacks],
        "tokens": {"received": preview.received, "sent": preview.sent},
        "replaced": _replaced(plan, preview.messages, known),
        "untouched": preview.untouched,
        "refused": preview.refused or None,
        "request": {"path": asked.path, "body": msgspec.Raw(asked.body)} if asked else None,
    }


def as_table(preview: Preview) -> str:
    """A dry run for people: what would be kept, changed and sent, and why. Plain text, one line a row."""
    head: Row = ("WHAT", "OUTCOME", "WHY")
    rows = [head, *(tuple(map(_plain, row)) for row in _rows(preview))]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return "\n".join(f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}".rstrip() for row in rows)


def _rows(preview: Preview) -> Iterator[Row]:
    plan, count = preview.plan, len(preview.messages)
    texts = f" and {_counted(preview.system, 'system text')}" if preview.system else ""
    yield (
        "received",
        _counted(count, "message") + texts,
        f"{preview.format}, model {preview.wanted}, about {preview.received} tokens",
    )
    if preview.session:
        yield "session", preview.session, _naming(preview)
    elif preview.named:
        yield "session", "named", "by the request itself"
    else:
        yield "session", "by content", "the conversation's own beginning tells it"
    yield "known", f"{preview.known.deepest()} of {_counted(count, 'message')}", _knowing(preview)
    yield "kept", f"{preview.kept} of {_counted(count, 'message')}", _keeping(preview)
    for decision in plan.decisions:
        yield decision.step, decision.applied or "nothing", decision.reason
        if isinstance(decision, Compaction):
            yield from map(_made_small, decision.results)
    if plan.fold is not None:
        yield from _folding(plan.fold, preview.known)
    for loss in plan.losses:
        yield "lost", loss.field, loss.reason
    if preview.refused:
        yield "refused", "", preview.refused
    yield from _leading(preview)


def _made_small(each: Shrunk) -> Row:
    """One tool result that became a small one: how small, of whose, what is not in view, and where the whole is."""
    shown = f"{each.returned} of {each.total} {'rows' if each.kind in ROWS else 'lines'}"
    gone = "".join(f", without {field.field} ({field.why})" for field in each.dropped[:FIELDS])
    if len(each.dropped) > FIELDS:
        gone += f" and {len(each.dropped) - FIELDS} fields more"
    what = f"{each.tool or 'a tool'} in message {each.message + 1}, {each.kind}"
    return "result", f"{each.before} → {each.after} tokens", f"{what}: {shown}{gone}; the whole: {each.handle}"


def _folding(fold: Fold, known: Known) -> Iterator[Row]:
    """What stands in place of the oldest messages, and how its newest segment was judged."""
    for each in stretches(fold, ends_of(known.addresses)):
        words = {"verbatim": "stays word for word", "dropped": "left out"}.get(each.kind, each.text)
        yield each.kind, _range(each.start, each.end), words
    for fact in fold.facts:
        yield "fact", "", fact.text
    if (check := fold.check) is not None:
        drift = f", not the pinned {check.pinned}" if check.drifted else ""
        kept = f"{check.kept} kept at once, {check.repaired} repaired, {len(check.lost)} lost; {check.score:.0%} in all"
        yield "checked", f"{check.found} values", f"by {check.served or check.pinned}{drift}: {kept}"


def _naming(preview: Preview) -> str:
    return "named by the request" if preview.named else "the conversation's own beginning tells it"


def _knowing(preview: Preview) -> str:
    if not preview.recalled:
        return "without the store's memory: a running server may know more"
    if preview.known.bypassed:
        return f"the store could not be asked: {preview.known.bypassed}"
    if not preview.known.deepest():
        return "nothing of this conversation was answered here"
    return preview.broke or "all that was answered here before"


def _keeping(preview: Preview) -> str:
    if preview.others:
        return f"as they came; {_counted(preview.others, 'message')} beside them, written anew or added"
    return "as they came" if preview.kept == len(preview.messages) else "as they came; the others are left out"


def _leading(preview: Preview) -> Iterator[Row]:
    """Where the request goes, or would go."""
    if preview.asked is None or preview.refused:
        yield "sent", "nothing", f"{preview.upstream} would have been asked for {preview.model}"
        return
    how = "the client's own bytes, untouched" if preview.untouched else "written anew for this upstream"
    if any(need.urgent for need in preview.plan.needs):
        how = "without the summary that a turn would wait for; with it far fewer"
    yield "sent", f"about {preview.sent} tokens", how
    yield "upstream", preview.upstream, f"asked for {preview.model} at {preview.asked.path}"
    for name, model in preview.fallbacks:
        yield "fallback", name, f"asked for {model} when the one before cannot answer"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _plain(text: str) -> str:
    """One line without control characters: a terminal obeys those."""
    shown = "".join(sign if sign.isprintable() else "?" for sign in text.replace("\n", " "))
    return shown if len(shown) <= WIDEST else f"{shown[:WIDEST]}…"
