"""GET …/models and …/models/{id}: what can be asked for here, in the dialect of whoever asks.

Three SDKs ask for the same path, /v1/models: headers tell them apart, prefixes of our own say it without a doubt.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Mapping

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.engine.routing import Routes
from app.errors import ClientError, ProxyError, UpstreamError
from app.upstreams.catalogue import Catalogue
from app.upstreams.model_cards import Model
from app.upstreams.upstream import Credential, Kind, Upstream
from app.web.model_lists import Dialect, card, listed, publishers
from app.web.paths import VERSIONS
from app.web.tenant import Gate, credential_of
from app.wires.anthropic import ANTHROPIC
from app.wires.gemini import GEMINI
from app.wires.openai_chat import OPENAI_CHAT
from app.wires.wire import Wire

PATHS: Mapping[str, Dialect | None] = {
    "/v1/models": None,
    "/models": "openai",
    "/openai/models": "openai",
    "/openai/v1/models": "openai",
    **{f"/{version}/models": "gemini" for version in VERSIONS if version != "v1"},
    **{f"/gemini/{version}/models": "gemini" for version in VERSIONS},
    "/anthropic/models": "anthropic",
    "/anthropic/v1/models": "anthropic",
}
"""Where models are asked for, and the dialect that the path itself says; None: the headers tell."""

VERTEX = tuple(
    f"{prefix}/{version}{project}/publishers/{{publisher}}/models"
    for prefix in ("", "/gemini")
    for version in VERSIONS
    for project in ("", "/projects/{project}/locations/{location}")
)
"""Where clients set up for Vertex AI ask."""

KEYS: tuple[tuple[str, Kind], ...] = (
    ("sk-ant-", "anthropic"),
    ("AIza", "gemini"),
    ("AQ.", "gemini"),
    ("sk-", "openai"),
)
"""How the providers' keys begin, for clients that bring one provider's key in another's dialect."""

WIRES: Mapping[Dialect, Wire] = {"openai": OPENAI_CHAT, "gemini": GEMINI, "anthropic": ANTHROPIC}


class Models:
    """Answers for models: those that a route leads to, under the names that clients ask for them by."""

    def __init__(self, catalogue: Catalogue, routes: Routes, gate: Gate) -> None:
        self._catalogue = catalogue
        self._routes = routes
        self._gate = gate

    async def all(self, dialect: Dialect, credential: Credential, tenant: bytes) -> dict[str, Model]:
        """Every model by the name to ask for, sorted. Raises ProxyError if no provider answered."""
        found = await self._catalogue.models(self._asked(dialect, credential), credential, tenant)
        known = {(name, model.id): model for name, models in found.items() for model in models}
        reached = {id_: model for (name, id_), model in known.items() if self._leads_to(id_, name)}
        for name in self._routes.names:
            first = self._routes.pick(name)[0][0]
            if own := known.get((first.upstream.name, first.model)):
                reached[name] = own
        return dict(sorted(reached.items()))

    async def one(self, id_: str, credential: Credential, tenant: bytes) -> Model:
        """The model that a request for `id_` would be served by. Raises ProxyError."""
        first = self._routes.pick(id_)[0][0]
        with contextlib.suppress(UpstreamError):  # a server need not list its models to have one
            listed = await self._catalogue.models([first.upstream], credential, tenant)
            for model in listed[first.upstream.name]:
                if model.id == first.model:
                    return model
        try:
            return await self._catalogue.model(first.upstream, first.model, credential)
        except UpstreamError as error:
            if error.status != 404:
                raise
            raise ClientError(f"There is no model {id_!r} here.", kind="model_not_found", param="model") from None

    def _asked(self, dialect: Dialect, credential: Credential) -> list[Upstream]:
        """The upstreams to ask. Where the client's own key goes along, only those that it can be a key for: nobody's
        key is shown to another provider for the sake of a list."""
        reached = self._routes.reached
        if len(reached) == 1:
            return list(reached)
        kind = next((kind for start, kind in KEYS if credential.secret.startswith(start)), dialect)
        return [upstream for upstream in reached if upstream.keyed or upstream.kind == kind]

    def _leads_to(self, id_: str, upstream: str) -> bool:
        """Whether a request for this id reaches this upstream under this very name."""
        try:
            candidates, _ = self._routes.pick(id_)
        except ClientError:
            return False
        return (candidates[0].upstream.name, candidates[0].model) == (upstream, id_)

    async def respond(self, said: Dialect | None, request: Request) -> Response:
        """One request, whose path says the dialect or not."""
        headers = dict(request.scope["headers"])
        id_ = request.path_params.get("id", "").removeprefix("models/")
        dialect = said or _asking(request)
        try:
            credential = credential_of(headers, request.scope.get("query_string", b""))
            self._gate.admit(credential)
            tenant = self._gate.tenant(credential)
            passed_on = Credential() if self._gate.closed else credential
            if id_:
                answer = card(dialect, id_, await self.one(id_, passed_on, tenant))
            else:
                answer = listed(dialect, await self.all(dialect, passed_on, tenant), request.query_params)
            publisher = request.path_params.get("publisher")
            return JSONResponse(publishers(answer, publisher) if publisher else answer)
        except ProxyError as error:
            return _refused(dialect, error)


def routes(models: Models) -> Iterable[Route]:
    """The routes. An id may hold slashes, and comes decoded (`a%2Fb` is `a/b`)."""
    paths: dict[str, Dialect | None] = {**PATHS, **dict.fromkeys(VERTEX, "gemini")}
    for path, dialect in paths.items():
        respond = functools.partial(models.respond, dialect)
        yield Route(path, respond, methods=["GET"])
        yield Route(path + "/{id:path}", respond, methods=["GET"])


def _asking(request: Request) -> Dialect:
    """Whose SDK asks, by the headers that it alone sends."""
    if {"x-goog-api-key", "x-goog-api-client"} & {*request.headers} or "key" in request.query_params:
        return "gemini"
    return "anthropic" if "anthropic-version" in request.headers else "openai"


def _refused(dialect: Dialect, error: ProxyError) -> Response:
    problem = WIRES[dialect].problem(error)
    return Response(problem.body, problem.status, dict(problem.headers), media_type=problem.content_type)
