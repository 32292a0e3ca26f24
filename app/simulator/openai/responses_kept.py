"""GET, DELETE, cancel and input items of kept responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from app.simulator.chains import Chains
from app.simulator.openai import responses_replies as replies
from app.simulator.openai.problems import problem, refused
from app.simulator.openai.responses_lost import line_of, turn_of
from app.simulator.reply import Reply, json_reply, stream_reply
from app.simulator.shapes import Json, as_text

if TYPE_CHECKING:
    from app.simulator.desk import Asked

_MOST = 100
_USUAL = 20


class _Kept:
    """What the calls share."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

    def refusal(self, status: int, message: str, asked: Asked) -> Reply:
        """An error in OpenAI's words."""
        del asked
        return problem(status, message)


class GetResponse(_Kept):
    """GET /v1/responses/{id}; with `stream=true` its events again, after number `starting_after` if that is given.

    OpenAI does the latter for background responses only; here every kept one can be followed.
    """

    def answer(self, asked: Asked) -> Reply:
        """The response; RefusalError (404) if there is none."""
        turn = turn_of(self._chains, asked)
        if asked.query.get("stream") == "true":
            self._chains.release(turn.owner, turn.id)
            after = asked.query.get("starting_after", "-1")
            if not after.lstrip("-").isdigit():
                raise refused("Invalid 'starting_after': expected an integer.", "starting_after", "invalid_value")
            return stream_reply(turn.events[max(0, int(after) + 1) :])
        if self._chains.is_running(turn.owner, turn.id):
            return json_reply(replies.begun(turn.answer))
        return json_reply(turn.answer)


class DeleteResponse(_Kept):
    """DELETE /v1/responses/{id}."""

    def answer(self, asked: Asked) -> Reply:
        """That it is deleted; RefusalError (404) if there is none."""
        turn = turn_of(self._chains, asked)
        self._chains.forget(turn.owner, turn.id)
        return json_reply({"id": turn.id, "object": "response", "deleted": True})


class CancelResponse(_Kept):
    """POST /v1/responses/{id}/cancel, for those that still run."""

    def answer(self, asked: Asked) -> Reply:
        """The cancelled response; RefusalError if there is none, or it does not run."""
        turn = turn_of(self._chains, asked)
        if turn.status == "cancelled":
            return json_reply(turn.answer)
        if not self._chains.is_held(turn.owner, turn.id):
            raise refused("Cannot cancel a synchronous response.")
        return json_reply(self._chains.end(turn, "cancelled", replies.ended(turn.answer, "cancelled")).answer)


class InputItems(_Kept):
    """GET /v1/responses/{id}/input_items: what the response was given, with all that its chain holds."""

    def answer(self, asked: Asked) -> Reply:
        """The items, newest first unless told otherwise; RefusalError (404) if there is no such response."""
        turn = turn_of(self._chains, asked)
        before = line_of(self._chains, turn.owner, turn.parent)
        history = [item for one in before for item in (*one.given, *one.made)]
        return json_reply(page_of([*history, *turn.given], asked.query))


def page_of(items: Sequence[Json], query: Mapping[str, str]) -> Json:
    """A page of items that are given oldest first; RefusalError for a wrong limit, order or place."""
    limit = query.get("limit", str(_USUAL))
    if not limit.isdigit() or not 1 <= int(limit) <= _MOST:
        raise refused(f"Invalid 'limit': expected an integer from 1 to {_MOST}.", "limit", "invalid_value")
    order = query.get("order", "desc")
    if order not in ("asc", "desc"):
        raise refused(f"Invalid value: '{order}'. Supported values are: 'asc' and 'desc'.", "order", "invalid_value")
    ordered = list(items) if order == "asc" else list(items)[::-1]
    if after := query.get("after"):
        places = [at for at, item in enumerate(ordered) if item.get("id") == after]
        if not places:
            raise refused(f"Item with id '{after}' not found.", "after", status=404)
        ordered = ordered[places[0] + 1 :]
    page = ordered[: int(limit)]
    return {
        "object": "list",
        "data": page,
        "first_id": as_text(page[0].get("id")) if page else None,
        "last_id": as_text(page[-1].get("id")) if page else None,
        "has_more": len(ordered) > len(page),
    }
