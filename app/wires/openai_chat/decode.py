"""A Chat Completions request → Chat.

Lenient where the ecosystem is: unknown root fields, unknown part types and vendor keys on messages are kept. Strict
where a mistake would change the meaning: roles, shapes of what we understand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from app.chat.model import (
    Chat,
    Media,
    Message,
    Native,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from app.errors import ClientError
from app.wires.envelope import (
    RAW_LIST,
    Envelope,
    as_object,
    as_text,
    forbids_storing,
    open_body,
    read,
    read_or_mend,
)
from app.wires.openai_chat.names import NAME, TOOL_ERROR
from app.wires.openai_chat.options import FIELDS, sampling_fields, sampling_of, tools_of, unread
from app.wires.openai_chat.searching import FIELD as SEARCH
from app.wires.prefix import head_of, resume
from app.wires.wire import Inbound


class WireFunction(msgspec.Struct):
    """The function of a tool call; `arguments` is JSON text, by some clients an object."""

    name: str = ""
    arguments: str | msgspec.Raw | None = ""


class WireCall(msgspec.Struct):
    """One entry of `tool_calls`."""

    id: str | None = ""
    type: str | None = "function"
    function: WireFunction | None = None
    custom: dict[str, Any] | None = None
    extra_content: dict[str, Any] | None = None
    provider_specific_fields: dict[str, Any] | None = None


class WireMessage(msgspec.Struct):
    """What we read of a message; everything else stays in its raw slice."""

    role: str
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[WireCall] | None = None
    function_call: WireFunction | None = None
    tool_call_id: str | None = None
    name: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


MESSAGE = msgspec.json.Decoder(WireMessage)
MESSAGES = msgspec.json.Decoder(list[WireMessage])
MODEL = msgspec.json.Decoder(str)
SPEAKERS = "messages.name"
"""In `Chat.rest`: some speaker has a name."""

MODELED = frozenset(FIELDS) | {"model", "messages", "tools", "functions", SEARCH}


def decode(inbound: Inbound, before: Chat | None = None) -> Chat:
    """The body as a Chat. Raises ClientError naming the field at fault.

    `before` is an earlier chat of the same client: if this body begins with its bytes, only what is new is read.
    """
    if (resumed := _resumed(inbound.body, before)) is not None:
        return resumed
    return read_or_mend(inbound.body, _whole)


def _whole(raw: bytes, mended: bool) -> Chat:
    fields = open_body(raw)
    if "messages" not in fields:
        raise ClientError("messages is missing: send the whole conversation as a list of messages.", param="messages")
    listed = fields["messages"]
    slices = read(listed, RAW_LIST, "messages")
    if not slices:
        raise ClientError("messages is empty: send at least one message.", param="messages")
    said = read(listed, MESSAGES, "messages")
    everything = _messages(slices, said, 0)
    start = next((i for i, message in enumerate(everything) if message.role != "system"), len(everything))
    system, messages = tuple(everything[:start]), tuple(everything[start:])
    head = head_of(raw, listed, slices[-1], "messages") if len(messages) > 1 and not mended else None
    return _chat(Envelope(raw, fields, _model(fields), system, messages, mended, head, _no_tools(said)), _named(said))


def _resumed(body: bytes, before: Chat | None) -> Chat | None:
    envelope = before.native.body if before and before.native else None
    if not isinstance(envelope, Envelope) or envelope.head is None:
        return None
    rest = resume(body, envelope.head, "messages")
    if rest is None:
        return None
    known = envelope.messages[:-1]
    count = len(envelope.system) + len(known)
    try:
        said = [MESSAGE.decode(slice_) for slice_ in rest.slices]
        messages = (*known, *_messages(rest.slices, said, count))
    except msgspec.DecodeError:  # reading it whole finds it again, and names its place
        return None
    plain = envelope.plain and _no_tools(said)
    named = bool(before and SPEAKERS in before.rest) or _named(said)
    read_on = Envelope(body, rest.fields, _model(rest.fields), envelope.system, messages, False, rest.head, plain)
    return _chat(read_on, named)


def _named(said: Sequence[WireMessage]) -> bool:
    """Whether a speaker has a name, which no other format has a place for."""
    return any(message.name and message.role not in ("tool", "function") for message in said)


def _no_tools(said: Sequence[WireMessage]) -> bool:
    return not any(
        message.tool_calls or message.function_call or message.role in ("tool", "function") for message in said
    )


def _model(fields: Mapping[str, msgspec.Raw]) -> str:
    if "model" not in fields:
        raise ClientError("model is missing: name the model to use.", param="model")
    return read(fields["model"], MODEL, "model")


def _chat(envelope: Envelope, named: bool) -> Chat:
    fields = envelope.fields
    said = sampling_fields(fields)
    rest = {name: value for name, value in fields.items() if name not in MODELED or unread(name, said)}
    if private := forbids_storing(fields):
        del rest["store"]
    if named:
        rest[SPEAKERS] = msgspec.Raw(b"true")
    return Chat(
        model=envelope.model,
        messages=envelope.messages,
        system=envelope.system,
        tools=tools_of(fields),
        sampling=sampling_of(said),
        stream=bool(said.stream),
        include_usage=bool((said.stream_options or {}).get("include_usage")),
        native=Native(NAME, envelope),
        options=said.foldline or {},
        rest=rest,
        plain=envelope.plain,
        store=False if private else None,
    )


def _messages(slices: Sequence[msgspec.Raw], said: Sequence[WireMessage], start: int) -> list[Message]:
    messages: list[Message] = []
    for index, (raw, message) in enumerate(zip(slices, said, strict=True), start):
        content = message.content
        if type(content) is str and (message.role == "user" or (message.role == "assistant" and _plain(message))):
            # nearly all messages of a long chat
            messages.append(Message(message.role, (Text(content),), Native(NAME, raw)))
        else:
            messages.append(_message(raw, message, f"messages[{index}]"))
    return messages


def _plain(message: WireMessage) -> bool:
    """Whether an assistant message is nothing but its content."""
    return not (
        message.tool_calls or message.reasoning_content or message.reasoning or message.refusal or message.function_call
    )


def _message(raw: msgspec.Raw, message: WireMessage, where: str) -> Message:
    content = message.content
    native = Native(NAME, raw)
    role = message.role
    if role == "user":
        return Message("user", (Text(content),) if type(content) is str else _parts(content, where), native)
    if role == "assistant":
        return Message("assistant", _assistant(message, where), native)
    if role in ("tool", "function"):
        return Message("user", (_result(message, where),), native)
    if role in ("system", "developer"):
        return Message("system", (Text(content),) if type(content) is str else _parts(content, where), native)
    raise ClientError(
        f"{where}.role: {role!r} is not a role. Use developer, system, user, assistant or tool.", param=f"{where}.role"
    )


def _assistant(message: WireMessage, where: str) -> tuple[Part, ...]:
    content = message.content
    parts: list[Part] = []
    if thinking := message.reasoning_content or message.reasoning:
        parts.append(Thinking(thinking))
    if type(content) is str:
        parts.append(Text(content))
    elif content:
        parts.extend(_parts(content, where))
    if message.refusal:
        parts.append(Text(message.refusal))
    parts.extend(_call(call, f"{where}.tool_calls[{i}]") for i, call in enumerate(message.tool_calls or ()))
    if message.function_call:
        parts.append(ToolCall("", message.function_call.name, _arguments(message.function_call.arguments)))
    return tuple(parts)


def _call(call: WireCall, where: str) -> ToolCall:
    if call.custom is not None:
        return ToolCall(
            call.id or "", as_text(call.custom.get("name")), as_text(call.custom.get("input")), kind="custom"
        )
    if call.function is None or not call.function.name:
        raise ClientError(f"{where}.function.name is missing: a tool call names its function.", param=where)
    return ToolCall(call.id or "", call.function.name, _arguments(call.function.arguments), _signature(call))


def _signature(call: WireCall) -> str:
    """A Gemini thought signature, where Google's own endpoint and LiteLLM put it in this format."""
    google = as_object((call.extra_content or {}).get("google"))
    return as_text(google.get("thought_signature") or (call.provider_specific_fields or {}).get("thought_signature"))


