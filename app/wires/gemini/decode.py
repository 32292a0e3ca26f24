"""A generateContent request → Chat.

Proto-JSON takes lowerCamelCase and snake_case, and the official SDK mixes both in one body, so known keys are read in
either. Keys inside free-form maps (arguments, responses, schemas) are never touched.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import msgspec

from app.chat.model import (
    Chat,
    Media,
    MediaKind,
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
    ANYTHING,
    RAW_FIELDS,
    RAW_LIST,
    Envelope,
    as_object,
    compact,
    forbids_storing,
    is_null,
    open_body,
    read,
    read_or_mend,
)
from app.wires.gemini.names import NAME, OWN_FILES
from app.wires.gemini.options import sampling_of, tools_of, unread
from app.wires.gemini.spelling import camel, camel_keys
from app.wires.wire import Inbound

Fields = dict[str, msgspec.Raw]
TEXT = msgspec.json.Decoder(str)
OPTIONS = msgspec.json.Decoder(dict[str, Any] | None)
FLAG = msgspec.json.Decoder(bool)
MODELED = frozenset(("contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "foldline"))


DETAILS = {
    "MEDIA_RESOLUTION_LOW": "low",
    "MEDIA_RESOLUTION_MEDIUM": "auto",
    "MEDIA_RESOLUTION_HIGH": "high",
    "MEDIA_RESOLUTION_ULTRA_HIGH": "original",
}
"""`mediaResolution.level` → detail."""


def decode(inbound: Inbound) -> Chat:
    """The body as a Chat. Raises ClientError naming the field at fault."""
    return read_or_mend(inbound.body, lambda raw, mended: _chat(inbound, raw, mended))


def _chat(inbound: Inbound, raw: bytes, mended: bool) -> Chat:
    named = open_body(raw)
    fields = {camel(name): value for name, value in named.items() if not is_null(value)}
    if "contents" not in fields:
        raise ClientError("contents is missing: send the whole conversation as a list of contents.", param="contents")
    messages = _contents(fields["contents"])
    system = _system(fields)
    config = (
        camel_keys(as_object(read(fields["generationConfig"], ANYTHING, "generationConfig")))
        if "generationConfig" in fields
        else {}
    )
    options = read(fields["foldline"], OPTIONS, "foldline") if "foldline" in fields else None
    rest = {name: value for name, value in fields.items() if name not in MODELED} | unread(config, fields)
    if private := forbids_storing(fields):
        del rest["store"]
    return Chat(
        model=inbound.model,
        messages=messages,
        system=system,
        tools=tools_of(fields),
        sampling=sampling_of(config, fields),
        stream=inbound.stream,
        include_usage=True,
        framing=inbound.framing,
        native=Native(NAME, Envelope(raw, named, inbound.model, system, messages, mended)),
        options=options or {},
        rest=rest,
        store=False if private else None,
    )


def _fields(raw: msgspec.Raw, where: str) -> Fields:
    """The fields under their canonical names; null is how proto-JSON says that a field is not there."""
    fields = read(raw, RAW_FIELDS, where)
    return {camel(name): value for name, value in fields.items() if not is_null(value)}


def _contents(raw: msgspec.Raw) -> tuple[Message, ...]:
    """`contents` is a list by its schema; REST users may send one content, or plain text, and the API takes it."""
    first = bytes(memoryview(raw)[:1])
    if first == b'"':
        return (Message("user", (Text(read(raw, TEXT, "contents")),)),)
    slices = [raw] if first == b"{" else read(raw, RAW_LIST, "contents")
    if not slices:
        raise ClientError("contents is empty: send at least one content.", param="contents")
    return tuple(_identified(_content(slice_, f"contents[{index}]") for index, slice_ in enumerate(slices)))


def _identified(messages: Iterable[Message]) -> Iterable[Message]:
    """Calls and results without ids get matching ones, by name and order: older models give none, and Google's own SDK
    answers a call that has an id without saying it.

    The natives keep none. A model turn may stand in several contents: its calls wait together.
    """
    waiting: list[ToolCall] = []
    speaking = False
    for index, message in enumerate(messages):
        if message.calls and not speaking:
            waiting = []
        speaking = message.role == "assistant"
        if all(part.id for part in message.calls) and all(part.call_id for part in message.results):
            answered = {part.call_id for part in message.results}
            waiting = [call for call in (*waiting, *message.calls) if call.id not in answered]
            yield message
        else:
            parts = tuple(
                _named_part(part, f"call_{index}_{place}", waiting) for place, part in enumerate(message.parts)
            )
            yield Message(message.role, parts, message.native)


def _named_part(part: Part, identity: str, waiting: list[ToolCall]) -> Part:
    if isinstance(part, ToolCall):
        call = part
        if not part.id:
            call = ToolCall(identity, part.name, part.arguments, part.signature, part.kind, part.native)
        waiting.append(call)
        return call
    if isinstance(part, ToolResult):
        return _paired(part, waiting)
    return part


def _paired(result: ToolResult, waiting: list[ToolCall]) -> ToolResult:
    for position, call in enumerate(waiting):
        if call.id == result.call_id or (not result.call_id and call.name == result.name):
            del waiting[position]
            if result.call_id:
                return result
            return ToolResult(call.id, result.content, result.name, result.is_error, result.native)
    return result


def _content(raw: msgspec.Raw, where: str) -> Message:
    fields = _fields(raw, where)
    role = read(fields["role"], TEXT, f"{where}.role") if "role" in fields else "user"
    if role not in ("user", "model", "function", "tool", ""):
        raise ClientError(f"{where}.role: {role!r} is not a role. Use user or model.", param=f"{where}.role")
    parts = _parts(fields, where)
    return Message("assistant" if role == "model" else "user", parts, Native(NAME, raw))


def _parts(fields: Fields, where: str) -> tuple[Part, ...]:
    if "parts" not in fields:
        return ()
    raw = fields["parts"]  # a list by its schema; Google's own examples write a single part too, and the API takes it
    slices = [raw] if bytes(raw)[:1] == b"{" else read(raw, RAW_LIST, f"{where}.parts")
    return tuple(part(slice_, f"{where}.parts[{i}]") for i, slice_ in enumerate(slices))


def part(raw: msgspec.Raw, where: str) -> Part:
    """One part of a content, from a client or from Gemini."""
    fields = _fields(raw, where)
    native = Native(NAME, raw)
    signature = read(fields["thoughtSignature"], TEXT, where) if "thoughtSignature" in fields else ""
    if "text" in fields:
        text = read(fields["text"], TEXT, f"{where}.text")
        if "thought" in fields and read(fields["thought"], FLAG, f"{where}.thought"):
            return Thinking(text, signature, native)
        return Text(text, native if len(fields) > 1 else None)
    if "functionCall" in fields:
        return _call(_fields(fields["functionCall"], f"{where}.functionCall"), signature, native, where)
    if "functionResponse" in fields:
        return _result(_fields(fields["functionResponse"], f"{where}.functionResponse"), native, where)
    if "inlineData" in fields:
        return _media(_fields(fields["inlineData"], f"{where}.inlineData"), native, where, _detail(fields, where))
    if "fileData" in fields:
        return _media(_fields(fields["fileData"], f"{where}.fileData"), native, where, _detail(fields, where))
    return Opaque(native)


def _call(fields: Fields, signature: str, native: Native, where: str) -> ToolCall:
    name = read(fields["name"], TEXT, f"{where}.functionCall.name") if "name" in fields else ""
    identity = read(fields["id"], TEXT, f"{where}.functionCall.id") if "id" in fields else ""
    arguments = compact(fields["args"]).decode() if "args" in fields else "{}"
    if arguments == "null":
        arguments = "{}"
    elif arguments.startswith('{"_raw":'):
        arguments = unwrapped(arguments)
    return ToolCall(identity, name, arguments, signature, native=native)


def _result(fields: Fields, native: Native, where: str) -> ToolResult:
    name = read(fields["name"], TEXT, f"{where}.functionResponse.name") if "name" in fields else ""
    identity = read(fields["id"], TEXT, f"{where}.functionResponse.id") if "id" in fields else ""
    text, is_error = _response(fields.get("response"), where)
    content: list[Text | Media | Opaque] = [Text(text)]
    if "parts" in fields:
        for i, slice_ in enumerate(read(fields["parts"], RAW_LIST, f"{where}.functionResponse.parts")):
            inner = part(slice_, f"{where}.functionResponse.parts[{i}]")
            if isinstance(inner, Text | Media | Opaque):
                content.append(inner)
    return ToolResult(identity, tuple(content), name, is_error, native)


def _response(raw: msgspec.Raw | None, where: str) -> tuple[str, bool]:
    """The words of a result. `output` and `error` are the format's own keys; any other object is the result itself."""
    if raw is None:
        return "", False
    fields = read(raw, RAW_FIELDS, f"{where}.functionResponse.response")
    for key, is_error in (("error", True), ("output", False)):
        if key in fields and len(fields) == 1:
            value = bytes(fields[key])
            return (TEXT.decode(value) if value[:1] == b'"' else compact(value).decode()), is_error
    return compact(raw).decode(), "error" in fields


