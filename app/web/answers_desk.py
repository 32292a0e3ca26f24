"""Requests about answers that are kept: who asks, what for, and errors in the dialect of the path."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import Request
from starlette.responses import Response

from app.engine import Engine
from app.errors import ClientError, ProxyError
from app.upstreams.upstream import Credential
from app.web.body import ClientLeft, Incoming, check_headers, read_body
from app.web.exchange import Door, Presence
from app.web.tenant import credential_of
from app.wires.wire import Problem, Wire

LOG = logging.getLogger(__name__)

JSON = "application/json"
STREAM = "text/event-stream; charset=utf-8"
BODILESS = ("GET", "HEAD")
"""What reads alone, and sends nothing more. An erasure goes on to its end, whoever waits for it."""
CLIENT_CLOSED = 499


class Asked:
    """One request of a client that was let in.

    Args:
        tenant: 16 hex digits. credential: what may be passed on to a provider.
    """

    def __init__(self, door: Door, wire: Wire, request: Request) -> None:
        headers: list[tuple[bytes, bytes]] = request.scope["headers"]
        check_headers(headers)
        credential = credential_of(dict(headers), request.scope.get("query_string", b""))
        door.gate.admit(credential)
        self.wire = wire
        self.engine: Engine = door.engine
        self.tenant: str = door.gate.tenant(credential).hex()
        self.credential = Credential() if door.gate.closed else credential
        self.headers = headers
        self.presence: Presence | None = None
        self._request = request
        self._most = door.max_body
        if request.method in BODILESS:
            self._watch()

    @property
    def query(self) -> Mapping[str, str]:
        """The query's parameters."""
        return self._request.query_params

    @property
    def method(self) -> str:
        """GET, POST, DELETE or HEAD."""
        return self._request.method

    def named(self, what: str) -> str:
        """What the path names."""
        return self._request.path_params[what]

    async def body(self) -> bytes:
        """The request's body. Raises ClientError."""
        incoming = Incoming(self._request.receive)
        try:
            body = await read_body(incoming, dict(self.headers), self._most)
        except ClientLeft:
            raise ClientError("The request ended before its body was complete.") from None
        except ClientError:
            await incoming.swallow()
            raise
        self._watch()
        return body

    def _watch(self) -> None:
        """From now on a client that hangs up ends what is done for it, a provider's counting too."""
        self.presence = self.presence or Presence(self._request.receive)


Answering = Callable[[Asked], Awaitable[Response]]


def answering(door: Door, wire: Wire, answer: Answering) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint."""

    async def respond(request: Request) -> Response:
        asked: Asked | None = None
        try:
            asked = Asked(door, wire, request)
            response = await answer(asked)
        except asyncio.CancelledError:
            if asked is None or asked.presence is None or not asked.presence.gone:
                raise
            asked.presence.task.uncancel()
            response = Response(status_code=CLIENT_CLOSED)  # for nobody: a server logs what escapes as a fault
        except ProxyError as error:
            response = refused(wire.problem(error))
        except RecursionError:
            response = refused(wire.problem(ClientError("The request is nested too deeply.")))
        except Exception:  # the last door: a fault of ours is logged and said, in the client's dialect
            LOG.exception("%s %s failed by a fault of Foldline", request.method, wire.name)
            words = "Foldline failed on this request. The log says why."
            response = refused(wire.problem(ProxyError(words, kind="upstream_failed", status=500)))
        finally:
            if asked is not None and asked.presence is not None:
                asked.presence.stop()
        response.headers["x-request-id"] = request.headers.get("x-request-id") or "req_" + door.engine.new_id()
        return response

    return respond


def refused(problem: Problem) -> Response:
    """An error as a response."""
    return Response(problem.body, problem.status, dict(problem.headers), media_type=problem.content_type)


def given(body: bytes) -> Response:
    """JSON as a response."""
    return Response(body, media_type=JSON)
