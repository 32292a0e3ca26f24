"""`foldline simulate`: the strict provider simulator alone."""

from __future__ import annotations

import argparse
import asyncio

from app.commands.command import Command

PORT = 4001
"""Beside the proxy's own default port, so that both can run."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Where to listen."""
    parser.add_argument("--host", metavar="H", default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--port", metavar="P", default=str(PORT), help=f"the port to listen on, by default {PORT}")


def run(given: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT.

    Raises:
        SettingsError: a wrong port, or one that is taken.
    """
    from app.commands.listening import refusal
    from app.settings import SettingsError
    from app.settings.units import whole
    from app.simulator.running import serve

    try:
        port = whole(0, 65535)(given.port)
    except ValueError as error:
        raise SettingsError(f"--port cannot be {given.port!r}: it takes {error}.") from None
    try:
        asyncio.run(serve(port, given.host))
    except OSError as error:
        raise SettingsError(refusal(error, given.host, port)) from None
    except KeyboardInterrupt:
        return 0
    return 0


COMMAND = Command("simulate", "Runs the strict provider simulator alone.", arguments, run)
