"""Sessions and checkpoints that no other test has."""

from __future__ import annotations

import os

from app.context.known import Checkpoint
from app.state.keys import Session


def session(tenant: str = "") -> Session:
    """A session that nobody knows yet."""
    return Session(tenant=tenant or os.urandom(8).hex(), root=os.urandom(12).hex())


def checkpoint(text: str = "said", address: bytes = b"") -> Checkpoint:
    """A checkpoint with something in it."""
    return Checkpoint(
        address=address or os.urandom(16), upstream="gemini", model="lab", sealed=text.encode(), handle="v1_x", at=12.5
    )


def addresses(count: int) -> list[bytes]:
    """Addresses where nothing is."""
    return [os.urandom(16) for _ in range(count)]
