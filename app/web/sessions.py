"""What is stored, for people: sessions and turns."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response
from starlette.responses import JSONResponse

from app.engine import Engine
from app.engine.erasing import forget
from app.errors import StateError
from app.state.keys import Session
from app.state.store import SessionInfo
from app.web.admin import Admin
from app.web.tenant import credential_of
from app.wires.envelope import encode

TURN_ID_HEAD = len("t-") + 40
"""A turn's id begins with its session's."""


def router(engine: Engine, admin: Admin) -> APIRouter:
    """/foldline/sessions and /foldline/turns."""
    api = APIRouter(prefix="/foldline", dependencies=[admin.dependency])

    @api.get("/sessions")
    async def sessions(limit: int = 100) -> JSONResponse:  # pyright: ignore[reportUnusedFunction] (FastAPI calls it)
        found = await engine.store.sessions(min(max(limit, 1), 1000))
        return JSONResponse({"sessions": [_shown(session, info) for session, info in found]})

    @api.get("/sessions/{id}")
    async def session(id: str) -> JSONResponse:  # noqa: A002 # pyright: ignore[reportUnusedFunction] (the path's own word)
        known = _parsed(id)
        info = await engine.store.info(known)
        if info is None:
            raise HTTPException(404, "No such session, or it was forgotten.")
        return JSONResponse(_shown(known, info))

    @api.delete("/sessions/{id}")
    async def forgetting(id: str, request: Request) -> Response:  # noqa: A002 # pyright: ignore[reportUnusedFunction] (the path's own word)
        headers = dict(request.scope["headers"])
        if admin.guarded:  # the bearer is ADMIN_TOKEN: it goes to no provider
            headers.pop(b"authorization", None)
        credential = credential_of(headers, b"")
        done = await forget(engine.store, engine.routes.upstreams, _parsed(id), credential)
        return Response(encode(done), media_type="application/json")

    @api.get("/turns/{id}")
    async def turn(id: str) -> Response:  # noqa: A002 # pyright: ignore[reportUnusedFunction] (the path's own word)
        record = await engine.store.turn(_parsed("s" + id[1:TURN_ID_HEAD]), id)
        if record is None:
            raise HTTPException(404, "No such turn, or its record has expired.")
        return Response(record, media_type="application/json")

    return api


def _parsed(id: str) -> Session:  # noqa: A002 (the path's own word)
    session = Session.parse(id)
    if session is None:
        raise HTTPException(404, "This is not an id of ours: see x-foldline-session and x-foldline-turn.")
    return session


def _shown(session: Session, info: SessionInfo) -> dict[str, Any]:
    return {
        "id": session.id,
        "created": info.created,
        "seen": info.seen,
        "turns": info.turns,
        "model": info.model,
        "upstream": info.upstream,
    }


def store_away(error: StateError) -> JSONResponse:
    """The store is out of reach, said plainly."""
    return JSONResponse({"detail": error.message}, status_code=error.status)
