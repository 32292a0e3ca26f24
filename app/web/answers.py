"""/responses/{id} and /interactions/{id}: answers that are kept, asked for, listed and deleted by their ids."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.responses import Response
from starlette.routing import Route

from app.engine import answers
from app.engine.answers import Found
from app.web.answers_counting import compacted, counted
from app.web.answers_desk import STREAM, Answering, Asked, answering, given, refused
from app.web.chat import GEMINI_BASES, OPENAI_BASES
from app.web.exchange import Door
from app.wires.gemini_interactions import GEMINI_INTERACTIONS
from app.wires.openai_responses import OPENAI_RESPONSES
from app.wires.threads import THREADS
from app.wires.threads.responses_items import page, shown


def routes(door: Door) -> Iterable[Route]:
    """The routes. What is asked for by GET is there for HEAD as well."""
    kept = {
        ("", "GET"): retrieved,
        ("", "DELETE"): deleted,
        ("/cancel", "POST"): cancelled,
    }
    for base in OPENAI_BASES:
        path = f"{base}/responses"
        yield _route(door, f"{path}/input_tokens", "POST", counted)
        yield _route(door, f"{path}/compact", "POST", compacted)
        yield _route(door, f"{path}/{{id}}/input_items", "GET", input_items)
        for (tail, method), answer in kept.items():
            yield _route(door, f"{path}/{{id}}{tail}", method, answer)
    for base in GEMINI_BASES:
        for (tail, method), answer in kept.items():
            endpoint = answering(door, GEMINI_INTERACTIONS, answer)
            yield Route(f"{base}/interactions/{{id}}{tail}", endpoint, methods=[method])


def _route(door: Door, path: str, method: str, answer: Answering) -> Route:
    return Route(path, answering(door, OPENAI_RESPONSES, answer), methods=[method])


async def retrieved(asked: Asked) -> Response:
    """GET: the answer, or its events once more."""
    found = await _found(asked)
    if found is None:
        return _lost(asked)
    threads, resource = THREADS[asked.wire.name], found.told.resource
    if asked.query.get("stream", "").lower() == "true":
        return Response(threads.replayed(resource, asked.query), media_type=STREAM)
    return given(threads.shown(resource, found.told.said, asked.query))


async def deleted(asked: Asked) -> Response:
    """DELETE: the answer is not found by its id any more."""
    found = await _found(asked)
    if found is None:
        return _lost(asked)
    await answers.delete(asked.engine, found, asked.credential)
    return given(THREADS[asked.wire.name].deleted(found.told.id))


async def cancelled(asked: Asked) -> Response:
    """POST …/cancel: what is kept is complete."""
    if await _found(asked) is None:
        return _lost(asked)
    raise THREADS[asked.wire.name].uncancelled()


async def input_items(asked: Asked) -> Response:
    """GET …/input_items: what the answer was given, its thread included, newest first unless told otherwise."""
    found = await _found(asked)
    if found is None:
        return _lost(asked)
    places = await answers.asked(asked.engine, found)
    return given(page([shown(raw, told.id, place) for told, place, raw in places], asked.query))


async def _found(asked: Asked) -> Found | None:
    return await answers.found(asked.engine, asked.wire.name, asked.tenant, asked.named("id"))


def _lost(asked: Asked) -> Response:
    return refused(THREADS[asked.wire.name].lost(asked.named("id")))
