"""A Responses request joined to what its chain or conversation holds, and checked against that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.simulator import billing
from app.simulator.chains import Chains, Conversation, Turn
from app.simulator.estimate import tokens_of
from app.simulator.openai.models import Model
from app.simulator.openai.problems import refused
from app.simulator.openai.responses_items import items_of
from app.simulator.openai.responses_lost import conversation_of, line_of, owner
from app.simulator.openai.responses_order import check_order
from app.simulator.openai.responses_reasoning import usable
from app.simulator.openai.responses_rules import check_fields, check_rest
from app.simulator.openai.responses_talk import instructions, said_in
from app.simulator.reply import RefusalError
from app.simulator.shapes import Json, as_list, as_object, as_text, digest, is_object

if TYPE_CHECKING:
    from app.simulator.desk import Asked


@dataclass(frozen=True, slots=True)
class Joined:
    """A request with all that its chain or conversation holds.

    Attributes:
        owner: whose it is.
        body: the request, without nulls.
        line: the turns that it continues, oldest first.
        new: the items that it brings, without those that the model cannot read.
        inherited: the items that the provider holds.
        transformations: what is told of items that were left out.
    """

    owner: str
    body: Json
    model: Model
    line: tuple[Turn, ...]
    conversation: Conversation | None
    new: tuple[Json, ...]
    inherited: tuple[Json, ...]
    transformations: tuple[Json, ...]


def join(asked: Asked, chains: Chains) -> Joined:
    """The request with its chain; RefusalError if it breaks one of OpenAI's rules, or the chain is lost."""
    whose = owner(asked)
    if not is_object(asked.body):
        raise refused("We could not parse the JSON body of your request: it must be an object.")
    body = {key: value for key, value in asked.body.items() if value is not None}
    check_fields(body)
    given = _given(body, chains, whose)
    model = check_rest(body, given)
    line = line_of(chains, whose, as_text(body.get("previous_response_id")))
    named = _conversation_id(body)
    conversation = conversation_of(chains, whose, named) if named else None
    inherited = tuple(item for turn in line for item in (*turn.given, *turn.made))
    inherited += tuple(conversation.items) if conversation else ()
    check_order(inherited, given)
    new, told = usable(given, whose, model.name)
    return Joined(whose, body, model, line, conversation, new, inherited, tuple(told))


def counted(joined: Joined) -> tuple[int, int]:
    """Tokens of the whole context, and of it without what is new.

    Raises:
        RefusalError: the window is smaller, and nothing may be left out.
    """
    before = ground_tokens(joined.body) + billing.read(said_in(joined.inherited))
    count = before + billing.read(said_in(joined.new))
    if count > joined.model.window and joined.body.get("truncation") != "auto":
        said = "Your input exceeds the context window of this model. Please adjust your input and try again."
        raise refused(said, "input", "context_length_exceeded")
    return count, before


def truncated(joined: Joined) -> tuple[Json, ...]:
    """What `truncation: auto` leaves: the oldest items go first, and an output goes with its call."""
    items = [*joined.inherited, *joined.new]
    room = joined.model.window - ground_tokens(joined.body)
    while len(items) > 1 and (billing.read(said_in(items)) > room or as_text(items[0]["type"]).endswith("_output")):
        del items[0]
    return tuple(items)


def ground(body: Json) -> str:
    """Names what stands before the history in the prompt of this request."""
    return digest([body.get(name) for name in ("model", "instructions", "tools")])


def ground_tokens(body: Json) -> int:
    """How many tokens that takes."""
    return billing.read(instructions(body)) + tokens_of(as_list(body.get("tools")))


def given_anyhow(body: Json, chains: Chains) -> tuple[Json, ...]:
    """The input of a request that a script answers although it breaks a rule; nothing if it cannot be read."""
    try:
        return items_of(body.get("input"), chains, "")
    except RefusalError:
        return ()


def _given(body: Json, chains: Chains, whose: str) -> tuple[Json, ...]:
    if "input" not in body:
        raise refused("Missing required parameter: 'input'.", "input", "missing_required_parameter")
    given = items_of(body["input"], chains, whose)
    if not given:
        said = "Expected an array with minimum length 1, but got an empty array instead."
        raise refused(f"Invalid 'input': empty array. {said}", "input", "empty_array")
    return given


def _conversation_id(body: Json) -> str:
    given = body.get("conversation")
    return given if isinstance(given, str) else as_text(as_object(given).get("id"))
