"""Alive, ready, and the numbers."""

from __future__ import annotations

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import JSONResponse

from app.engine import Engine
from app.observe import Metrics
from app.web.admin import Admin


def router(engine: Engine, metrics: Metrics, admin: Admin) -> APIRouter:
    """/healthz = /livez, /readyz, /metrics, and HEAD of what clients probe."""
    api = APIRouter()

    @api.get("/livez")
    @api.get("/healthz")
    async def alive() -> JSONResponse:  # pyright: ignore[reportUnusedFunction] (FastAPI calls it)
        return JSONResponse({"alive": True})

    @api.get("/readyz")
    async def ready() -> JSONResponse:  # pyright: ignore[reportUnusedFunction] (FastAPI calls it)
        store = await engine.store.status()
        draining = engine.inflight.draining
        body = {"ready": not (store or draining), "store": store or "ok", "draining": draining}
        return JSONResponse(body, status_code=200 if body["ready"] else 503)

    @api.get("/metrics", dependencies=[admin.dependency])
    async def numbers() -> Response:  # pyright: ignore[reportUnusedFunction] (FastAPI calls it)
        metrics.open.set(engine.inflight.open)
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    @api.head("/")
    @api.head("/v1")
    @api.head("/v1beta")
    @api.head("/openai")
    @api.head("/openai/v1")
    @api.head("/gemini")
    @api.head("/anthropic")
    async def probed() -> Response:  # pyright: ignore[reportUnusedFunction] (FastAPI calls it)
        return Response()

    return api
