"""The console script `foldline`: thin, every command is a small file of app.commands that calls a room."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from app import __version__
from app.commands import config, doctor, env, explain, serve, sessions, simulate
from app.commands.command import Command
from app.errors import ProxyError

COMMANDS: tuple[Command, ...] = (
    serve.COMMAND,
    simulate.COMMAND,
    doctor.COMMAND,
    env.COMMAND,
    explain.COMMAND,
    sessions.COMMAND,
    config.COMMAND,
)


def parser() -> argparse.ArgumentParser:
    """The command line: one subparser a command."""
    top = argparse.ArgumentParser(
        prog="foldline", description="A stateful HTTP proxy in front of LLM APIs.", allow_abbrev=False
    )
    top.add_argument("--version", action="version", version=f"foldline {__version__}")
    subparsers = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        sub = subparsers.add_parser(command.name, help=command.help, description=command.help, allow_abbrev=False)
        sub.add_argument("--config", metavar="FILE", help="a TOML file with settings; by default ./foldline.toml")
        command.arguments(sub)
        sub.set_defaults(run=command.run)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit status is 0, 1 if it failed, 2 if the settings or the command line are wrong."""
    given = parser().parse_args(arguments)
    from app.settings.errors import SettingsError  # after --version and --help, which need nothing of it

    try:
        return given.run(given)
    except SettingsError as error:
        return _complain(str(error), 2)
    except ProxyError as error:
        return _complain(error.message, 1)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output went away (`| head`). What is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _complain(message: str, status: int) -> int:
    print(f"foldline: {message}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
