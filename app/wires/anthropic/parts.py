"""Neutral parts → content blocks, by what Anthropic takes (https://platform.claude.com/docs/en/build-with-claude/vision
and …/pdf-support): pictures as JPEG, PNG, GIF or WebP, files as PDF or plain text, no block of empty text.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from app.chat.model import Loss, Media, Native, Opaque, Text, ToolCall, ToolResult
from app.errors import ClientError
from app.wires.anthropic.names import NAME, legal
from app.wires.envelope import RAW_FIELDS, as_object, encode
from app.wires.gemini.contents import wrapped

PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp")
BEGINNINGS = (("/9j/", "image/jpeg"), ("iVBOR", "image/png"), ("R0lGOD", "image/gif"), ("UklGR", "image/webp"))
"""How base64 of each kind begins. Anthropic looks at the bytes, and refuses a picture that is not what it claims."""

DETAILS = frozenset(("low", "high", "original"))
"""How closely a picture is to be looked at, where another format says it."""

SILENT_ERROR = "(The tool failed and said nothing.)"
"""A result that is an error must hold something."""

_STANDARD = str.maketrans("-_", "+/")


def own(native: Native | None) -> Any:
    """What an Anthropic client itself wrote for a part; None if it wrote nothing, or another format."""
    return native.body if native is not None and native.wire == NAME else None


def text(part: Text) -> Any:
    """A text block; None if there is nothing in it, as Anthropic refuses an empty one."""
    if (mine := own(part.native)) is not None:
        return mine
    return {"type": "text", "text": part.text, **mark(part.native)} if part.text.strip() else None


def call(part: ToolCall, identity: str) -> Any:
    """A tool_use block under this id; the client's own bytes where they say the same."""
    if (mine := own(part.native)) is not None:
        return _renamed(mine, "id", part.id, identity)
    block = {"type": "tool_use", "id": identity, "name": legal(part.name), "input": wrapped(part)}
    return block | mark(part.native)


def result(part: ToolResult, identity: str, losses: list[Loss]) -> Any:
    """A tool_result block for the call with this id. Raises ClientError for media that Anthropic does not take."""
    if (mine := own(part.native)) is not None:
        return _renamed(mine, "tool_use_id", part.call_id, identity)
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": identity}
    content = [body for inner in part.content if (body := said(inner, losses)) is not None]
    if part.is_error:
        content = content or [{"type": "text", "text": SILENT_ERROR}]
        block["is_error"] = True
    if content:
        block["content"] = plain(content)
    return block | mark(part.native)


def said(part: Text | Media | Opaque, losses: list[Loss]) -> Any:
    """A block of a user's message or of a result; None for what has no place here. Raises ClientError."""
    match part:
        case Text():
            return text(part)
        case Media():
            if part.detail in DETAILS and own(part.native) is None:
                losses.append(Loss("messages", "Claude looks at every picture closely: detail is left out."))
            return media(part)
        case Opaque():
            if (mine := own(part.native)) is None:
                losses.append(Loss("messages", "A part that only its own provider understands was left out."))
            return mine


def plain(blocks: list[Any]) -> str | list[Any]:
    """One block of nothing but text in the short form, a string; everything else as it is."""
    if len(blocks) == 1 and isinstance(blocks[0], dict):
        only = as_object(blocks[0])
        if only.keys() == {"type", "text"}:
            return str(only["text"])
    return blocks


def media(part: Media) -> Any:
    """An image or document block. Raises ClientError for what Anthropic takes in no form."""
    if (mine := own(part.native)) is not None:
        return mine
    source = _source(part)
    kind = "image" if _is_picture(part) else "document"
    title = {"title": part.name} if part.name and kind == "document" else {}
    return {"type": kind, "source": source, **title, **mark(part.native)}


def _is_picture(part: Media) -> bool:
    return part.kind == "image" or part.mime.startswith("image/")


def _source(part: Media) -> dict[str, Any]:
    if part.kind in ("audio", "video"):
        raise ClientError(f"Claude takes no {part.kind}. Leave it out, or send what is said in it as text.")
    if part.data:
        return _by_value(part)
    if part.file_id:
        words = f"The file {part.file_id[:40]!r} is stored at another provider: Claude cannot read it."
        raise ClientError(f"{words} Send its bytes instead.")
    if not part.url.startswith("https://"):
        raise ClientError("Claude takes pictures and PDFs by https URL or by value: send the bytes as base64.")
    return {"type": "url", "url": part.url}


def _by_value(part: Media) -> dict[str, Any]:
    data = _standard(part.data)
    if _is_picture(part):
        mime = next((mime for start, mime in BEGINNINGS if data.startswith(start)), part.mime.lower())
        mime = "image/jpeg" if mime == "image/jpg" else mime
        if mime not in PICTURES:
            raise ClientError(f"Claude takes no {mime or 'picture of unknown kind'}: send JPEG, PNG, GIF or WebP.")
        return {"type": "base64", "media_type": mime, "data": data}
    if part.mime in ("application/pdf", "") or data.startswith("JVBERi"):
        return {"type": "base64", "media_type": "application/pdf", "data": data}
    try:
        words = base64.b64decode(data, validate=True).decode()
    except (binascii.Error, ValueError):
        raise ClientError(f"Claude takes no file of type {part.mime}: send a PDF or plain text.") from None
    return {"type": "text", "media_type": "text/plain", "data": words}


def _standard(data: str) -> str:
    """Base64 in the standard alphabet, padded: Google's SDK writes the URL-safe one."""
    if "-" in data or "_" in data:
        data = data.translate(_STANDARD)
    return data + "=" * (-len(data) % 4)


def mark(native: Native | None) -> dict[str, Any]:
    """A cache mark that the client set on a part; those of other formats may, as gateways take it there."""
    if native is None:
        return {}
    body: Any = msgspec.json.decode(native.body) if isinstance(native.body, msgspec.Raw) else native.body
    said = cast("Mapping[str, Any]", body).get("cache_control") if isinstance(body, Mapping) else None
    return {"cache_control": said} if isinstance(said, dict) else {}


def _renamed(block: Any, field: str, before: str, identity: str) -> Any:
    if before == identity:
        return block
    fields: dict[str, Any] = dict(RAW_FIELDS.decode(block if isinstance(block, msgspec.Raw) else encode(block)))
    return fields | {field: identity}
