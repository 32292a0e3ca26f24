"""POST /v1/messages: the request judged, thought about, and answered in Anthropic's words."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from app.simulator import directives
from app.simulator.anthropic import replies
from app.simulator.anthropic.asking import Asking, asking_of, nested_in_reason, object_of
from app.simulator.anthropic.cache import PromptCache, Spent
from app.simulator.anthropic.compaction import wants_compaction
from app.simulator.anthropic.fields import ASKED, check_limits
from app.simulator.anthropic.line import ends_of
from app.simulator.anthropic.problems import error_body, head_of, problem
from app.simulator.anthropic.prompt import check_window
from app.simulator.anthropic.replies import Ending, Saying
from app.simulator.anthropic.saying import compacted, saying_of
from app.simulator.anthropic.talks import talk_of
from app.simulator.anthropic.terms import terms_of
from app.simulator.anthropic.threads import Threads
from app.simulator.anthropic.turns import check_last
from app.simulator.mind.answers import orders_of
from app.simulator.mind.talk import Answer
from app.simulator.reply import Reply, encoded, json_reply
from app.simulator.shapes import Json, as_object, as_text, digest

if TYPE_CHECKING:
    from app.simulator.desk import Asked

_STREAM_ERROR = error_body("Overloaded", "overloaded_error")
_MOST_PAUSED = 1000


class Messages:
    """Anthropic's Messages. It remembers prompt prefixes, threads and paused answers, each to a bound.

    Args:
        clock: seconds since 1970, for the lifetime of cached prefixes.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._cache = PromptCache(clock)
        self._threads = Threads()
        self._paused: OrderedDict[str, None] = OrderedDict()

    def answer(self, asked: Asked) -> Reply:
        """The model's answer; RefusalError if the request breaks one of Anthropic's rules."""
        with nested_in_reason():
            return self._answered(asked)

    def _answered(self, asked: Asked) -> Reply:
        terms = terms_of(asked.headers)
        body = object_of(asked.body)
        asking = asking_of(self._threads.whole(body, terms), terms, ASKED)
        most = check_limits(asking.body, asking.model)
        resumes = _name(asking, asking.judged.line) in self._paused
        compacts = wants_compaction(asking.body)
        check_last(asking.messages, asking.model, resumes=resumes or compacts)
        check_window(asking.size, most, asking.model)
        room = min(most, asking.model.window - asking.size)
        talk = talk_of(asking.body, asking.model, body, room)
        orders = orders_of(talk)
        streams = self.streams(asked)
        status = orders.number("fail") or (529 if "error" in orders and not streams else None)
        if status:
            return problem(status, retry_seconds=orders.number("retry") or 7)
        spent = self._cache.spent(asking.positions, asking.marks, asking.model)
        if compacts:
            saying = compacted(asking, talk, spent, asked.seed)
        else:
            saying = saying_of(asking, talk, orders, spent, asked.seed, resumes=resumes, most=most)
        message = replies.message_of(saying)
        self._remember(asking, body, message)
        reply = self._said(message, orders, asked)
        return directives.shaped(reply, orders, replies.piece_of(_STREAM_ERROR) if streams else encoded(_STREAM_ERROR))

    def refusal(self, status: int, message: str, asked: Asked) -> Reply:
        """An error in Anthropic's words."""
        del asked
        return problem(status, message)

    def streams(self, asked: Asked) -> bool:
        """The body alone decides."""
        return as_object(asked.body).get("stream") is True

    def speak(self, answer: Answer, asked: Asked) -> Reply:
        """Say an answer that somebody else thought of."""
        model = as_text(as_object(asked.body).get("model"))
        saying = Saying(answer, model, asked.seed, Spent(20), Ending("tool_use" if answer.calls else "end_turn"))
        return self._said(replies.message_of(saying), directives.read(""), asked)

    def as_stream(self, body: Json, asked: Asked) -> Reply:
        """A message as events."""
        return replies.streamed(body, directives.read(""), asked.seed)

    def as_whole(self, events: list[Json]) -> Json:
        """Events as a message."""
        return replies.merged(events)

    def _said(self, message: Json, orders: directives.Directives, asked: Asked) -> Reply:
        if self.streams(asked):
            return replies.streamed(message, orders, asked.seed)
        return json_reply(message, headers=head_of(asked.seed))

    def _remember(self, asking: Asking, body: Json, message: Json) -> None:
        self._threads.keep(body, asking.body, message, asking.terms)
        if message["stop_reason"] != "pause_turn":
            return
        line = asking.judged.line
        ends = [end for _, _, end in ends_of([message], line)]
        self._paused[_name(asking, ends[-1] if ends else line)] = None
        while len(self._paused) > _MOST_PAUSED:
            self._paused.popitem(last=False)


def _name(asking: Asking, line: str) -> str:
    return digest(asking.terms.account, line)
