"""Cache marks: never more than four, and where a client sets none, at places that growth does not move.

Anthropic caches the prefix up to a mark, in the order tools, system, messages, and looks back from each mark over 20
blocks (https://platform.claude.com/docs/en/build-with-claude/prompt-caching). So marks stand at the end of the system
text (of the tools, if there is none), on the summary that a fold put in front, and on the newest message.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from app.chat.model import Message, Native, Part, Text, ToolCall, ToolResult
from app.wires.anthropic.blocks import slices_of
from app.wires.envelope import RAW_FIELDS, RAW_LIST, encode

MARK: dict[str, Any] = {"type": "ephemeral"}
SPELLED = b'"cache_control"'
MOST = 4
FOLD_LINE = "<summary"
"""How the message begins that stands for what was folded."""

Body = dict[str, Any]
Block = dict[str, Any]


def set_marks(body: Body) -> Body:
    """The request with marks of ours; a copy. It must not have any yet."""
    marked = dict(body)
    if (system := _marked_last(_texts(body.get("system")))) is not None:
        marked["system"] = system
    elif (tools := _marked_last(_blocks(body.get("tools")))) is not None:
        marked["tools"] = tools
    messages = list(body["messages"])
    for place in _places(messages):
        messages[place] = _marked(messages[place])
    marked["messages"] = messages
    return marked


def on_last_part(message: Message) -> Message:
    """The message with a mark that its client set on the whole of it, as gateways for OpenAI's format take it, on its
    last part: there it ends."""
    native = message.native
    if native is None or not isinstance(native.body, msgspec.Raw) or SPELLED not in bytes(native.body):
        return message
    mark = _field(native.body, "cache_control")
    if not isinstance(mark, dict) or not message.parts:
        return message
    last = _marked_part(message.parts[-1], Native(native.wire, {"cache_control": mark}))
    return Message(message.role, (*message.parts[:-1], last))


def _marked_part(part: Part, mark: Native) -> Part:
    """The part carrying the mark; as it is if it carries something already, or can carry none."""
    match part:
        case Text(native=None):
            return Text(part.text, mark)
        case ToolResult(native=None):
            return ToolResult(part.call_id, part.content, part.name, part.is_error, mark)
        case ToolCall(native=None):
            return ToolCall(part.id, part.name, part.arguments, part.signature, part.kind, mark)
        case _:
            return part


def limited(body: Body) -> Body:
    """The request with at most four marks; a copy if any had to go.

    The newest mark of the messages stays, and the last one of the system text: the oldest of the messages' go first,
    then of the system text's, then of the tools'. What stands before a mark that stays is cached with it.
    """
    spare = _count(cast(Body, msgspec.json.decode(encode(body)))) - MOST
    if spare <= 0:
        return body
    made = dict(body)
    for name, kept in (("messages", 1), ("system", 1), ("tools", 0), ("system", 0), ("messages", 0)):
        if spare > 0 and name in made:
            made[name], taken = _spared(made[name], spare, kept)
            spare -= taken
    return made


def _spared(listed: Any, most: int, kept: int) -> tuple[Any, int]:
    """The list without up to `most` of its marks, first ones first, of which the last `kept` stay; how many went."""
    entries = list(RAW_LIST.decode(encode(listed))) if _is_list(listed) else []
    opened = [cast(Block, msgspec.json.decode(entry)) if SPELLED in bytes(entry) else None for entry in entries]
    most = min(most, sum(map(_count, opened)) - kept)
    taken = 0
    for place, entry in enumerate(opened):
        if entry is not None and taken < most:
            taken += _strip(entry, most - taken)
            entries[place] = msgspec.Raw(encode(entry))
    return (entries if taken else listed), taken


def _is_list(listed: Any) -> bool:
    return isinstance(listed, list) or (isinstance(listed, msgspec.Raw) and bytes(memoryview(listed)[:1]) == b"[")


def _places(messages: list[Any]) -> list[int]:
    """The message that a fold put in front, and the newest of the user's."""
    users = [place for place, message in enumerate(messages) if _field(message, "role") == "user"]
    if not users:
        return []
    first = _content(messages[users[0]])
    opening = _field(first[0], "text") if first else ""
    fold = [users[0]] if isinstance(opening, str) and opening.startswith(FOLD_LINE) else []
    return sorted({*fold, users[-1]})


def _marked(message: Any) -> Any:
    content = _marked_last(_content(message))
    return message if content is None else _fields(message) | {"content": content}


def _content(message: Any) -> list[Any]:
    raw = message if isinstance(message, msgspec.Raw) else msgspec.Raw(encode(message))
    return list(slices_of(raw))


def _texts(system: Any) -> list[Any]:
    if system is None:
        return []
    raw = bytes(system) if isinstance(system, msgspec.Raw) else encode(system)
    if raw[:1] == b'"':
        return [{"type": "text", "text": msgspec.Raw(raw)}] if len(raw) > 2 else []
    return _blocks(msgspec.Raw(raw))


def _blocks(listed: Any) -> list[Any]:
    if isinstance(listed, msgspec.Raw):
        return list(RAW_LIST.decode(listed)) if bytes(listed) != b"null" else []
    return list(listed or ())


def _marked_last(blocks: list[Any]) -> list[Any] | None:
    """The blocks with a mark on the last; None if there is none that can carry one. Thinking cannot."""
    if not blocks or _field(blocks[-1], "type") in ("thinking", "redacted_thinking"):
        return None
    return [*blocks[:-1], _fields(blocks[-1]) | {"cache_control": MARK}]


def _fields(value: Any) -> Block:
    return dict(RAW_FIELDS.decode(value)) if isinstance(value, msgspec.Raw) else dict(cast(Block, value))


def _field(value: Any, name: str) -> Any:
    found = _fields(value).get(name)
    return msgspec.json.decode(found) if isinstance(found, msgspec.Raw) else found


def _inside(value: Any) -> list[Any]:
    """What may hold further marks: not a tool's arguments, whose keys are nobody's marks."""
    if isinstance(value, list):
        return cast("list[Any]", value)
    if isinstance(value, dict):
        return [inner for name, inner in cast(Block, value).items() if name not in ("input", "input_schema")]
    return []


def _count(value: Any) -> int:
    own = isinstance(value, dict) and "cache_control" in value
    return own + sum(map(_count, _inside(value)))


def _strip(value: Any, most: int) -> int:
    """Takes up to `most` marks out of the value, in place, first ones first; how many it took."""
    taken = 0
    if isinstance(value, dict) and most and "cache_control" in value:
        del value["cache_control"]
        taken = 1
    for inner in _inside(value):
        taken += _strip(inner, most - taken)
    return taken
