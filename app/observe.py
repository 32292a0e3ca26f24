"""One frozen TurnDetails to a log line and to metrics. Watches, never steers; holds no key and no chat text."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Protocol, TextIO

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

Outcome = Literal["answered", "refused", "failed", "client_left", "cut"]
"""answered; refused: the request's own fault; failed: an error went out; client_left; cut: ended by shutdown."""


_UNSEEN = dict.fromkeys((*range(32), *range(127, 160), 0x2028, 0x2029), "?")
"""Control characters: a model name with a line end in it must not write a log line of its own."""


MOST_MODELS = 50
"""Model names that metrics tell apart; further ones are `other`."""


class TurnDetails(msgspec.Struct, frozen=True):
    """What is known of a turn when it is over. Times are seconds, tokens are the provider's own count if it gave one.

    Args:
        dialect: the client's format. upstream, model: who served, and the model asked for there.
        first_byte: until the first byte went to the client, 0 if none did.
        received, sent: estimated tokens of the client's request and of ours.
        sent_upstream: how often the provider was asked, retries and fallbacks included.
        plan: the x-foldline-plan header. bypassed: why the store was not asked, empty if it was.
        error: the kind of the error, empty if there was none.
    """

    turn: str = ""
    session: str = ""
    request_id: str = ""
    dialect: str = ""
    upstream: str = ""
    model: str = ""
    stream: bool = False
    status: int = 0
    outcome: Outcome = "answered"
    error: str = ""
    seconds: float = 0
    first_byte: float = 0
    received: int = 0
    sent: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    sent_upstream: int = 0
    plan: str = ""
    bypassed: str = ""
    losses: int = 0


class SummaryDetails(msgspec.Struct, frozen=True):
    """What is known of one summary when it is done with. Times are seconds, tokens are the provider's own count.

    Args:
        pinned: the model that was asked for. served: the one that the response named; drifted: another one.
        outcome: made; refused: the retention gate did not let it pass; failed: there was no summary at all.
        reason: why it was refused, or failed.
        found, kept, repaired: critical tokens: in what was folded, kept by the first answer, brought back afterwards.
        score: the share that is kept in the end, 0 to 1. asked: questions. facts: lines carried word for word.
    """

    session: str = ""
    upstream: str = ""
    pinned: str = ""
    served: str = ""
    drifted: bool = False
    outcome: Literal["made", "refused", "failed"] = "made"
    reason: str = ""
    found: int = 0
    kept: int = 0
    repaired: int = 0
    score: float = 0
    asked: int = 0
    facts: int = 0
    seconds: float = 0
    input_tokens: int = 0
    output_tokens: int = 0


