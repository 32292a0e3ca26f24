"""The transport by aiohttp: for networks where requests leave by a proxy (HTTPS_PROXY, HTTP_PROXY, NO_PROXY).

Of the maintained clients it costs least per request and stays flat at thousands of open streams.
"""

from __future__ import annotations

import asyncio
import functools
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Mapping

import aiohttp
from aiohttp import hdrs

from app.errors import UpstreamError
from app.upstreams.transport import Answer, Timeouts, silence, whole


class AiohttpTransport:
    """HTTP/1.1 with keep-alive. Redirects are not followed: they could carry a key elsewhere."""

    reaches_out = True

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send; see Transport."""
        watch = Watch(self._timeouts)
        try:
            response = await self._open().post(
                url, data=body, headers=headers, allow_redirects=False, proxy=_proxy(*_place(url))
            )
        except asyncio.CancelledError:
            watch.stop()
            if watch.expired:
                raise watch.error() from None
            raise
        except (aiohttp.ClientError, OSError) as error:
            watch.stop()
            raise _translated(error) from None
        return AiohttpAnswer(response, watch)

    def _open(self) -> aiohttp.ClientSession:
        """Made on first use: it belongs to the running loop."""
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=30, ttl_dns_cache=60)
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=None, connect=self._timeouts.connect),  # names looked up included
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=True,
                skip_auto_headers=(hdrs.USER_AGENT, hdrs.ACCEPT_ENCODING),
                read_bufsize=2**17,
                trust_env=False,  # it would also read ~/.netrc, and put what it finds there before our keys
            )
        return self._session

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


class Watch:
    """One timer for a whole answer. Each byte moves its mark; only when it fires does it look how old the mark is, so a
    chunk costs one assignment and not a timer of its own. It counts only while we listen: a client that is slow to take
    what has come is not the provider's silence."""

    __slots__ = ("_begun", "_handle", "_listening", "_loop", "_mark", "_stopped", "_task", "_timeouts", "expired")

    def __init__(self, timeouts: Timeouts) -> None:
        self._loop = asyncio.get_running_loop()
        self._timeouts = timeouts
        self._task = asyncio.current_task()
        self._mark = self._loop.time()
        self._begun = False
        self._listening = True
        self._stopped = False
        self.expired = False
        self._handle = self._loop.call_later(timeouts.first_byte, self._look)

    def heard(self) -> None:
        """A byte came; time stands still until `listen`."""
        self._begun = True
        self._listening = False

    def listen(self) -> None:
        """The next byte is waited for: from now on only silence counts."""
        if self._begun:
            self._mark = self._loop.time()
        self._listening = True

    def _look(self) -> None:
        limit = self._timeouts.idle if self._begun else self._timeouts.first_byte
        left = self._mark + limit - self._loop.time() if self._listening else limit
        if left > 0.001:
            self._handle = self._loop.call_later(left, self._look)
        elif self._task is not None:
            self.expired = True
            self._task.cancel()

    def stop(self) -> None:
        """No more timing. Our own cancellation of the task is answered for, once."""
        if self._stopped:
            return
        self._stopped = True
        self._handle.cancel()
        if self.expired and self._task is not None:
            self._task.uncancel()

    def error(self) -> UpstreamError:
        """What to say when it fired."""
        return silence(self._timeouts, self._begun)


class AiohttpAnswer:
    """An answer in aiohttp's hands."""

    def __init__(self, response: aiohttp.ClientResponse, watch: Watch) -> None:
        self._response = response
        self._watch = watch
        self.status = response.status
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives; a chunk is whatever the network gave at once."""
        stream = self._response.content
        try:
            while True:
                self._watch.listen()
                data = await stream.readany()
                if not data:
                    return
                self._watch.heard()
                yield data
        except asyncio.CancelledError:
            if self._watch.expired:
                raise self._watch.error() from None
            raise
        except (aiohttp.ClientError, OSError) as error:
            raise _broken(error) from None
        finally:
            self._watch.stop()

    async def read(self) -> bytes:
        """The whole body. Raises UpstreamError if it is larger than LARGEST_ANSWER."""
        return await whole(self.chunks())

    def close(self) -> None:
        """Give the connection back if the body has ended, else cut it."""
        self._watch.stop()
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()


def _place(url: str) -> tuple[str, str]:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.hostname or ""


@functools.lru_cache(256)
def _proxy(scheme: str, host: str) -> str | None:
    """The proxy that the environment names for this host, if any."""
    return None if urllib.request.proxy_bypass(host) else urllib.request.getproxies().get(scheme)


def _translated(error: Exception) -> UpstreamError:
    """Why no answer came. Hosts, addresses and certificate details stay out: they are the operator's business."""
    match error:
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientSSLError():
            return UpstreamError("The provider's TLS certificate could not be verified.", sent=False, repeat=False)
        case aiohttp.ServerTimeoutError() | TimeoutError():
            return UpstreamError("No connection to the provider within the time allowed.", kind="timeout", sent=False)
        case aiohttp.ClientConnectorError() | aiohttp.InvalidURL():
            return UpstreamError("No connection to the provider.", sent=False)
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError() | ConnectionError():
            return UpstreamError("The provider closed the connection without an answer.")
        case _:
            return UpstreamError(f"The provider's answer could not be read ({type(error).__name__}).", repeat=False)


def _broken(error: Exception) -> UpstreamError:
    return UpstreamError(f"The provider's answer broke off ({type(error).__name__}). Send the request again.")
