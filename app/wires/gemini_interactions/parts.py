"""One step or content of this format → neutral parts, whether a client or Gemini wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from app.chat.model import Media, MediaKind, Native, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from app.errors import ClientError
from app.wires.envelope import RAW_FIELDS, RAW_LIST, compact, read
from app.wires.gemini.decode import media_kind, unwrapped
from app.wires.gemini.names import OWN_FILES
from app.wires.gemini_interactions.names import CONTENTS, NAME, Steps

Fields = Mapping[str, msgspec.Raw]
STRING = msgspec.json.Decoder(str | None)
KINDS: Mapping[str, MediaKind] = {"image": "image", "audio": "audio", "video": "video", "document": "file"}
DETAILS = {"low": "low", "medium": "auto", "high": "high", "ultra_high": "original"}
"""`resolution` → detail."""


MISSING = msgspec.Raw(b"null")


class _Plain(msgspec.Struct, forbid_unknown_fields=True):
    """A content that is mere text."""

    type: Literal["text"]
    text: str


class _PlainStep(msgspec.Struct, forbid_unknown_fields=True):
    """A step of nothing but words: nearly all of a long chat."""

    type: str
    content: list[_Plain]


class _CallStep(msgspec.Struct):
    """A function_call. Some write its arguments as text."""

    id: str | None = ""
    name: str | None = ""
    arguments: msgspec.Raw = MISSING
    signature: str | None = ""


class _ResultStep(msgspec.Struct):
    """A function_result."""

    call_id: str | None = ""
    name: str | None = ""
    result: msgspec.Raw = MISSING
    is_error: bool | None = False


PLAIN_STEP = msgspec.json.Decoder(_PlainStep)
CALL_STEP = msgspec.json.Decoder(_CallStep)
RESULT_STEP = msgspec.json.Decoder(_ResultStep)


def parts_of(raw: msgspec.Raw, kind: str, where: str) -> tuple[Part, ...]:
    """The parts of one step. Raises ClientError naming the field at fault."""
    if kind in ("user_input", "model_output"):
        try:
            return tuple([Text(each.text) for each in PLAIN_STEP.decode(raw).content])
        except msgspec.ValidationError:
            pass
        fields = read(raw, RAW_FIELDS, where)
        return _content(fields.get("content"), f"{where}.content")
    native = Native(NAME, Steps((raw,)))
    if kind == "thought":
        fields = read(raw, RAW_FIELDS, where)
        said = _content(fields.get("summary"), f"{where}.summary")
        words = "".join(part.text for part in said if isinstance(part, Text))
        return (Thinking(words, _text(fields, "signature", where), native),)
    if kind == "function_call":
        return (_call(read(raw, CALL_STEP, where), native, where),)
    if kind == "function_result":
        return (_result(read(raw, RESULT_STEP, where), native, where),)
    return (Opaque(native),)


def first_byte(raw: msgspec.Raw) -> bytes:
    """The byte that tells what kind of JSON value it is. A slice carries no space before it."""
    return bytes(memoryview(raw)[:1])


def contents_of(slices: Sequence[msgspec.Raw], where: str) -> tuple[Part, ...]:
    """The parts of a list of contents."""
    return tuple(_part(raw, f"{where}[{i}]") for i, raw in enumerate(slices))


def _content(raw: msgspec.Raw | None, where: str) -> tuple[Part, ...]:
    """A list by its schema; a string, or one content, is understood too."""
    match first_byte(raw) if raw is not None else b"n":
        case b"n":
            return ()
        case b'"':
            return (Text(read(raw or b"", STRING, where) or ""),)
        case b"{":
            return (_part(raw or msgspec.Raw(b""), where),)
        case _:
            return contents_of(read(raw or b"", RAW_LIST, where), where)


def _part(raw: msgspec.Raw, where: str) -> Part:
    fields = read(raw, RAW_FIELDS, where)
    kind = _text(fields, "type", where) or ("text" if "text" in fields else "")
    if kind == "text":
        return Text(_text(fields, "text", where), Native(NAME, raw) if len(fields) > 2 else None)
    if kind not in CONTENTS:
        return Opaque(Native(NAME, raw))
    mime, uri = _text(fields, "mime_type", where), _text(fields, "uri", where)
    own = uri.startswith(OWN_FILES)  # nobody but Google can read it
    return Media(
        KINDS[kind] if kind != "document" else media_kind(mime) if mime.startswith("image/") else "file",
        mime,
        _text(fields, "data", where),
        "" if own else uri,
        uri if own else "",
        _text(fields, "name", where),
        DETAILS.get(_text(fields, "resolution", where), ""),
        Native(NAME, raw),
    )


def _call(step: _CallStep, native: Native, where: str) -> ToolCall:
    if not step.name:
        raise ClientError(f"{where}.name is missing: a call names its function.", param=f"{where}.name")
    arguments = arguments_of(step.arguments)
    return ToolCall(step.id or "", step.name, arguments, step.signature or "", native=native)


def arguments_of(raw: msgspec.Raw) -> str:
    """Arguments as JSON text; what was no JSON object comes out from under the key that carried it."""
    match first_byte(raw):
        case b"n":
            return "{}"
        case b'"':
            return STRING.decode(raw) or "{}"
        case _:
            text = compact(raw).decode()
            return unwrapped(text) if text.startswith('{"_raw":') else text


def _result(step: _ResultStep, native: Native, where: str) -> ToolResult:
    if not step.call_id:
        raise ClientError(f"{where}.call_id is missing: a result names its call.", param=f"{where}.call_id")
    said = _result_content(step.result, f"{where}.result")
    return ToolResult(step.call_id, said, step.name or "", bool(step.is_error), native)


def _result_content(raw: msgspec.Raw, where: str) -> tuple[Text | Media | Opaque, ...]:
    """A string, a list of contents, or any other JSON, which is then the result itself."""
    first = first_byte(raw)
    if raw is MISSING or first == b'"':
        return (Text(read(raw, STRING, where) or ""),)
    if first == b"[":
        slices = read(raw, RAW_LIST, where)
        if slices and all(_is_content(each) for each in slices):
            return tuple(part for part in contents_of(slices, where) if isinstance(part, Text | Media | Opaque))
    return (Text(compact(raw).decode()),)


def _is_content(raw: msgspec.Raw) -> bool:
    """Whether an element of a result is a content (or a new tool, which the client found) and not just data."""
    if first_byte(raw) != b"{":
        return False
    kind = RAW_FIELDS.decode(raw).get("type")
    return kind is not None and bytes(kind)[1:-1].decode() in (*CONTENTS, "function")


def _text(fields: Fields, name: str, where: str) -> str:
    return (read(fields[name], STRING, f"{where}.{name}") or "") if name in fields else ""
