"""Where a value may come from, which source wins, and that `provenance` tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.settings import Settings, SettingsError, load


def test_without_any_source_the_defaults_hold() -> None:
    settings = load()
    assert (settings.host, settings.port, settings.workers) == ("127.0.0.1", 4000, 1)
    assert settings.redis_url.get_secret_value() == "embedded://"
    assert settings.session_ttl == 30 * 86400
    assert settings.max_body == 64 * 2**20
    assert settings.demo
    assert dict(settings.provenance) == {}


def test_the_command_line_beats_the_environment_beats_dotenv_beats_the_file(
    monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    (place / "foldline.toml").write_text("port = 1\nkeep_recent = 1\nsummary_tokens = 1\nmax_retries = 1\n")
    (place / ".env").write_text("FOLDLINE_PORT=2\nFOLDLINE_KEEP_RECENT=2\nFOLDLINE_SUMMARY_TOKENS=2\n")
    monkeypatch.setenv("FOLDLINE_PORT", "3")
    monkeypatch.setenv("FOLDLINE_KEEP_RECENT", "3")
    settings = load(flags={"port": "4", "workers": None})
    values = (settings.port, settings.keep_recent, settings.summary_tokens, settings.max_retries)
    assert values == (4, 3, 2, 1)
    assert dict(settings.provenance) == {
        "port": "--port",
        "keep_recent": "environment FOLDLINE_KEEP_RECENT",
        "summary_tokens": ".env FOLDLINE_SUMMARY_TOKENS",
        "max_retries": "foldline.toml",
    }


def test_a_named_file_replaces_the_one_of_the_directory(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    for name, port in (("foldline", 1), ("by_variable", 2), ("by_flag", 3)):
        (place / f"{name}.toml").write_text(f"port = {port}\n")
    assert load().port == 1
    monkeypatch.setenv("FOLDLINE_CONFIG", "by_variable.toml")
    assert load().port == 2
    assert load("by_flag.toml").port == 3
    assert load("by_flag.toml").provenance["port"] == "by_flag.toml"


@pytest.mark.parametrize(
    ("variable", "setting"),
    [
        ("PORT", "port"),
        ("REDIS_URL", "redis_url"),
        ("GOOGLE_GEMINI_BASE_URL", "gemini_base_url"),
        ("OPENAI_BASE_URL", "openai_base_url"),
        ("ANTHROPIC_BASE_URL", "anthropic_base_url"),
        ("GEMINI_API_KEY", "gemini_api_key"),
        ("GOOGLE_API_KEY", "gemini_api_key"),
        ("OPENAI_API_KEY", "openai_api_key"),
        ("ANTHROPIC_API_KEY", "anthropic_api_key"),
    ],
)
def test_the_usual_names_are_read_and_the_prefixed_one_wins(
    monkeypatch: pytest.MonkeyPatch, variable: str, setting: str
) -> None:
    forms = {"port": ("1234", "4321"), "redis_url": ("redis://a", "redis://b")}
    usual, prefixed = forms.get(setting, ("http://usual", "http://prefixed"))
    monkeypatch.setenv(variable, usual)
    assert load().provenance[setting] == f"environment {variable}"
    assert _plain(load(), setting) == usual
    monkeypatch.setenv(f"FOLDLINE_{setting.upper()}", prefixed)
    assert _plain(load(), setting) == prefixed


def test_a_host_variable_that_a_shell_set_for_itself_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST", "x86_64-conda-linux-gnu")
    assert load().host == "127.0.0.1"


def test_a_secret_can_be_mounted_as_a_file(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    (place / "key").write_text("sk-from-a-file\n")
    (place / "keys").write_text("one, two\n")
    monkeypatch.setenv("OPENAI_API_KEY_FILE", str(place / "key"))
    monkeypatch.setenv("FOLDLINE_API_KEYS_FILE", str(place / "keys"))
    settings = load()
    assert _plain(settings, "openai_api_key") == "sk-from-a-file"
    assert [key.get_secret_value() for key in settings.api_keys] == ["one", "two"]
    assert settings.provenance["openai_api_key"] == "environment OPENAI_API_KEY_FILE"


def test_an_empty_key_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLDLINE_OPENAI_API_KEY", "")
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    monkeypatch.setenv("FOLDLINE_OPENAI_BASE_URL", "")
    assert load().openai_api_key is None
    assert load().demo
    monkeypatch.setenv("OPENAI_API_KEY", "sk-usual")
    assert _plain(load(), "openai_api_key") == "sk-usual"


@pytest.mark.parametrize("name", ["FOLDLINE_SECRET", "FOLDLINE_ENCRYPTION_KEYS", "FOLDLINE_SECRET_FILE"])
def test_an_empty_secret_is_an_error_rather_than_less_protection(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "")
    with pytest.raises(SettingsError, match=f"{name} is set but empty"):
        load()


def test_an_orchestrators_service_variables_are_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "FOLDLINE_SERVICE_HOST": "10.0.0.7",
        "FOLDLINE_SERVICE_PORT": "80",
        "FOLDLINE_SERVICE_PORT_HTTP": "80",
        "FOLDLINE_PORT": "tcp://10.0.0.7:80",
        "FOLDLINE_PORT_80_TCP": "tcp://10.0.0.7:80",
        "FOLDLINE_PORT_80_TCP_ADDR": "10.0.0.7",
    }.items():
        monkeypatch.setenv(name, value)
    assert load().port == 4000
    monkeypatch.setenv("FOLDLINE_PORT", "5000")
    assert load().port == 5000


def test_values_given_in_code_are_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLDLINE_PORT", "3")
    assert Settings(keep_recent=2).port == 4000


def test_the_example_file_is_accepted_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", "sk-local")
    settings = load(str(Path(__file__).parents[2] / "foldline.example.toml"))
    assert settings.start_refusal == ""
    local = settings.every_upstream["local"]
    assert (local.kind, local.base_url, local.configured) == ("openai", "http://127.0.0.1:8080/v1", True)
    assert local.api_key is not None
    assert local.api_key.get_secret_value() == "sk-local"
    assert settings.every_route[0].policy == {"fold_at_tokens": 24000}
    assert settings.tools["read_file"].compact is False


def test_the_example_environment_is_accepted_with_every_line_in_use(place: Path) -> None:
    example = (Path(__file__).parents[2] / ".env.example").read_text()
    made_up = {"FOLDLINE_ENCRYPTION_KEYS": "k1:" + "A" * 43 + "=", "FOLDLINE_SECRET_FILE": str(place / "secret")}
    (place / "secret").write_text("s")
    lines = [line[1:] for line in example.splitlines() if line.startswith("#FOLDLINE_")]
    (place / ".env").write_text(
        "\n".join(
            f"{name}={value or made_up.get(name, 'x')}" for name, _, value in (line.partition("=") for line in lines)
        )
    )
    assert len(load().provenance) >= len(lines) - 1


def _plain(settings: Settings, name: str) -> str:
    value = getattr(settings, name)
    return str(value.get_secret_value() if hasattr(value, "get_secret_value") else value)
