"""Content blocks → neutral parts.

A client sends hundreds of blocks again on every turn, nearly all of four kinds. A list of nothing but those is read in
one go; only where something else stands among them, each block is looked at by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from app.chat.model import Media, Native, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from app.errors import ClientError
from app.wires.anthropic.citing import hold_ours, without_ours
from app.wires.anthropic.names import NAME, UNSIGNED
from app.wires.envelope import ANYTHING, RAW_FIELDS, RAW_LIST, as_list, as_object, as_text, compact, read
from app.wires.gemini.decode import unwrapped

Fields = dict[str, msgspec.Raw]
TEXT = msgspec.json.Decoder(str)
MAYBE_TEXT = msgspec.json.Decoder(str | None)
MAYBE_FLAG = msgspec.json.Decoder(bool | None)


class Message(msgspec.Struct):
    """A message as the format has it; the blocks stay raw until somebody asks for them."""

    role: str
    content: str | list[msgspec.Raw]


MESSAGE = msgspec.json.Decoder(Message)


def slices_of(raw: msgspec.Raw | bytes) -> list[msgspec.Raw]:
    """The content blocks of a raw message that was read before, each as it was written."""
    content = MESSAGE.decode(raw).content
    if isinstance(content, str):
        return [msgspec.Raw(msgspec.json.encode({"type": "text", "text": content}))] if content.strip() else []
    return content


class _Text(msgspec.Struct, tag_field="type", tag="text", forbid_unknown_fields=True):
    """A block of words alone: one with more (a cache mark, citations) is not read this way."""

    text: str


class _Thought(msgspec.Struct, tag_field="type", tag="thinking"):
    thinking: str
    signature: str | None = None


class _Use(msgspec.Struct, tag_field="type", tag="tool_use"):
    id: str
    name: str
    input: msgspec.Raw = msgspec.Raw(b"{}")


class _Result(msgspec.Struct, tag_field="type", tag="tool_result"):
    tool_use_id: str
    content: msgspec.Raw = msgspec.Raw(b"null")
    is_error: bool | None = None


_Usual = _Text | _Thought | _Use | _Result


class _UsualMessage(msgspec.Struct):
    content: list[_Usual]


_USUAL_MESSAGE = msgspec.json.Decoder(_UsualMessage)
_USUAL_LIST = msgspec.json.Decoder(list[_Text])


def parts_of(message: msgspec.Raw, slices: Sequence[msgspec.Raw], where: str) -> tuple[Part, ...]:
    """The parts of a raw message whose content are these blocks. Raises ClientError naming the field at fault."""
    try:
        usual = _USUAL_MESSAGE.decode(message).content
    except (msgspec.DecodeError, RecursionError):
        return listed(slices, where)
    return tuple(_usual(block, raw, where) for block, raw in zip(usual, slices, strict=True))


def listed(slices: Sequence[msgspec.Raw], where: str) -> tuple[Part, ...]:
    """The parts that these blocks are, one by one. Raises ClientError naming the field at fault."""
    return tuple(part(block, f"{where}[{i}]") for i, block in enumerate(slices))


def _usual(block: _Usual, raw: msgspec.Raw, where: str) -> Part:
    match block:
        case _Text():
            return Text(block.text)
        case _Use():
            return _called(block.id, block.name, block.input, raw)
        case _Result():
            content = _inner(block.content, f"{where}.content")
            return ToolResult(block.tool_use_id, content, "", bool(block.is_error), Native(NAME, raw))
        case _Thought():
            return _thought(block.thinking, block.signature, raw)


def part(raw: msgspec.Raw, where: str) -> Part:
    """One block as a part, its native with it. Raises ClientError naming the field at fault.

    A block of a type that we do not know is Opaque.
    """
    fields = read(raw, RAW_FIELDS, where)
    kind = _text(fields, "type", where)
    match kind:
        case "text":
            text = _text(fields, "text", where)
            return Text(text, _words_native(raw) if len(fields) > 2 else None)
        case "tool_use":
            return _call(fields, raw, where)
        case "tool_result":
            return _result(fields, raw, where)
        case "thinking":
            return _thinking(fields, raw, where)
        case "image" | "document":
            return _media(kind, fields, raw, where)
        case "search_result":
            return _search_result(fields, raw, where)
        case _:
            return Opaque(Native(NAME, ANYTHING.decode(raw)))


def _words_native(raw: msgspec.Raw) -> Native | None:
    """A text block that holds more than words, without citations of ours: Anthropic would refuse them."""
    if not hold_ours((raw,)):
        return Native(NAME, raw)
    kept = without_ours(as_object(ANYTHING.decode(raw)))
    return Native(NAME, kept) if len(kept) > 2 else None


def _text(fields: Fields, name: str, where: str) -> str:
    if name not in fields:
        raise ClientError(f"{where}.{name} is missing: give it as a string.", param=f"{where}.{name}")
    return read(fields[name], TEXT, f"{where}.{name}")


def _call(fields: Fields, raw: msgspec.Raw, where: str) -> ToolCall:
    given = fields.get("input", msgspec.Raw(b"{}"))
    return _called(_text(fields, "id", where), _text(fields, "name", where), given, raw)


def _called(identity: str, name: str, given: msgspec.Raw, raw: msgspec.Raw) -> ToolCall:
    arguments = compact(given).decode()
    if arguments.startswith('{"_raw":'):
        arguments = unwrapped(arguments)
    return ToolCall(identity, name, arguments, native=Native(NAME, raw))


def _result(fields: Fields, raw: msgspec.Raw, where: str) -> ToolResult:
    identity = _text(fields, "tool_use_id", where)
    is_error = "is_error" in fields and bool(read(fields["is_error"], MAYBE_FLAG, f"{where}.is_error"))
    content = _inner(fields.get("content", msgspec.Raw(b"null")), f"{where}.content")
    return ToolResult(identity, content, "", is_error, Native(NAME, raw))


def _inner(content: msgspec.Raw, where: str) -> tuple[Text | Media | Opaque, ...]:
    """The content of a tool result: words, or blocks."""
    first = bytes(memoryview(content)[:1])
    if first == b'"':
        return (Text(read(content, TEXT, where)),)
    if first == b"n":
        return ()
    try:
        return tuple(Text(block.text) for block in _USUAL_LIST.decode(content))
    except (msgspec.DecodeError, RecursionError):
        parts = listed(read(content, RAW_LIST, where), where)
        return tuple(inner for inner in parts if isinstance(inner, Text | Media | Opaque))


def _thinking(fields: Fields, raw: msgspec.Raw, where: str) -> Thinking:
    signature = read(fields["signature"], MAYBE_TEXT, f"{where}.signature") if "signature" in fields else ""
    return _thought(_text(fields, "thinking", where), signature, raw)


def _thought(text: str, signature: str | None, raw: msgspec.Raw) -> Thinking:
    """Ours comes back without signature and native: it is not Anthropic's, and must not look as if it were."""
    if not signature or signature == UNSIGNED:
        return Thinking(text)
    return Thinking(text, signature, Native(NAME, raw))