class Metrics:
    """Prometheus metrics of one process. Few labels, never a tenant or a session."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        labels = ("dialect", "upstream", "outcome")
        self._turns = Counter("foldline_turns", "Turns, by how they ended.", labels, registry=self.registry)
        self._seconds = Histogram(
            "foldline_turn_seconds",
            "Seconds from request to the last byte.",
            ("dialect", "upstream"),
            registry=self.registry,
            buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600),
        )
        self._first = Histogram(
            "foldline_first_byte_seconds",
            "Seconds until the first byte of an answer went out.",
            ("dialect", "upstream"),
            registry=self.registry,
            buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120),
        )
        self._tokens = Counter(
            "foldline_tokens", "Tokens as providers count them.", ("upstream", "direction"), registry=self.registry
        )
        self._errors = Counter("foldline_errors", "Errors, by kind.", ("kind",), registry=self.registry)
        self._retries = Counter(
            "foldline_upstream_retries",
            "Requests sent again, retries and fallbacks.",
            ("upstream",),
            registry=self.registry,
        )
        self._bypassed = Counter(
            "foldline_state_bypassed",
            "Turns that went on without state, by reason.",
            ("reason",),
            registry=self.registry,
        )
        self._losses = Counter(
            "foldline_losses", "Things that a target format could not say.", ("upstream",), registry=self.registry
        )
        self._summaries = Counter(
            "foldline_summaries", "Summaries, by how they ended.", ("upstream", "outcome"), registry=self.registry
        )
        self._summary_tokens = Counter(
            "foldline_summary_tokens",
            "Tokens of summaries as providers count them.",
            ("upstream", "direction"),
            registry=self.registry,
        )
        self._drift = Counter(
            "foldline_summary_drift",
            "Summaries that another model wrote than the pinned one.",
            ("pinned", "served"),
            registry=self.registry,
        )
        self._retention = Histogram(
            "foldline_summary_retention",
            "Share of critical tokens that a summary's first answer kept, by the model that served.",
            ("served",),
            registry=self.registry,
            buckets=(0.1, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1),
        )
        self._served: set[str] = set()
        self.open = Gauge("foldline_turns_open", "Turns that run now.", registry=self.registry)
        self._cache: dict[tuple[str, ...], Any] = {}
        self._usual: dict[tuple[str, str, str], tuple[Any, Any, Any, Any, Any]] = {}

    def turn(self, details: TurnDetails) -> None:
        """Count one turn."""
        dialect, upstream = details.dialect, details.upstream or "none"
        usual = self._usual.get((dialect, upstream, details.outcome))
        if usual is None:
            usual = self._usual[dialect, upstream, details.outcome] = (
                self._turns.labels(dialect, upstream, details.outcome).inc,
                self._seconds.labels(dialect, upstream).observe,
                self._first.labels(dialect, upstream).observe,
                self._tokens.labels(upstream, "input").inc,
                self._tokens.labels(upstream, "output").inc,
            )
        count, seconds, first_byte, read, written = usual
        count()
        seconds(details.seconds)
        if details.first_byte:
            first_byte(details.first_byte)
        if details.input_tokens:
            read(details.input_tokens)
        if details.output_tokens:
            written(details.output_tokens)
        if details.error:
            self._child(self._errors, details.error).inc()
        if details.sent_upstream > 1:
            self._child(self._retries, upstream).inc(details.sent_upstream - 1)
        if details.bypassed:
            self._child(self._bypassed, details.bypassed).inc()
        if details.losses:
            self._child(self._losses, upstream).inc(details.losses)

    def summary(self, details: SummaryDetails) -> None:
        """Count one summary."""
        upstream = details.upstream or "none"
        self._child(self._summaries, upstream, details.outcome).inc()
        self._child(self._summary_tokens, upstream, "input").inc(details.input_tokens)
        self._child(self._summary_tokens, upstream, "output").inc(details.output_tokens)
        served = self._label(details.served or details.pinned)
        if details.drifted:
            self._child(self._drift, self._label(details.pinned), served).inc()
        if details.outcome != "failed":
            kept = details.kept / details.found if details.found else 1.0
            self._child(self._retention, served).observe(kept)

    def _label(self, model: str) -> str:
        """The model's name, as long as there are few: providers may answer with any."""
        if model in self._served or len(self._served) < MOST_MODELS:
            self._served.add(model)
            return model
        return "other"

    def _child(self, metric: Any, *labels: str) -> Any:
        """A metric with its labels, looked up once: prometheus_client's own way takes a lock and a tuple each time."""
        key = (metric._name, *labels)  # noqa: SLF001 (the name has no public spelling)
        child = self._cache.get(key)
        if child is None:
            child = self._cache[key] = metric.labels(*labels)
        return child


class StoreNumbers(Protocol):
    """What a store counts by itself."""

    @property
    def failures(self) -> Mapping[str, int]:
        """Steps that it did not serve, by reason."""
        ...

    @property
    def breaker(self) -> str:
        """`closed`, `open` or `probing`."""
        ...

    @property
    def breaker_openings(self) -> int:
        """How often it was left alone for a moment."""
        ...

    @property
    def cache_bytes(self) -> int:
        """Bytes of checkpoints kept in this process."""
        ...


