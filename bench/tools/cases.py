"""Ten made tool results of different kinds, each with one odd row, and how a model would ask for it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

WORDS = (
    "light sturdy color screen battery shipping quality cable small price case value sound lens strap manual box "
    "seller fast slow warm cold button charger cover paper glass wood metal handle"
)


@dataclass(frozen=True)
class Case:
    """One tool result.

    Args:
        name: its kind. text: what the tool gave.
        odd: words of the odd row, which stand nowhere else.
        question: what the user asked, in words that do not name the odd row.
        asks: the arguments with which a model that reads the small form would look for it, without its handle.
    """

    name: str
    text: str
    odd: str
    question: str
    asks: Mapping[str, Any]


def cases(scale: float = 1.0, megabytes: float | None = None) -> Iterator[Case]:
    """All ten; `scale` 10 makes ten times the rows, `megabytes` as many as make each result so large."""
    for make in (_reviews, _orders, _log, _hits, _listing, _code, _page, _metrics, _wide, _deep):
        times = scale if megabytes is None else megabytes * 1e6 / len(_scaled(make, 1.0).text.encode())
        yield _scaled(make, times)


def _scaled(make: Callable[[Count, random.Random], Case], scale: float) -> Case:
    return make(lambda count: max(int(count * scale), 20), random.Random(7))


Count = Callable[[int], int]


def _words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choices(WORDS.split(), k=count))


def _reviews(count: Count, rng: random.Random) -> Case:
    rows = [
        {
            "id": 4000 + at,
            "rating": rng.choice((3, 4, 5)),
            "title": _words(rng, 5),
            "text": _words(rng, 90),
            "verified": True,
            "helpful": rng.randrange(40),
            "date": f"2026-{1 + at % 9:02}-{1 + at % 27:02}",
        }
        for at in range(count(312))
    ]
    rows[len(rows) * 7 // 10]["text"] = f"After two weeks it began to smoke and burned my desk. {_words(rng, 70)}"
    return Case(
        "reviews", json.dumps(rows), "began to smoke", "Does anybody report smoke or fire?", {"search": "smoke"}
    )


def _orders(count: Count, rng: random.Random) -> Case:
    rows: list[dict[str, Any]] = [
        {
            "order": f"A-{70_000 + at}",
            "customer": f"C{rng.randrange(900)}",
            "amount": rng.randrange(900, 20_000) / 100,
            "currency": "EUR",
            "status": rng.choice(("open", "paid", "shipped")),
            "error": None,
        }
        for at in range(count(1800))
    ]
    rows[len(rows) * 6 // 10] |= {"status": "failed", "error": "card refused by the bank"}
    return Case(
        "orders",
        json.dumps({"data": {"orders": rows, "next": None}}),
        "card refused",
        "Is anything wrong with today's orders?",
        {"where": [{"field": "status", "op": "=", "value": "failed"}]},
    )


def _log(count: Count, rng: random.Random) -> Case:
    lines = [
        f"2026-03-01T{at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}Z INFO [{rng.choice(('api', 'db', 'web'))}] "
        f"request {rng.randrange(10**6):06x} {rng.choice(('served', 'cached', 'queued'))} in {rng.randrange(90)} ms"
        for at in range(count(9000))
    ]
    at = len(lines) * 55 // 100
    lines[at] = f"{lines[at][:20]} ERROR [db] replica 3 is out of disk space, writes are refused"
    return Case("log", "\n".join(lines), "out of disk space", "Why did checkout break at noon?", {"search": "error"})


def _hits(count: Count, rng: random.Random) -> Case:
    rows = [
        {
            "rank": at + 1,
            "url": f"https://docs.example.com/{rng.choice(WORDS.split())}/{at}",
            "title": _words(rng, 7),
            "snippet": _words(rng, 60),
            "score": round(1 - at / 900, 4),
        }
        for at in range(count(400))
    ]
    rows[len(rows) * 8 // 10]["snippet"] = f"Set retry_budget to 0.2 before the rollout. {_words(rng, 50)}"
    return Case(
        "search hits",
        "\n".join(map(json.dumps, rows)),
        "Set retry_budget",
        "How do I configure retry_budget?",
        {"search": "retry_budget"},
    )


def _listing(count: Count, rng: random.Random) -> Case:
    lines = ["path\tbytes\tmodified\tmode"]
    for at in range(count(3000)):
        folder, name = rng.choice(WORDS.split()), rng.choice(WORDS.split())
        lines.append(f"src/{folder}/{name}_{at}.py\t{rng.randrange(200, 9000)}\t2026-0{1 + at % 9}-11\t0644")
    lines[len(lines) * 7 // 10] = "src/case/core.dump\t48318382080\t2026-02-11\t0600"
    return Case(
        "file listing", "\n".join(lines), "core.dump", "What takes up the disk?",
        {"where": [{"field": "bytes", "op": ">", "value": "1000000"}]},
    )  # fmt: skip


def _code(count: Count, rng: random.Random) -> Case:
    parts = [
        f"def {rng.choice(WORDS.split())}_{at}(draft: Draft, scale: int = {rng.randrange(99)}) -> Draft:\n"
        f'    """Give the {_words(rng, 5)}."""\n    total = {rng.randrange(999)}\n    for each in draft.parts:\n'
        f"        total += each.size * scale\n    return draft.with_total(total)\n"
        for at in range(count(1500))
    ]
    parts[len(parts) * 7 // 10] = "def settle(draft: Draft) -> Draft:\n    return draft.rounded(HALF_EVEN)\n"
    return Case("code", "\n\n".join(parts), "rounded(HALF_EVEN)", "Where does settle round?", {"search": "def settle"})


def _page(count: Count, rng: random.Random) -> Case:
    parts = [
        f"<section class='c{at}'><h2>{_words(rng, 4)}</h2><p>{_words(rng, 70)} <a href='/p/{at}'>more</a></p>"
        f"<script>track({at})</script></section>"
        for at in range(count(700))
    ]
    parts[len(parts) * 7 // 10] = "<section><h2>Returns</h2><p>Opened items go back within 14 days.</p></section>"
    page = (
        f"<!doctype html><html><head><title>Shop</title><style>p{{}}</style></head><body>{''.join(parts)}</body></html>"
    )
    return Case("web page", page, "within 14 days", "What is the policy on returns?", {"search": "returns"})


def _metrics(count: Count, rng: random.Random) -> Case:
    rows = [
        {
            "t": 1_772_000_000 + at * 15,
            "host": f"h{at % 12}",
            "cpu": round(rng.gauss(40, 4), 2),
            "mem": round(rng.gauss(61, 2), 2),
        }
        for at in range(count(4000))
    ]
    rows[len(rows) * 6 // 10]["cpu"] = 99.97
    return Case(
        "metrics", json.dumps(rows), "99.97", "Was there a spike?",
        {"where": [{"field": "cpu", "op": ">", "value": "90"}]},
    )  # fmt: skip


def _wide(count: Count, rng: random.Random) -> Case:
    names = [f"{rng.choice(WORDS.split())}_{at}" for at in range(180)]
    rows: list[dict[str, Any]] = [
        {"id": at, **{name: rng.randrange(100) for name in names}} for at in range(count(120))
    ]
    rows[len(rows) * 6 // 10][names[140]] = "ERR_OVERFLOW"
    return Case("wide rows", json.dumps(rows), "ERR_OVERFLOW", "Which cell is broken?", {"search": "err_"})


def _deep(count: Count, rng: random.Random) -> Case:
    services: dict[str, Any] = {
        f"svc-{at}": {
            "image": f"shop/{rng.choice(WORDS.split())}:{at}",
            "env": {f"KEY_{key}": _words(rng, 2) for key in range(14)},
            "limits": {"cpu": 2, "memory": "512Mi"},
            "replicas": 3,
        }
        for at in range(count(150))
    }
    services[f"svc-{len(services) * 6 // 10}"]["limits"] = {"cpu": 2, "memory": "0Mi", "state": "failed to schedule"}
    return Case(
        "deep JSON", json.dumps({"version": 3, "services": services}, indent=2), "failed to schedule",
        "What cannot be scheduled?", {"search": "fail"},
    )  # fmt: skip
