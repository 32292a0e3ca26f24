"""What the store knows for one request."""

from __future__ import annotations

from typing import Any

import msgspec

from app.context.known import Checkpoint


class Recalled(msgspec.Struct, frozen=True):
    """What the store knows for one request.

    Args:
        checkpoints: by address; only those that were found.
        memory: the session's sticky memory, or None.
        bypassed: why the store could not be asked, in a few words; empty if it was.
    """

    checkpoints: dict[bytes, Checkpoint] = {}
    memory: dict[str, Any] | None = None
    bypassed: str = ""