class StoreMetrics(Collector):
    """The store's own numbers, read when somebody asks for them."""

    def __init__(self, store: StoreNumbers) -> None:
        self._store = store

    def collect(self) -> Iterable[Metric]:
        """The metrics now."""
        failures = CounterMetricFamily(
            "foldline_store_failures", "Store steps not served, by reason.", labels=["reason"]
        )
        for reason, count in self._store.failures.items():
            failures.add_metric([reason], count)
        yield failures
        openings = CounterMetricFamily(
            "foldline_store_breaker_openings", "Times the store was left alone for a moment."
        )
        openings.add_metric([], self._store.breaker_openings)
        yield openings
        state = GaugeMetricFamily("foldline_store_breaker_open", "1 while the store is left alone.")
        state.add_metric([], float(self._store.breaker != "closed"))
        yield state
        cached = GaugeMetricFamily("foldline_store_cache_bytes", "Bytes of checkpoints kept in this process.")
        cached.add_metric([], self._store.cache_bytes)
        yield cached


class TurnLog:
    """One line a turn. `console` for people, `json` for machines."""

    def __init__(
        self,
        form: Literal["console", "json"],
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.time,
        *,
        only_warnings: bool = False,
    ) -> None:
        self._only_warnings = only_warnings
        self._form = form
        self._write = self._json if form == "json" else self._console
        self._stream = stream or sys.stderr
        self._clock = clock
        self._second, self._moment = -1, ""

    def turn(self, details: TurnDetails) -> None:
        """Write the line. A broken stderr never breaks a turn."""
        if self._only_warnings:
            return
        self._put(self._write(details))

    def summary(self, details: SummaryDetails) -> None:
        """Write the line of a summary: a warning if it is not used, or not by the pinned model."""
        if self._only_warnings and not details.drifted and details.outcome == "made":
            return
        line = self._json(details, "summary") if self._form == "json" else self._summary_words(details)
        self._put(line)

    def _put(self, line: str) -> None:
        try:
            self._stream.write(line.translate(_UNSEEN) + "\n")
        except (OSError, ValueError):
            return

    def _summary_words(self, d: SummaryDetails) -> str:
        head = "WARNING " if d.drifted or d.outcome != "made" else ""
        drift = f" (pinned is {d.pinned}: the summary model has drifted)" if d.drifted else ""
        kept = f" kept {d.kept} of {d.found}, repaired {d.repaired}, {d.facts} facts" if d.found else ""
        why = f": {d.reason}" if d.reason else ""
        return (
            f"{self._now()} {head}summary {d.outcome} by {d.served or d.pinned}{drift} via {d.upstream}"
            f" {d.seconds * 1000:.0f} ms {d.input_tokens}+{d.output_tokens} tokens{kept}{why} {d.session}"
        )

    def _json(self, details: TurnDetails | SummaryDetails, event: str = "turn") -> str:
        fields = {name: value for name, value in msgspec.structs.asdict(details).items() if value not in ("", 0, False)}
        wrong = fields.get("drifted") or (event == "summary" and fields.get("outcome") != "made")
        level = {"level": "warning"} if wrong else {}
        return json.dumps({"at": round(self._clock(), 3), "event": event, **level, **fields}, ensure_ascii=False)

    def _now(self) -> str:
        now = int(self._clock())
        if now != self._second:
            self._second, self._moment = now, time.strftime("%H:%M:%S", time.localtime(now))
        return self._moment

    def _console(self, d: TurnDetails) -> str:
        moment = self._now()
        error = f" {d.error}" if d.error else ""
        tokens = f" {d.input_tokens}+{d.output_tokens} tokens" if d.input_tokens or d.output_tokens else ""
        return (
            f"{moment} {d.status or '-'} {d.outcome}{error} {d.dialect} {d.model or '-'} via {d.upstream or '-'}"
            f" {d.seconds * 1000:.0f} ms{tokens} plan: {d.plan or 'none'} {d.turn}"
        )
