"""A provider on loopback that records every body, answers chats in one or two sentences, and summaries as it is told.

It runs in the bench's own event loop, and speaks all of APIS. Those that keep conversations inherit the history by id,
and bill the whole chain. Its usage comes from the tokenizer of `tokens`; what it says was cached is the byte-equal
beginning that a request shares with an earlier one of the same run.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from bench.memory import tokens
from bench.memory.bodies import Body, Said, shared_tokens
from bench.memory.filler import WORDS
from bench.memory.spoken import APIS
from bench.memory.spoken.api import Api, Told, UnknownError, UnreadableError
from bench.memory.summarisers import SUMMARISERS

LIMIT = re.compile(r"(?:at most |^)(\d[\d,]*) tokens|(\d[\d,]*)トークン")
"""How a question says how long its summary may be; a model that is told so keeps to it."""

NEAR = 24
"""Earlier requests that are looked at for a shared beginning, besides the very first ones: providers' caches forget."""

FIRST = 4
PREFIXES = {"interactions": "v1_", "responses": "resp_"}
"""Of the ids of answers."""

MODELS = {"object": "list", "data": [{"id": "gpt-4.1", "object": "model", "owned_by": "bench"}]}


@dataclass(frozen=True, slots=True)
class Record:
    """One request as the upstream got it, and what its answer took.

    Attributes:
        cached: tokens of `sent.tokens` that stand at the beginning of an earlier request too.
        answered: tokens of the answer.
        at: seconds on the upstream's clock.
    """

    sent: Body
    summary: bool
    cached: int
    answered: int
    at: float


@dataclass
class Upstream:
    """What one run is answered, and what it sent.

    Attributes:
        summariser: a name in SUMMARISERS.
        script: assistant messages to answer with before anything else, in order.
        refused: bodies that are no request of this format at all, with the reason.
        kept: conversations by the id of their newest answer: all messages but the system text, which no id brings back.
        clock: gives seconds, for the records.
    """

    url: str = ""
    summariser: str = "good"
    script: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    records: list[Record] = field(default_factory=list[Record])
    refused: list[str] = field(default_factory=list[str])
    kept: dict[str, tuple[Said, ...]] = field(default_factory=dict[str, tuple[Said, ...]])
    clock: Callable[[], float] = time.monotonic
    open: int = 0
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def begin(self, summariser: str = "good") -> None:
        """Forget what was recorded; another run begins."""
        self.summariser = summariser
        self.script = []
        self.records = []
        self.refused = []
        self.kept = {}

    async def quiet(self, seconds: float) -> None:
        """Wait until no request is open and none has come for `seconds`, ten seconds at most."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            before = len(self.records)
            await asyncio.sleep(seconds)
            if not self.open and len(self.records) == before:
                return

    def answering(self, api: Api) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """What answers requests of one API."""

        async def answer(request: web.Request) -> web.StreamResponse:
            self.open += 1
            try:
                return await self._answer(api, request)
            finally:
                self.open -= 1

        return answer

    async def _answer(self, api: Api, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        try:
            asked = api.read(raw, request.match_info.get("model", ""), self.kept.get)
            if asked.stream and api.streamed is None:
                raise UnreadableError("this API is not streamed here")
        except UnknownError as error:
            self.refused.append(f"{error} is not known")
            message = f"Previous response or interaction with id '{error}' not found."
            return web.json_response({"error": {"message": message, "code": "not_found"}}, status=404)
        except UnreadableError as error:
            self.refused.append(f"no valid request ({error}): {raw[:300].decode('utf-8', 'replace')}")
            return web.json_response({"error": {"message": str(error), "type": "invalid_request_error"}}, status=400)
        summary = asked.asks_for_summary
        message = self._summary(asked) if summary else self._reply(asked)
        record = self.recorded(asked, summary, message)
        identity = self._keep(api, asked, message) if asked.store else ""
        return await _told(request, api, Told(identity, asked, message, record.cached, record.answered))

    def _keep(self, api: Api, asked: Body, message: dict[str, Any]) -> str:
        """The id of an answer that may be gone on from."""
        identity = f"{PREFIXES.get(api.name, '')}{next(self._numbers):024x}"
        if api.chains:
            self.kept[identity] = (*asked.chain, *api.kept(message))
        return identity

    def _summary(self, asked: Body) -> dict[str, Any]:
        found = LIMIT.search(asked.texts[0])
        limit = int((found[1] or found[2]).replace(",", "")) if found else asked.limit
        return {"role": "assistant", "content": SUMMARISERS[self.summariser]("\n".join(asked.texts[1:]), limit)}

    def _reply(self, asked: Body) -> dict[str, Any]:
        return self.script.pop(0) if self.script else {"role": "assistant", "content": reply(asked.texts[-1])}

    def recorded(self, asked: Body, summary: bool, message: dict[str, Any]) -> Record:
        """What is noted of one request and its answer."""
        said = str(message.get("content") or "") + json.dumps(message.get("tool_calls") or "", ensure_ascii=False)
        earlier = [record.sent for record in (*self.records[:FIRST], *self.records[-NEAR:])]
        record = Record(asked, summary, shared_tokens(earlier, asked), tokens.of_text(said), self.clock())
        self.records.append(record)
        return record


def reply(said: str) -> str:
    """What the upstream says to these words: one or two sentences, always the same ones."""
    digest = hashlib.sha256(said.encode()).digest()
    answers = WORDS["ja" if re.search("[ぁ-ん]", said) else "en"].answers
    first, second = answers[digest[0] % len(answers)], answers[digest[1] % len(answers)]
    return first if digest[2] % 2 or first == second else f"{first} {second}"


async def _told(request: web.Request, api: Api, told: Told) -> web.StreamResponse:
    if not told.asked.stream or api.streamed is None:
        return web.json_response(api.whole(told))
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for event in api.streamed(told):
        await response.write(f"data: {json.dumps(event)}\n\n".encode())
    await response.write(b"data: [DONE]\n\n")
    return response


@asynccontextmanager
async def running_upstream(upstream: Upstream | None = None) -> AsyncGenerator[Upstream]:
    """The upstream on a free port, for as long as the block lasts; one of its own unless one is given."""
    upstream = upstream or Upstream()

    async def models(_: web.Request) -> web.Response:
        return web.json_response(MODELS)

    app = web.Application(client_max_size=64 << 20)
    for api in APIS.values():
        app.router.add_post(api.path, upstream.answering(api))
    app.router.add_get("/v1/models", models)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        upstream.url = f"http://127.0.0.1:{port}"
        yield upstream
    finally:
        await runner.cleanup()
