"""A provider on a real socket whose answers and summaries a test decides, and which notes every body it gets.

It speaks OpenAI chat and Gemini generateContent, whole and streamed. A request is for a summary if it has no tools and
its system text orders one; all others are the chat's own.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from aiohttp import web

from tests.folding.call import Call, Json, strings
from tests.folding.saying import Said, endless, refused, response

__all__ = ["Answering", "Call", "Json", "Provider", "Said", "refused", "running_provider", "strings"]

Answering: TypeAlias = Callable[[Call], Said]


@dataclass
class Provider:
    """What it got, and how it answers.

    Attributes:
        calls: the chat's own requests. summaries: those for summaries. Both in order of arrival.
        answer, summarise: what it says to either. busy: requests that it has not answered yet.
        hold: if there is one, requests for summaries wait for it before they are answered.
    """

    answer: Answering = lambda call: Said("Noted.")
    summarise: Answering = lambda call: Said("They talked.")
    calls: list[Call] = field(default_factory=list[Call])
    summaries: list[Call] = field(default_factory=list[Call])
    hold: asyncio.Event | None = None
    busy: int = 0
    url: str = ""

    @property
    def last(self) -> Call:
        """The newest request of the chat's own."""
        return self.calls[-1]

    def clear(self) -> None:
        """Forget what it got."""
        self.calls.clear()
        self.summaries.clear()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        raw = await request.read()
        if request.method != "POST":
            return web.json_response({"error": {"message": "There is no such page.", "code": 404}}, status=404)
        call = Call(request.path, raw, json.loads(raw), time.monotonic())
        self.busy += 1
        try:
            if call.is_summary:
                self.summaries.append(call)
                said = self.summarise(call)
                if self.hold is not None:
                    await self.hold.wait()
            else:
                self.calls.append(call)
                said = self.answer(call) if call.messages else refused("Missing required parameter: 'messages'.")
            await asyncio.sleep(said.after)
            return await endless(request, call, said) if said.endless else response(call, said)
        finally:
            self.busy -= 1


@asynccontextmanager
async def running_provider() -> AsyncGenerator[Provider]:
    """A provider on a free port, for as long as the block lasts. Its URL is Gemini's base; OpenAI's has /v1 behind."""
    provider = Provider()
    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_route("*", "/{path:.*}", provider.serve)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    provider.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield provider
    finally:
        await runner.cleanup()
