"""The commands that only print: what they say, what they never say, and how they end."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from app import __version__
from app.cli import COMMANDS, main
from app.settings import NAMES, Settings

CLIENTS = ("claude-code", "codex", "gemini-cli", "opencode", "openai", "google-genai", "anthropic")


def test_the_version_is_the_packages_own(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"foldline {__version__}\n"


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    assert all(f"    {command.name} " in said for command in COMMANDS)


def test_the_command_line_itself_needs_no_heavy_import() -> None:
    heavy = "('pydantic', 'uvicorn', 'fastapi', 'redis', 'httpx2', 'aiohttp', 'google.genai', 'cryptography')"
    code = f"import sys, app.cli; app.cli.parser(); print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_config_shows_every_setting_with_its_origin_and_its_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    monkeypatch.setenv("PORT", "5001")
    (place / "foldline.toml").write_text(
        'session_ttl = "12h"\n[[routes]]\nmatch = "a*"\nupstream = "openai"\n[tools."t"]\nbudget = 9\n'
    )
    assert main(["config"]) == 0
    said = capsys.readouterr().out
    for name in NAMES:
        assert f"{name.upper()} = " in said
        assert str(Settings.model_fields[name].description) in said
    assert "PORT = 5001  (environment PORT)" in said
    assert "SESSION_TTL = 12h  (foldline.toml)" in said
    assert "MAX_BODY = 64MiB  (default)" in said
    assert "FOLD_TO_TOKENS = half of FOLD_AT_TOKENS  (default)" in said
    assert "[[routes]] a* → openai  (foldline.toml)" in said
    assert '[tools."t"]  (foldline.toml)' in said


@pytest.mark.parametrize("arguments", [["config"], *(["env", "--client", client] for client in CLIENTS)])
def test_no_command_shows_a_secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "FOLDLINE_API_KEYS", "FOLDLINE_ADMIN_TOKEN", "FOLDLINE_SECRET"):
        monkeypatch.setenv(name, "hunter2")
    monkeypatch.setenv("REDIS_URL", "redis://user:hunter2@db.example.com:6379/0?ssl_password=hunter2")
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert "hunter2" not in said.out + said.err
    if arguments == ["config"]:
        assert "redis://user:********@db.example.com:6379/0?ssl_password=********" in said.out


@pytest.mark.parametrize("client", [client for client in CLIENTS if client not in ("codex", "opencode")])
def test_env_prints_what_a_shell_can_evaluate(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    monkeypatch.setenv("FOLDLINE_PORT", "4321")
    assert main(["env", "--client", client]) == 0
    lines = capsys.readouterr().out
    done = subprocess.run(["sh", "-euc", f"{lines}\nenv"], capture_output=True, text=True, check=True)
    assert "=http://127.0.0.1:4321" in done.stdout


@pytest.mark.parametrize("client", CLIENTS)
def test_env_calls_no_client_unserved(capsys: pytest.CaptureFixture[str], client: str) -> None:
    assert main(["env", "--client", client]) == 0
    assert "not served" not in capsys.readouterr().out


def test_env_prints_codexs_own_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env", "--client", "codex"]) == 0
    settings = tomllib.loads(capsys.readouterr().out)
    assert settings["model_providers"][settings["model_provider"]]["base_url"] == "http://127.0.0.1:4000/v1"


def test_env_prints_opencodes_own_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env", "--client", "opencode", "--url", "https://llm.example.com/"]) == 0
    settings = json.loads(capsys.readouterr().out)
    assert settings["provider"]["foldline"]["options"]["baseURL"] == "https://llm.example.com/v1"


@pytest.mark.parametrize(
    ("variables", "package"),
    [
        ({}, "@ai-sdk/openai-compatible"),
        ({"OPENAI_API_KEY": "k"}, "@ai-sdk/openai"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:11434/v1"}, "@ai-sdk/openai-compatible"),
        ({"GEMINI_API_KEY": "k"}, "@ai-sdk/openai-compatible"),
    ],
)
def test_opencode_speaks_responses_where_openai_itself_serves(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variables: dict[str, str], package: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert main(["env", "--client", "opencode"]) == 0
    assert json.loads(capsys.readouterr().out)["provider"]["foldline"]["npm"] == package


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "=lab"),
        ({"OPENAI_API_KEY": "k"}, "any value: the server has the provider's key"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:1"}, "stays your own key"),
        ({"FOLDLINE_API_KEYS": "a,b"}, "one of the keys in API_KEYS"),
    ],
)
def test_env_says_which_key_a_client_needs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variables: dict[str, str], said: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert main(["env", "--client", "openai"]) == 0
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("command", ["config", "serve", "sessions", "doctor"])
def test_a_wrong_setting_ends_any_command_with_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.setenv("FOLDLINE_SESSION_TTL", "long")
    assert main([command]) in (1, 2)
    said = capsys.readouterr()
    assert (said.out + said.err).count("\n") == 1
    assert "FOLDLINE_SESSION_TTL cannot be 'long'" in said.out + said.err
