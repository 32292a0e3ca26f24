"""Link: one pipelined round trip to a store, however it is reached."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

from redis import exceptions as errors

Command: TypeAlias = tuple[bytes | str | int | float, ...]


class BusyError(errors.ConnectionError):
    """All connections are in use, and none came back within the bounded wait."""


class Link(Protocol):
    """A way to one store. Every key of one `run` must lie in one slot.

    A command that the server refuses has its error, a `redis.exceptions.RedisError`, in its place among the replies.
    What concerns the whole trip is raised: `redis.exceptions.ConnectionError`, `TimeoutError` and their kinds.
    Status replies are not uniform (`b"OK"` or True), nor is PEXPIRE's (1 or True): do not compare them by identity.
    """

    async def run(self, *commands: Command, within: float | None = None) -> list[Any]:
        """Send all, return all replies.

        Args:
            commands: only such as may be applied twice with the same outcome: a lost reply makes them run again.
            within: seconds for everything: waiting for a connection, connecting, the trip and a second try.
        """
        ...

    async def ping(self, within: float | None = None) -> None:
        """Return if the server answers; else raise as `run` does."""
        ...

    def scan(self, pattern: str) -> AsyncIterator[bytes]:
        """Every key that matches, on every master of a cluster; one may come twice."""
        ...

    async def close(self) -> None:
        """Close all connections, and stop what was started for them."""
        ...

    def describe(self) -> str:
        """Where this leads, fit to show: without password."""
        ...


# What a server's error begins with, as far as we act on it.
ERRORS: dict[str, type[errors.RedisError]] = {
    "READONLY": errors.ReadOnlyError,
    "OOM": errors.OutOfMemoryError,
    "LOADING": errors.BusyLoadingError,
    "NOAUTH": errors.AuthenticationError,
    "WRONGPASS": errors.AuthenticationError,
    "NOPERM": errors.NoPermissionError,
    "NOSCRIPT": errors.NoScriptError,
    "MASTERDOWN": errors.MasterDownError,
    "CLUSTERDOWN": errors.ClusterDownError,
}

# The first that fits wins: from the special to the general.
_REASONS: tuple[tuple[type[BaseException], str], ...] = (
    (BusyError, "busy"),
    (errors.BusyLoadingError, "loading"),
    (errors.AuthenticationError, "denied"),
    (errors.NoPermissionError, "denied"),
    (errors.ReadOnlyError, "read-only"),
    (errors.OutOfMemoryError, "full"),
    (errors.ClusterDownError, "cluster down"),
    (errors.MasterDownError, "no master"),
    (errors.TimeoutError, "timeout"),
    (TimeoutError, "timeout"),
    (errors.ConnectionError, "refused"),
    (OSError, "refused"),
)


def reason(error: BaseException) -> str:
    """Why the store could not be used, in one or two words: for headers, counters and logs."""
    if is_wrong_type(error):
        return "wrong type"
    for kind, words in _REASONS:
        if isinstance(error, kind):
            return words
    return "error"


@contextmanager
def no_lost_cancellation() -> Generator[None]:
    """Raise a cancellation that the body swallowed.

    redis-py sends through `asyncio.wait_for`, which before Python 3.12 forgets a cancellation that comes in the same
    moment as its result (cpython #86296). A turn whose client has left would go on.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task is not None else 0
    yield
    if task is not None and task.cancelling() > before:
        raise asyncio.CancelledError


def is_wrong_type(error: object) -> bool:
    """Whether a key holds another type of value than ours."""
    return isinstance(error, errors.ResponseError) and "WRONGTYPE" in str(error)
