"""What is stored as values: checkpoints, memory, turns and notes, each sealed for its own place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from app.context.known import Checkpoint
from app.state.crypto import Seal
from app.state.keys import INFO, MEMORY, Session, turn_field

Decoded = TypeVar("Decoded")

_pack = msgspec.msgpack.Encoder().encode
_checkpoint = msgspec.msgpack.Decoder(Checkpoint).decode
_json = msgspec.json.Encoder().encode
_object = msgspec.json.Decoder(dict[str, Any]).decode


class SessionInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the list of sessions shows. Times are Unix seconds.

    Args:
        created: of the first turn. seen: of the last one.
        turns: how many there were.
        model, upstream: of the last turn.
        more: what else the engine noted.
    """

    created: float = 0
    seen: float = 0
    turns: int = 0
    model: str = ""
    upstream: str = ""
    more: dict[str, Any] = {}

    def after(self, info: Mapping[str, Any], now: float) -> SessionInfo:
        """What it shows after one more turn."""
        return SessionInfo(
            created=self.created or now,
            seen=now,
            turns=self.turns + 1,
            model=str(info.get("model", "")),
            upstream=str(info.get("upstream", "")),
            more={name: value for name, value in info.items() if name not in SessionInfo.__struct_fields__},
        )


_info = msgspec.msgpack.Decoder(SessionInfo).decode


class Values:
    """Writes values for their place and reads them back. One that cannot be read counts as not there.

    `broken` counts those: damaged, moved from another place, or under a key that is no longer set.
    """

    def __init__(self, seal: Seal) -> None:
        self.seal = seal
        self.broken = 0

    def of_checkpoint(self, session: Session, checkpoint: Checkpoint) -> bytes:
        """A checkpoint, to be stored at its address."""
        return self.seal.close(session, checkpoint.address, _pack(checkpoint))

    def of_memory(self, session: Session, memory: Mapping[str, Any]) -> bytes:
        """Sticky memory."""
        return self.seal.close(session, MEMORY, _json(memory))

    def of_info(self, session: Session, info: SessionInfo) -> bytes:
        """What the list of sessions shows."""
        return self.seal.close(session, INFO, _pack(info))

    def of_turn(self, session: Session, turn_id: str, turn: bytes) -> bytes:
        """The record of a turn."""
        return self.seal.close(session, turn_field(turn_id).encode(), turn)

    def checkpoint(self, session: Session, address: bytes, stored: bytes) -> Checkpoint | None:
        """The checkpoint that was stored at `address`."""
        checkpoint = self._read(session, address, stored, _checkpoint)
        if checkpoint is not None and checkpoint.address != address:
            self.broken += 1
            return None
        return checkpoint

    def memory(self, session: Session, stored: bytes | None) -> dict[str, Any] | None:
        """The sticky memory that was stored, if any was."""
        return self._read(session, MEMORY, stored, _object) if stored else None

    def info(self, session: Session, stored: bytes | None) -> SessionInfo:
        """What was noted about the session; nothing if nothing was."""
        return (self._read(session, INFO, stored, _info) if stored else None) or SessionInfo()

    def turn(self, session: Session, turn_id: str, stored: bytes | None) -> bytes | None:
        """The record of a turn, if there is one."""
        return self._read(session, turn_field(turn_id).encode(), stored, bytes) if stored else None

    def _read(
        self, session: Session, field: bytes, stored: bytes, decode: Callable[[bytes], Decoded]
    ) -> Decoded | None:
        value = self.seal.open(session, field, stored)
        try:
            if value is not None:
                return decode(value)
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
        self.broken += 1
        return None
