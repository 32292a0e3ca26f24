"""`foldline config`: every setting, its value, where it came from, and one sentence about it."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, cast

from app.commands.command import Command
from app.commands.terminal import coloured

if TYPE_CHECKING:
    from app.settings import Settings

MASK = "********"


def arguments(parser: argparse.ArgumentParser) -> None:
    """No arguments of its own."""


def run(given: argparse.Namespace) -> int:
    """Print the settings."""
    from app.settings import load

    print(listing(load(given.config)))
    return 0


def listing(settings: Settings) -> str:
    """All settings as text. Secrets are masked, and so is the password of a store URL."""
    from app.settings import NAMES

    blocks: list[str] = []
    for name in NAMES:
        title = coloured(name.upper(), "bold")
        origin = coloured(f"({settings.provenance.get(name, 'default')})", "dim")
        description = type(settings).model_fields[name].description
        blocks.append(f"{title} = {shown(settings, name)}  {origin}\n    {description}")
    return "\n".join([*blocks, *_tables(settings)])


def _tables(settings: Settings) -> list[str]:
    """One line for each table of the TOML file."""
    titles = {
        "upstreams": [f"[upstreams.{name}] {table.kind}" for name, table in settings.upstreams.items()],
        "routes": [f"[[routes]] {route.match} → {route.upstream}" for route in settings.routes],
        "tools": [f'[tools."{name}"]' for name in settings.tools],
    }
    return [
        f"{coloured(title, 'bold')}  {coloured('(' + settings.provenance.get(name, 'default') + ')', 'dim')}"
        for name in titles
        for title in titles[name]
    ]


def shown(settings: Settings, name: str) -> str:
    """One setting's value as a user would write it."""
    from pydantic import SecretStr

    from app.settings.units import spoken_duration, spoken_size

    value = getattr(settings, name)
    match value:
        case None | ():
            return default_said(name) or "not set"
        case SecretStr():
            return without_password(value.get_secret_value()) if name == "redis_url" else MASK
        case tuple():
            return f"{MASK} ({len(value)} keys)"  # pyright: ignore[reportUnknownArgumentType] # api_keys is the only one
        case bool():
            return str(value).lower()
        case float() if name != "min_retention":
            return spoken_duration(value)
        case int() if name == "max_body":
            return spoken_size(value)
        case _:
            return str(value)


def default_said(name: str) -> str:
    """What stands for a default that depends on something else; empty if the setting has none."""
    from app.settings import Settings

    extra = Settings.model_fields[name].json_schema_extra
    return str(cast("dict[str, object]", extra)["default"]) if isinstance(extra, dict) else ""


def without_password(url: str) -> str:
    """A store URL with its password, and a key in its query, masked."""
    url = re.sub(r"://([^@/]*):[^@]*@", rf"://\1:{MASK}@", url)
    return re.sub(r"([?&][^=&]*(?:password|secret|token)[^=&]*=)[^&]*", rf"\1{MASK}", url)


COMMAND = Command("config", "Prints every setting, its value and where it came from; secrets masked.", arguments, run)
