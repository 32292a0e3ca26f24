"""Values as they lie in the store: plain with a version byte, or sealed under AES-256-GCM.

    0x00 | value                                                  no key is set
    0x01 | length of key id | key id | 12-byte nonce | ciphertext
    0x02 | the same, of the value compressed by zlib

The associated data names tenant, session, field and version, so that a value moved to another place does not open. Each
tenant has its own key (HKDF-SHA-256 of the key in the setting). The first key writes, all of them read.
Plain values are still read once a key is set: switching encryption on must not lose anybody's sticky memory.
"""

from __future__ import annotations

import base64
import binascii
import os
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from app.state.keys import Session

PLAIN, SEALED, SEALED_ZLIB = b"\x00", b"\x01", b"\x02"
COMPRESS_ABOVE = 1024  # bytes
_NONCE = 12


class Seal(Protocol):
    """Turns a value into what is stored, and back."""

    def close(self, session: Session, field: bytes, value: bytes) -> bytes:
        """What to store for `value` in this place."""
        ...

    def open(self, session: Session, field: bytes, stored: bytes) -> bytes | None:
        """The value again; None if it is broken, from elsewhere, or under a key that we no longer have."""
        ...


class PlainSeal:
    """No key is set: the value with a version byte before it."""

    def close(self, session: Session, field: bytes, value: bytes) -> bytes:
        """See `Seal`."""
        return PLAIN + value

    def open(self, session: Session, field: bytes, stored: bytes) -> bytes | None:
        """See `Seal`."""
        return stored[1:] if stored[:1] == PLAIN else None


class KeyedSeal:
    """AES-256-GCM.

    Args:
        keys: key id to 32 bytes; the first one writes.
    """

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._keys = {name.encode(): key for name, key in keys.items()}
        self._writer = next(iter(self._keys))
        self._cipher = lru_cache(maxsize=1024)(self._derive)

    def close(self, session: Session, field: bytes, value: bytes) -> bytes:
        """See `Seal`."""
        version = SEALED
        if len(value) > COMPRESS_ABOVE:
            version, value = SEALED_ZLIB, zlib.compress(value, 1)
        nonce = os.urandom(_NONCE)
        cipher = self._cipher(self._writer, session.tenant)
        sealed = cipher.encrypt(nonce, value, _place(session, field, version))
        return version + bytes((len(self._writer),)) + self._writer + nonce + sealed

    def open(self, session: Session, field: bytes, stored: bytes) -> bytes | None:
        """See `Seal`."""
        from cryptography.exceptions import InvalidTag

        version = stored[:1]
        if version == PLAIN:
            return stored[1:]
        if version not in (SEALED, SEALED_ZLIB) or len(stored) < 2 + _NONCE:
            return None
        start = 2 + stored[1]
        key_id = stored[2:start]
        if key_id not in self._keys:
            return None
        cipher = self._cipher(key_id, session.tenant)
        nonce, sealed = stored[start : start + _NONCE], stored[start + _NONCE :]
        try:
            value = cipher.decrypt(nonce, sealed, _place(session, field, version))
            return zlib.decompress(value) if version == SEALED_ZLIB else value
        except (InvalidTag, ValueError, zlib.error):
            return None

    def _derive(self, key_id: bytes, tenant: str) -> AESGCM:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"foldline store v1|" + tenant.encode())
        return AESGCM(derived.derive(self._keys[key_id]))


def make_seal(setting: str) -> Seal:
    """Read ENCRYPTION_KEYS (`id:base64key,…`, each key 32 bytes); empty means plain.

    Raises:
        ValueError: what is wrong with the setting; the message never shows a key.
    """
    if not setting.strip():
        return PlainSeal()
    keys: dict[str, bytes] = {}
    for position, entry in enumerate(setting.split(","), 1):
        name, colon, text = entry.strip().partition(":")
        if not colon or not name or len(name) > 64 or not name.isascii():
            raise ValueError(
                f"ENCRYPTION_KEYS: entry {position} must look like id:base64key, with an id of 1 to 64 ASCII characters"
            )
        if name in keys:
            raise ValueError(f"ENCRYPTION_KEYS: the id {name!r} stands there twice; give each key its own id")
        keys[name] = _decode(name, text)
    return KeyedSeal(keys)


def _decode(name: str, text: str) -> bytes:
    # Both alphabets of base64 are about, with and without padding.
    text = text.strip().replace("-", "+").replace("_", "/").rstrip("=")
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(
            f"ENCRYPTION_KEYS: the key {name!r} is not base64; make one with: openssl rand -base64 32"
        ) from None
    if len(key) != 32:
        raise ValueError(
            f"ENCRYPTION_KEYS: the key {name!r} has {len(key)} bytes, AES-256 needs 32; "
            "make one with: openssl rand -base64 32"
        )
    return key


def _place(session: Session, field: bytes, version: bytes) -> bytes:
    return b"|".join((session.tenant.encode(), session.root.encode(), field, version))
