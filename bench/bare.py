"""What the usual stack costs without any state: a FastAPI app that passes bodies on with httpx2.

    python -m bench.bare --port 9202 --upstream http://127.0.0.1:9101
    python -m bench.bare --port 9203 --sink        # answers by itself: what only reading a body costs

`sink` is subtracted where the compute of a long history is wanted without the reading of its bytes.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse

from bench.payloads import ANSWER

PATH = "/v1/chat/completions"


def proxy(upstream: str) -> FastAPI:
    """Every chat goes to `upstream`, every chunk back at once."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=4096)
        async with httpx2.AsyncClient(
            base_url=upstream, limits=limits, timeout=600, trust_env=False
        ) as app.state.client:
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post(PATH)
    async def chat(request: Request) -> Response:
        client: httpx2.AsyncClient = app.state.client
        headers = {name: request.headers[name] for name in ("content-type", "authorization") if name in request.headers}
        asked = client.build_request("POST", PATH, content=await request.body(), headers=headers)
        reply = await client.send(asked, stream=True)
        kind = reply.headers.get("content-type", "")
        if not kind.startswith("text/event-stream"):
            return Response(await reply.aread(), reply.status_code, media_type=kind)

        async def chunks() -> AsyncIterator[bytes]:
            try:
                async for chunk in reply.aiter_raw():
                    yield chunk
            finally:
                await reply.aclose()

        return StreamingResponse(chunks(), reply.status_code, media_type=kind)

    return app


def sink() -> FastAPI:
    """Reads a body and answers by itself."""
    app = FastAPI()

    @app.post(PATH)
    async def chat(request: Request) -> Response:
        await request.body()
        return Response(ANSWER.encode())

    return app


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--port", type=int, required=True)
    options.add_argument("--upstream", default="")
    options.add_argument("--sink", action="store_true")
    given = options.parse_args()
    os.environ.pop("FORWARDED_ALLOW_IPS", None)
    uvicorn.run(
        sink() if given.sink else proxy(given.upstream),
        host="127.0.0.1",
        port=given.port,
        loop="uvloop",
        http="httptools",
        backlog=4096,
        access_log=False,
        log_level="warning",
    )
