"""One step or content of this format → neutral parts, whether a client or Gemini wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from app.chat.model import Media, MediaKind, Native, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from app.errors import ClientError
from app.wires.envelope import RAW_FIELDS, RAW_LIST, compact, read
from app.wires.gemini.decode import OWN_FILES, media_kind, unwrapped
from app.wires.gemini_interactions.names import CONTENTS, NAME, Steps

Fields = Mapping[str, msgspec.Raw]
STRING = msgspec.json.Decoder(str | None)
FLAG = msgspec.json.Decoder(bool | None)
KINDS: Mapping[str, MediaKind] = {"image": "image", "audio": "audio", "video": "video", "document": "file"}
DETAILS = {"low": "low", "medium": "auto", "high": "high", "ultra_high": "original"}
"""`resolution` → detail."""


def parts_of(raw: msgspec.Raw, kind: str, where: str) -> tuple[Part, ...]:
    """The parts of one step. Raises ClientError naming the field at fault."""
    if kind in ("user_input", "model_output"):
        fields = read(raw, RAW_FIELDS, where)
        return _content(fields.get("content"), f"{where}.content")
    native = Native(NAME, Steps((raw,)))
    if kind == "thought":
        fields = read(raw, RAW_FIELDS, where)
        said = _content(fields.get("summary"), f"{where}.summary")
        words = "".join(part.text for part in said if isinstance(part, Text))
        return (Thinking(words, _text(fields, "signature", where), native),)
    if kind == "function_call":
        return (_call(read(raw, RAW_FIELDS, where), native, where),)
    if kind == "function_result":
        return (_result(read(raw, RAW_FIELDS, where), native, where),)
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


def _call(fields: Fields, native: Native, where: str) -> ToolCall:
    name, identity = _text(fields, "name", where), _text(fields, "id", where)
    if not name:
        raise ClientError(f"{where}.name is missing: a call names its function.", param=f"{where}.name")
    arguments = arguments_of(fields.get("arguments"))
    return ToolCall(identity, name, arguments, _text(fields, "signature", where), native=native)


def arguments_of(raw: msgspec.Raw | None) -> str:
    """Arguments as JSON text; what was no JSON object comes out from under the key that carried it."""
    text = compact(raw).decode() if raw is not None else "{}"
    if text == "null":
        return "{}"
    return unwrapped(text) if text.startswith('{"_raw":') else text


def _result(fields: Fields, native: Native, where: str) -> ToolResult:
    identity = _text(fields, "call_id", where)
    if not identity:
        raise ClientError(f"{where}.call_id is missing: a result names its call.", param=f"{where}.call_id")
    failed = bool(read(fields["is_error"], FLAG, f"{where}.is_error")) if "is_error" in fields else False
    said = _result_content(fields.get("result"), f"{where}.result")
    return ToolResult(identity, said, _text(fields, "name", where), failed, native)


def _result_content(raw: msgspec.Raw | None, where: str) -> tuple[Text | Media | Opaque, ...]:
    """A string, a list of contents, or any other JSON, which is then the result itself."""
    first = first_byte(raw) if raw is not None else b'"'
    if raw is None or first == b'"':
        return (Text(read(raw or b'""', STRING, where) or ""),)
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
