"""A provider on loopback that records every body, answers chats in one or two sentences, and summaries as it is told.

It runs in the bench's own event loop. Its usage comes from the tokenizer of `tokens`; `cached_tokens` is the byte-equal
beginning that a request shares with an earlier one of the same run.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiohttp import web

from bench.memory import tokens
from bench.memory.bodies import Body, body, shared_tokens
from bench.memory.filler import WORDS
from bench.memory.summarisers import SUMMARISERS

LIMIT = re.compile(r"(?:at most |^)(\d[\d,]*) tokens|(\d[\d,]*)トークン")
"""How a question says how long its summary may be; a model that is told so keeps to it."""

NEAR = 24
"""Earlier requests that are looked at for a shared beginning, besides the very first ones: providers' caches forget."""

FIRST = 4
MODELS = {"object": "list", "data": [{"id": "gpt-4.1", "object": "model", "owned_by": "bench"}]}


@dataclass(frozen=True, slots=True)
class Record:
    """One request as the upstream got it, and what its answer took.

    Attributes:
        cached: tokens of `sent.tokens` that stand at the beginning of an earlier request too.
        answered: tokens of the answer.
        at: seconds on the monotonic clock.
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
    """

    url: str = ""
    summariser: str = "good"
    script: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    records: list[Record] = field(default_factory=list[Record])
    refused: list[str] = field(default_factory=list[str])
    open: int = 0

    def begin(self, summariser: str = "good") -> None:
        """Forget what was recorded; another run begins."""
        self.summariser = summariser
        self.script = []
        self.records = []
        self.refused = []

    async def quiet(self, seconds: float) -> None:
        """Wait until no request is open and none has come for `seconds`, ten seconds at most."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            before = len(self.records)
            await asyncio.sleep(seconds)
            if not self.open and len(self.records) == before:
                return

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """POST /v1/chat/completions."""
        self.open += 1
        try:
            raw = await request.read()
            try:
                asked = body(raw)
            except msgspec.MsgspecError as error:
                self.refused.append(f"no valid request ({error}): {raw[:300].decode('utf-8', 'replace')}")
                return web.json_response(
                    {"error": {"message": str(error), "type": "invalid_request_error"}}, status=400
                )
            summary = asked.asks_for_summary
            message = self._summary(asked) if summary else self._reply(asked)
            return await _told(request, asked, message, self._recorded(asked, summary, message))
        finally:
            self.open -= 1

    def _summary(self, asked: Body) -> dict[str, Any]:
        found = LIMIT.search(asked.texts[0])
        limit = int((found[1] or found[2]).replace(",", "")) if found else asked.limit
        return {"role": "assistant", "content": SUMMARISERS[self.summariser]("\n".join(asked.texts[1:]), limit)}

    def _reply(self, asked: Body) -> dict[str, Any]:
        return self.script.pop(0) if self.script else {"role": "assistant", "content": reply(asked.texts[-1])}

    def _recorded(self, asked: Body, summary: bool, message: dict[str, Any]) -> Record:
        said = str(message.get("content") or "") + json.dumps(message.get("tool_calls") or "", ensure_ascii=False)
        earlier = [record.sent for record in (*self.records[:FIRST], *self.records[-NEAR:])]
        record = Record(asked, summary, shared_tokens(earlier, asked), tokens.of_text(said), time.monotonic())
        self.records.append(record)
        return record


def reply(said: str) -> str:
    """What the upstream says to these words: one or two sentences, always the same ones."""
    digest = hashlib.sha256(said.encode()).digest()
    answers = WORDS["ja" if re.search("[ぁ-ん]", said) else "en"].answers
    first, second = answers[digest[0] % len(answers)], answers[digest[1] % len(answers)]
    return first if digest[2] % 2 or first == second else f"{first} {second}"


async def _told(request: web.Request, asked: Body, message: dict[str, Any], record: Record) -> web.StreamResponse:
    usage = {
        "prompt_tokens": asked.tokens,
        "completion_tokens": record.answered,
        "total_tokens": asked.tokens + record.answered,
        "prompt_tokens_details": {"cached_tokens": record.cached},
    }
    head = {"id": f"chatcmpl-{id(record):x}", "created": 1_800_000_000, "model": asked.model}
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    if not asked.stream:
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return web.json_response({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    asked_for: list[dict[str, Any]] = message.get("tool_calls") or []
    calls = [{"index": number, **call} for number, call in enumerate(asked_for)]
    delta: dict[str, Any] = {**message, **({"tool_calls": calls} if calls else {})}
    chunk = {**head, "object": "chat.completion.chunk"}
    events: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        {"choices": [], "usage": usage},
    ]
    for event in events:
        await response.write(f"data: {json.dumps({**chunk, **event})}\n\n".encode())
    await response.write(b"data: [DONE]\n\n")
    return response


@asynccontextmanager
async def running_upstream() -> AsyncGenerator[Upstream]:
    """The upstream on a free port, for as long as the block lasts."""
    upstream = Upstream()

    async def models(_: web.Request) -> web.Response:
        return web.json_response(MODELS)

    app = web.Application(client_max_size=64 << 20)
    app.router.add_post("/v1/chat/completions", upstream.answer)
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