def _detail(fields: Fields, where: str) -> str:
    """How closely a picture is to be looked at, in OpenAI's words."""
    if "mediaResolution" not in fields:
        return ""
    said = camel_keys(as_object(read(fields["mediaResolution"], ANYTHING, f"{where}.mediaResolution")))
    return DETAILS.get(str(said.get("level")).upper(), "")


def _media(fields: Fields, native: Native, where: str, detail: str = "") -> Media:
    def text(name: str) -> str:
        return read(fields[name], TEXT, f"{where}.{name}") if name in fields else ""

    mime, uri = text("mimeType"), text("fileUri")
    own = uri.startswith(OWN_FILES)  # nobody but Google can read it
    return Media(
        media_kind(mime),
        mime,
        text("data"),
        "" if own else uri,
        uri if own else "",
        text("displayName"),
        detail,
        native,
    )


def unwrapped(arguments: str) -> str:
    """Arguments that were no JSON object, from under the key that carried them (see contents.wrapped)."""
    fields = as_object(ANYTHING.decode(arguments))
    raw = fields.get("_raw")
    return raw if isinstance(raw, str) and len(fields) == 1 else arguments


def media_kind(mime: str) -> MediaKind:
    """image, audio, video; everything else is a file."""
    head = mime.partition("/")[0]
    return cast(MediaKind, head) if head in ("image", "audio", "video") else "file"


def _system(fields: Fields) -> tuple[Message, ...]:
    """The system instruction. Its role is ignored: the SDK says `user`, REST users `system` or nothing."""
    raw = fields.get("systemInstruction")
    if raw is None or bytes(raw) == b"null":
        return ()
    if bytes(raw)[:1] == b'"':
        return (Message("system", (Text(read(raw, TEXT, "systemInstruction")),)),)
    content = _fields(raw, "systemInstruction")
    return (Message("system", _parts(content, "systemInstruction"), Native(NAME, raw)),)
