"""Who asks: the credential of a request, whether it may ask, and the tenant it stands for."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import parse_qs

from app.errors import DeniedError
from app.upstreams.upstream import Credential

TENANT_BYTES = 8


def credential_of(headers: Mapping[bytes, bytes], query: bytes) -> Credential:
    """Bearer, x-api-key, x-goog-api-key, api-key or ?key=, in this order; an empty one if there is none."""
    if authorization := headers.get(b"authorization"):
        scheme, _, secret = authorization.decode("latin-1").partition(" ")
        if secret.strip():
            return Credential(scheme.lower(), secret.strip())
    for name in (b"x-api-key", b"x-goog-api-key", b"api-key"):
        if secret := headers.get(name, b"").decode("latin-1").strip():
            return Credential("key", secret)
    if b"key=" in query and (keys := parse_qs(query.decode("latin-1")).get("key")):
        return Credential("key", keys[0])
    return Credential()


class Gate:
    """Lets clients in, and names their tenant.

    Args:
        api_keys: what clients must present; none: everybody is served.
        secret: gives the server's secret, which keys the tenants.
    """

    def __init__(self, api_keys: Iterable[str], secret: Callable[[], bytes]) -> None:
        self._known = frozenset(_digest(key) for key in api_keys)
        self._secret = secret

    def admit(self, credential: Credential) -> None:
        """Raises DeniedError. Digests are compared, so that time tells nothing of a key."""
        if self._known and _digest(credential.secret) not in self._known:
            words = "This is not one of the API keys of this Foldline." if credential.secret else "Send an API key."
            raise DeniedError(words)

    @property
    def closed(self) -> bool:
        """Whether clients present keys of ours: those are never passed on to a provider."""
        return bool(self._known)

    def tenant(self, credential: Credential) -> bytes:
        """8 bytes that stand for the credential, and tell nothing of it without the secret.

        The scheme does not count: the same key is the same tenant, whichever SDK sends it.
        """
        return hmac.digest(self._secret(), b"t1|" + credential.secret.encode(), "sha256")[:TENANT_BYTES]


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
