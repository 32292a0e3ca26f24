"""/conversations: OpenAI's named threads. Responses are added to them; here are the conversations and their items."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from app.engine import conversations
from app.engine.answers import Place
from app.engine.conversations import Conversation
from app.errors import ClientError
from app.web.answers_desk import Asked, answering, given, refused
from app.web.chat import OPENAI_BASES
from app.web.exchange import Door
from app.wires.envelope import encode, read, read_or_mend
from app.wires.openai_responses import OPENAI_RESPONSES
from app.wires.threads.responses import missing
from app.wires.threads.responses_items import Item, id_of, listed, page, refuse_unlike, shown
from app.wires.wire import Inbound

MOST_ITEMS = 20
"""Items that one request may add."""

METADATA = msgspec.json.Decoder(dict[str, str] | None)
MOST_NOTES, LONGEST_NAME, LONGEST_NOTE = 16, 64, 512
"""Of metadata: entries, and characters of a key and of a value (OpenAI's own limits)."""


class Said(msgspec.Struct):
    """A request's body."""

    metadata: msgspec.Raw = msgspec.Raw(b"null")
    items: list[msgspec.Raw] | None = None


SAID = msgspec.json.Decoder(Said)


def routes(door: Door) -> Iterable[Route]:
    """The routes. What is asked for by GET is there for HEAD as well."""
    served = {
        ("", "POST"): _create,
        ("/{id}", "GET"): _named(_get),
        ("/{id}", "POST"): _named(_change),
        ("/{id}", "DELETE"): _named(_delete),
        ("/{id}/items", "GET"): _named(_list),
        ("/{id}/items", "POST"): _named(_add),
        ("/{id}/items/{item}", "GET"): _named(_item),
        ("/{id}/items/{item}", "DELETE"): _named(_remove),
    }
    for base in OPENAI_BASES:
        for (tail, method), answer in served.items():
            yield Route(f"{base}/conversations{tail}", answering(door, OPENAI_RESPONSES, answer), methods=[method])


def _named(
    answer: Callable[[Asked, Conversation], Awaitable[Response]],
) -> Callable[[Asked], Awaitable[Response]]:
    """An endpoint for the conversation that the path names."""

    async def respond(asked: Asked) -> Response:
        found = await conversations.found(asked.engine, asked.tenant, asked.named("id"))
        if found is None:
            return refused(missing(f"Conversation with id '{asked.named('id')}' not found."))
        return await answer(asked, found)

    return respond


async def _create(asked: Asked) -> Response:
    said = await _said(asked)
    made = await conversations.begun(asked.engine, asked.tenant, _metadata(said), _items(said))
    return _card(made)


async def _get(asked: Asked, found: Conversation) -> Response:
    return _card(found)


async def _change(asked: Asked, found: Conversation) -> Response:
    return _card(await conversations.noted(asked.engine, found, _metadata(await _said(asked))))


async def _delete(asked: Asked, found: Conversation) -> Response:
    await conversations.ended(asked.engine, found)
    return given(encode({"id": found.card.id, "object": "conversation.deleted", "deleted": True}))


async def _list(asked: Asked, found: Conversation) -> Response:
    places = await conversations.listed(asked.engine, found)
    return given(page([_shown(place) for place in places], asked.query))


async def _add(asked: Asked, found: Conversation) -> Response:
    items = _items(await _said(asked))
    if not items:
        raise ClientError("Missing required parameter: 'items'.", param="items")
    told = await conversations.extended(asked.engine, found, items)
    places = [(told, place, raw) for place, raw in told.items][-len(items) :]
    return given(listed([_shown(place) for place in places]))


async def _item(asked: Asked, found: Conversation) -> Response:
    place = await _place(asked, found)
    return given(encode(_shown(place))) if place else _no_item(asked)


async def _remove(asked: Asked, found: Conversation) -> Response:
    place = await _place(asked, found)
    if place is None:
        return _no_item(asked)
    await conversations.without(asked.engine, found, place[0], place[1])
    return _card(found)


async def _place(asked: Asked, found: Conversation) -> Place | None:
    """The item that the path names."""
    places = await conversations.listed(asked.engine, found)
    return next((place for place in places if id_of(_shown(place)) == asked.named("item")), None)


def _no_item(asked: Asked) -> Response:
    return refused(missing(f"Item with id '{asked.named('item')}' not found."))


def _shown(place: Place) -> Item:
    told, number, raw = place
    return shown(raw, told.id, number)


def _card(conversation: Conversation) -> Response:
    card = conversation.card
    fields = {"id": card.id, "object": "conversation", "created_at": card.created}
    return given(encode({**fields, "metadata": msgspec.Raw(card.metadata)}))


async def _said(asked: Asked) -> Said:
    return read_or_mend(await asked.body() or b"{}", lambda body, _: read(body, SAID, "body"))


def _metadata(said: Said) -> bytes:
    """The client's notes as a JSON object. Raises ClientError."""
    notes = read(said.metadata, METADATA, "metadata") or {}
    if len(notes) > MOST_NOTES:
        raise ClientError(f"metadata: at most {MOST_NOTES} entries.", param="metadata")
    for name, value in notes.items():
        if len(name) > LONGEST_NAME or len(value) > LONGEST_NOTE:
            words = f"metadata: a key has at most {LONGEST_NAME} characters, a value at most {LONGEST_NOTE}."
            raise ClientError(words, param=f"metadata.{name[:LONGEST_NAME]}")
    return encode(notes)


def _items(said: Said) -> list[msgspec.Raw]:
    """The items as they came. Raises ClientError for those that no request could say."""
    items = said.items or []
    if len(items) > MOST_ITEMS:
        raise ClientError(f"Invalid 'items': array too long. Expected at most {MOST_ITEMS}.", param="items")
    if items:
        refuse_unlike(items, "items")
        try:
            OPENAI_RESPONSES.decode(Inbound(encode({"model": "any", "input": items})))
        except ClientError as error:
            where = (error.param or "input").replace("input", "items", 1)
            raise ClientError(error.message.replace("input", "items", 1), param=where) from None
    return items
