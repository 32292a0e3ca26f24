"""Alive, ready, and the numbers."""

from __future__ import annotations

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import JSONResponse

from app.engine import Engine
from app.observe import Metrics
from app.web.admin import Admin
from app.web.paths import PREFIXES, VERSIONS

BASES = tuple(
    f"{prefix}{version}" or "/"
    for prefix in ("", *(f"/{name}" for name in PREFIXES))
    for version in ("", *(f"/{name}" for name in VERSIONS))
)
"""What clients set as their base URL: some ask for it before all else (Claude Code asks HEAD)."""


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

    @api.get("/")
    async def greeted() -> JSONResponse:  # pyright: ignore[reportUnusedFunction] (FastAPI calls it)
        return JSONResponse({"name": "Foldline", "alive": True})

    async def probed() -> Response:
        return Response()

    for base in BASES:
        api.add_api_route(base, probed, methods=["HEAD"])
    return api
