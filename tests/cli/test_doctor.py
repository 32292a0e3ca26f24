"""`foldline doctor`: a line for each thing it tested, with the mend, and exit status 1 if one is bad."""

from __future__ import annotations

import socket

import pytest

from app.cli import main
from tests.cli.conftest import Provider


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLDLINE_REDIS_URL", "memory://")


def doctor(capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    status = main(["doctor"])
    return status, capsys.readouterr().out


def test_without_any_provider_all_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    status, said = doctor(capsys)
    assert status == 0
    assert [line.split()[:2] for line in said.splitlines()] == [
        ["ok", "settings"],
        ["ok", "store"],
        ["note", "clock"],
        ["note", "upstreams"],
    ]


@pytest.mark.parametrize(
    ("kind", "path", "header"),
    [
        ("openai", "/v1/models", ("authorization", "Bearer k")),
        ("gemini", "/v1beta/models", ("x-goog-api-key", "k")),
        ("anthropic", "/v1/models", ("x-api-key", "k")),
    ],
)
def test_each_provider_is_asked_for_its_models_with_its_key(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    provider: Provider,
    kind: str,
    path: str,
    header: tuple[str, str],
) -> None:
    monkeypatch.setenv(f"FOLDLINE_{kind.upper()}_BASE_URL", provider.url)
    monkeypatch.setenv(f"FOLDLINE_{kind.upper()}_API_KEY", "k")
    status, said = doctor(capsys)
    assert status == 0, said
    assert f"upstream {kind}" in said
    assert "takes the key" in said
    [(asked, headers)] = provider.requests
    assert asked == path
    assert headers[header[0]] == header[1]


@pytest.mark.parametrize(
    ("answer", "key", "status", "line"),
    [
        (401, True, 1, "refuses the key (status 401): correct or renew it."),
        (401, False, 0, "answers; clients bring their own keys"),
        (404, True, 0, "its base URL may lack a path such as /v1"),
        (429, True, 0, "out of quota"),
        (500, True, 1, "answers with status 500"),
    ],
)
def test_a_providers_answer_becomes_a_line_with_the_mend(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    provider: Provider,
    answer: int,
    key: bool,
    status: int,
    line: str,
) -> None:
    provider.status = answer
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    if key:
        monkeypatch.setenv("OPENAI_API_KEY", "k")
    ended, said = doctor(capsys)
    assert line in said
    assert ended == status


def test_a_clock_that_is_wrong_is_noticed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], provider: Provider
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    assert doctor(capsys)[0] == 0
    provider.ahead = 3600
    status, said = doctor(capsys)
    assert status == 1
    assert "behind a provider's: synchronise it" in said


def test_a_provider_and_a_store_that_cannot_be_reached_are_bad(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{port}/v1")
        monkeypatch.setenv("REDIS_URL", f"redis://:hunter2@127.0.0.1:{port}/0")
        monkeypatch.delenv("FOLDLINE_REDIS_URL")
        status, said = doctor(capsys)
    assert status == 1
    assert "cannot be reached" in said
    assert said.count("bad ") == 2
    assert "hunter2" not in said


def test_settings_that_would_refuse_to_start_are_bad(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], provider: Provider
) -> None:
    monkeypatch.setenv("FOLDLINE_HOST", "0.0.0.0")
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    status, said = doctor(capsys)
    assert status == 1
    assert said.startswith("bad   settings")