def _arguments(arguments: str | msgspec.Raw | None) -> str:
    if isinstance(arguments, str):
        return arguments
    return bytes(arguments).decode() if arguments else ""


def _result(message: WireMessage, where: str) -> ToolResult:
    content = message.content
    parts = (Text(content),) if isinstance(content, str) else _parts(content, where)
    kept = tuple(part for part in parts if isinstance(part, Text | Media | Opaque))
    is_error = bool(kept) and isinstance(kept[0], Text) and kept[0].text.startswith(TOOL_ERROR)
    if is_error and isinstance(kept[0], Text):
        kept = (Text(kept[0].text.removeprefix(TOOL_ERROR)), *kept[1:])
    return ToolResult(message.tool_call_id or "", kept, message.name or "", is_error)


def _parts(content: str | list[dict[str, Any]] | None, where: str) -> tuple[Part, ...]:
    if content is None:
        return ()
    if isinstance(content, str):
        return (Text(content),)
    return tuple(_part(part, f"{where}.content[{i}]") for i, part in enumerate(content))


def _part(part: dict[str, Any], where: str) -> Part:
    native = Native(NAME, part)
    match part.get("type"):
        case "text":
            if not isinstance(text := part.get("text"), str):
                raise ClientError(f"{where}.text: a text part needs a string.", param=f"{where}.text")
            return Text(text, native if len(part) > 2 else None)
        case "refusal":
            return Text(as_text(part.get("refusal")), native)
        case "image_url":
            image = part.get("image_url")
            url = image if isinstance(image, str) else as_text(as_object(image).get("url"))
            if not url:
                raise ClientError(f"{where}.image_url.url is missing: give an https or data URL.", param=where)
            return _by_url("image", url, native, detail=as_text(as_object(image).get("detail")))
        case "input_audio":
            audio = as_object(part.get("input_audio"))
            return Media("audio", f"audio/{audio.get('format') or 'wav'}", as_text(audio.get("data")), native=native)
        case "file":
            return _file(as_object(part.get("file")), native)
        case _:
            return Opaque(native)


def _file(file: dict[str, Any], native: Native) -> Media:
    name = as_text(file.get("filename"))
    if data := as_text(file.get("file_data")):
        media = _by_url("file", data, native)
        return Media("file", media.mime or "application/pdf", media.data or data, name=name, native=native)
    return Media("file", file_id=as_text(file.get("file_id")), name=name, native=native)


def _by_url(kind: Literal["image", "file"], url: str, native: Native, detail: str = "") -> Media:
    """A data URL is taken apart; any other URL is handed on, never fetched."""
    if not url.startswith("data:"):
        return Media(kind, url=url, detail=detail, native=native)
    head, _, data = url.partition(",")
    return Media(kind, head[5:].partition(";")[0], data, detail=detail, native=native)
