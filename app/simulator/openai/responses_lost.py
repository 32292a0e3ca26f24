"""What OpenAI says of a response or conversation that is not there; and whose request it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.simulator.chains import ChainLostError, Chains, Conversation, Turn, owner_of
from app.simulator.openai.problems import check_key, refused
from app.simulator.openai.responses_events import event
from app.simulator.reply import RefusalError, stream_reply

if TYPE_CHECKING:
    from app.simulator.desk import Asked

_PREVIOUS = "previous_response_id"


def owner(asked: Asked) -> str:
    """Whose request it is; RefusalError (401) if it has no key, or a wrong one."""
    check_key(asked.headers)
    return owner_of("openai", asked.headers["authorization"].partition(" ")[2].strip())


def line_of(chains: Chains, whose: str, previous: str) -> tuple[Turn, ...]:
    """The chain that ends in that response; RefusalError (400) if it is lost or not finished."""
    try:
        line = chains.line(whose, previous) if previous else ()
    except ChainLostError as error:
        raise _lost(error) from None
    if line and line[-1].status in ("failed", "cancelled"):
        raise refused(f"Previous response with id '{previous}' has {line[-1].status}.", _PREVIOUS)
    return line


def conversation_of(chains: Chains, whose: str, identity: str) -> Conversation:
    """The conversation of that id; RefusalError (404) if there is none."""
    found = chains.conversation(whose, identity)
    if found is None:
        raise refused(f"Conversation with id '{identity}' not found.", status=404)
    return found


def turn_of(chains: Chains, asked: Asked) -> Turn:
    """The response that the path names; RefusalError (404) if there is none."""
    identity = asked.path.partition("/responses/")[2].partition("/")[0]
    turn = chains.found(owner(asked), identity)
    if turn is None:
        raise refused(f"Response with id '{identity}' not found.", status=404)
    return turn


def _lost(error: ChainLostError) -> RefusalError:
    """A previous response that cannot be continued. That of one which still runs is not documented."""
    said, code = f"Previous response with id '{error.identity}' not found.", "previous_response_not_found"
    match error.way:
        case "running":
            return refused(f"Previous response with id '{error.identity}' is still in progress.", _PREVIOUS)
        case "stream":
            flat = {"type": "error", "code": code, "message": said, "param": _PREVIOUS, "sequence_number": 0}
            return RefusalError(stream_reply((event(flat),)), said)
        case "gone" | "refused":
            return refused(said, _PREVIOUS, code)
