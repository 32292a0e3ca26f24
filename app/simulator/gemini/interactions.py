"""POST /{version}/interactions: the request joined to its chain, and the answer kept for the next one."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from app.simulator import billing, chain_orders, directives
from app.simulator.billing import Bill
from app.simulator.chains import DAY, Chains, Turn
from app.simulator.directives import Directives
from app.simulator.estimate import tokens, tokens_of
from app.simulator.gemini import interactions_replies as replies
from app.simulator.gemini.interactions_joined import Joined, given_anyhow, ground, join
from app.simulator.gemini.interactions_problems import END, FREE, error_body, error_event, owner, problem, refused
from app.simulator.gemini.interactions_replies import Saying
from app.simulator.gemini.interactions_steps import STEPS
from app.simulator.gemini.interactions_talk import said_in, system, talk_of
from app.simulator.gemini.interactions_tokens import Stop
from app.simulator.keeping import said_in_reply
from app.simulator.mind.answers import orders_of, think
from app.simulator.mind.talk import Answer, Talk
from app.simulator.reply import Reply, encoded, json_reply
from app.simulator.shapes import Json, as_object, as_text, digest, objects

if TYPE_CHECKING:
    from app.simulator.desk import Asked

RETENTION = 55 * DAY  # Google's for paid projects
FREE_RETENTION = DAY
_OVERLOADED = error_body(503, "The model is overloaded. Please try again later.")


class Interactions:
    """Google's Interactions, whole or streamed.

    Args:
        chains: where answers are kept.
    """

    def __init__(self, chains: Chains) -> None:
        self._chains = chains
        self._open: tuple[Joined, Saying, Directives] | None = None  # between answer and settle, which no await parts

    def answer(self, asked: Asked) -> Reply:
        """The model's answer; RefusalError if the request breaks one of Google's rules, or its chain is lost."""
        self._open = None
        joined = join(asked, self._chains)
        talk = talk_of(joined.body, joined.asked_for, joined.model)
        orders, about_chain = orders_of(talk), chain_orders.read(talk)
        streams = self.streams(asked)
        status = orders.number("fail") or (503 if "error" in orders and not streams else None)
        if status:
            return problem(status, retry_seconds=orders.number("retry") or 7)
        saying = self._saying(joined, talk, orders, about_chain, asked)
        self._open = joined, saying, about_chain
        if joined.body.get("background") and not streams:
            return json_reply(_running(replies.resource(saying)))
        return directives.shaped(self._said(saying, streams=streams), orders, self._error(streams=streams))

    def settle(self, asked: Asked, reply: Reply, *, scripted: bool) -> None:
        """Note what the answer cost, and keep it unless the request says otherwise."""
        opened, self._open = self._open, None
        if not scripted and opened is not None:
            joined, saying, about_chain = opened
            self._chains.bill(saying.bill)
            if saying.stored:
                turn = self._turn(joined, saying)
                self._chains.keep(turn)
                if joined.body.get("background") and not self.streams(asked):
                    self._chains.hold(turn.owner, turn.id, 1)
                chain_orders.obey(about_chain, self._chains, turn.owner, turn.id)
        elif scripted and reply.status == 200:
            self._keep_prescribed(asked, reply, opened)

    def refusal(self, status: int, message: str, asked: Asked) -> Reply:
        """An error in Google's words."""
        del asked
        return problem(status, message)

    def streams(self, asked: Asked) -> bool:
        """The body alone decides."""
        return as_object(asked.body).get("stream") is True

    def speak(self, answer: Answer, asked: Asked) -> Reply:
        """Say an answer that somebody else thought of."""
        body = as_object(asked.body)
        if self._open is None:
            identity = self._identity(asked, "")
            stored = body.get("store") is not False
            saying = Saying(answer, body, identity, stored, Directives({}), Bill(identity, 20), False, self._now())
        else:
            saying = dataclasses.replace(self._open[1], answer=answer, orders=Directives({}), token="")
        return self._said(saying, streams=self.streams(asked))

    def as_stream(self, body: Json, asked: Asked) -> Reply:
        """An interaction as the events of its stream."""
        del asked
        return replies.streamed(replies.events_of(body, Directives({})))

    def as_whole(self, events: list[Json]) -> Json:
        """The events of a stream as one interaction."""
        return replies.merged(events)

    def _saying(self, joined: Joined, talk: Talk, orders: Directives, about_chain: Directives, asked: Asked) -> Saying:
        body = joined.body
        identity = self._identity(asked, joined.owner)
        stored = body.get("store") is not False
        answer = think(chain_orders.without(talk), orders)
        answer, token = _portion(answer, joined.stop, about_chain.number("continue"), identity if stored else "")
        config = as_object(body.get("generation_config"))
        return Saying(
            answer=answer,
            body=body,
            identity=identity,
            stored=stored,
            orders=orders,
            bill=self._bill(joined, answer, identity),
            shows_thoughts=config.get("thinking_summaries") == "auto",
            created=self._now(),
            token=token,
        )

    def _bill(self, joined: Joined, answer: Answer, identity: str) -> Bill:
        held, new = said_in(joined.inherited), said_in(joined.new)
        before = billing.read(system(joined.body)) + tokens_of(joined.body.get("tools")) + billing.read(held)
        count = before + billing.read(new)
        if count > joined.model.window:
            limit = f"the maximum number of tokens allowed ({joined.model.window})"
            raise refused(f"The input token count ({count}) exceeds {limit}.")
        same_ground = bool(joined.line) and joined.line[-1].ground == ground(joined.body)
        return Bill(
            id=identity,
            input=count,
            cached=billing.cached(before) if same_ground else 0,
            media=billing.media((*held, *new)),
            output=billing.spoken(answer),
            thought=tokens(answer.reasoning),
        )

    def _turn(self, joined: Joined, saying: Saying) -> Turn:
        whole = replies.resource(saying)
        if "error" in saying.orders:  # its stream ends so
            whole = {key: value for key, value in whole.items() if key != "steps"} | {"status": "failed"}
        return Turn(
            id=saying.identity,
            owner=joined.owner,
            parent=as_text(joined.body.get("previous_interaction_id")),
            given=joined.new,
            made=tuple(objects(whole.get("steps"))),
            status=whole["status"],
            expires=self._expiry(joined.owner),
            answer=whole,
            events=replies.events_of(whole, saying.orders),
            ground=ground(joined.body),
        )

    def _keep_prescribed(self, asked: Asked, reply: Reply, opened: tuple[Joined, Saying, Directives] | None) -> None:
        """Keep what a script said, under the id that it has there."""
        streams = self.streams(asked)
        said, body = said_in_reply(reply, replies.merged if streams else None), as_object(asked.body)
        if opened is not None:
            self._chains.bill(dataclasses.replace(opened[1].bill, id=as_text(said.get("id"))))
        if body.get("store") is False or not as_text(said.get("id")) or not as_text(said.get("status")):
            return
        whose = owner(asked)
        self._chains.keep(
            Turn(
                id=as_text(said["id"]),
                owner=whose,
                parent=as_text(body.get("previous_interaction_id")),
                given=opened[0].new if opened is not None else given_anyhow(body),
                made=tuple(step for step in objects(said.get("steps")) if step.get("type") in STEPS),
                status=as_text(said["status"]),
                expires=self._expiry(whose),
                answer=said,
                events=reply.pieces if streams else replies.events_of(said, Directives({})),
                ground=ground(body),
            )
        )

    def _said(self, saying: Saying, *, streams: bool) -> Reply:
        whole = replies.resource(saying)
        return replies.streamed(replies.events_of(whole, saying.orders)) if streams else replies.whole(whole)

    def _error(self, *, streams: bool) -> bytes:
        return error_event(_OVERLOADED) + END if streams else encoded(_OVERLOADED)

    def _identity(self, asked: Asked, whose: str) -> str:
        return "v1_" + self._chains.minted(digest(asked.seed, whose))

    def _expiry(self, whose: str) -> int:
        return self._chains.now + (FREE_RETENTION if whose.startswith(FREE) else RETENTION)

    def _now(self) -> str:
        return datetime.fromtimestamp(self._chains.now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _portion(answer: Answer, stop: Stop | None, words: int | None, identity: str) -> tuple[Answer, str]:
    """The part of the answer that is said now, and the token with which it goes on; empty if this is all."""
    if stop is None and not words:
        return answer, ""
    at = stop or Stop(0, words or 1, "")
    text = at.portion(answer.text)
    end = at.at + len(text)
    token = Stop(end, at.words, identity).token() if end < len(answer.text) else ""
    reasoning = answer.reasoning if stop is None else ""
    return dataclasses.replace(answer, text=text, reasoning=reasoning, cut=answer.cut and not token), token


def _running(whole: Json) -> Json:
    """The interaction as it is said while it runs in the background."""
    kept = {key: value for key, value in whole.items() if key not in ("steps", "usage", "errors", "continuation_token")}
    return kept | {"status": "in_progress"}
