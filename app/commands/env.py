"""`foldline env`: the lines that point a client here, ready to be pasted or evaluated by a shell."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from app.commands.command import Command
from app.commands.terminal import reachable

if TYPE_CHECKING:
    from app.settings import Settings


def arguments(parser: argparse.ArgumentParser) -> None:
    """Which client, and where this server is if clients reach it by another name."""
    parser.add_argument("--client", required=True, choices=tuple(CLIENTS), help="the client to point here")
    parser.add_argument("--url", help="this server as clients reach it; by default from HOST and PORT")


def run(given: argparse.Namespace) -> int:
    """Print lines that a shell can evaluate, or for clients with a file of their own, that file's text."""
    from app.settings import load

    settings = load(given.config)
    url = (given.url or reachable(settings.host, settings.port)).rstrip("/")
    print("\n".join(CLIENTS[given.client](url, settings)))
    if given.client in HAVE_A_FILE:
        print(_key("OPENAI_API_KEY", settings, "openai"), file=sys.stderr)
    return 0


def _key(name: str, settings: Settings, kind: str) -> str:
    """The line that sets the client's key, never with a key of ours in it."""
    if settings.api_keys:
        return f"export {name}='…'  # one of the keys in API_KEYS"
    if settings.demo:
        return f"export {name}=lab  # any value: the simulator takes all"
    if any(upstream.holds_key for upstream in settings.every_upstream.values() if upstream.kind == kind):
        return f"export {name}=foldline  # any value: the server has the provider's key"
    return f"# {name} stays your own key: it is passed on to the provider."


def _openai(url: str, settings: Settings) -> list[str]:
    return [f"export OPENAI_BASE_URL={url}/v1", _key("OPENAI_API_KEY", settings, "openai")]


def _google_genai(url: str, settings: Settings) -> list[str]:
    return [f"export GOOGLE_GEMINI_BASE_URL={url}", _key("GEMINI_API_KEY", settings, "gemini")]


def _gemini_cli(url: str, settings: Settings) -> list[str]:
    return [
        *_google_genai(url, settings),
        '# In ~/.gemini/settings.json: {"security": {"auth": {"selectedType": "gemini-api-key"}}}',
        "# It names no session of its own; give each chat one, to keep equal beginnings apart:",
        '# export GEMINI_CLI_CUSTOM_HEADERS="X-Foldline-Session: my-task"',
    ]


def _anthropic(url: str, settings: Settings) -> list[str]:
    return [f"export ANTHROPIC_BASE_URL={url}", _key("ANTHROPIC_API_KEY", settings, "anthropic")]


def _claude_code(url: str, settings: Settings) -> list[str]:
    return [f"export ANTHROPIC_BASE_URL={url}", _key("ANTHROPIC_AUTH_TOKEN", settings, "anthropic")]


def _codex(url: str, settings: Settings) -> list[str]:
    return [
        "# ~/.codex/config.toml (Codex does not read OPENAI_BASE_URL)",
        'model_provider = "foldline"',
        "",
        "[model_providers.foldline]",
        'name = "Foldline"',
        f'base_url = "{url}/v1"',
        'wire_api = "responses"',
        'env_key = "OPENAI_API_KEY"',
    ]


def _opencode(url: str, settings: Settings) -> list[str]:
    provider: dict[str, object] = {
        "npm": "@ai-sdk/openai" if _reasons_at_openai(settings) else "@ai-sdk/openai-compatible",
        "name": "Foldline",
        "options": {"baseURL": f"{url}/v1", "apiKey": "{env:OPENAI_API_KEY}"},
        "models": {"lab" if settings.demo else "YOUR-MODEL": {}},
    }
    return json.dumps({"provider": {"foldline": provider}}, indent=2).splitlines()


def _reasons_at_openai(settings: Settings) -> bool:
    """Whether OpenAI itself serves: its reasoning models refuse the `max_tokens` that opencode writes in Chat
    Completions, so opencode is told to speak Responses. Elsewhere Chat Completions let more be chained."""
    served = settings.every_upstream.values()
    return any(one.kind == "openai" and one.configured and "//api.openai.com" in one.base_url for one in served)


CLIENTS: dict[str, Callable[[str, Settings], list[str]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini-cli": _gemini_cli,
    "opencode": _opencode,
    "openai": _openai,
    "google-genai": _google_genai,
    "anthropic": _anthropic,
}
"""Every client that we know how to point here."""

HAVE_A_FILE = ("codex", "opencode")
"""What is printed for these is a file's text (TOML, JSON); the line about the key goes to stderr."""

COMMAND = Command("env", "Prints the lines that point a client here.", arguments, run)
