"""Sends one turn's chat to its candidates, first to last, until one begins to answer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from app.chat.advice import asked_for
from app.chat.model import Chat, Loss
from app.context.known import Checkpoint
from app.engine.refusals import MOST_MENDS
from app.engine.restoring import for_candidate, restored
from app.engine.routing import Candidate
from app.errors import ClientError, UpstreamError
from app.upstreams.headers import forwarded
from app.upstreams.layers import delay, worth_retrying
from app.upstreams.transport import Answer
from app.upstreams.upstream import Credential
from app.wires.lost import is_lost
from app.wires.wire import Outbound

if TYPE_CHECKING:
    from app.engine.engine import Engine

FALLS_BACK = frozenset(("upstream_failed", "overloaded", "timeout", "rate_limited", "out_of_quota", "unavailable"))


class Sent(msgspec.Struct, frozen=True):
    """A provider that has begun to answer.

    Args:
        chat: as that provider got it.
        size: bytes of the body that went out; `untouched` if those were the client's own.
        put_back: assistant turns restored from checkpoints.
    """

    candidate: Candidate
    chat: Chat
    answer: Answer
    size: int
    untouched: bool
    put_back: int
    losses: tuple[Loss, ...] = ()


def refuse_losses(losses: tuple[Loss, ...]) -> None:
    """What STRICT is for. Raises ClientError if anything would be lost that is more than advice."""
    for loss in asked_for(losses):
        raise ClientError(f"{loss.field}: {loss.reason} STRICT is on, so the request was not sent.", param=loss.field)


class Sender:
    """Sends. `attempts` counts every request that went out; `retries` bounds the further tries at one upstream; `marks`
    is as in wires.wire.Target; `rejoined`: the provider lost the chain in the middle of an answer."""

    def __init__(
        self,
        engine: Engine,
        wire: str,
        headers: list[tuple[bytes, bytes]],
        credential: Credential,
        retries: int | None = None,
    ) -> None:
        self._engine = engine
        self._wire = wire
        self._headers = headers
        self._credential = credential
        self._retries = engine.max_retries if retries is None else retries
        self.marks = False
        self.attempts = 0
        self.last: Candidate | None = None
        self.rejoined = False
        self._planned = Chat("", ())
        self._checkpoints: Mapping[int, Checkpoint] = {}
        self._begun = 0

    async def send(
        self,
        chat: Chat,
        candidates: list[Candidate],
        checkpoints: Mapping[int, Checkpoint],
        strict: bool,
        asked: Chat | None = None,
    ) -> Sent:
        """The first candidate that begins to answer. Raises the last one's error.

        `asked` is the request as the client sent it, if the first may get that instead of a chat that goes on from the
        same answer.
        """
        self._planned, self._checkpoints = chat, checkpoints
        forms = [for_candidate(chat, index == 0) for index in range(len(candidates))]
        forms[0] = asked or forms[0]
        sent = await self._first(forms, candidates, strict)
        self._begun = len(sent.chat.messages)
        return sent

    async def _first(self, forms: list[Chat], candidates: list[Candidate], strict: bool) -> Sent:
        checkpoints = self._checkpoints
        for form, candidate in zip(forms[:-1], candidates, strict=False):
            try:
                return await self._try(form, candidate, checkpoints, strict)
            except UpstreamError as error:
                if error.kind not in FALLS_BACK:
                    raise
        return await self._try(forms[-1], candidates[-1], checkpoints, strict)

    async def onward(self, chat: Chat, candidate: Candidate, strict: bool) -> Sent:
        """The next hop of an answer that was paused, or whose model fetched rows. Raises UpstreamError.

        Where the provider has lost the hop before by now, and it can be said once more, all goes out whole: `rejoined`.
        """
        try:
            return await self._try(chat, candidate, {}, strict)
        except UpstreamError as error:
            if not chat.after or chat.resume or not is_lost(error):
                raise
        self.rejoined = True
        return await self._try(self._rejoined(chat, candidate), candidate, {}, strict)

    def _rejoined(self, chat: Chat, candidate: Candidate) -> Chat:
        """The chat that was planned, and behind it what the hops of its answer said."""
        said, sampling = chat.messages[self._begun :], chat.sampling
        chat, _ = restored(for_candidate(self._planned, False), self._checkpoints, candidate)
        messages = (*chat.messages, *said)
        return msgspec.structs.replace(chat, messages=messages, sampling=sampling, continues="", plain=False)

    async def _try(self, chat: Chat, candidate: Candidate, checkpoints: Mapping[int, Checkpoint], strict: bool) -> Sent:
        self.last = candidate
        upstream = candidate.upstream
        whole, put_back = restored(chat, checkpoints, candidate)
        put_back = 0 if chat.after else put_back  # the provider holds it already
        outbound = self._engine.refusals.heeded(candidate, self._encoded(whole, candidate, strict))
        headers = {**upstream.headers, **forwarded(self._headers, upstream.wire.name == self._wire)}
        headers["content-type"] = "application/json"
        headers["accept-encoding"] = "identity"  # a compressed stream is a delayed stream
        headers.update(await upstream.signed(self._credential))
        url, lost = upstream.url(outbound), list[Loss]()
        for _ in range(MOST_MENDS):
            try:
                answer = await self._post(candidate, url, headers, outbound.body)
            except UpstreamError as error:
                encoded = partial(self._encoded, candidate=candidate, strict=strict)
                mended = self._engine.refusals.mended(candidate, error, whole, outbound, encoded, strict)
                if mended is None:
                    raise
                whole, outbound = mended.chat, mended.outbound
                lost.extend(mended.losses)
            else:
                break
        else:
            answer = await self._post(candidate, url, headers, outbound.body)
        losses = (*outbound.losses, *lost)
        return Sent(candidate, whole, answer, len(outbound.body), outbound.untouched, put_back, losses)

    def _encoded(self, chat: Chat, candidate: Candidate, strict: bool) -> Outbound:
        """The request. Raises ClientError for what cannot be sent there, and in strict mode for any loss."""
        outbound = candidate.upstream.wire.encode(chat, candidate.upstream.target(candidate.model, self.marks))
        if strict:
            refuse_losses(outbound.losses)
        return outbound

    async def _post(self, candidate: Candidate, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        engine, upstream = self._engine, candidate.upstream
        budget = engine.budget(upstream.name)
        budget.earn()
        attempt = 0
        while True:
            self.attempts += 1
            try:
                return await self._once(candidate, url, headers, body)
            except UpstreamError as error:
                if attempt >= self._retries or not worth_retrying(error) or not budget.spend():
                    raise
            await engine.sleep(delay(attempt))
            attempt += 1

    async def _once(self, candidate: Candidate, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        answer = await self._engine.transport.post(url, headers, body)
        if 200 <= answer.status < 300:
            return answer
        try:
            said = await answer.read()
        finally:
            answer.close()
        if answer.status < 400:
            raise UpstreamError("The provider's address redirects: its base URL is not the API's own.", repeat=False)
        raise _as_ours(candidate.upstream.wire.failure(answer.status, answer.headers, said), candidate.upstream.keyed)


def _as_ours(error: UpstreamError, keyed: bool) -> UpstreamError:
    """A refusal of our own key is our fault, not the client's: it must not look as if the client's key were wrong."""
    if keyed and error.kind in ("unauthenticated", "forbidden") and not is_lost(error):
        words = "The provider refused the key that Foldline is set up with."
        return UpstreamError(words, kind="upstream_failed", status=502, repeat=False)
    return error
