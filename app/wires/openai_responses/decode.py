"""A Responses request → Chat.

Lenient where the ecosystem is: unknown root fields, items and parts are kept for their own wire. Strict where a mistake
would change the meaning: roles, and the shapes of what we understand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from app.chat.model import Chat, Message, Native, Opaque, Text, ToolCall, ToolResult
from app.errors import ClientError
from app.wires.envelope import RAW_LIST, open_body, read, read_or_mend
from app.wires.openai_responses.asked import Asked
from app.wires.openai_responses.names import NAME
from app.wires.openai_responses.options import (
    RootFields,
    conversation_of,
    given,
    root_fields,
    sampling_of,
    tools_of,
    unmodelled,
)
from app.wires.openai_responses.turns import KIND, Turns
from app.wires.prefix import Head, head_of, resume
from app.wires.wire import Inbound

TEXT = msgspec.json.Decoder(str)
HELD = ("previous_response_id", "conversation", "prompt")
"""Fields that stand for an input: with one of them, the input itself may be missing."""


class _Read(msgspec.Struct, frozen=True):
    """The input as read; `head` is how the next body of this chat will begin."""

    messages: list[Message]
    ours: bool = False
    head: Head | None = None


def decode(inbound: Inbound, before: Chat | None = None) -> Chat:
    """The body as a Chat. Raises ClientError naming the field at fault.

    `before` is an earlier chat of the same client: if this body begins with its bytes, only what is new is read.
    """
    if (resumed := _resumed(inbound.body, before)) is not None:
        return resumed
    return read_or_mend(inbound.body, _whole)


def confined(chat: Chat) -> ClientError | None:
    """Why this chat can be answered by OpenAI's own Responses API only, if it can: what it names is kept there."""
    if any(_refers(part.native) for message in chat.messages for part in message.parts if isinstance(part, Opaque)):
        return ClientError(
            "input: an item_reference names an item that only OpenAI holds. Send the item itself.", param="input"
        )
    if "prompt" in chat.rest:
        return ClientError(
            "prompt: a prompt template is stored at OpenAI. Send its text as instructions and input.", param="prompt"
        )
    if "background" in chat.rest:
        words = "background: only OpenAI itself answers in the background. Leave it out."
        return ClientError(words, param="background")
    return None


def _refers(native: Native) -> bool:
    raw = native.body
    return native.wire == NAME and isinstance(raw, msgspec.Raw) and KIND.decode(raw).type == "item_reference"


def _whole(raw: bytes, mended: bool) -> Chat:
    fields = open_body(raw)
    said = root_fields(fields)
    got = _input(raw, fields, mended)
    system = [_instructions(said.instructions)] if said.instructions else []
    goes_on = bool(said.previous_response_id or said.conversation)  # then nothing in the input stands first
    start = 0 if goes_on else _leading(got.messages)
    system += got.messages[:start]
    messages = tuple(got.messages[start:])
    if not messages and not _held(fields):
        raise ClientError("input is empty: send at least one message.", param="input")
    head = got.head if len(messages) > 1 and not goes_on else None
    return _chat(raw, fields, said, tuple(system), messages, mended or got.ours, head, _no_tools(messages))


def _input(raw: bytes, fields: Mapping[str, msgspec.Raw], mended: bool) -> _Read:
    """The messages of the input: a string, or a list of items."""
    if not given(fields, "input"):
        if _held(fields):
            return _Read([])
        raise ClientError("input is missing: send a text or a list of items.", param="input")
    listed = fields["input"]
    if bytes(memoryview(listed)[:1]) == b'"':
        item = msgspec.Raw(b'{"role":"user","content":' + bytes(listed) + b"}")
        return _Read([Message("user", (Text(read(listed, TEXT, "input")),), Native(NAME, (item,)))])
    slices = read(listed, RAW_LIST, "input")
    turns = Turns()
    messages = turns.read(slices)
    worth = len(messages) > 1 and turns.last == 1 and not turns.refers and not mended
    return _Read(messages, turns.ours, head_of(raw, listed, slices[-1], "input") if worth else None)


def _leading(messages: Sequence[Message]) -> int:
    """How many system messages stand first."""
    return next((i for i, message in enumerate(messages) if message.role != "system"), len(messages))


def _held(fields: Mapping[str, msgspec.Raw]) -> bool:
    return any(given(fields, name) for name in HELD)


def _instructions(text: str) -> Message:
    """A system message that stands in a field of its own: as items it is none."""
    return Message("system", (Text(text),), Native(NAME, ()))


def _resumed(body: bytes, before: Chat | None) -> Chat | None:
    envelope = before.native.body if before and before.native else None
    if not isinstance(envelope, Asked) or envelope.head is None:
        return None
    rest = resume(body, envelope.head, "input")
    if rest is None:
        return None
    known = envelope.messages[:-1]
    turns = Turns()
    try:
        new = turns.read(rest.slices)
        said = root_fields(rest.fields)
    except ClientError:  # reading it whole finds it again, and names its place
        return None
    if said.previous_response_id or said.conversation or turns.refers:
        return None  # then it means something else
    if new[0].role == "assistant" and known and known[-1].role == "assistant":
        return None  # more of a turn that was read before
    first = (_instructions(said.instructions),) if said.instructions else ()
    system = envelope.system
    led = bool(system) and system[0].native == Native(NAME, ())
    system = system if led and first and system[0] == first[0] else (*first, *system[led:])
    plain = envelope.plain and _no_tools(new)
    head = rest.head if turns.last == 1 else None
    ours = envelope.mended or turns.ours
    return _chat(body, rest.fields, said, system, (*known, *new), ours, head, plain)


def _no_tools(messages: Sequence[Message]) -> bool:
    return not any(isinstance(part, ToolCall | ToolResult) for message in messages for part in message.parts)


def _chat(
    raw: bytes,
    fields: Mapping[str, msgspec.Raw],
    said: RootFields,
    system: tuple[Message, ...],
    messages: tuple[Message, ...],
    mended: bool,
    head: Head | None,
    plain: bool,
) -> Chat:
    conversation = conversation_of(said)
    tools, sampling = tools_of(fields), sampling_of(said)
    model = _model(fields)
    stream = bool(said.stream)
    asked = Asked(raw, fields, model, system, messages, mended, head, plain, tools, sampling, stream, said.store)
    return Chat(
        model=model,
        messages=messages,
        system=system,
        tools=tools,
        sampling=sampling,
        stream=stream,
        include_usage=True,
        store=said.store,
        continues=said.previous_response_id or "",
        conversation=conversation,
        native=Native(NAME, asked),
        options=said.foldline or {},
        rest={name: value for name, value in fields.items() if unmodelled(name, value, said)},
        plain=plain,
    )


def _model(fields: Mapping[str, msgspec.Raw]) -> str:
    if not given(fields, "model"):
        if given(fields, "prompt"):
            return ""
        raise ClientError("model is missing: name the model to use.", param="model")
    return read(fields["model"], TEXT, "model")
