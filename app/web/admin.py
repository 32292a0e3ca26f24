"""Who may manage: on loopback whoever is on this machine, beyond it whoever holds ADMIN_TOKEN."""

from __future__ import annotations

import hmac
from typing import Annotated, Any

from fastapi import Depends, Header, HTTPException

LOCAL_NAMES = frozenset(("127.0.0.1", "localhost", "[::1]", "::1"))


class Admin:
    """Guards the management endpoints.

    Args:
        token: ADMIN_TOKEN, empty if none is set.
        loopback: whether only this machine can reach the server.
    """

    def __init__(self, token: str, loopback: bool) -> None:
        self._token = token
        self._loopback = loopback

    @property
    def guarded(self) -> bool:
        """Whether requests bring ADMIN_TOKEN as their bearer."""
        return bool(self._token)

    @property
    def dependency(self) -> Any:
        """For `dependencies=[…]` of a route."""
        return Depends(self.check)

    def check(self, authorization: Annotated[str, Header()] = "", host: Annotated[str, Header()] = "") -> None:
        """Raises HTTPException 401 or 403.

        Without a token the Host header must be a local name: a web page that has its own name point to this machine
        would otherwise read what is managed here.
        """
        if self._token:
            given = authorization.partition(" ")[2].strip()
            if not hmac.compare_digest(given.encode(), self._token.encode()):
                raise HTTPException(401, "Send the ADMIN_TOKEN as a bearer token.")
        elif not self._loopback:
            raise HTTPException(403, "Set ADMIN_TOKEN: without it this is served on loopback only.")
        elif host.rpartition(":")[0] not in LOCAL_NAMES and host not in LOCAL_NAMES:
            raise HTTPException(403, "Ask by the name 127.0.0.1 or localhost.")
