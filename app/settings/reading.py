"""Reads every source into one Settings, remembers where each value came from, and says what is wrong in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from app.settings import sources
from app.settings.errors import SettingsError
from app.settings.fields import SECRETS, TABLES, Settings
from app.settings.sources import Found
from app.settings.units import did_you_mean


def load(config: str | None = None, flags: Mapping[str, Any] | None = None) -> Settings:
    """Settings from the command line, the environment, ./.env, a TOML file and the defaults, in that precedence.

    Args:
        config: a TOML file; by default FOLDLINE_CONFIG, else ./foldline.toml if there is one.
        flags: values given on the command line, by setting name; None means not given.

    Raises:
        SettingsError: with one line that names the setting and what it accepts.
    """
    variables, env_file = sources.environment(), sources.dotenv()
    values, file = sources.toml(config or variables.get(sources.CONFIG) or env_file.get(sources.CONFIG))
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    found = {
        **sources.from_toml(values, file),
        **sources.from_variables(env_file, ".env"),
        **sources.from_variables(variables, "environment"),
        **{name: Found(value, f"--{name.replace('_', '-')}", "") for name, value in given.items()},
    }
    if "upstreams" in found:
        found["upstreams"].value = _with_keys(found["upstreams"].value, {**env_file, **variables})
    return _checked(found)


def _with_keys(tables: object, variables: Mapping[str, str]) -> object:
    """The upstream tables with their keys, read from the variables that api_key_env names, and the usual kinds."""
    if not isinstance(tables, dict):
        return tables
    filled: dict[str, object] = {}
    for name, table in tables.items():  # pyright: ignore[reportUnknownVariableType] # a TOML file may hold anything
        entry: dict[str, object] = {str(key): value for key, value in table.items()} if isinstance(table, dict) else {}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] # as above
        if name in ("gemini", "openai", "anthropic"):
            entry.setdefault("kind", name)
        key = variables.get(str(entry.get("api_key_env", "")), "").strip()
        if key:
            entry.setdefault("api_key", key)
        filled[str(name)] = entry if isinstance(table, dict) else table  # pyright: ignore[reportUnknownArgumentType] # as above
    return filled


def _checked(found: Mapping[str, Found]) -> Settings:
    try:
        settings = Settings(**{name: each.value for name, each in found.items()})  # pyright: ignore[reportArgumentType] # what was read is checked right here
    except ValidationError as error:
        raise SettingsError(_one_line(error, found)) from None
    settings._provenance.update({name: _origin(each) for name, each in found.items()})  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # this room's own value, before anyone else sees it
    return settings


def _origin(found: Found) -> str:
    """`environment FOLDLINE_PORT`, `.env PORT`, `foldline.toml`, `--port`."""
    if not found.origin:
        return found.name
    return found.origin if found.name.islower() else f"{found.origin} {found.name}"


def _one_line(error: ValidationError, found: Mapping[str, Found]) -> str:
    """The first thing that is wrong, as the user wrote it, and how many more there are."""
    problems = error.errors(include_url=False)
    first = next((each for each in problems if each["type"] == "value_error"), problems[0])
    names = {str(each["loc"][0]) for each in problems}
    setting, *path = [str(part) for part in first["loc"]]
    each = found[setting]
    where = each.said if setting not in TABLES else f"{_spelled(setting, path)} in {each.origin}"
    line = f"{where} {_complaint(first['type'], first['msg'], _shown(setting, path, first['input']), path)}"
    return line if len(names) == 1 else f"{line} ({len(names) - 1} more settings are wrong too)"


def _spelled(setting: str, path: list[str]) -> str:
    """A place inside a table: `upstreams.local.kind`, `routes[2].upstream`. Route numbers begin with 1."""
    steps = [f"[{int(part) + 1}]" if part.isdigit() else f".{part}" for part in path]
    return setting + "".join(steps)


def _shown(setting: str, path: list[str], value: object) -> str:
    """The value as text, unless it is a secret."""
    secret = setting in SECRETS or "api_key" in path
    return "" if secret or isinstance(value, (dict, list, tuple)) else f" {value!r}"


def _complaint(kind: str, message: str, shown: str, path: list[str]) -> str:
    match kind:
        case "value_error":
            return f"cannot be{shown or ' what it is set to'}: it takes {message.removeprefix('Value error, ')}."
        case "missing":
            return "is missing: add it."
        case "extra_forbidden":
            from app.settings.tables import Route, ToolTable, UpstreamTable

            known = [name for table in (Route, UpstreamTable, ToolTable) for name in table.model_fields]
            return f"is not a key that this table has{did_you_mean(path[-1] if path else '', known)}."
        case _:
            return f"cannot be{shown or ' what it is set to'}: {message[:1].lower()}{message[1:]}."
