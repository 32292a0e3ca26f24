"""The order of messages: who speaks first and last, calls and their results, system texts in between."""

from __future__ import annotations

from app.simulator.anthropic.blocks import check_blocks, cites
from app.simulator.anthropic.kinds import list_at, one_of
from app.simulator.anthropic.line import blocks_in, line_of
from app.simulator.anthropic.models import Model
from app.simulator.anthropic.problems import extra, refused
from app.simulator.anthropic.terms import Terms
from app.simulator.shapes import Json, as_text, is_list, objects

_MOST = 100_000
_UNSAID = (
    'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an '
    "input message role."
)


def check_messages(body: Json, model: Model, terms: Terms) -> None:
    """All messages one by one and in their order; RefusalError if a rule is broken. Who is last is not judged here."""
    if "messages" not in body:
        raise refused("messages: Field required")
    messages = list_at("messages", body["messages"])
    if not messages:
        raise refused("messages: at least one message is required")
    if len(messages) > _MOST:
        raise refused(f"messages: List should have at most {_MOST} items after validation, not {len(messages)}")
    for at, message in enumerate(messages):
        _check_message(f"messages.{at}", message, model, terms, last=at == len(messages) - 1)
    first = messages[0]
    if first["role"] != "user" and not _is_compaction(first):
        raise refused('messages: first message must use the "user" role')
    _check_pairs(messages)
    _check_systems(messages)
    documents = [placed for placed in line_of(messages) if placed.kind == "document"]
    if len({cites(placed.block) for placed in documents}) > 1:
        raise refused("messages: Citations must be enabled on all or none of the documents in a request.")


def check_last(messages: list[Json], model: Model, *, resumes: bool) -> None:
    """Who speaks last: the assistant only where the model takes a beginning of its answer, or resumes a paused one.

    Args:
        resumes: it is a paused answer, or nobody is to go on.
    """
    last = messages[-1]
    if last["role"] != "assistant" or resumes or _is_compaction(last):
        return
    if not model.prefills:
        said = "This model does not support assistant message prefill. The conversation must end with a user message."
        raise refused(said)
    blocks = blocks_in(last.get("content"))
    text = as_text(blocks[-1].get("text")) if blocks else ""
    if text != text.rstrip():
        raise refused("messages: final assistant content cannot end with trailing whitespace")


def running_turn(messages: list[Json]) -> int:
    """The index after the last user message without tool results: where the model's running turn begins."""
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].get("role") == "user" and not _results(messages[at]):
            return at + 1
    return 0


def in_loop(messages: list[Json]) -> bool:
    """Whether the last thing said, system texts aside, are tool results."""
    said = [message for message in messages if message.get("role") != "system"]
    return bool(said) and said[-1].get("role") == "user" and bool(_results(said[-1]))


def _check_message(place: str, message: Json, model: Model, terms: Terms, *, last: bool) -> None:
    for name in ("role", "content"):
        if name not in message:
            raise refused(f"{place}.{name}: Field required")
    role = one_of(f"{place}.role", message["role"], ("user", "assistant", "system"))
    if role == "system" and not model.told_between:
        raise refused(_UNSAID)
    known = (
        ("role", "content", "clear_at", "output_config") if role == "system" and terms.betas else ("role", "content")
    )
    for name in message:
        if name not in known:
            raise extra(f"{place}.{name}")
    content = message["content"]
    if not isinstance(content, str) and not is_list(content):
        raise refused(f"{place}.content: Input should be a valid list")
    if not content and not (last and role == "assistant"):
        said = "all messages must have non-empty content except for the optional final assistant message"
        raise refused(f"{place}: {said}")
    if isinstance(content, str) and content and not content.strip():
        raise refused("messages: text content blocks must contain non-whitespace text")
    check_blocks(f"{place}.content", content, role, terms)


def _check_systems(messages: list[Json]) -> None:
    """Source: Anthropic's page on mid-conversation system messages."""
    for at, message in enumerate(messages):
        if message["role"] != "system":
            continue
        before = next((one for one in reversed(messages[:at]) if one["role"] != "system"), None)
        behind = next((one for one in messages[at + 1 :] if one["role"] != "system"), None)
        if before is None:
            raise refused('messages: first message must use the "user" role')
        if before["role"] == "assistant" and not _ends_with_server_result(before):
            raise refused(f"messages.{at}: `system` messages must follow a `user` message")
        if behind is not None and behind["role"] != "assistant":
            raise refused(f"messages.{at}: `system` messages must be last or be followed by an `assistant` message")


def _check_pairs(messages: list[Json]) -> None:
    """Every call is answered in the very next message, first thing, once; and nothing else is."""
    seen: set[str] = set()
    waiting: list[str] = []
    paused = False
    for at, message in enumerate(messages):
        _check_results(messages, at, waiting, nothing_else=paused)
        calls = [as_text(block.get("id")) for block in _of_kind(message, "tool_use")]
        if len(calls) != len(set(calls)) or seen & set(calls):
            raise refused("messages: `tool_use` ids must be unique")
        seen |= set(calls)
        waiting, paused = calls, bool(calls) and _waits_for_a_server(message)
    if waiting:
        raise _unanswered(len(messages) - 1, waiting)


def _check_results(messages: list[Json], at: int, waiting: list[str], *, nothing_else: bool) -> None:
    message = messages[at]
    blocks = blocks_in(message.get("content"))
    leading = next((index for index, one in enumerate(blocks) if one.get("type") != "tool_result"), len(blocks))
    given = [as_text(block.get("tool_use_id")) for block in _results(message)]
    for index, block in enumerate(blocks):
        name = as_text(block.get("tool_use_id"))
        if block.get("type") == "tool_result" and name not in waiting:
            raise refused(
                f"messages.{at}.content.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {name}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        if given.count(name) > 1 and block.get("type") == "tool_result":
            raise refused(
                f"messages.{at}.content.{index}: each tool_use must have a single result. Found multiple "
                f"`tool_result` blocks with id: {name}"
            )
    in_front = {as_text(block.get("tool_use_id")) for block in blocks[:leading]}
    missing = [name for name in waiting if name not in in_front]
    if missing:
        raise _unanswered(at - 1, missing)
    if nothing_else and len(blocks) > leading:
        said = "only `tool_result` blocks may follow an assistant message with an unfinished `server_tool_use`"
        raise refused(f"messages.{at}.content.{leading}: {said}")


def _unanswered(at: int, names: list[str]) -> Exception:
    return refused(
        f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(names)}. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def _of_kind(message: Json, kind: str) -> list[Json]:
    return [block for block in objects(message.get("content")) if block.get("type") == kind]


def _results(message: Json) -> list[Json]:
    return _of_kind(message, "tool_result")


def _waits_for_a_server(message: Json) -> bool:
    answered = {as_text(block.get("tool_use_id")) for block in objects(message.get("content"))}
    return any(as_text(block.get("id")) not in answered for block in _of_kind(message, "server_tool_use"))


def _ends_with_server_result(message: Json) -> bool:
    blocks = objects(message.get("content"))
    kind = as_text(blocks[-1].get("type")) if blocks else ""
    return kind.endswith("_tool_result")


def _is_compaction(message: Json) -> bool:
    blocks = objects(message.get("content"))
    return bool(blocks) and blocks[0].get("type") == "compaction"