def _media(kind: str, fields: Fields, raw: msgspec.Raw, where: str) -> Media | Text:
    source = as_object(read(fields["source"], ANYTHING, f"{where}.source")) if "source" in fields else {}
    title = as_text(ANYTHING.decode(fields["title"])) if "title" in fields else ""
    native = Native(NAME, raw)
    mime, data = as_text(source.get("media_type")), as_text(source.get("data"))
    what = "image" if kind == "image" or mime.startswith("image/") else "file"
    match source.get("type"):
        case "base64" if data:
            return Media(what, mime, data, name=title, native=native)
        case "url" if url := as_text(source.get("url")):
            return Media(
                what, mime or ("application/pdf" if what == "file" else ""), url=url, name=title, native=native
            )
        case "file" if identity := as_text(source.get("file_id")):
            return Media(what, mime, file_id=identity, name=title, native=native)
        case "text":  # plain words to every other provider, whose files are PDFs
            return Text(f"{title}\n{data}" if title else data, native)
        case "content":
            return Text(_words(title, source.get("content")), native)
        case _:
            raise ClientError(
                f"{where}.source: give it as base64 (with media_type and data), url, file, text or content.",
                param=f"{where}.source",
            )


def _search_result(fields: Fields, raw: msgspec.Raw, where: str) -> Text:
    """A search result's words: what other providers read of it."""
    said = as_object(read(raw, ANYTHING, where))
    heading = "\n".join(filter(None, (as_text(said.get("title")), as_text(said.get("source")))))
    return Text(_words(heading, said.get("content")), Native(NAME, raw))


def _words(heading: str, content: Any) -> str:
    if isinstance(content, str):
        texts = [content]
    else:
        texts = [as_text(as_object(block).get("text")) for block in as_list(content)]
    return "\n".join(filter(None, (heading, *texts)))
