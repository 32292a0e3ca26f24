"""The dry run over HTTP: what would be done with a body, without doing it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from urllib.parse import parse_qs

from fastapi import APIRouter, HTTPException, Request, Response

from app.context import report
from app.engine.continuing import continued
from app.engine.preview import preview
from app.errors import ProxyError
from app.web.admin import Admin
from app.web.body import ClientLeft, Incoming, check_headers, read_body
from app.web.exchange import Door
from app.web.tenant import credential_of
from app.wires.envelope import encode

LEFT = 499
"""The status that logs give to a client that hung up."""


def router(door: Door, admin: Admin, *, bearer_manages: bool) -> APIRouter:
    """POST /foldline/plan.

    Args:
        bearer_manages: an ADMIN_TOKEN is set and is the bearer token: the client's key comes in another header.
    """
    api = APIRouter(prefix="/foldline", dependencies=[admin.dependency])

    @api.post("/plan")
    async def plan(request: Request) -> Response:  # pyright: ignore[reportUnusedFunction] (FastAPI calls it)
        try:
            return Response(await _planned(door, request, bearer_manages), media_type="application/json")
        except ClientLeft:
            return Response(status_code=LEFT)
        except ProxyError as error:  # of the store too, which may hold what a request goes on from
            raise HTTPException(error.status, error.message) from None

    return api


async def _planned(door: Door, request: Request, bearer_manages: bool) -> bytes:
    check_headers(request.headers.raw)
    headers = dict(request.headers.raw)
    query: bytes = request.scope.get("query_string", b"")
    credential = credential_of(_without_bearer(headers) if bearer_manages else headers, query)
    door.gate.admit(credential)
    incoming = Incoming(request.receive)
    try:
        body = await read_body(incoming, headers, door.max_body)
    except ProxyError:
        await incoming.swallow()
        raise
    asked = parse_qs(query.decode("latin-1"))
    engine, tenant = door.engine, door.gate.tenant(credential)
    made = await preview(
        engine,
        body,
        model=asked.get("model", [""])[0],
        named=asked.get("format", ["anthropic" if b"anthropic-version" in headers else ""])[0],
        headers=headers,
        tenant=tenant,
        recall=engine.store.recall,
        whole=functools.partial(continued, engine, tenant=tenant.hex(), credential=None),
    )
    return encode(report.as_full_json(made))


def _without_bearer(headers: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    return {name: value for name, value in headers.items() if name != b"authorization"}
