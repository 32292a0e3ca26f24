"""The store as a command opens it: with the settings' own values, and closed again."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from app.errors import StateError

if TYPE_CHECKING:
    from app.settings import Settings
    from app.state.store import Store

PATIENCE = 5.0
"""Seconds that a store step may take here: a person waits, not a turn."""


@asynccontextmanager
async def opened(settings: Settings) -> AsyncGenerator[Store]:
    """The store, as long as the block lasts.

    Raises:
        SettingsError: the store's URL or its keys are wrong.
        StateError: it does not answer.
    """
    from app.settings import SettingsError
    from app.state.embedded import EmbeddedError
    from app.state.store import Store

    try:
        store = await Store.open(
            settings.redis_url.get_secret_value(),
            ttl_seconds=settings.session_ttl,
            timeout_seconds=max(settings.store_timeout, PATIENCE),
            encryption_keys=settings.encryption_keys.get_secret_value() if settings.encryption_keys else "",
            secret=settings.secret.get_secret_value() if settings.secret else "",
        )
    except (ValueError, EmbeddedError) as error:
        raise SettingsError(str(error)) from None
    try:
        if trouble := await store.status():
            raise StateError(f"{trouble[:1].upper()}{trouble[1:]}. See REDIS_URL.")
        yield store
    finally:
        await store.close()
