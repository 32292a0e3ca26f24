"""What `foldline serve` says when it starts: what is on, what is off, what to type next."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TextIO

from app import __version__
from app.commands.config import without_password
from app.commands.terminal import coloured, reachable

if TYPE_CHECKING:
    from app.settings import Settings


def greeting(settings: Settings, port: int, stream: TextIO) -> str:
    """The first lines of a run. `port` is the one that was really bound."""
    url = reachable(settings.host, port)
    lines = [f"{coloured(f'Foldline {__version__}', 'bold', stream)} on {coloured(url, 'bold', stream)}", ""]
    for state, name, text in [*_on(settings), *_off(settings)]:
        lines.append(f"  {coloured(f'{state:<5}', 'green' if state == 'on' else 'dim', stream)}{name:<11}{text}")
    return "\n".join([*lines, "", "Try:", "", *_try(settings, url), ""])


def _on(settings: Settings) -> list[tuple[str, str, str]]:
    listening = f"{settings.host}, {settings.workers} worker{'s' if settings.workers > 1 else ''}"
    return [
        ("on", "listening", listening if settings.loopback else f"{listening}: other machines can reach it"),
        ("on", "store", _store(settings.redis_url.get_secret_value())),
        ("on", "upstreams", _upstreams(settings)),
    ]


def _store(url: str) -> str:
    scheme, _, rest = url.partition("://")
    match scheme:
        case "embedded":
            return f"embedded Valkey, state is kept in {rest or '.foldline'}"
        case "memory":
            return "in memory, state is forgotten at exit"
        case _:
            return without_password(url)


def _upstreams(settings: Settings) -> str:
    if settings.demo:
        return "built-in simulator as model `lab`; no provider key is set, nothing leaves this machine"
    said = [
        f"{upstream.name} ({'with your key' if upstream.holds_key else 'clients bring their keys'})"
        for upstream in settings.every_upstream.values()
        if upstream.configured
    ]
    return ", ".join(said)


def _off(settings: Settings) -> list[tuple[str, str, str]]:
    names = {
        "API_KEYS": settings.api_keys,
        "ADMIN_TOKEN": settings.admin_token,
        "SECRET": settings.secret,
        "ENCRYPTION_KEYS": settings.encryption_keys,
    }
    unset = ", ".join(name for name, value in names.items() if not value)
    if not unset:
        return []
    return [("off", "protection", f"{unset}{' (fine on loopback)' if settings.loopback else ''}")]


def _try(settings: Settings, url: str) -> list[str]:
    """The request to type next, as the contract of the first start shows it."""
    model = "lab" if settings.demo else _model(settings)
    key = "YOUR-KEY" if settings.api_keys or not settings.demo else "lab"
    body = {"model": model, "stream": True, "messages": [{"role": "user", "content": "hello"}]}
    return [
        f"  curl -N {url}/v1/chat/completions -H 'content-type: application/json' -H 'authorization: Bearer {key}' \\",
        f"    -d '{json.dumps(body, separators=(',', ':'))}'",
    ]


def _model(settings: Settings) -> str:
    kinds = [upstream.kind for upstream in settings.every_upstream.values() if upstream.configured]
    return "gemini-2.5-flash" if kinds[0] == "gemini" else "YOUR-MODEL"
