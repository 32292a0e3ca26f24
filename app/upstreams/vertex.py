"""Sign-in to Google Cloud: application default credentials, refreshed before they expire.

google-auth does it (it comes with google-genai), and is imported on first use only: it takes a good part of a second.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, cast

from app.errors import UpstreamError
from app.upstreams.upstream import Credential

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
EARLY = 300.0
"""Seconds before its end at which a token is renewed."""


class GoogleSignIn:
    """Signs requests with an access token. One refresh at a time, in a thread: google-auth blocks."""

    def __init__(self) -> None:
        self._credentials: Any = None
        self._good_until = 0.0
        self._lock = asyncio.Lock()

    async def __call__(self, credential: Credential) -> Mapping[str, str]:
        """The authorising header. Raises UpstreamError if Google gives no token."""
        if time.monotonic() >= self._good_until:
            async with self._lock:
                if time.monotonic() >= self._good_until:
                    await asyncio.to_thread(self._refresh)
        return {"authorization": f"Bearer {self._credentials.token}"}

    def _refresh(self) -> None:
        import google.auth
        import google.auth.exceptions
        from google.auth.transport.requests import Request

        try:
            if self._credentials is None:
                found = google.auth.default(scopes=[SCOPE])  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] (google-auth is untyped here)
                self._credentials = cast(Any, found)[0]
            self._credentials.refresh(Request())
        except google.auth.exceptions.GoogleAuthError as error:
            words = f"Google Cloud sign-in failed ({type(error).__name__}). Check the application default credentials."
            raise UpstreamError(words, sent=False) from None
        expiry = self._credentials.expiry
        # google-auth gives naive UTC; the difference of two wall-clock readings of this host is all we need
        left = (expiry.timestamp() - time.time() + _utc_offset()) if expiry else 3600.0
        self._good_until = time.monotonic() + max(left - EARLY, 30.0)


def _utc_offset() -> float:
    """Seconds that naive local time is ahead of UTC, as `timestamp()` reads a naive UTC time as local."""
    return float(time.localtime().tm_gmtoff)
