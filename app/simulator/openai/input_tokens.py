"""POST /v1/responses/input_tokens: what a Responses request would take, answered by no model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.simulator.estimate import tokens_of
from app.simulator.mind.talk import Talk
from app.simulator.openai.chat import said_in
from app.simulator.openai.input_items import chat_of
from app.simulator.openai.problems import check_key, problem, refused
from app.simulator.openai.rules import checked, prompt_tokens
from app.simulator.reply import Reply, json_reply
from app.simulator.shapes import is_object, objects

if TYPE_CHECKING:
    from app.simulator.desk import Asked

_FIELDS = frozenset(
    (
        "model",
        "input",
        "instructions",
        "conversation",
        "previous_response_id",
        "parallel_tool_calls",
        "personality",
        "reasoning",
        "text",
        "tool_choice",
        "tools",
        "truncation",
    )
)


class InputTokens:
    """OpenAI's token count. The simulator holds no responses, so it continues none."""

    def answer(self, asked: Asked) -> Reply:
        """The count by the simulator's estimate; RefusalError if the request breaks one of OpenAI's rules."""
        check_key(asked.headers)
        body = asked.body
        if not is_object(body):
            raise refused("We could not parse the JSON body of your request: it must be an object.")
        for field in body:
            if field not in _FIELDS:
                raise refused(f"Unknown parameter: '{field}'.", field, "unknown_parameter")
        if identity := body.get("previous_response_id"):
            said = f"Previous response with id '{identity}' not found."
            raise refused(said, "previous_response_id", "previous_response_not_found")
        if identity := body.get("conversation"):
            raise refused(f"Conversation with id '{identity}' not found.", "conversation", status=404)
        chat = chat_of(body)
        checked(chat)
        count = prompt_tokens(Talk(said_in(objects(chat["messages"])))) + tokens_of(chat.get("tools"))
        return json_reply({"object": "response.input_tokens", "input_tokens": count})

    def refusal(self, status: int, message: str, asked: Asked) -> Reply:
        """An error in OpenAI's words."""
        del asked
        return problem(status, message)
