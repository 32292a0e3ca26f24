"""Wiring only: settings in, a FastAPI app out. Opens and closes what lives long."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app import __version__
from app.engine import Engine
from app.engine.routing import Route, Routes
from app.errors import ClientError, StateError
from app.logs import set_up_logs
from app.observe import Metrics, StoreMetrics, TurnLog
from app.settings import Settings, load
from app.state.store import Store
from app.upstreams.anthropic import anthropic
from app.upstreams.catalogue import Catalogue
from app.upstreams.gemini import gemini, vertex
from app.upstreams.lean.transport import LeanTransport
from app.upstreams.limits import Limits
from app.upstreams.openai import openai
from app.upstreams.transport import Timeouts, Transport
from app.upstreams.upstream import Spoken, Upstream
from app.web import answers, chat, conversations, counting, health, memory, models, plans, sessions
from app.web.admin import Admin
from app.web.exchange import Door
from app.web.paths import forgiven
from app.web.pulse import Pulse
from app.web.tenant import Gate
from app.wires.anthropic import ANTHROPIC
from app.wires.gemini import GEMINI
from app.wires.gemini_interactions import GEMINI_INTERACTIONS
from app.wires.openai_chat import OPENAI_CHAT
from app.wires.openai_responses import OPENAI_RESPONSES
from app.wires.wire import Wire

DEMO_KEY = "lab"
LAST_SUMMARIES = 5.0
"""Seconds that summaries made behind turns may still take when the server stops; they are paid for."""


class App(FastAPI):
    """FastAPI, with a short way for the hot paths: its own stack of middlewares costs a tenth of a whole turn, and does
    nothing for routes that answer their own errors. The same routes stand in its router for every other spelling."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.hot: dict[str, ASGIApp] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        path: str = scope["path"]
        hot = self.hot.get(path)
        if hot is None and (meant := forgiven(path)) != path:
            scope = {**scope, "path": meant}
            hot = self.hot.get(meant)
        if hot is not None and scope["method"] == "POST":
            await hot(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def create_app(settings: Settings | None = None) -> FastAPI:
    """The app. Nothing is opened before it starts; settings are read from everywhere if none are given."""
    given = settings or load()
    app = App(
        title="Foldline",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=_lifespan,
        redirect_slashes=False,
    )
    app.state.settings = given
    app.add_exception_handler(HTTPException, _not_served)
    app.add_exception_handler(StateError, _store_away)
    return app


@contextlib.asynccontextmanager
async def _lifespan(app: App) -> AsyncGenerator[None, None]:
    settings: Settings = app.state.settings
    set_up_logs(settings.log_level, settings.log_format, secrets=_secrets(settings))
    async with contextlib.AsyncExitStack() as stack:
        store = await _store_of(settings)
        stack.push_async_callback(store.close)
        metrics = Metrics()
        metrics.registry.register(StoreMetrics(store))
        pulse = Pulse(settings.keepalive_after)
        stack.push_async_callback(pulse.stop)
        engine = await _engine_of(settings, store, metrics, stack)
        catalogue = Catalogue()
        stack.push_async_callback(catalogue.aclose)
        _serve(app, settings, engine, pulse, metrics, catalogue)
        stack.push_async_callback(engine.unfinished.settled)
        stack.push_async_callback(engine.summaries.close, LAST_SUMMARIES)
        yield
        engine.inflight.draining = True


async def _store_of(settings: Settings) -> Store:
    return await Store.open(
        settings.redis_url.get_secret_value(),
        ttl_seconds=settings.session_ttl,
        timeout_seconds=settings.store_timeout,
        encryption_keys=settings.encryption_keys.get_secret_value() if settings.encryption_keys else "",
        secret=settings.secret.get_secret_value() if settings.secret else "",
    )


async def _engine_of(settings: Settings, store: Store, metrics: Metrics, stack: contextlib.AsyncExitStack) -> Engine:
    """What all turns share; `stack` closes what it opens."""
    transport = transport_of(settings)
    stack.push_async_callback(transport.aclose)
    limits = Limits(transport)
    stack.push_async_callback(limits.aclose)
    return Engine(
        store=store,
        limits=limits,
        routes=Routes(routes_of(settings), await upstreams_of(settings, stack)),
        transport=transport,
        policy=policy_numbers(settings),
        max_retries=settings.max_retries,
        strict=settings.strict,
        exact_counts=settings.exact_counts,
        observers=(metrics, *_logs(settings)),
    )


def _serve(app: App, settings: Settings, engine: Engine, pulse: Pulse, metrics: Metrics, catalogue: Catalogue) -> None:
    """All paths that are served."""
    gate = Gate((key.get_secret_value() for key in settings.api_keys), engine.store.secret)
    admin = Admin(settings.admin_token.get_secret_value() if settings.admin_token else "", settings.loopback)
    door = Door(engine, gate, pulse, settings.max_body)
    app.router.routes[:0] = [
        *counting.routes(door),
        *chat.routes(door),
        *models.routes(models.Models(catalogue, engine.routes, gate)),
        *answers.routes(door),
        *conversations.routes(door),
    ]
    app.hot |= {
        "/v1/chat/completions": chat.BodyRoute(door, OPENAI_CHAT),
        "/v1/messages": chat.BodyRoute(door, ANTHROPIC),
        "/v1/responses": chat.BodyRoute(door, OPENAI_RESPONSES),
    }
    bearer_manages = bool(settings.admin_token)
    app.include_router(health.router(engine, metrics, admin))
    app.include_router(sessions.router(engine, admin))
    app.include_router(plans.router(door, admin, bearer_manages=bearer_manages))
    app.include_router(memory.router(engine, gate, admin, bearer_manages=bearer_manages))


async def upstreams_of(settings: Settings, stack: contextlib.AsyncExitStack) -> dict[str, Upstream]:
    """The upstreams by name. Where none is set up the simulator is one; `stack` ends it."""
    if settings.demo:
        url = settings.simulator_url
        if url is None:
            from app.simulator.running import running_simulator

            url = (await stack.enter_async_context(running_simulator())).url
        return {
            "openai": openai("openai", f"{url}/v1", DEMO_KEY, Spoken(both=True)),
            "gemini": gemini("gemini", url, DEMO_KEY, Spoken("interactions")),
            "anthropic": anthropic("anthropic", url, DEMO_KEY),
        }
    found: dict[str, Upstream] = {}
    for name, described in settings.every_upstream.items():
        key = described.api_key.get_secret_value() if described.api_key else ""
        match described.kind:
            case "openai":
                found[name] = openai(name, described.base_url, key, _spoken(described))
            case "gemini" if described.vertex_project:
                where = described.vertex_project, described.vertex_location or "global"
                found[name] = vertex(name, *where, _own(described), _spoken(described))
            case "gemini":
                found[name] = gemini(name, described.base_url, key, _spoken(described))
            case "anthropic":
                found[name] = anthropic(name, described.base_url, key)
    return found


def _spoken(described: Any) -> Spoken:
    return Spoken(described.api, described.only, described.retention)


def _own(described: Any) -> str:
    """A base URL of the operator's own for Vertex AI; empty for Google's."""
    return "" if described.base_url == "https://generativelanguage.googleapis.com" else described.base_url


def transport_of(settings: Settings) -> Transport:
    """What requests to providers are sent by."""
    timeouts = Timeouts(settings.connect_timeout, settings.first_byte_timeout, settings.idle_timeout)
    if settings.http_client == "lean":
        return LeanTransport(timeouts)
    from app.upstreams.by_aiohttp import AiohttpTransport

    return AiohttpTransport(timeouts)


def routes_of(settings: Settings) -> list[Route]:
    """The routes, first match first."""
    return [
        Route(route.match, route.upstream, route.model or "", tuple(route.fallbacks), route.policy)
        for route in settings.every_route
    ]


def policy_numbers(settings: Settings) -> dict[str, Any]:
    """The policy numbers that somebody set; the others depend on the request's profile."""
    from app.context.policy import NUMBERS
    from app.context.tool_results.settings import ToolSettings

    said = (*NUMBERS, "profile", "summary_model", "summary_when", "chain", "cache_marks")
    names = [name for name in said if name in settings.model_fields_set]
    numbers = {name: value for name in names if (value := getattr(settings, name)) is not None}
    tools = {
        name: ToolSettings(table.keep_fields, table.budget, table.compact) for name, table in settings.tools.items()
    }
    return numbers | ({"tools": tools} if tools else {})


def _logs(settings: Settings) -> tuple[TurnLog, ...]:
    """What is written of turns and summaries, by the level that is wanted."""
    if settings.log_level == "error":
        return ()
    return (TurnLog(settings.log_format, only_warnings=settings.log_level == "warning"),)


def _secrets(settings: Settings) -> list[str]:
    keys = [settings.admin_token, settings.secret, settings.encryption_keys, *settings.api_keys]
    keys += [upstream.api_key for upstream in settings.every_upstream.values()]
    return [key.get_secret_value() for key in keys if key]


async def _not_served(request: Request, error: Exception) -> Response:
    """Paths that nobody serves get an error in the dialect that the path speaks; management speaks plainly."""
    assert isinstance(error, HTTPException)  # noqa: S101 (registered for nothing else)
    path = request.scope["path"]
    if path.startswith(("/foldline", "/livez", "/readyz", "/healthz", "/metrics")):
        return JSONResponse({"detail": error.detail}, status_code=error.status_code)
    wire: Wire = OPENAI_CHAT
    if path.startswith(("/v1beta", "/v1alpha", "/gemini")):
        wire = GEMINI_INTERACTIONS if "/interactions" in path else GEMINI
    elif path.startswith("/anthropic") or "/messages" in path:
        wire = ANTHROPIC
    words = f"{request.method} {path[:200]} is not served here. Chats go to POST /v1/chat/completions."
    problem = wire.problem(ClientError(words, kind="not_found", status=error.status_code))
    return Response(problem.body, problem.status, media_type=problem.content_type)


async def _store_away(request: Request, error: Exception) -> Response:
    assert isinstance(error, StateError)  # noqa: S101 (registered for nothing else)
    return sessions.store_away(error)
