"""How values are written, and what a wrong one says."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from app.settings import Settings, SettingsError, load

KEY = base64.b64encode(bytes(32)).decode()


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("30d", 2592000), ("2w", 1209600), ("15m", 900), ("90", 90), ("1.5h", 5400), (" 12 h ", 43200)],
)
def test_a_duration_may_have_any_usual_unit(monkeypatch: pytest.MonkeyPatch, written: str, seconds: float) -> None:
    monkeypatch.setenv("FOLDLINE_SESSION_TTL", written)
    assert load().session_ttl == seconds


@pytest.mark.parametrize(("written", "seconds"), [("0.5s", 0.5), ("250ms", 0.25), ("1", 1)])
def test_a_short_duration_may_have_a_fraction(monkeypatch: pytest.MonkeyPatch, written: str, seconds: float) -> None:
    monkeypatch.setenv("FOLDLINE_STORE_TIMEOUT", written)
    assert load().store_timeout == seconds


@pytest.mark.parametrize(
    ("written", "count"), [("64MiB", 67108864), ("1GiB", 1 << 30), ("5MB", 5_000_000), ("2048", 2048), ("512k", 524288)]
)
def test_a_size_may_have_any_usual_unit(monkeypatch: pytest.MonkeyPatch, written: str, count: int) -> None:
    monkeypatch.setenv("FOLDLINE_MAX_BODY", written)
    assert load().max_body == count


def test_a_share_may_be_written_in_per_cent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLDLINE_MIN_RETENTION", "85%")
    assert load().min_retention == 0.85


def test_a_closing_slash_of_a_base_url_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8080/v1/")
    assert load().openai_base_url == "http://127.0.0.1:8080/v1"


def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().port = 1  # pyright: ignore[reportAttributeAccessIssue] # what is tested


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("FOLDLINE_PORT", "99999", "a whole number from 0 to 65535"),
        ("PORT", "tcp://10.0.0.1:80", "a whole number from 0 to 65535"),
        ("FOLDLINE_WORKERS", "0", "a whole number from 1 to 256"),
        ("FOLDLINE_HOST", "http://here", "an address such as 127.0.0.1"),
        ("FOLDLINE_SESSION_TTL", "30 bananas", "a duration such as 500ms, 5s, 15m"),
        ("FOLDLINE_CONNECT_TIMEOUT", "-1", "a duration"),
        ("FOLDLINE_MAX_BODY", "1e9", "a size such as 512KiB"),
        ("FOLDLINE_MIN_RETENTION", "1.2", "a share from 0 to 1"),
        ("FOLDLINE_GEMINI_API", "generat", r"interactions or generate \(did you mean generate\?\)"),
        ("FOLDLINE_STRICT", "maybe", "true or false"),
        ("FOLDLINE_LOG_LEVEL", "loud", "debug, info, warning or error"),
        ("OPENAI_BASE_URL", "api.example.com", "a base URL such as"),
        ("FOLDLINE_OPENAI_BASE_URL", "https://user:word@api.example.com", "without user name"),
        ("REDIS_URL", "reddis://127.0.0.1", r"did you mean redis://\?"),
        ("FOLDLINE_KEEP_RECENT", "", ""),
    ],
)
def test_a_wrong_value_is_one_line_with_the_users_own_name_and_what_is_accepted(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, accepted: str
) -> None:
    monkeypatch.setenv(name, value)
    if not accepted:
        assert load().keep_recent == 6
        return
    with pytest.raises(SettingsError, match=accepted) as caught:
        load()
    assert str(caught.value).startswith(f"{name} cannot be")
    assert "\n" not in str(caught.value)
    assert "pydantic" not in str(caught.value)


@pytest.mark.parametrize(
    "value", ["k1", "k1:abc", f"k1:{KEY},k1:{KEY}", f":{KEY}", "k1:" + base64.b64encode(b"hidden-short").decode()]
)
def test_encryption_keys_must_be_whole_and_are_never_shown(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("FOLDLINE_ENCRYPTION_KEYS", value)
    with pytest.raises(SettingsError, match="FOLDLINE_ENCRYPTION_KEYS cannot be what it is set to") as caught:
        load()
    assert value.rpartition(":")[2][:6] not in str(caught.value).replace("base64key", "")


def test_a_wrong_store_url_does_not_show_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "rediz://user:hunter2@db")
    with pytest.raises(SettingsError) as caught:
        load()
    assert "hunter2" not in str(caught.value)


def test_api_keys_are_not_quietly_none(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    monkeypatch.setenv("FOLDLINE_API_KEYS", " , ")
    with pytest.raises(SettingsError, match="keys that are not empty"):
        load()
    monkeypatch.delenv("FOLDLINE_API_KEYS")
    (place / "foldline.toml").write_text('api_keys = ["one", ""]\n')
    with pytest.raises(SettingsError, match=r"api_keys in foldline\.toml"):
        load()


@pytest.mark.parametrize(
    ("name", "meant"), [("FOLDLINE_PROT", "FOLDLINE_PORT"), ("FOLDLINE_OPENAI_KEY", "FOLDLINE_OPENAI_API_KEY")]
)
def test_an_unknown_variable_is_an_error_that_knows_what_was_meant(
    monkeypatch: pytest.MonkeyPatch, place: Path, name: str, meant: str
) -> None:
    (place / ".env").write_text(f"{name}=1\nSOMEONE_ELSES=2\n")
    with pytest.raises(SettingsError, match=rf"{name} in \.env is not a setting \(did you mean {meant}"):
        load()
    (place / ".env").unlink()
    monkeypatch.setenv(name, "1")
    with pytest.raises(SettingsError, match=f"^{name} is not a setting"):
        load()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot = 1", r"prot in foldline\.toml is not a setting \(did you mean port\?\)"),
        ("FOLD_AT_TOKENS = 1", r"did you mean fold_at_tokens\?"),
        ("port = ", "is not valid TOML"),
        ("port = true", r"port in foldline\.toml cannot be True: it takes a whole number"),
        ('secret = ""', r"secret in foldline\.toml is set but empty"),
        ('[[routes]]\nupstream = "openai"', r"routes\[1\]\.match in foldline\.toml is missing"),
        ('[[routes]]\nmatch = "a"\nupstreem = "b"', r"routes\[1\]\.upst"),
        ('[upstreams.x]\nkind = "gemeni"', r"upstreams\.x\.kind .* \(did you mean gemini\?\)"),
        ('[upstreams.x]\nbase_url = "http://a"', r"upstreams\.x\.kind in foldline\.toml is missing"),
        ('[tools."a"]\nbudget = 0', r"tools\.a\.budget .* a whole number from 1"),
        ("upstreams = 3", r"upstreams in foldline\.toml cannot be 3"),
    ],
)
def test_a_wrong_line_of_the_file_is_named(place: Path, text: str, said: str) -> None:
    (place / "foldline.toml").write_text(text)
    with pytest.raises(SettingsError, match=said) as caught:
        load()
    assert "\n" not in str(caught.value)


def test_a_file_that_was_asked_for_must_be_there() -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.toml is not there"):
        load("nowhere.toml")


def test_a_secret_file_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLDLINE_SECRET_FILE", "/nowhere/secret")
    with pytest.raises(SettingsError, match="FOLDLINE_SECRET_FILE points to a file that cannot be read"):
        load()


def test_secrets_do_not_show_in_a_repr(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hunter2")
    monkeypatch.setenv("FOLDLINE_API_KEYS", "hunter2,hunter2b")
    monkeypatch.setenv("REDIS_URL", "redis://:hunter2@db")
    (place / "foldline.toml").write_text('[upstreams.x]\nkind = "openai"\napi_key = "hunter2"\n')
    settings = load()
    assert "hunter2" not in repr(settings) + str(settings) + repr(settings.every_upstream)
