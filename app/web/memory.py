"""/foldline/sessions/{id}/memory: a session's sticky memory, read, put, patched and forgotten.

The id is ours (`s-…`), or the one that a client gives its conversation itself. That one means something only inside the
client's tenant, so the client's key must come along as it does with a chat.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

import msgspec
from fastapi import APIRouter, HTTPException, Request, Response
from starlette.responses import JSONResponse

from app.context.memory import LIMIT, compact, merged, patch_of, too_large
from app.engine import Engine
from app.engine.sessions import LONGEST_ID, named
from app.engine.sticky import changed
from app.errors import ClientError, DeniedError
from app.state.keys import Session
from app.web.admin import Admin
from app.web.body import ClientLeft, Incoming, read_body
from app.web.tenant import Gate, credential_of

PATH = "/sessions/{id:path}/memory"
LARGEST_BODY = 4 * LIMIT
"""Bytes: indentation and escapes take room that compact JSON does not."""


class Sessions:
    """Finds the session that an id stands for.

    Args:
        bearer_manages: an ADMIN_TOKEN is set: then the bearer token of a request is that, and no client's key.
    """

    def __init__(self, gate: Gate, bearer_manages: bool) -> None:
        self._gate = gate
        self._bearer_manages = bearer_manages

    def find(self, id: str, request: Request) -> Session:  # noqa: A002 (the path's own word)
        """Raises ClientError or DeniedError."""
        if ours := Session.parse(id):
            return ours
        if not id or len(id) > LONGEST_ID:
            raise ClientError(f"A session's id has 1 to {LONGEST_ID} characters.", kind="not_found")
        headers: dict[bytes, bytes] = dict(request.scope["headers"])
        if self._bearer_manages:
            headers.pop(b"authorization", None)
        credential = credential_of(headers, request.scope.get("query_string", b""))
        if self._bearer_manages and not credential.secret:
            raise ClientError(
                "This is not an id of ours. Use the one in x-foldline-session (s-…); for an id that the client chose, "
                "send the client's own key in x-api-key beside the ADMIN_TOKEN."
            )
        self._gate.admit(credential)
        return named(id, self._gate.tenant(credential))


def router(engine: Engine, gate: Gate, admin: Admin, *, bearer_manages: bool) -> APIRouter:
    """GET, PUT, PATCH (JSON merge patch, RFC 7396) and DELETE. A session without memory has an empty one."""
    api = APIRouter(prefix="/foldline", dependencies=[admin.dependency])
    sessions, store = Sessions(gate, bearer_manages), engine.store

    @api.get(PATH)
    async def read(id: str, request: Request) -> Response:  # noqa: A002 # pyright: ignore[reportUnusedFunction] (the path's own word; FastAPI calls it)
        with _plainly():
            session = sessions.find(id, request)
        return _shown(await store.memory(session) or {})

    @api.put(PATH)
    async def put(id: str, request: Request) -> Response:  # noqa: A002 # pyright: ignore[reportUnusedFunction] (the path's own word; FastAPI calls it)
        with _plainly():
            session, said = sessions.find(id, request), await _said(request)
            return _shown((await changed(store, session, lambda _: said))[1])

    @api.patch(PATH)
    async def patch(id: str, request: Request) -> Response:  # noqa: A002 # pyright: ignore[reportUnusedFunction] (the path's own word; FastAPI calls it)
        with _plainly():
            session, said = sessions.find(id, request), await _said(request)
            return _shown((await changed(store, session, lambda memory: merged(memory, said)))[1])

    @api.delete(PATH)
    async def forget(id: str, request: Request) -> Response:  # noqa: A002 # pyright: ignore[reportUnusedFunction] (the path's own word; FastAPI calls it)
        with _plainly():
            before, _ = await changed(store, sessions.find(id, request), lambda _: {})
        return JSONResponse({"forgotten": int(bool(before))})

    return api


async def _said(request: Request) -> dict[str, Any]:
    """The body, a JSON object. Raises ClientError."""
    incoming = Incoming(request.receive)
    try:
        body = await read_body(incoming, dict(request.scope["headers"]), LARGEST_BODY)
        return patch_of(msgspec.json.decode(body))
    except ClientLeft:
        raise ClientError("The request ended before its body was complete.") from None
    except ClientError as error:
        if error.kind != "too_large":
            raise
        await incoming.swallow()
        raise too_large(f"body has more than {LARGEST_BODY}") from None
    except RecursionError:
        raise ClientError("The request body is nested too deeply.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ClientError(f"The request body is not valid JSON: {error}.") from None


@contextlib.contextmanager
def _plainly() -> Generator[None]:
    """Errors of the request as management says them."""
    try:
        yield
    except (ClientError, DeniedError) as error:
        raise HTTPException(error.status, error.message) from None


def _shown(memory: dict[str, Any]) -> Response:
    return Response(compact(memory), media_type="application/json")
