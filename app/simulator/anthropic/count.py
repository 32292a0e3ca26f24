"""POST /v1/messages/count_tokens: what a request's prompt takes, by the simulator's estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.simulator.anthropic.asking import asking_of, nested_in_reason, object_of
from app.simulator.anthropic.fields import COUNTED
from app.simulator.anthropic.problems import head_of, problem
from app.simulator.anthropic.terms import terms_of
from app.simulator.reply import Reply, json_reply
from app.simulator.shapes import Json

if TYPE_CHECKING:
    from app.simulator.desk import Asked


class CountMessageTokens:
    """Anthropic's token count: the same checks as an answer's, thinking included, and no window."""

    def answer(self, asked: Asked) -> Reply:
        """The count; RefusalError if the request breaks one of Anthropic's rules."""
        terms = terms_of(asked.headers)
        with nested_in_reason():
            asking = asking_of(object_of(asked.body), terms, COUNTED)
        counted: Json = {"input_tokens": asking.size}
        if "context_management" in asking.body:
            counted["context_management"] = {"original_input_tokens": asking.size}
        return json_reply(counted, headers=head_of(asked.seed))

    def refusal(self, status: int, message: str, asked: Asked) -> Reply:
        """An error in Anthropic's words."""
        del asked
        return problem(status, message)
