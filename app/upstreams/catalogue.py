"""Which models each upstream says it has, asked of its own models endpoint and kept for a minute.

A list is no turn: it may be slow, and old by some seconds, but must never fail because one provider does. What an
upstream says is kept a client's key apart from the next one's where the client's own key is passed on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from app.errors import DeniedError, ProxyError, UpstreamError
from app.upstreams.model_cards import CARDS, Model
from app.upstreams.upstream import Credential, Kind, Upstream
from app.wires.envelope import ANYTHING, as_list, as_object

if TYPE_CHECKING:
    import httpx2

LOG = logging.getLogger(__name__)
KEPT = 60.0
"""Seconds that a list is answered from memory."""

KEPT_FAILURE = 5.0
"""Seconds that an upstream which did not answer is not asked again."""

PATIENCE = 5.0
"""Seconds that an upstream may take in all."""

LARGEST = 16 * 2**20
"""Bytes of a list; the longest known one has 1 MB."""

WHOLE_LIST: Mapping[Kind, str] = {"openai": "", "gemini": "?pageSize=1000", "anthropic": "?limit=1000"}
"""What asks for the longest page that the provider gives."""

EXTRA_HEADERS: Mapping[Kind, Mapping[str, str]] = {"anthropic": {"anthropic-version": "2023-06-01"}}

ABOUT_THE_KEY = ("unauthenticated", "forbidden")
MOST_KEPT = 1024
"""Lists in memory: one an upstream, and one more a tenant where clients bring their keys."""


class Kept(msgspec.Struct, frozen=True):
    """A question that was asked, and until when its answer holds (monotonic seconds)."""

    answer: asyncio.Task[tuple[Model, ...]]
    until: float


class Catalogue:
    """Asks upstreams for their models. Opens its client on first use; close it at the end."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[tuple[str, bytes], Kept] = OrderedDict()
        self._away: set[str] = set()
        self._client: asyncio.Task[httpx2.AsyncClient] | None = None

    async def models(
        self, upstreams: Sequence[Upstream], credential: Credential, tenant: bytes
    ) -> dict[str, tuple[Model, ...]]:
        """Each upstream's models, by its name; upstreams that do not answer are left out.

        Args:
            credential: the client's, for upstreams that we hold no key for.
            tenant: keeps what was told to one client from the others.

        Raises:
            ProxyError: no upstream answered; the error is the first one's.
        """
        asked = [self._ask(upstream, credential, tenant) for upstream in upstreams]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        found: dict[str, tuple[Model, ...]] = {}
        errors: list[ProxyError] = []
        for upstream, answer in zip(upstreams, answers, strict=True):
            if isinstance(answer, ProxyError):
                errors.append(answer)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                found[upstream.name] = answer
        if errors and not found:
            raise errors[0]
        return found

    async def model(self, upstream: Upstream, id: str, credential: Credential) -> Model:  # noqa: A002 (the API's word)
        """One model, which its upstream need not list. Raises ProxyError: it has none of that name, or is away."""
        said = await self._get(upstream, f"/models/{quote(id, safe='')}", credential)
        if model := CARDS[upstream.kind](said):
            return model
        raise UpstreamError("The provider describes this model in no form that we know.")

    async def aclose(self) -> None:
        """Stop asking, and close the connections."""
        for kept in self._kept.values():
            kept.answer.cancel()
        if self._client is not None:
            await (await self._client).aclose()

    def _ask(self, upstream: Upstream, credential: Credential, tenant: bytes) -> Awaitable[tuple[Model, ...]]:
        """From memory or from the upstream; all who ask at once share one request, and may leave without ending it."""
        key = (upstream.name, b"" if upstream.keyed else tenant)
        kept = self._kept.get(key)
        if kept is None or self._clock() >= kept.until or _failed_long_ago(kept, self._clock()):
            task = asyncio.create_task(self._list(upstream, credential))
            task.add_done_callback(_seen)
            kept = self._kept[key] = Kept(task, self._clock() + KEPT)
        self._kept.move_to_end(key)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return asyncio.shield(kept.answer)

    async def _list(self, upstream: Upstream, credential: Credential) -> tuple[Model, ...]:
        try:
            said = await self._get(upstream, "/models" + WHOLE_LIST[upstream.kind], credential)
        except DeniedError:
            raise
        except UpstreamError as error:
            if error.kind not in ABOUT_THE_KEY and upstream.name not in self._away:
                self._away.add(upstream.name)
                LOG.warning("upstream %s is left out of the list of models: %s", upstream.name, error.message)
            raise
        self._away.discard(upstream.name)
        cards = as_list(said.get("data")) or as_list(said.get("models"))
        read = CARDS[upstream.kind]
        return tuple(model for card in cards if (model := read(as_object(card))))

    async def _get(self, upstream: Upstream, path: str, credential: Credential) -> dict[str, Any]:
        import httpx2

        headers = {**EXTRA_HEADERS.get(upstream.kind, {}), **await upstream.signed(credential)}
        client = await self._open()
        try:
            async with (
                asyncio.timeout(PATIENCE),
                client.stream("GET", upstream.base_url + path, headers=headers) as answer,
            ):
                body = await _whole(answer)
        except TimeoutError:
            raise UpstreamError("The provider did not say in time which models it has.", kind="timeout") from None
        except httpx2.HTTPError as error:
            words = f"The provider could not be asked for its models ({type(error).__name__})."
            raise UpstreamError(words) from None
        if answer.status_code != 200:
            raise _refusal(upstream, answer, body)
        try:
            return as_object(ANYTHING.decode(body))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            raise UpstreamError("The provider's list of models cannot be read.") from None

    async def _open(self) -> httpx2.AsyncClient:
        """Made once, in a thread: reading the machine's certificates takes longer than a stream may be held up."""
        if self._client is None:
            self._client = asyncio.create_task(asyncio.to_thread(_client))
        return await asyncio.shield(self._client)


def _client() -> httpx2.AsyncClient:
    import httpx2

    return httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=PATIENCE)


def _refusal(upstream: Upstream, answer: httpx2.Response, body: bytes) -> UpstreamError:
    """What went wrong; a refusal of our own key is not the client's affair."""
    if answer.status_code < 400:
        return UpstreamError("The provider's address redirects: its base URL is not the API's own.")
    error = upstream.wire.failure(answer.status_code, answer.headers, body)
    if upstream.keyed and error.kind in ABOUT_THE_KEY:
        return UpstreamError("The provider refused the key that Foldline is set up with.")
    return error


def _failed_long_ago(kept: Kept, now: float) -> bool:
    task = kept.answer
    failed = task.done() and (task.cancelled() or task.exception() is not None)
    return failed and now >= kept.until - KEPT + KEPT_FAILURE


def _seen(task: asyncio.Task[tuple[Model, ...]]) -> None:
    """An error that nobody waits for any more is no warning."""
    if not task.cancelled():
        task.exception()


async def _whole(answer: httpx2.Response) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in answer.aiter_bytes():
        size += len(piece)
        if size > LARGEST:
            raise UpstreamError("The provider's list of models is too long to take.")
        pieces.append(piece)
    return b"".join(pieces)
