"""Where settings are read from: command line, environment, .env, a TOML file; and what is unknown there.

The precedence is that order. Within one source the name with the prefix wins over a provider's usual name.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic_settings import DotEnvSettingsSource, EnvSettingsSource, TomlConfigSettingsSource

from app.settings.errors import SettingsError
from app.settings.fields import ALSO, NAMES, NEVER_EMPTY, PREFIX, SECRETS, TABLES, Settings
from app.settings.units import did_you_mean

CONFIG = "FOLDLINE_CONFIG"
DEFAULT_FILE = "foldline.toml"

_SERVICE_LINK = re.compile(r"FOLDLINE(_\w+)?_(SERVICE_(HOST|PORT\w*)|PORT(_\d+_(TCP|UDP)(_\w+)?)?)")


class Found:
    """One value as it was written: `name` is the user's own spelling, `origin` the source's."""

    __slots__ = ("name", "origin", "value")

    def __init__(self, value: object, name: str, origin: str) -> None:
        self.value, self.name, self.origin = value, name, origin

    @property
    def said(self) -> str:
        """The setting as the user knows it: `FOLDLINE_PORT in .env`."""
        return self.name if self.origin in ("", "environment") else f"{self.name} in {self.origin}"


def environment() -> dict[str, str]:
    """The process's environment, without what an orchestrator adds for a service that is called foldline."""
    read = EnvSettingsSource(Settings, case_sensitive=True).env_vars
    links = f"{PREFIX}SERVICE_HOST" in read
    return {
        name: value
        for name, value in read.items()
        if value is not None and not (links and _SERVICE_LINK.fullmatch(name) and _is_link(name, value))
    }


def _is_link(name: str, value: str) -> bool:
    return name != f"{PREFIX}PORT" or value.startswith(("tcp://", "udp://"))


def dotenv() -> dict[str, str]:
    """The names of ./.env, empty if there is none."""
    read = DotEnvSettingsSource(Settings, env_file=Path(".env"), case_sensitive=True).env_vars
    return {name: value for name, value in read.items() if value is not None}


def toml(config: str | None) -> tuple[dict[str, Any], str]:
    """The values of a TOML file, and its name. Without `config`, ./foldline.toml if it is there."""
    path = Path(config or DEFAULT_FILE).expanduser()
    if not path.is_file():
        if config:
            raise SettingsError(f"The settings file {config} is not there: correct --config or {CONFIG}.")
        return {}, ""
    try:
        return TomlConfigSettingsSource(Settings, toml_file=path).toml_data, path.name
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}.") from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from None


def from_variables(variables: Mapping[str, str], origin: str) -> dict[str, Found]:
    """The settings among environment variables.

    Raises:
        SettingsError: an unknown FOLDLINE_ name, a secret that is empty, or a NAME_FILE that cannot be read.
    """
    known = {name for setting in NAMES for name in _spellings(setting)} | {CONFIG}
    for name in variables:
        if name.startswith(PREFIX) and name not in known:
            raise SettingsError(_unknown(name, [*known], origin))
    found: dict[str, Found] = {}
    for setting in NAMES:
        given = [Found(variables[name], name, origin) for name in _spellings(setting) if name in variables]
        if first := next(_usable(given, setting), None):
            found[setting] = first
    return found


def _spellings(setting: str) -> tuple[str, ...]:
    names = (PREFIX + setting.upper(), *ALSO.get(setting, ()))
    return tuple(form for name in names for form in ((name, f"{name}_FILE") if setting in SECRETS else (name,)))


def _usable(given: Iterable[Found], setting: str) -> Iterator[Found]:
    """What has a value: an empty variable counts as unset, except where that would hide a mistake."""
    for found in given:
        read = _from_file(found) if found.name.endswith("_FILE") else found
        if text := str(read.value).strip():
            yield Found(text, read.name, read.origin)
        elif setting in NEVER_EMPTY or read is not found:
            raise SettingsError(f"{read.said} is set but empty: give it a value or leave it out.")


def _from_file(found: Found) -> Found:
    """The value that a NAME_FILE points to, as secrets are mounted in containers."""
    if not str(found.value).strip():
        return found
    try:
        text = Path(str(found.value)).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise SettingsError(f"{found.said} points to a file that cannot be read: {reason}.") from None
    return Found(text, found.name, found.origin)


def from_toml(values: Mapping[str, Any], file: str) -> dict[str, Found]:
    """The settings of a TOML file; a key that is no setting raises SettingsError."""
    known = [*NAMES, *TABLES]
    for name in values:
        if name not in known:
            raise SettingsError(_unknown(name, known, file))
    for setting in NEVER_EMPTY:
        if values.get(setting) == "":
            raise SettingsError(f"{setting} in {file} is set but empty: give it a value or leave it out.")
    return {name: Found(value, name, file) for name, value in values.items() if value != ""}


def _unknown(name: str, known: list[str], origin: str) -> str:
    close = did_you_mean(name, known) or did_you_mean(name.lower(), known)
    return f"{Found('', name, origin).said} is not a setting{close}; `foldline config` lists them all."
