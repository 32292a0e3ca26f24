"""A Messages request → Chat.

Lenient where the ecosystem is: unknown root fields and block types are kept, tool results may stand anywhere in their
message. Strict where a mistake would change the meaning, and above all with `thread`: such a body carries only the
newest messages, and reading it as a whole conversation would lose the rest without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from app.chat.model import Chat, Message, Native, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult
from app.errors import ClientError
from app.wires.anthropic import blocks
from app.wires.anthropic.citing import hold_ours
from app.wires.anthropic.names import NAME
from app.wires.anthropic.options import FIELDS, said_in, sampling_of, tools_of, unread
from app.wires.envelope import RAW_LIST, Envelope, open_body, read, read_or_mend
from app.wires.prefix import head_of, resume
from app.wires.wire import Inbound

MESSAGES = msgspec.json.Decoder(list[blocks.Message])
STRING = msgspec.json.Decoder(str)
SYSTEM = msgspec.json.Decoder(str | list[msgspec.Raw] | None)
MODELED = frozenset(FIELDS) | {"model", "messages", "system", "tools"}
ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
BILLING = "x-anthropic-billing-header:"
NO_THREADS = "thread_unsupported_request"
"""The `details.error_code` on which Anthropic's SDK goes on without a thread."""


def decode(inbound: Inbound, before: Chat | None = None) -> Chat:
    """The body as a Chat. Raises ClientError naming the field at fault.

    `before` is an earlier chat of the same client: if this body begins with its bytes, only what is new is read.
    """
    if (resumed := _resumed(inbound.body, before)) is not None:
        return resumed
    return read_or_mend(inbound.body, _whole)


def _whole(raw: bytes, mended: bool) -> Chat:
    fields = open_body(raw)
    _refuse_threads(fields)
    if "messages" not in fields:
        raise ClientError("messages is missing: send the whole conversation as a list of messages.", param="messages")
    listed = fields["messages"]
    slices = read(listed, RAW_LIST, "messages")
    if not slices:
        raise ClientError("messages is empty: send at least one message.", param="messages")
    messages = tuple(_messages(slices, read(listed, MESSAGES, "messages"), 0))
    changed = mended or not _all_own(messages)
    head = head_of(raw, listed, slices[-1], "messages") if len(messages) > 1 and not changed else None
    system = _system(fields.get("system"))
    return _chat(Envelope(raw, fields, _model(fields), system, messages, changed, head, _no_tools(messages)))


def _resumed(body: bytes, before: Chat | None) -> Chat | None:
    envelope = before.native.body if before and before.native and before.native.wire == NAME else None
    if not isinstance(envelope, Envelope) or envelope.head is None:
        return None
    rest = resume(body, envelope.head, "messages")
    if rest is None or "thread" in rest.fields:
        return None
    known = envelope.messages[:-1]
    try:
        said = [blocks.MESSAGE.decode(slice_) for slice_ in rest.slices]
        new = tuple(_messages(rest.slices, said, len(known)))
        system = _same_system(rest.fields.get("system"), envelope)
        if not _all_own(new):
            return None
    except (msgspec.DecodeError, ClientError):  # reading it whole finds it again, and names its place
        return None
    plain = envelope.plain and _no_tools(new)
    model = _model(rest.fields)
    return _chat(Envelope(body, rest.fields, model, system, (*known, *new), False, rest.head, plain))


def _all_own(messages: Iterable[Message]) -> bool:
    """Whether Anthropic takes every message as its client wrote it."""
    return all(message.native is not None for message in messages)


def _refuse_threads(fields: Mapping[str, msgspec.Raw]) -> None:
    """https://platform.claude.com/docs/en/build-with-claude/message-threads"""
    if "thread" in fields and bytes(fields["thread"]) != b"null":
        raise ClientError(
            "thread: conversations that the server holds are not served here. Leave thread out, and send all messages.",
            param="thread",
            code=NO_THREADS,
        )


def _same_system(raw: msgspec.Raw | None, envelope: Envelope) -> tuple[Message, ...]:
    """The system text is the same on nearly every turn of an agent, often 20 kB of it: then the very same objects."""
    before = envelope.fields.get("system")
    if raw is not None and before is not None and bytes(raw) == bytes(before):
        return envelope.system
    return _system(raw)


def _no_tools(messages: Iterable[Message]) -> bool:
    return not any(type(part) in (ToolCall, ToolResult) for message in messages for part in message.parts)


def _model(fields: Mapping[str, msgspec.Raw]) -> str:
    if "model" not in fields:
        raise ClientError("model is missing: name the model to use.", param="model")
    return read(fields["model"], STRING, "model")


def _chat(envelope: Envelope) -> Chat:
    fields = envelope.fields
    said = said_in(fields)
    return Chat(
        model=envelope.model,
        messages=envelope.messages,
        system=envelope.system,
        tools=tools_of(fields),
        sampling=sampling_of(said),
        stream=bool(said.stream),
        include_usage=True,
        native=Native(NAME, envelope),
        options=said.foldline or {},
        rest={name: value for name, value in fields.items() if name not in MODELED or unread(name, said)},
        plain=envelope.plain,
    )


def _messages(slices: Sequence[msgspec.Raw], said: Sequence[blocks.Message], start: int) -> Iterable[Message]:
    for index, (raw, message) in enumerate(zip(slices, said, strict=True), start):
        role = ROLES.get(message.role)
        if role is None:
            where = f"messages[{index}].role"
            raise ClientError(f"{where}: {message.role!r} is not a role. Use {', '.join(ROLES)}.", param=where)
        if isinstance(message.content, str):  # the plain message
            yield Message(role, (Text(message.content),), Native(NAME, raw))
        else:
            yield _message(role, raw, message.content, f"messages[{index}]")


def _message(role: Role, raw: msgspec.Raw, content: list[msgspec.Raw], where: str) -> Message:
    """A message with something of ours in it must not go to Anthropic as it is: thinking without its signature, or
    citations without its index."""
    parts = blocks.parts_of(raw, content, f"{where}.content")
    foreign = any(isinstance(part, Thinking) and not part.signature for part in parts)
    foreign = foreign or (role == "assistant" and hold_ours(content))
    return Message(role, parts, None if foreign else Native(NAME, raw))


def _system(raw: msgspec.Raw | None) -> tuple[Message, ...]:
    """The root's system text: a string, or a list of text blocks."""
    if raw is None:
        return ()
    said = read(raw, SYSTEM, "system")
    if not said:
        return ()
    parts = (Text(said),) if isinstance(said, str) else tuple(map(_unbilled, blocks.listed(said, "system")))
    return (Message("system", parts, Native(NAME, raw)),)


def _unbilled(part: Part) -> Part:
    """Claude Code's first block is a note to Anthropic's billing, now and then another with each request: no words of
    the conversation, and nothing for any other provider, whose prompt cache it would break."""
    if isinstance(part, Text) and part.text.startswith(BILLING):
        return Opaque(Native(NAME, {"type": "text", "text": part.text}))
    return part
