"""What is started once for all workers: the embedded store, and the simulator when no provider is set up."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from pydantic import SecretStr

from app.settings.errors import SettingsError

if TYPE_CHECKING:
    from app.settings import Settings

EMBEDDED = "embedded://"


@contextmanager
def shared_parts(settings: Settings) -> Generator[Settings]:
    """The settings with the addresses of a store and a simulator that run for as long as the block lasts.

    Raises:
        SettingsError: the embedded store cannot be started; the message says what to set instead.
    """
    with ExitStack() as parts:
        changes: dict[str, object] = {}
        store = settings.redis_url.get_secret_value()
        if store.startswith(EMBEDDED):
            changes["redis_url"] = SecretStr(_embedded(parts, store.removeprefix(EMBEDDED), settings))
        if settings.demo and settings.simulator_url is None:
            changes["simulator_url"] = _simulator(parts)
        yield settings.model_copy(update=changes)


def _embedded(parts: ExitStack, directory: str, settings: Settings) -> str:
    from app.state.binary import find_binary
    from app.state.embedded import EmbeddedError, start_embedded

    # Where nothing can be embedded (an Alpine image, say), a first run should still work: forgetfully, and saying so.
    if find_binary() is None and settings.workers == 1 and "redis_url" not in settings.provenance:
        print("foldline: no Valkey for this machine, state is kept in memory and forgotten at exit", file=sys.stderr)
        return "memory://"
    try:
        embedded = start_embedded(directory)
    except EmbeddedError as error:
        raise SettingsError(f"REDIS_URL {EMBEDDED}{directory}: {error}.") from None
    parts.callback(embedded.stop)
    return embedded.url


def _simulator(parts: ExitStack) -> str:
    from app.simulator.journal import Journal
    from app.simulator.running import simulator_in_thread

    return parts.enter_context(simulator_in_thread(journal=Journal(0))).url
