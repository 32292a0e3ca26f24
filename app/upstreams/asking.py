"""Asks a provider for what it keeps itself, by its own id, by whoever's key made it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from app.errors import UpstreamError
from app.upstreams.upstream import Credential, Upstream

if TYPE_CHECKING:
    import httpx2

CONNECTING, LISTENING = 10.0, 600.0
"""Seconds to connect, and between two pieces of an answer: one that is being made may be followed."""


class Kept:
    """A provider's answer. `headers` has lower-case names."""

    def __init__(self, client: httpx2.AsyncClient, response: httpx2.Response) -> None:
        self._client, self._response = client, response
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = dict(response.headers)

    async def whole(self) -> bytes:
        """The body. Raises UpstreamError if it does not come."""
        import httpx2

        try:
            return b"".join([data async for data in self.chunks()])
        except httpx2.HTTPError as error:
            words = f"The provider broke off its answer ({type(error).__name__}). Try again in a moment."
            raise UpstreamError(words) from None

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives. It ends early if the provider breaks off."""
        try:
            async for data in self._response.aiter_bytes():
                yield data
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Hang up."""
        await self._response.aclose()
        await self._client.aclose()


async def ask(
    upstream: Upstream,
    method: str,
    place: tuple[str, str],
    query: Mapping[str, str],
    credential: Credential,
) -> Kept:
    """The provider's answer to a request about one thing that it keeps.

    Args:
        place: the thing's id, and what stands behind it in the path.

    Raises:
        DeniedError: there is no key. UpstreamError: it could not be reached.
    """
    import httpx2

    assert upstream.keeps is not None  # noqa: S101 (asked only of those that keep something)
    identity, tail = place
    url = f"{upstream.base_url}{upstream.keeps.path}{quote(identity, safe='')}{tail}"
    headers = dict(await upstream.signed(credential))
    client = await asyncio.to_thread(_made)
    try:
        request = client.build_request(method, url + (f"?{urlencode(query)}" if query else ""), headers=headers)
        return Kept(client, await client.send(request, stream=True))
    except httpx2.HTTPError as error:
        await client.aclose()
        words = f"The provider could not be reached ({type(error).__name__}). Try again in a moment."
        raise UpstreamError(words, sent=False) from None
    except BaseException:
        await client.aclose()
        raise


def _made() -> httpx2.AsyncClient:
    import httpx2

    timeout = httpx2.Timeout(LISTENING, connect=CONNECTING)
    return httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=timeout)
