"""How many tokens each model takes, as its upstream lets us know: by what it lists, and by what it refuses.

Nothing here is waited for on a turn. The models endpoint is asked in the background, once an hour; a refusal that names
a limit counts at once, and for an hour: it may have been misread, or meant that one request only.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from app.chat.windows import UNKNOWN, Window, learnt, window_of
from app.errors import DeniedError, ProxyError
from app.upstreams.catalogue import EXTRA_HEADERS, LARGEST, WHOLE_LIST
from app.upstreams.transport import Transport
from app.upstreams.upstream import Credential, Upstream
from app.wires.envelope import ANYTHING, as_object

if TYPE_CHECKING:
    import httpx2

LOG = logging.getLogger(__name__)

BELIEVED = 3600.0
"""Seconds that a limit named in a refusal counts."""

FRESH = 3600.0
"""Seconds before an upstream is asked again what its models take."""

AFTER_FAILURE = 600.0
"""Seconds before an upstream that did not say is asked again."""

PATIENCE = 10.0
"""Seconds that the models endpoint may take in all."""

SMALLEST = 256
"""Tokens. No model in use takes fewer: a smaller limit was misread, or was meant for something else."""

MOST_LEARNT = 1024
"""Limits from refusals that are kept: the names of models come from clients."""

MOST_LISTED = 10_000
"""Models of one upstream; the longest known list has some hundreds."""

LONGEST_NAME = 200
"""Characters of a model's name that count."""


class Limits:
    """What the models of each upstream take, as far as it is known now.

    Args:
        transport: what turns are sent by. Only beside a real one are models endpoints asked: where the network is
            scripted, or there is none, nothing goes out behind its back.
        clock: gives seconds that only go up, from whatever beginning.
    """

    def __init__(self, transport: Transport | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._asks = transport is not None and transport.reaches_out
        self._clock = clock
        self._learnt: OrderedDict[tuple[str, str], tuple[int, float]] = OrderedDict()
        self._listed: dict[str, Mapping[str, Window]] = {}
        self._due: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def of(self, upstream: Upstream, model: str) -> Window:
        """The model's limits: what a refusal named, else what the upstream lists, else our table's, else a guess.

        A refusal makes a window smaller, never larger than somebody else vouches for: OpenAI names input and output
        together, of which the prompt's share is less.
        """
        said = self._said(upstream, model)
        limit = self._named(upstream.name, model)
        if not limit:
            return said
        return Window(limit if said is UNKNOWN else min(limit, said.context), said.output)

    def known(self, upstream: Upstream, model: str) -> bool:
        """Whether somebody vouches for `of`: the upstream, a refusal of its, or a row of our table."""
        return self._said(upstream, model) is not UNKNOWN or bool(self._named(upstream.name, model))

    def learn(self, upstream_name: str, model: str, limit_tokens: int) -> None:
        """A refusal said that the model takes `limit_tokens`. Of several the smallest counts, an hour from when it was
        said last; senseless ones are passed over."""
        if limit_tokens < SMALLEST:
            return
        before = self._named(upstream_name, model)
        if before and before < limit_tokens:
            return
        key = (upstream_name, _short(model))
        self._learnt[key] = (limit_tokens, self._clock() + BELIEVED)
        self._learnt.move_to_end(key)
        while len(self._learnt) > MOST_LEARNT:
            self._learnt.popitem(last=False)

    def refresh_soon(self, upstream: Upstream, credential: Credential) -> None:
        """Have the upstream asked in the background what its models take, if it was not asked within the hour.

        One question an upstream, with whoever's credential comes first: the limits are the same for all. Returns at
        once and never fails; must be called in a running event loop.
        """
        now = self._clock()
        if not self._asks or now < self._due.get(upstream.name, now):
            return
        self._due[upstream.name] = now + FRESH
        task = asyncio.create_task(self._refresh(upstream, credential), name=f"limits of {upstream.name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        """Stop asking."""
        self._asks = False
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _said(self, upstream: Upstream, model: str) -> Window:
        """By the upstream's list or our table; UNKNOWN itself if neither has the model."""
        name = _short(model)
        listed = self._listed.get(upstream.name)
        return (listed.get(name) if listed else None) or _tabled(name)

    def _named(self, upstream_name: str, model: str) -> int:
        """The limit that a refusal named within the hour; 0 if none did."""
        if not self._learnt:
            return 0
        limit, until = self._learnt.get((upstream_name, _short(model)), (0, 0.0))
        return limit if self._clock() < until else 0

    async def _refresh(self, upstream: Upstream, credential: Credential) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                self._listed[upstream.name] = await _asked(upstream, credential)
        except DeniedError:
            self._due.pop(upstream.name, None)  # nothing was asked: the next client may have a key
        except Exception as error:  # noqa: BLE001 (a task that nobody awaits: whatever it is, the table stands in)
            self._due[upstream.name] = self._clock() + AFTER_FAILURE
            why = error.message if isinstance(error, ProxyError) else type(error).__name__
            LOG.debug("upstream %s did not say what its models take: %s", upstream.name, why)


async def _asked(upstream: Upstream, credential: Credential) -> Mapping[str, Window]:
    """What the upstream's models endpoint says now. Raises whatever goes wrong."""
    headers = {**EXTRA_HEADERS.get(upstream.kind, {}), **await upstream.signed(credential)}
    url = upstream.base_url + "/models" + WHOLE_LIST[upstream.kind]
    # made in a thread: reading the machine's certificates takes longer than a stream may be held up
    async with await asyncio.to_thread(_client) as client, client.stream("GET", url, headers=headers) as answer:
        answer.raise_for_status()
        body = bytearray()
        async for piece in answer.aiter_bytes():
            body += piece
            if len(body) > LARGEST:
                raise msgspec.DecodeError("the list is too long")
    return await asyncio.to_thread(_read, bytes(body))


def _client() -> httpx2.AsyncClient:
    import httpx2

    return httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=PATIENCE)


def _read(body: bytes) -> Mapping[str, Window]:
    windows = learnt(as_object(ANYTHING.decode(body)))
    kept = list(windows.items())[:MOST_LISTED]
    return {_short(name): window for name, window in kept}


def _short(model: str) -> str:
    """A model's name as limits are kept by: without `models/`, in lower case, and not longer than any real one."""
    return model[:LONGEST_NAME].lower().removeprefix("models/")


@lru_cache(maxsize=1024)
def _tabled(name: str) -> Window:
    return window_of(name)
