"""Deletes what a provider keeps of a conversation."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

from app.errors import DeniedError, UpstreamError
from app.upstreams.upstream import Credential, Upstream

if TYPE_CHECKING:
    import httpx2

PATIENCE = 10.0
"""Seconds for one deletion."""

GONE = (200, 202, 204, 404, 410)
"""What says that nothing is kept any more: deleted now, or before."""


class Eraser:
    """One client for many deletions; use it as a context."""

    def __init__(self) -> None:
        self._client: httpx2.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        # made in a thread: reading the machine's certificates takes longer than a stream may be held up
        self._client = await asyncio.to_thread(_made)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def erase(self, upstream: Upstream, handle: str, credential: Credential) -> str:
        """Delete one; empty, or why it is still there, in words that may be shown."""
        import httpx2

        if self._client is None or upstream.keeps is None:
            return f"{upstream.name} is not spoken to by an API that can delete it"
        try:
            headers = await upstream.signed(credential)
            url = upstream.base_url + upstream.keeps.path + quote(handle, safe="")
            answer = await self._client.delete(url, headers=dict(headers))
        except DeniedError:
            return "it belongs to the client's own key: send that key with the request"
        except (httpx2.HTTPError, UpstreamError) as error:
            return f"the provider could not be reached ({type(error).__name__})"
        return "" if answer.status_code in GONE else f"the provider answered {answer.status_code}"


def _made() -> httpx2.AsyncClient:
    import httpx2

    return httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=PATIENCE)
