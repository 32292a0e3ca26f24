"""GET, cancel and DELETE of kept interactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.simulator.chains import Chains, Turn
from app.simulator.gemini.interactions_problems import END, owner, problem, refused
from app.simulator.reply import Reply, json_reply, stream_reply
from app.simulator.script import data_of
from app.simulator.shapes import Json, as_text

if TYPE_CHECKING:
    from app.simulator.desk import Asked

_UNSAID = ("steps", "usage", "errors", "continuation_token")


class _Kept:
    """What the three calls share: finding the one that the path names."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

    def refusal(self, status: int, message: str, asked: Asked) -> Reply:
        """An error in Google's words."""
        del asked
        return problem(status, message)

    def _turn(self, asked: Asked) -> Turn:
        identity = asked.path.partition("/interactions/")[2].removesuffix("/cancel")
        turn = self._chains.found(owner(asked), identity)
        if turn is None:
            raise refused("Requested entity was not found.", status=404)
        return turn


class GetInteraction(_Kept):
    """GET /{version}/interactions/{id}: the interaction with its own input before the generated steps.

    The history that it continues is not in it; `include_input=true` names the input once more, by itself. With
    `stream=true` the events come again, after `last_event_id` if that is given.
    """

    def answer(self, asked: Asked) -> Reply:
        """The interaction; RefusalError (404) if there is none."""
        turn = self._turn(asked)
        if asked.query.get("stream") == "true":
            self._chains.release(turn.owner, turn.id)
            return stream_reply(_after(turn.events, asked.query.get("last_event_id", "")))
        if self._chains.is_running(turn.owner, turn.id):
            return json_reply({k: v for k, v in turn.answer.items() if k not in _UNSAID} | {"status": "in_progress"})
        found = dict(turn.answer) | {"steps": [*turn.given, *turn.made]}
        if asked.query.get("include_input") == "true":
            found["input"] = list(turn.given)
        return json_reply(found)


class CancelInteraction(_Kept):
    """POST /{version}/interactions/{id}/cancel, for those that still run."""

    def answer(self, asked: Asked) -> Reply:
        """The cancelled interaction; RefusalError if there is none, or it does not run."""
        turn = self._turn(asked)
        if not self._chains.is_held(turn.owner, turn.id):
            raise refused("Only interactions that run in the background can be cancelled.")
        kept: Json = {key: value for key, value in turn.answer.items() if key not in _UNSAID}
        return json_reply(self._chains.end(turn, "cancelled", kept | {"status": "cancelled"}).answer)


class DeleteInteraction(_Kept):
    """DELETE /{version}/interactions/{id}."""

    def answer(self, asked: Asked) -> Reply:
        """An empty object; RefusalError (404) if there is none."""
        turn = self._turn(asked)
        self._chains.forget(turn.owner, turn.id)
        return json_reply({})


def _after(events: tuple[bytes, ...], last: str) -> tuple[bytes, ...]:
    if not last:
        return events
    for at, event in enumerate(events):
        said = data_of([event.decode()])
        if said and as_text(said[0].get("event_id")) == last:
            return events[at + 1 :] or (END,)
    raise refused(f"last_event_id: this interaction has no event {last!r}.")
