"""/responses/{id} and /interactions/{id}: answers that are kept, asked for, listed and deleted by their ids."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from app.engine import answers
from app.engine.answers import Found
from app.engine.background import maker, taken
from app.errors import ProxyError
from app.upstreams.asking import Kept, ask
from app.upstreams.headers import returned
from app.upstreams.upstream import Upstream
from app.web.answers_counting import compacted, counted
from app.web.answers_desk import JSON, STREAM, Answering, Asked, answering, given, refused
from app.web.chat import GEMINI_BASES, OPENAI_BASES
from app.web.exchange import Door
from app.wires.gemini_interactions import GEMINI_INTERACTIONS
from app.wires.openai_responses import OPENAI_RESPONSES
from app.wires.threads import THREADS
from app.wires.threads.responses_items import page, shown

PLACES = frozenset(("starting_after", "last_event_id"))
"""The parameters that say which event a client has seen last."""


def routes(door: Door) -> Iterable[Route]:
    """The routes. What is asked for by GET is there for HEAD as well."""
    kept = {
        ("", "GET"): _kept(retrieved),
        ("", "DELETE"): _kept(deleted),
        ("/cancel", "POST"): _kept(cancelled, "/cancel"),
    }
    for base in OPENAI_BASES:
        path = f"{base}/responses"
        yield _route(door, f"{path}/input_tokens", "POST", counted)
        yield _route(door, f"{path}/compact", "POST", compacted)
        yield _route(door, f"{path}/{{id}}/input_items", "GET", _kept(input_items, "/input_items"))
        for (tail, method), answer in kept.items():
            yield _route(door, f"{path}/{{id}}{tail}", method, answer)
    for base in GEMINI_BASES:
        for (tail, method), answer in kept.items():
            endpoint = answering(door, GEMINI_INTERACTIONS, answer)
            yield Route(f"{base}/interactions/{{id}}{tail}", endpoint, methods=[method])


def _route(door: Door, path: str, method: str, answer: Answering) -> Route:
    return Route(path, answering(door, OPENAI_RESPONSES, answer), methods=[method])


def _kept(answer: Callable[[Asked, Found], Awaitable[Response]], tail: str = "") -> Answering:
    """An endpoint for the answer that the path names. `tail` is what stands behind its id: a provider may be asked for
    what is none of ours."""

    async def respond(asked: Asked) -> Response:
        name, identity = asked.wire.name, asked.named("id")
        found = await answers.found(asked.engine, name, asked.tenant, identity)
        if found is not None and not found.deleted:
            return await answer(asked, await answers.settled(asked.engine, found, asked.credential))
        provider = answers.provider(asked.engine, name) if found is None and asked.credential.secret else None
        return await passed(asked, provider, tail) if provider else refused(THREADS[name].lost(identity))

    return respond


async def retrieved(asked: Asked, found: Found) -> Response:
    """GET: the answer, or its events once more. An answer that is still made is followed where it is made, and so is
    one whose events are its provider's own: it knows the place that the client wants to go on from."""
    threads, resource = THREADS[asked.wire.name], found.told.resource
    if asked.query.get("stream", "").lower() == "true":
        if followed := await _followed(asked, found):
            return followed
        played = await answers.played(asked.engine, found)
        events = threads.behind(played, asked.query) if played else threads.replayed(resource, asked.query)
        return Response(events, media_type=STREAM)
    return given(threads.shown(resource, found.told.said, asked.query))


async def _followed(asked: Asked, found: Found) -> Response | None:
    """The provider's own stream of the answer; None where there is none to be had."""
    provider = maker(asked.engine, found.told) if found.told.passed else None
    if provider is None or not (found.told.running or PLACES & asked.query.keys()):
        return None
    try:
        kept = await _asked_there(asked, provider, "")
    except ProxyError:
        if found.told.running:
            raise
        return None
    if found.told.running or (kept.status == 200 and kept.headers.get("content-type", "").startswith("text/event-")):
        return _as_it_comes(kept)
    await kept.aclose()
    return None


async def deleted(asked: Asked, found: Found) -> Response:
    """DELETE: the answer is not found by its id any more."""
    await answers.delete(asked.engine, found, asked.credential)
    return given(THREADS[asked.wire.name].deleted(found.told.id))


async def cancelled(asked: Asked, found: Found) -> Response:
    """POST …/cancel: what is kept is complete, unless its provider still makes it."""
    provider = maker(asked.engine, found.told) if found.told.running else None
    if provider is not None:
        kept = await _asked_there(asked, provider, "/cancel")
        said = await kept.whole()
        if kept.status == 200:
            await taken(asked.engine, found.session, found.told, said)
        return Response(said, kept.status, returned(kept.headers, True), kept.headers.get("content-type", JSON))
    raise THREADS[asked.wire.name].uncancelled()


async def input_items(asked: Asked, found: Found) -> Response:
    """GET …/input_items: what the answer was given, its thread included, newest first unless told otherwise."""
    places = await answers.asked(asked.engine, found)
    return given(page([shown(raw, told.id, place) for told, place, raw in places], asked.query))


async def passed(asked: Asked, provider: Upstream, tail: str) -> Response:
    """What the provider says of an id that is none of ours: it was made there, or is still being answered."""
    return _as_it_comes(await _asked_there(asked, provider, tail))


async def _asked_there(asked: Asked, provider: Upstream, tail: str) -> Kept:
    query = {name: value for name, value in asked.query.items() if name != "key"}
    method = "GET" if asked.method == "HEAD" else asked.method  # few providers serve HEAD
    return await ask(provider, method, (asked.named("id"), tail), query, asked.credential)


def _as_it_comes(kept: Kept) -> Response:
    headers = returned(kept.headers, True)
    kind = kept.headers.get("content-type", JSON)
    return StreamingResponse(kept.chunks(), kept.status, headers, media_type=kind)
