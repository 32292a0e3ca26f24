"""An Interactions request → Chat.

`input` is a string, one content, a list of contents, a list of steps, or (before June 2026) a list of turns with roles.
Steps of the model that follow each other are one assistant message, so that calls made together stay together; what the
user says is one message a step. Each message keeps its own steps as raw slices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from app.chat.model import Chat, Message, Native, Part, Text
from app.errors import ClientError
from app.wires.envelope import (
    ANYTHING,
    RAW_FIELDS,
    RAW_LIST,
    Envelope,
    as_object,
    as_text,
    open_body,
    read,
    read_or_mend,
)
from app.wires.gemini_interactions.names import CONTENTS, NAME, USER_STEPS, Steps
from app.wires.gemini_interactions.options import Fields, config_of, format_of, sampling_of, tools_of, unread
from app.wires.gemini_interactions.parts import contents_of, first_byte, parts_of
from app.wires.wire import Inbound

STRING = msgspec.json.Decoder(str | None)
FLAG = msgspec.json.Decoder(bool | None)
OPTIONS = msgspec.json.Decoder(dict[str, Any] | None)
MODELED = frozenset(
    (
        *("model", "input", "system_instruction", "tools", "generation_config", "response_format", "store", "stream"),
        *("previous_interaction_id", "continuation_token", "foldline"),
    )
)


class _Kind(msgspec.Struct):
    """What tells the entries of a list apart."""

    type: str | None = None
    role: str | None = None


KIND = msgspec.json.Decoder(_Kind)


def decode(inbound: Inbound) -> Chat:
    """The body as a Chat. Raises ClientError naming the field at fault."""
    return read_or_mend(inbound.body, _chat)


def _chat(raw: bytes, mended: bool) -> Chat:
    fields = open_body(raw)
    model = _named(fields)
    messages, as_it_is = _input(fields)
    if not as_it_is:  # what is no longer taken is written anew: nothing of it may go out as it came
        fields = {name: value for name, value in fields.items() if name != "input"}
    system = _system(fields)
    config, response_format = config_of(fields), format_of(fields)
    plain = not any(message.calls or message.results for message in messages)
    envelope = Envelope(raw, fields, model, system, messages, mended or not as_it_is, plain=plain)
    options = read(fields["foldline"], OPTIONS, "foldline") if "foldline" in fields else None
    return Chat(
        model=model,
        messages=messages,
        system=system,
        tools=tools_of(fields),
        sampling=sampling_of(config, response_format),
        stream=bool(read(fields["stream"], FLAG, "stream")) if "stream" in fields else False,
        include_usage=True,
        store=read(fields["store"], FLAG, "store") if "store" in fields else None,
        resume=text_of(fields, "continuation_token"),
        continues=text_of(fields, "previous_interaction_id"),
        native=Native(NAME, envelope),
        options=options or {},
        rest={name: value for name, value in fields.items() if name not in MODELED} | unread(config, response_format),
        plain=plain,
    )


def text_of(fields: Fields, name: str) -> str:
    """A string field; empty if it is missing or null."""
    return (read(fields[name], STRING, name) or "") if name in fields else ""


def _named(fields: Fields) -> str:
    """The model, or the agent that stands in its place. A model's resource name is taken without its `models/`."""
    model, agent = text_of(fields, "model"), text_of(fields, "agent")
    if model and agent:
        raise ClientError("model and agent exclude each other: send one of them.", param="agent")
    if not model and not agent:
        raise ClientError("model is missing: name the model to use, or an agent.", param="model")
    return (model or agent).removeprefix("models/")


def _system(fields: Fields) -> tuple[Message, ...]:
    text = text_of(fields, "system_instruction")
    return (Message("system", (Text(text),)),) if text else ()


def _input(fields: Fields) -> tuple[tuple[Message, ...], bool]:
    """The messages, and whether `input` may go to Gemini as it came."""
    raw = fields.get("input", msgspec.Raw(b"null"))
    match first_byte(raw):
        case b'"':
            return (Message("user", (Text(read(raw, STRING, "input") or ""),)),), True
        case b"{":
            return _list([raw], msgspec.Raw(b"[" + bytes(raw) + b"]"))
        case b"n":
            if "continuation_token" in fields or "previous_interaction_id" in fields:
                return (), True
            raise ClientError("input is missing: send text, contents, or the conversation as steps.", param="input")
        case _:
            slices = read(raw, RAW_LIST, "input")
    if not slices:
        raise ClientError("input is empty: send text, contents, or the conversation as steps.", param="input")
    return _list(slices, raw)


def _list(slices: Sequence[msgspec.Raw], listed: msgspec.Raw) -> tuple[tuple[Message, ...], bool]:
    if any(first_byte(slice_) == b'"' for slice_ in slices):
        raise ClientError(
            "input: a list holds contents or steps, not strings. Send one string, or steps.", param="input"
        )
    kinds = [read(slice_, KIND, f"input[{i}]") for i, slice_ in enumerate(slices)]
    if all(kind.type in CONTENTS or (kind.type is None and kind.role is None) for kind in kinds):
        whole = all(kind.type for kind in kinds)
        native = Native(NAME, Steps((msgspec.Raw(b'{"type":"user_input","content":' + bytes(listed) + b"}"),)))
        parts = contents_of(slices, "input")
        return (Message("user", parts, native if whole else None),), whole
    turns = any(kind.type is None for kind in kinds)
    return tuple(_messages(slices, kinds)), not turns


def _messages(slices: Sequence[msgspec.Raw], kinds: Sequence[_Kind]) -> list[Message]:
    messages: list[Message] = []
    run: list[msgspec.Raw] = []
    parts: list[Part] = []
    for index, (raw, kind) in enumerate(zip(slices, kinds, strict=True)):
        where = f"input[{index}]"
        if kind.type is not None and kind.type not in USER_STEPS:
            run.append(raw)
            parts.extend(parts_of(raw, kind.type, where))
            continue
        if run:
            messages.append(Message("assistant", tuple(parts), Native(NAME, Steps(tuple(run)))))
            run, parts = [], []
        if kind.type is None:
            messages.append(_turn(raw, kind, where))
        else:
            messages.append(Message("user", parts_of(raw, kind.type, where), Native(NAME, Steps((raw,)))))
    if run:
        messages.append(Message("assistant", tuple(parts), Native(NAME, Steps(tuple(run)))))
    return messages


def _turn(raw: msgspec.Raw, kind: _Kind, where: str) -> Message:
    """A turn with a role, as the API took it before June 2026."""
    if kind.role not in ("user", "model", "assistant"):
        raise ClientError(f"{where}.type is missing: name the step's type, such as user_input.", param=f"{where}.type")
    content = RAW_FIELDS.decode(raw).get("content", msgspec.Raw(b'""'))
    role = "user" if kind.role == "user" else "assistant"
    if first_byte(content) == b'"':
        return Message(role, (Text(as_text(read(content, ANYTHING, f"{where}.content"))),))
    listed = [content] if first_byte(content) == b"{" else read(content, RAW_LIST, f"{where}.content")
    parts: list[Part] = []
    for place, each in enumerate(listed):
        kind_ = as_text(as_object(read(each, ANYTHING, f"{where}.content[{place}]")).get("type")) or "text"
        inner = f"{where}.content[{place}]"
        parts.extend(contents_of([each], inner) if kind_ in CONTENTS else parts_of(each, kind_, inner))
    return Message(role, tuple(parts))
