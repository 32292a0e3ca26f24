"""`python -m bench.tools`: ten kinds of tool results, three ways to treat them, as a Markdown table."""

from __future__ import annotations

import argparse
import gc
import hashlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec
from app.chat.model import Chat, Message, Text, ToolCall, ToolResult
from app.context.plan import Draft
from app.context.policy import Policy
from app.context.tool_results import Parked
from app.context.tool_results.step import Compaction, Handles, parked_of, tool_results
from app.tools.fetch_rows import fetch

from bench.memory import tokens
from bench.tools.cases import Case, cases

LIMIT = 6000
"""Tokens at which the usual way cuts: the head, and a word that it was cut."""

LONGEST = 20
"""Characters of a token at most, on average: no more of a text is cut by measuring."""

REPEATS = 5
HEADS = (
    "result",
    "MB",
    "passed on whole",
    "cut at 6,000",
    "odd row in it",
    "small form",
    "odd row in it",
    "… unasked",
    "in one fetch",
    "same after 10 turns",
    "ms a MB",
)


class _Known(msgspec.Struct, frozen=True):
    handles: Handles | None


@dataclass(frozen=True)
class Row:
    """One kind of result, measured."""

    case: Case
    all_on: int
    cut: int
    cut_shows: bool
    forwarded: int
    shows: bool
    shows_unasked: bool
    fetched: bool
    stable: bool
    ms_per_mb: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the bench and prints its tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.tools", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="10: ten times the rows")
    parser.add_argument("--megabytes", type=float, help="as many rows as make each result so large")
    given = parser.parse_args(arguments)
    rows = [measured(case) for case in cases(given.scale, given.megabytes)]
    print(table(rows))
    return 0


def measured(case: Case) -> Row:
    """One kind of result, treated in all three ways."""
    chat = _chat(case, case.question)
    form, decision = _small(chat)
    unasked, _ = _small(_chat(case, "Have a look."))
    text = cut_at(case.text, LIMIT)
    return Row(
        case,
        tokens.of_text(case.text),
        tokens.of_text(text),
        case.odd in text,
        tokens.of_text(form),
        case.odd in form,
        case.odd in unasked,
        decision is not None and case.odd in _fetched(case, chat, decision),
        _stable(case, chat, form),
        _speed(chat, len(case.text.encode())),
    )


def cut_at(text: str, limit: int) -> str:
    """The usual way: as much of the beginning as fits."""
    if len(text) <= limit * LONGEST and tokens.of_text(text) <= limit:
        return text
    low, high = 0, min(len(text), limit * LONGEST)
    while low < high:
        half = (low + high + 1) // 2
        low, high = (half, high) if tokens.of_text(text[:half]) <= limit else (low, half - 1)
    return text[:low] + "\n[truncated]"


def _handle_of(text: bytes) -> str:
    return f"res_{hashlib.sha256(text).hexdigest()[:20]}"


def _chat(case: Case, question: str, *more: Message) -> Chat:
    call = Message("assistant", (ToolCall("c1", "get_data", "{}"),))
    result = Message("user", (ToolResult("c1", (Text(case.text),)),))
    return Chat("gpt-5.5", (Message("user", (Text(question),)), call, result, *more))


def _small(chat: Chat) -> tuple[str, Compaction | None]:
    draft = tool_results(Draft(chat), _Known(Handles(_handle_of, made={})), Policy())
    decision = draft.decisions[0] if draft.decisions else None
    return draft.chat.messages[2].results[0].text, decision if isinstance(decision, Compaction) else None


def _fetched(case: Case, chat: Chat, decision: Compaction) -> str:
    ((handle, parked),) = parked_of(chat, decision).items()
    return fetch(Parked(parked.kind, parked.text), {"handle": handle, **case.asks})


def _stable(case: Case, chat: Chat, form: str) -> bool:
    """Whether ten further turns leave the form byte for byte."""
    more: tuple[Message, ...] = ()
    for at in range(10):
        more = (*more, Message("assistant", (Text(f"So {at}."),)), Message("user", (Text(f"{case.odd} {at}?"),)))
        if _small(_chat(case, case.question, *more))[0] != form:
            return False
    return bool(chat.messages)


def _speed(chat: Chat, size: int) -> float:
    """Milliseconds of CPU a MB, the best of a few."""
    best = float("inf")
    for _ in range(REPEATS):
        gc.collect()
        start = time.process_time()
        _small(chat)
        best = min(best, time.process_time() - start)
    return best * 1e3 / (size / 1e6)


def table(rows: Sequence[Row]) -> str:
    """The measurements as Markdown."""
    lines = [
        f"Tokens by {tokens.tokenizer()}.\n",
        f"| {' | '.join(HEADS)} |",
        "| --- |" + " ---: |" * (len(HEADS) - 1),
    ]
    for row in rows:
        size = len(row.case.text.encode()) / 1e6
        cells = (
            row.case.name,
            f"{size:.2f}",
            f"{row.all_on:,}",
            f"{row.cut:,}",
            _yes(row.cut_shows),
            f"{row.forwarded:,}",
            _yes(row.shows),
            _yes(row.shows_unasked),
            _yes(row.fetched),
            _yes(row.stable),
            f"{row.ms_per_mb:.0f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    whole, small = sum(row.all_on for row in rows), sum(row.forwarded for row in rows)
    cells = (
        "all",
        "",
        f"{whole:,}",
        f"{sum(row.cut for row in rows):,}",
        _of(row.cut_shows for row in rows),
        f"{small:,} ({small / whole:.1%})",
        _of(row.shows for row in rows),
        _of(row.shows_unasked for row in rows),
        _of(row.fetched for row in rows),
        _of(row.stable for row in rows),
        "",
    )
    lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _of(met: Iterable[bool]) -> str:
    each = list(met)
    return f"{sum(each)} of {len(each)}"


def _yes(true: bool) -> str:
    return "yes" if true else "no"


if __name__ == "__main__":
    raise SystemExit(main())
