"""`foldline explain`: a body's plan, read from a file or a pipe; nothing is sent and nothing stored."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.cli import main
from tests.cli.conftest import Provider

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
MESSAGES: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "How is the weather?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "user", "content": "Never mind."},
]
BODY: dict[str, Any] = {"model": "gemini-2.5-pro", "logit_bias": {"1": 2}, "messages": MESSAGES}
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "Ahoy."}]}]}

EXPLAINED = """\
WHAT      OUTCOME                       WHY
received  3 messages and 1 system text  OpenAI Chat Completions, model gemini-2.5-pro, about N tokens
session   by content                    the conversation's own beginning tells it
known     0 of 3 messages               without the store's memory: a running server may know more
kept      3 of 3 messages               as they came; 1 message beside them, written anew or added
mend      1                             The call of f had no result: one was added that says so.
chain     new                           The provider holds nothing of this conversation that can be \
continued: the whole chat begins a chain.
lost      messages[2]                   The call of f had no result: one was added that says so.
lost      logit_bias                    Interactions has no such field.
"""
SENT = """\
sent      about N tokens  written anew for this upstream
upstream  gemini                        asked for gemini-2.5-pro at /interactions
"""
REFUSED = """\
refused                                 logit_bias: Interactions has no such field. STRICT is on, \
so the request was not sent.
sent      nothing                       gemini would have been asked for gemini-2.5-pro
"""


@pytest.fixture
def body(place: Path) -> str:
    """A file with a body in it."""
    (place / "body.json").write_text(json.dumps(BODY))
    return "body.json"


def piped(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Put `text` on standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.mark.parametrize(("strict", "end"), [("false", SENT), ("true", REFUSED)])
def test_a_body_is_explained_line_by_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], body: str, strict: str, end: str
) -> None:
    monkeypatch.setenv("FOLDLINE_STRICT", strict)
    assert main(["explain", body]) == 0
    said = capsys.readouterr()
    assert re.sub(r"about \d+ tokens( *)", lambda found: f"about N tokens{found[1][:2]}", said.out) == EXPLAINED + end
    assert said.err == ""


def test_nothing_is_asked_and_nothing_is_stored(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], place: Path, body: str, provider: Provider
) -> None:
    monkeypatch.setenv("GEMINI_BASE_URL", provider.url)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    monkeypatch.setenv("REDIS_URL", f"redis://{provider.url.removeprefix('http://')}")
    assert main(["explain", body]) == 0
    assert provider.requests == []
    assert [file.name for file in place.iterdir()] == ["body.json"]
    assert "gemini" in capsys.readouterr().out


def test_the_settings_routes_and_the_bodys_own_options_count(
    capsys: pytest.CaptureFixture[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "foldline.toml").write_text(
        '[[routes]]\nmatch = "house"\nupstream = "openai"\nmodel = "gpt-x"\nfallbacks = ["gemini-y"]\n'
    )
    asked = {"model": "house", "messages": MESSAGES, "foldline": {"off": True, "session": "harbour"}}
    piped(monkeypatch, json.dumps(asked))
    assert main(["explain", "-"]) == 0
    said = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "session named by the request itself" in said
    assert "upstream openai asked for gpt-x at /chat/completions" in said
    assert "fallback gemini asked for gemini-y when the one before cannot answer" in said
    assert not [line for line in said if line.startswith("mend")]


def test_a_gemini_body_is_explained_for_the_model_that_is_named_beside_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    piped(monkeypatch, json.dumps(CONTENTS))
    assert main(["explain", "-", "--model", "gemini-2.5-flash", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["request"] == {"path": "/models/gemini-2.5-flash:generateContent", "body": CONTENTS}
    assert (shown["untouched"], shown["session"], shown["known"]["recalled"]) == (True, None, False)


@pytest.mark.parametrize(
    ("given", "arguments", "about"),
    [
        ("", ["nowhere.json"], "nowhere.json cannot be read: No such file"),
        ("", ["."], ". cannot be read: Is a directory"),
        ("", ["-"], "JSON"),
        ("hello", ["-"], "JSON"),
        ("{}", ["-"], "neither contents (Gemini generateContent) nor input (Gemini Interactions, OpenAI Responses)"),
        (json.dumps(BODY), ["-", "--format", "telegram"], "No format is named 'telegram'"),
        (json.dumps(BODY), ["-", "--format", "gemini"], "no contents (Gemini generateContent)"),
        (json.dumps(CONTENTS), ["-"], "has its model in the path"),
        (json.dumps(BODY), ["-", "--model", "m"], "names its model in the body"),
        (json.dumps({**BODY, "foldline": {"keep_resent": 1}}), ["-"], "keep_recent"),
        (json.dumps({**BODY, "messages": "x" * 9}), ["-"], "messages"),
    ],
)
def test_what_cannot_be_explained_is_one_line_and_status_2(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: str,
    arguments: list[str],
    about: str,
) -> None:
    piped(monkeypatch, given)
    assert main(["explain", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("foldline: ")
    assert said.err.count("\n") == 1
    assert about in said.err


def test_it_stands_in_the_middle_of_a_pipe(body: str) -> None:
    command = f"cat {body} | {sys.executable} -m app.cli explain - | head -n 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == (["WHAT", "OUTCOME", "WHY"], "")
