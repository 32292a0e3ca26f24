"""What was measured as tables: absolute numbers beside their ratio to nginx in the same run."""

from __future__ import annotations

import math
import statistics

from bench.measure import Row

Results = dict[str, dict[str, Row]]
"""Workload → server → medians."""

HEADS = {
    "cpu_us": "CPU µs/request",
    "store_us": "store's µs",
    "chunk_us": "CPU µs/chunk",
    "cpu_share": "core share",
    "req_cpu_s": "req/s per core",
    "req_s": "req/s, wall",
    "p50_ms": "p50 ms",
    "p99_ms": "p99 ms",
    "alone_p50_ms": "1 client p50 ms",
    "alone_p99_ms": "1 client p99 ms",
    "chunk_p50_ms": "chunk delay p50 ms",
    "chunk_p99_ms": "chunk delay p99 ms",
    "memory_mb": "memory MB",
    "calls": "upstream calls/request",
    "sent_kb": "KB/call",
    "alive": "open",
    "kb_per_stream": "KB/stream",
    "all_mb": "memory MB",
    "open_us": "CPU µs to open",
    "open_growth": "last ÷ first",
    "files_left": "files left",
    "hang_up_p50_ms": "upstream closed after, p50 ms",
    "hang_up_max_ms": "max ms",
    "errors": "errors",
}
RATIOS = {"cpu_us": "÷ nginx", "chunk_us": "÷ nginx", "kb_per_stream": "÷ nginx"}
ADDED = ("alone_p50_ms", "alone_p99_ms", "chunk_p50_ms", "chunk_p99_ms")


def medians(rows: list[Row]) -> Row:
    """The median of each column; errors are summed."""
    keys = dict.fromkeys(key for row in rows for key in row)
    told = {key: [row[key] for row in rows if key in row and not math.isnan(row[key])] for key in keys}
    result = {key: statistics.median(values) for key, values in told.items() if values}
    return result | {key: sum(told[key]) for key in ("errors", "requests") if key in told}


def ratio(results: Results, work: str, key: str, server: str, to: str) -> float | None:
    """One server's number over another's, in the same workload of the same run."""
    rows = results.get(work, {})
    top, bottom = rows.get(server, {}).get(key), rows.get(to, {}).get(key)
    return top / bottom if top is not None and bottom else None


def added(results: Results, work: str, key: str, server: str) -> float | None:
    """What a server adds to the time of asking the upstream directly."""
    rows = results.get(work, {})
    own, direct = rows.get(server, {}).get(key), rows.get("direct", {}).get(key)
    return own - direct if own is not None and direct is not None else None


def table(results: Results, work: str) -> str:
    """One workload as a Markdown table; `+` columns are over direct."""
    rows = results[work]
    keys = [key for key in HEADS if any(key in row and (row[key] or key == "errors") for row in rows.values())]
    heads: list[str] = ["server"]
    for key in keys:
        heads += [HEADS[key], *([RATIOS[key]] if key in RATIOS else []), *(["+"] if _adds(rows, key) else [])]
    lines = [f"\n## {work}", "| " + " | ".join(heads) + " |", "| --- |" + " ---: |" * (len(heads) - 1)]
    for server, row in rows.items():
        cells: list[str] = [server]
        for key in keys:
            cells.append(number(row.get(key)))
            if key in RATIOS:
                cells.append(number(ratio(results, work, key, server, "nginx")))
            if _adds(rows, key):
                cells.append("" if server == "direct" else number(added(results, work, key, server)))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _adds(rows: dict[str, Row], key: str) -> bool:
    return key in ADDED and key in rows.get("direct", {})


def number(value: float | None) -> str:
    """Three significant digits or so, empty for nothing."""
    if value is None or math.isnan(value):
        return ""
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 or value == int(value) else f"{value:.1f}" if size >= 10 else f"{value:.2f}"
