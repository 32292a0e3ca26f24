"""POST …/models/{model}:generateContent and :streamGenerateContent."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from app.simulator import directives
from app.simulator.gemini import replies
from app.simulator.gemini.models import model_named, place_of
from app.simulator.gemini.problems import check_key, error_body, problem, refused
from app.simulator.gemini.replies import Saying
from app.simulator.gemini.rules import checked
from app.simulator.gemini.talks import check_window, talk_of
from app.simulator.mind.answers import orders_of, think
from app.simulator.mind.talk import Answer
from app.simulator.reply import RefusalError, Reply, encoded
from app.simulator.shapes import Json, as_object

if TYPE_CHECKING:
    from app.simulator.desk import Asked

_STREAM_ERROR = error_body(503, "The model is overloaded. Please try again later.")


class Generate:
    """Gemini's generateContent, whole or streamed.

    Args:
        clock: seconds since 1970, for `createTime`.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock

    def answer(self, asked: Asked) -> Reply:
        """The model's answer; RefusalError if the request breaks one of Google's rules."""
        try:
            return self._answered(asked)
        except RefusalError as refusal:
            raise RefusalError(self._in_form(refusal.reply, asked), refusal.said) from None

    def _answered(self, asked: Asked) -> Reply:
        check_key(asked.headers, asked.query)
        version, name, verb = place_of(asked.path)
        model = model_named(name, version, verb)
        request = checked(asked.body, model)
        if "continuationToken" in request:
            raise refused("The continuation token is not valid for this request.")
        prompt = check_window(request, model)
        talk = talk_of(request, model, asked.body)
        orders = orders_of(talk)
        status = orders.number("fail") or (503 if "error" in orders and not self.streams(asked) else None)
        if status:
            return self._in_form(problem(status, retry_seconds=orders.number("retry") or 7), asked)
        thinking = as_object(as_object(request.get("generationConfig")).get("thinkingConfig"))
        saying = Saying(
            answer=think(talk, orders),
            identity=asked.seed,
            orders=orders,
            model=model,
            prompt=prompt,
            shows_thoughts=thinking.get("includeThoughts") is True,
            thinks=talk.thinks,
            created=self._now(),
        )
        return self._said(saying, asked)

    def _said(self, saying: Saying, asked: Asked) -> Reply:
        if not self.streams(asked):
            return directives.shaped(replies.whole(saying), saying.orders, encoded(_STREAM_ERROR))
        as_events = _as_events(asked)
        reply = replies.streamed(saying, as_events=as_events)
        return directives.shaped(reply, saying.orders, replies.error_piece(_STREAM_ERROR, as_events=as_events))

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def refusal(self, status: int, message: str, asked: Asked) -> Reply:
        """An error in Google's words."""
        return self._in_form(problem(status, message), asked)

    def _in_form(self, reply: Reply, asked: Asked) -> Reply:
        """An error of the JSON array form stands in an array too."""
        if not self.streams(asked) or _as_events(asked):
            return reply
        return dataclasses.replace(reply, pieces=(b"[" + b"".join(reply.pieces) + b"]",))

    def streams(self, asked: Asked) -> bool:
        """The path decides."""
        return asked.path.endswith(":streamGenerateContent")

    def speak(self, answer: Answer, asked: Asked) -> Reply:
        """Say an answer that somebody else thought of, without thoughts and signatures."""
        version, name, _ = place_of(asked.path)
        saying = Saying(
            answer=answer,
            identity=asked.seed,
            orders=directives.read(""),
            model=model_named(name.replace("no-such", ""), "v1beta" if name.endswith("-latest") else version),
            prompt=(20, 0),
            shows_thoughts=False,
            thinks=False,
            created=self._now(),
        )
        return self._said(saying, asked)

    def as_stream(self, body: Json, asked: Asked) -> Reply:
        """A whole answer as a stream of one chunk."""
        return replies.chunks_of(body, as_events=_as_events(asked))

    def as_whole(self, events: list[Json]) -> Json:
        """Chunks as one answer."""
        return replies.merged(events)


def _as_events(asked: Asked) -> bool:
    return asked.query.get("alt") == "sse"
