"""A program in a pseudo-terminal, as a person sits before it: text is typed, and what comes is waited for."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

SIZE = struct.pack("HHHH", 40, 140, 0, 0)  # rows and columns
QUIET = 1.5
"""Seconds without a new byte after which the screen counts as drawn."""


class Terminal:
    """The program's screen, as the bytes that it wrote."""

    def __init__(self, master: int, process: subprocess.Popen[bytes]) -> None:
        self._master = master
        self._process = process
        self.screen = b""

    def settle(self, done: Callable[[], bool], seconds: float) -> None:
        """Read until `done` holds and the screen has been quiet for a moment. Raises TimeoutError after `seconds`."""
        deadline, quiet_since = time.monotonic() + seconds, time.monotonic()
        while time.monotonic() < deadline:
            if select.select([self._master], [], [], 0.1)[0]:
                self.screen += os.read(self._master, 65536)
                quiet_since = time.monotonic()
            if self._process.poll() is not None:
                raise RuntimeError(f"the program ended: {self.screen[-800:]!r}")
            if time.monotonic() - quiet_since > QUIET and done():
                return
        raise TimeoutError(f"nothing more within {seconds:g} s: {self.screen[-800:]!r}")

    def type(self, text: str) -> None:
        """A line, and Enter as a key of its own: some programs take a fast one for a part of something pasted."""
        os.write(self._master, text.encode())
        with contextlib.suppress(TimeoutError):
            self.settle(lambda: False, QUIET)
        os.write(self._master, b"\r")


@contextlib.contextmanager
def in_terminal(command: list[str], folder: Path, environment: Mapping[str, str]) -> Generator[Terminal]:
    """Run a program in a terminal of its own; it is ended with the block."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, SIZE)
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**environment, "TERM": "xterm-256color"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Terminal(master, process)
    finally:
        process.kill()
        process.wait()
        os.close(master)
