"""The goals of the first landing, each with what this run measured: met, not met, or not measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.report import Results, added, number, ratio

ME = "foldline"


@dataclass(frozen=True)
class Goal:
    """One line: the limit, and the value measured; `least` where more is better."""

    name: str
    text: str
    limit: float
    value: float | None
    unit: str = "×"
    least: bool = False

    @property
    def verdict(self) -> str:
        """In one word."""
        if self.value is None:
            return "not measured"
        return "met" if (self.value >= self.limit if self.least else self.value <= self.limit) else "NOT MET"


def goals(results: Results) -> Iterator[Goal]:
    """Every goal G1 to G13."""

    def cpu(work: str, key: str = "cpu_us") -> float | None:
        return ratio(results, work, key, ME, "nginx")

    def plain(work: str, key: str) -> float | None:
        return results.get(work, {}).get(ME, {}).get(key)

    tried = (plain("slow100", "requests") or 0) + (plain("slow100", "errors") or 0)
    slow = results if tried >= 1000 else {}
    share = slow.get("slow100", {}).get(ME, {}).get("cpu_share")

    yield Goal("G1", "CPU of a stateful chat2 request, ÷ nginx", 15, cpu("chat2"))
    for peer, least in (("litellm", 25), ("headroom", 18)):
        yield Goal(
            "G2",
            f"requests per CPU second, ÷ {peer}",
            least,
            ratio(results, "chat2", "req_cpu_s", ME, peer),
            least=True,
        )
    yield Goal("G3", "CPU of 200 messages, known chat, ÷ nginx", 8, cpu("chat200-known"))
    yield Goal("G4", "CPU of 200 messages, first sight, ÷ nginx", 12, cpu("chat200"))
    yield Goal("G5", "CPU of 2,000 messages, known chat, ÷ nginx", 9, cpu("chat2000-known"))
    yield Goal("G5", "own compute of 2,000 messages (without reading them), ÷ that of 20", 3, _flatness(results))
    yield Goal("G6", "added p50, one client", 1, added(results, "chat2", "alone_p50_ms", ME), "ms")
    yield Goal("G6", "added p99, one client", 3, added(results, "chat2", "alone_p99_ms", ME), "ms")
    yield Goal(
        "G7", "added time to a stream's first byte, p50", 1.2, added(results, "stream50", "alone_p50_ms", ME), "ms"
    )
    yield Goal("G8", "CPU of a paced chunk, ÷ nginx", 5, cpu("stream50", "chunk_us"))
    yield Goal(
        "G9", "added chunk delay at 1,600 chunks/s, p50", 0.8, added(results, "stream50", "chunk_p50_ms", ME), "ms"
    )
    yield Goal(
        "G9", "added chunk delay at 1,600 chunks/s, p99", 4, added(results, "stream50", "chunk_p99_ms", ME), "ms"
    )
    yield Goal("G10", "1,000 streams: errors", 0, slow.get("slow100", {}).get(ME, {}).get("errors"), "")
    yield Goal(
        "G10", "1,000 streams: p99 chunk delay over direct", 50, added(slow, "slow100", "chunk_p99_ms", ME), "ms"
    )
    yield Goal("G10", "1,000 streams: CPU", 70, None if share is None else share * 100, "% of a core")
    yield Goal("G11", "memory per open stream", 40, plain("open", "kb_per_stream"), "KB")
    yield Goal(
        "G11",
        "5,000 open streams in all",
        260,
        plain("open", "all_mb") if (plain("open", "alive") or 0) >= 5000 else None,
        "MB",
    )
    yield Goal("G11", "cost of opening the last streams, ÷ the first", 1.5, plain("open", "open_growth"))
    yield Goal("G12", "start to first answer", 1, plain("start", "ready_s"), "s")
    yield Goal("G12", "idle memory", 80, plain("start", "idle_mb"), "MB")
    yield Goal("G13", "upstream closed after the client left, longest", 50, plain("hang-up", "hang_up_max_ms"), "ms")


def _flatness(results: Results) -> float | None:
    """CPU of Foldline less that of a server which only reads the same bodies, for 2,000 messages over 20."""
    own: list[float] = []
    for work in ("chat2000-known", "chat20-known"):
        rows = results.get(work, {})
        ours, reading = rows.get(ME, {}).get("cpu_us"), rows.get("sink", {}).get("cpu_us")
        if ours is None or reading is None:
            return None
        own.append(max(1.0, ours - reading))
    return own[0] / own[1]


def goals_table(results: Results) -> str:
    """All goals as a Markdown table."""
    lines = [
        "\n## Goals of the first landing",
        "| | goal | at first | measured | |",
        "| --- | --- | ---: | ---: | --- |",
    ]
    for goal in goals(results):
        sign, unit = "≥" if goal.least else "≤", f"{'' if goal.unit in ('×', '') else ' '}{goal.unit}"
        measured = "" if goal.value is None else f"{number(goal.value)}{unit}"
        lines.append(f"| {goal.name} | {goal.text} | {sign} {number(goal.limit)}{unit} | {measured} | {goal.verdict} |")
    return "\n".join(lines)
