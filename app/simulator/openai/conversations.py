"""/v1/conversations: lists of items with an id, to which responses are added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.simulator.chains import Chains, Conversation
from app.simulator.openai.problems import problem, refused
from app.simulator.openai.responses_items import items_of, kept
from app.simulator.openai.responses_kept import page_of
from app.simulator.openai.responses_lost import conversation_of, owner
from app.simulator.openai.responses_rules import check_rest
from app.simulator.reply import Reply, json_reply
from app.simulator.shapes import Json, as_list, as_object, digest, is_object, objects

if TYPE_CHECKING:
    from app.simulator.desk import Asked

_FOR_EVER = 2**62  # seconds since 1970: conversations are kept until they are deleted
_MOST_ITEMS = 20  # items that one request adds
_MOST_KEPT = 10_000  # items of one conversation
_CHECKED_FOR = {"model": "lab"}


class _Conversations:
    """What the calls share."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

    def refusal(self, status: int, message: str, asked: Asked) -> Reply:
        """An error in OpenAI's words."""
        del asked
        return problem(status, message)

    def _named(self, asked: Asked) -> tuple[Conversation, str]:
        """The conversation that the path names, and the item in it."""
        identity, _, rest = asked.path.partition("/conversations/")[2].partition("/")
        return conversation_of(self._chains, owner(asked), identity), rest.partition("/")[2]

    def _items(self, asked: Asked, whose: str, seed: str) -> list[Json]:
        given = as_list(as_object(asked.body).get("items"))
        if len(given) > _MOST_ITEMS:
            raise refused(f"Invalid 'items': array too long. Expected at most {_MOST_ITEMS}.", "items")
        items = items_of(given, self._chains, whose)
        if items:
            check_rest(_CHECKED_FOR, items)
        return [kept(item, seed, at) for at, item in enumerate(items)]


class CreateConversation(_Conversations):
    """POST /v1/conversations."""

    def answer(self, asked: Asked) -> Reply:
        """The new conversation; RefusalError for items that it does not take."""
        whose = owner(asked)
        if asked.body is not None and not is_object(asked.body):
            raise refused("We could not parse the JSON body of your request: it must be an object.")
        body = as_object(asked.body)
        if unknown := sorted(body.keys() - {"items", "metadata"}):
            raise refused(f"Unknown parameter: '{unknown[0]}'.", unknown[0], "unknown_parameter")
        identity = "conv_" + self._chains.minted(digest(asked.seed, whose))
        made = Conversation(identity, whose, _FOR_EVER, self._chains.now, as_object(body.get("metadata")))
        made.items = self._items(asked, whose, identity)
        self._chains.open(made)
        return json_reply(_card(made))


class GetConversation(_Conversations):
    """GET /v1/conversations/{id}."""

    def answer(self, asked: Asked) -> Reply:
        """The conversation; RefusalError (404) if there is none."""
        return json_reply(_card(self._named(asked)[0]))


class ChangeConversation(_Conversations):
    """POST /v1/conversations/{id}: its metadata."""

    def answer(self, asked: Asked) -> Reply:
        """The conversation as it is now; RefusalError (404) if there is none."""
        found, _ = self._named(asked)
        found.metadata = as_object(as_object(asked.body).get("metadata"))
        return json_reply(_card(found))


class DeleteConversation(_Conversations):
    """DELETE /v1/conversations/{id}."""

    def answer(self, asked: Asked) -> Reply:
        """That it is deleted; RefusalError (404) if there is none."""
        found, _ = self._named(asked)
        self._chains.close(found.owner, found.id)
        return json_reply({"id": found.id, "object": "conversation.deleted", "deleted": True})


class ConversationItems(_Conversations):
    """GET /v1/conversations/{id}/items, and GET of one."""

    def answer(self, asked: Asked) -> Reply:
        """The items, newest first unless told otherwise; RefusalError (404) if there is none."""
        found, item = self._named(asked)
        if not item:
            return json_reply(page_of(found.items, asked.query))
        return json_reply(_one(found, item))


class AddItems(_Conversations):
    """POST /v1/conversations/{id}/items."""

    def answer(self, asked: Asked) -> Reply:
        """The items that were added; RefusalError for those that it does not take."""
        found, _ = self._named(asked)
        items = self._items(asked, found.owner, self._chains.minted(digest(asked.seed, found.owner)))
        if not items:
            raise refused("Missing required parameter: 'items'.", "items", "missing_required_parameter")
        if len(found.items) + len(items) > _MOST_KEPT:
            raise refused(f"Conversation with id '{found.id}' has {_MOST_KEPT} items: start a new one.", "items")
        found.items += items
        return json_reply(page_of(items, {"order": "asc", "limit": "100"}))


class DeleteItem(_Conversations):
    """DELETE /v1/conversations/{id}/items/{item}."""

    def answer(self, asked: Asked) -> Reply:
        """The conversation without it; RefusalError (404) if there is no such item."""
        found, item = self._named(asked)
        found.items.remove(_one(found, item))
        return json_reply(_card(found))


def _one(conversation: Conversation, identity: str) -> Json:
    for item in objects(conversation.items):
        if item.get("id") == identity:
            return item
    raise refused(f"Item with id '{identity}' not found.", status=404)


def _card(conversation: Conversation) -> Json:
    return {
        "id": conversation.id,
        "object": "conversation",
        "created_at": conversation.created,
        "metadata": conversation.metadata,
    }
