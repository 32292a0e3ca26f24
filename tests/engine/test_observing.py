"""What is counted and logged of a turn, and that no secret ever gets into a log."""

from __future__ import annotations

import io
import json
import logging
import sys

import pytest
from prometheus_client import generate_latest

from app.logs import Blotter, Incomplete, JsonLine, set_up_logs
from app.observe import Metrics, TurnDetails, TurnLog

DETAILS = TurnDetails(
    turn="t-1",
    session="s-1",
    dialect="openai_chat",
    upstream="gemini",
    model="gemini-3-flash",
    status=200,
    seconds=0.5,
    first_byte=0.1,
    input_tokens=7,
    output_tokens=3,
    sent_upstream=3,
    plan="restore=1",
    losses=2,
)
SECRET = "hunter2-hunter2"


def _exposed(metrics: Metrics) -> str:
    return generate_latest(metrics.registry).decode()


def test_one_turn_moves_every_metric_that_concerns_it() -> None:
    metrics = Metrics()
    metrics.turn(DETAILS)
    metrics.turn(TurnDetails(dialect="gemini", outcome="failed", error="timeout", bypassed="timed out"))
    text = _exposed(metrics)
    for line in (
        'foldline_turns_total{dialect="openai_chat",outcome="answered",upstream="gemini"} 1.0',
        'foldline_turns_total{dialect="gemini",outcome="failed",upstream="none"} 1.0',
        'foldline_turn_seconds_count{dialect="openai_chat",upstream="gemini"} 1.0',
        'foldline_first_byte_seconds_count{dialect="openai_chat",upstream="gemini"} 1.0',
        'foldline_tokens_total{direction="input",upstream="gemini"} 7.0',
        'foldline_tokens_total{direction="output",upstream="gemini"} 3.0',
        'foldline_upstream_retries_total{upstream="gemini"} 2.0',
        'foldline_losses_total{upstream="gemini"} 2.0',
        'foldline_errors_total{kind="timeout"} 1.0',
        'foldline_state_bypassed_total{reason="timed out"} 1.0',
        "foldline_turns_open 0.0",
    ):
        assert line in text


def test_no_metric_is_labelled_with_a_tenant_a_session_or_a_turn() -> None:
    metrics = Metrics()
    metrics.turn(DETAILS)
    assert "s-1" not in _exposed(metrics)
    assert "t-1" not in _exposed(metrics)


def test_every_metric_has_our_name_and_a_sentence() -> None:
    for family in Metrics().registry.collect():
        assert family.name.startswith("foldline_")
        assert family.documentation.endswith(".")


def test_a_line_of_json_says_what_is_known_and_nothing_empty() -> None:
    stream = io.StringIO()
    log = TurnLog("json", stream, clock=lambda: 1_790_000_000.1234)
    log.turn(DETAILS)
    log.turn(TurnDetails(model="モデル\n2"))
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (first["at"], first["event"], first["turn"], first["status"]) == (1_790_000_000.123, "turn", "t-1", 200)
    assert not {"error", "bypassed", "stream"} & first.keys()
    assert second["model"] == "モデル\n2"


def test_a_line_for_people_stands_on_one_line() -> None:
    stream = io.StringIO()
    TurnLog("console", stream).turn(DETAILS)
    line = stream.getvalue()
    assert line.count("\n") == 1
    for word in ("200", "answered", "gemini-3-flash", "via gemini", "500 ms", "7+3 tokens", "restore=1", "t-1"):
        assert word in line


def test_a_broken_stderr_never_breaks_a_turn() -> None:
    stream = io.StringIO()
    stream.close()
    TurnLog("json", stream).turn(DETAILS)


def _record(message: str, *args: object, exc: bool = False) -> logging.LogRecord:
    return logging.LogRecord("app", logging.ERROR, "f.py", 1, message, args, sys.exc_info() if exc else None)


@pytest.mark.parametrize(
    "text",
    [
        f"key {SECRET} was refused",
        f"url https://x/?key={SECRET}&a=1",
        "Authorization: Bearer abcdef.ghi-jkl",
        "sk-abcdefgh12345678 and AIzaSyA1234567890abcdefghij",
    ],
)
def test_secrets_are_covered_wherever_they_turn_up(text: str) -> None:
    record = _record("%s", text)
    assert Blotter([SECRET]).filter(record)
    said = record.getMessage()
    assert "***" in said
    for secret in (SECRET, "abcdef.ghi", "abcdefgh12345678", "SyA1234567890"):
        assert secret not in said


def test_secrets_in_tracebacks_are_covered_too() -> None:
    try:
        raise ValueError(f"cannot use {SECRET}")
    except ValueError:
        record = _record("failed", exc=True)
    Blotter([SECRET]).filter(record)
    line = json.loads(JsonLine().format(record))
    assert "ValueError" in line["traceback"]
    assert SECRET not in line["traceback"]


def test_a_longer_secret_is_covered_whole_and_a_very_short_one_not_at_all() -> None:
    blotter = Blotter([SECRET, SECRET + "-more", "abc", ""])
    assert blotter.blot(f"{SECRET}-more abc") == "*** abc"
    assert Blotter([]).blot("nothing to hide") == "nothing to hide"


def test_the_servers_complaint_about_a_cut_on_purpose_is_dropped_and_others_are_not() -> None:
    assert not Incomplete().filter(_record("ASGI callable returned without completing response."))
    assert Incomplete().filter(_record("something else"))


@pytest.mark.parametrize("form", ["json", "console"])
def test_one_handler_serves_all_loggers_and_covers_their_secrets(
    form: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = logging.getLogger()
    uvicorn = logging.getLogger("uvicorn.error")
    handlers, level, theirs = root.handlers[:], root.level, uvicorn.level
    try:
        set_up_logs("info", form, [SECRET])  # type: ignore[arg-type]  # a parameter is any text
        logging.getLogger("some.library").warning("with %s", SECRET)
        logging.getLogger("some.library").debug("not shown")
    finally:
        root.handlers[:], root.level, uvicorn.level = handlers, level, theirs
    (line,) = capsys.readouterr().err.splitlines()
    assert SECRET not in line
    if form == "json":
        assert json.loads(line) | {"at": 0} == {
            "at": 0,
            "level": "warning",
            "logger": "some.library",
            "event": "with ***",
        }
    else:
        assert "WARNING with ***" in line
