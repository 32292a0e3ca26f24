"""POST /v1/responses: the request joined to its chain or conversation, and the answer kept for the next one."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.simulator import billing, chain_orders, directives
from app.simulator.billing import Bill
from app.simulator.chains import DAY, Chains, Turn
from app.simulator.directives import Directives
from app.simulator.estimate import tokens
from app.simulator.keeping import said_in_reply
from app.simulator.mind.answers import orders_of, think
from app.simulator.mind.talk import Answer
from app.simulator.openai import responses_replies as replies
from app.simulator.openai.problems import problem
from app.simulator.openai.responses_events import events_of, failure, merged
from app.simulator.openai.responses_items import kept
from app.simulator.openai.responses_joined import (
    Joined,
    counted,
    given_anyhow,
    ground,
    join,
    truncated,
)
from app.simulator.openai.responses_lost import owner
from app.simulator.openai.responses_replies import Saying
from app.simulator.openai.responses_talk import talk_of
from app.simulator.reply import Reply, encoded, json_reply, stream_reply
from app.simulator.shapes import Json, as_object, as_text, digest, objects

if TYPE_CHECKING:
    from app.simulator.desk import Asked

RETENTION = 30 * DAY
_FAILURE = {"error": {"message": "The server had an error.", "type": "server_error", "param": None, "code": None}}
_NONE = Directives({})


@dataclass(frozen=True, slots=True)
class _Open:
    """An answer that waits to be kept."""

    joined: Joined
    saying: Saying
    about_chain: Directives


class Responses:
    """OpenAI's Responses, whole or streamed.

    Args:
        chains: where answers and conversations are kept.
    """

    def __init__(self, chains: Chains) -> None:
        self._chains = chains
        self._open: _Open | None = None  # between answer and settle, which no await parts

    def answer(self, asked: Asked) -> Reply:
        """The model's answer; RefusalError if the request breaks one of OpenAI's rules, or its chain is lost."""
        self._open = None
        joined = join(asked, self._chains)
        streams = self.streams(asked)
        count, before = counted(joined)
        read = truncated(joined) if count > joined.model.window else (*joined.inherited, *joined.new)
        talk = talk_of(joined.body, read, joined.model)
        orders, about_chain = orders_of(talk), chain_orders.read(talk)
        status = orders.number("fail") or (500 if "error" in orders and not streams else None)
        if status:
            return problem(status, retry_seconds=orders.number("retry") or 7)
        answer = think(chain_orders.without(talk), orders)
        saying = self._saying(joined, answer, (min(count, joined.model.window), before), orders, asked)
        self._open = _Open(joined, saying, about_chain)
        whole = replies.response(saying)
        if joined.body.get("background") and not streams:
            return json_reply(replies.begun(whole, "queued"))
        broken = failure(whole, orders.number("error") or 0) if streams else encoded(_FAILURE)
        return directives.shaped(self._said(saying, streams=streams), orders, broken)

    def settle(self, asked: Asked, reply: Reply, *, scripted: bool) -> None:
        """Note what the answer cost, and keep it unless the request says otherwise."""
        opened, self._open = self._open, None
        if not scripted and opened is not None:
            self._keep(opened, asked)
        elif scripted and reply.status == 200:
            self._keep_prescribed(asked, reply, opened)

    def refusal(self, status: int, message: str, asked: Asked) -> Reply:
        """An error in OpenAI's words."""
        del asked
        return problem(status, message)

    def streams(self, asked: Asked) -> bool:
        """The body alone decides."""
        return as_object(asked.body).get("stream") is True

    def speak(self, answer: Answer, asked: Asked) -> Reply:
        """Say an answer that somebody else thought of."""
        if self._open is None:
            identity = self._identity(asked, "")
            body = {key: value for key, value in as_object(asked.body).items() if value is not None}
            saying = Saying(answer, body, identity, "", _NONE, Bill(identity, 20), self._chains.now)
        else:
            saying = dataclasses.replace(self._open.saying, answer=answer, orders=_NONE)
        return self._said(saying, streams=self.streams(asked))

    def as_stream(self, body: Json, asked: Asked) -> Reply:
        """A response as the events of its stream."""
        del asked
        return stream_reply(events_of(body, _NONE))

    def as_whole(self, events: list[Json]) -> Json:
        """The events of a stream as one response."""
        return merged(events)

    def _saying(
        self, joined: Joined, answer: Answer, counts: tuple[int, int], orders: Directives, asked: Asked
    ) -> Saying:
        identity = self._identity(asked, joined.owner)
        same_ground = bool(joined.line) and joined.line[-1].ground == ground(joined.body)
        count, before = counts
        bill = Bill(
            id=identity,
            input=count,
            cached=min(billing.cached(before), count) if same_ground else 0,
            output=billing.spoken(answer),
            thought=tokens(answer.reasoning),
        )
        return Saying(
            answer=answer,
            body=joined.body,
            identity=identity,
            owner=joined.owner,
            orders=orders,
            bill=bill,
            created=self._chains.now,
            conversation=joined.conversation.id if joined.conversation else "",
            transformations=joined.transformations,
        )

    def _said(self, saying: Saying, *, streams: bool) -> Reply:
        whole = replies.response(saying)
        head = (("x-request-id", f"req_{digest(saying.identity, 'request')}"), ("openai-processing-ms", "1"))
        if streams:
            return stream_reply(events_of(whole, saying.orders), headers=head)
        return json_reply(whole, headers=head)

    def _keep(self, opened: _Open, asked: Asked) -> None:
        joined, saying = opened.joined, opened.saying
        self._chains.bill(saying.bill)
        whole = replies.response(saying)
        streams = self.streams(asked)
        if "error" in saying.orders:
            whole = replies.ended(whole, "failed")
        given = tuple(kept(item, saying.identity, at) for at, item in enumerate(joined.new))
        if joined.conversation is not None and whole["status"] not in ("failed", "cancelled"):
            joined.conversation.items += [*given, *objects(whole["output"])]
        if not saying.stored:
            return
        turn = Turn(
            id=saying.identity,
            owner=joined.owner,
            parent=as_text(joined.body.get("previous_response_id")),
            given=(*joined.inherited, *given) if joined.conversation else given,
            made=tuple(objects(whole["output"])),
            status=whole["status"],
            expires=self._chains.now + RETENTION,
            answer=whole,
            events=events_of(whole, saying.orders),
            ground=ground(joined.body),
        )
        self._chains.keep(turn)
        if joined.body.get("background") and not streams:
            self._chains.hold(turn.owner, turn.id, 1)
        chain_orders.obey(opened.about_chain, self._chains, turn.owner, turn.id)

    def _keep_prescribed(self, asked: Asked, reply: Reply, opened: _Open | None) -> None:
        """Keep what a script said, under the id that it has there."""
        streams = self.streams(asked)
        said, body = said_in_reply(reply, merged if streams else None), as_object(asked.body)
        identity = as_text(said.get("id"))
        if opened is not None:
            self._chains.bill(dataclasses.replace(opened.saying.bill, id=identity))
        if body.get("store") is False or not identity:
            return
        new = opened.joined.new if opened is not None else given_anyhow(body, self._chains)
        self._chains.keep(
            Turn(
                id=identity,
                owner=owner(asked),
                parent=as_text(body.get("previous_response_id")),
                given=tuple(kept(item, identity, at) for at, item in enumerate(new)),
                made=tuple(item for item in objects(said.get("output")) if as_text(item.get("type"))),
                status=as_text(said.get("status")) or "completed",
                expires=self._chains.now + RETENTION,
                answer=said,
                events=reply.pieces if streams else events_of(said, _NONE),
                ground=ground(body),
            )
        )

    def _identity(self, asked: Asked, whose: str) -> str:
        return "resp_" + self._chains.minted(digest(asked.seed, whose))
