"""Neutral words, pictures and files → the content parts of this format, as OpenAI takes them."""

from __future__ import annotations

from typing import Any

from app.chat.model import Loss, Media, Opaque, Part, Text
from app.errors import ClientError
from app.wires.envelope import as_object
from app.wires.openai_responses.names import NAME

PICTURES = frozenset(("image/png", "image/jpeg", "image/jpg", "image/webp", "image/gif", ""))
"""Media types of a picture that OpenAI reads (https://platform.openai.com/docs/guides/images-vision)."""

SOUNDS = {"wav": "wav", "wave": "wav", "mp3": "mp3", "mpeg": "mp3"}
DETAILS = frozenset(("low", "high", "auto", "original"))
AT_OPENAI = frozenset((NAME, "openai_chat"))
"""Formats whose file ids are OpenAI's."""

_STANDARD = str.maketrans("-_", "+/")


def content(parts: list[Part], losses: list[Loss]) -> str | list[dict[str, Any]]:
    """The parts as a message's content: a string where it is nothing but one text. Empty if nothing is left."""
    written = [body for part in parts if (body := _part(part, losses))]
    if len(written) == 1 and written[0].keys() == {"type", "text"}:
        return written[0]["text"]
    return written


def _part(part: Part, losses: list[Loss]) -> dict[str, Any] | None:
    if isinstance(part, Text | Media) and part.native and part.native.wire == NAME:
        return as_object(part.native.body)
    match part:
        case Text(text=text):
            return {"type": "input_text", "text": text} if text else None
        case Media():
            return _media(part)
        case Opaque(native=native) if native.wire == NAME:
            return as_object(native.body)
        case Opaque():
            losses.append(Loss("messages", "A part that only its own provider understands was left out."))
            return None
        case _:  # reasoning, calls and results have items of their own
            return None


def _media(media: Media) -> dict[str, Any]:
    data = standard(media.data)
    url = f"data:{media.mime};base64,{data}" if data else media.url
    if media.file_id and not url:
        return _stored(media)
    if media.kind == "image" and url:
        if media.mime not in PICTURES:
            raise ClientError(
                f"OpenAI reads no picture of type {media.mime[:40]!r}. Send it as PNG, JPEG, WebP or GIF."
            )
        detail = media.detail if media.detail in DETAILS else "auto"
        return {"type": "input_image", "image_url": url, "detail": detail}
    if media.kind == "file" and data:
        return {"type": "input_file", "file_data": url, "filename": media.name or "file"}
    if media.kind == "file" and url:
        return {"type": "input_file", "file_url": url}
    sound = SOUNDS.get(media.mime.partition("/")[2].removeprefix("x-").lower())
    if media.kind == "audio" and data and sound:
        return {"type": "input_audio", "input_audio": {"data": data, "format": sound}}
    raise ClientError(
        f"This model's provider takes no {media.kind} {'of this type' if media.data else 'given by address'}. "
        "Send pictures and files by value or https URL, sounds by value as wav or mp3."
    )


def _stored(media: Media) -> dict[str, Any]:
    """A file that a provider keeps: of use only if that provider is OpenAI."""
    if media.native is None or media.native.wire not in AT_OPENAI:
        raise ClientError(
            f"The file {media.file_id[:40]!r} is stored at another provider: OpenAI cannot read it. "
            "Send its bytes instead."
        )
    if media.kind == "image":
        return {"type": "input_image", "file_id": media.file_id, "detail": media.detail or "auto"}
    return {"type": "input_file", "file_id": media.file_id}


def standard(data: str) -> str:
    """Base64 in the standard alphabet, padded: Google's SDK writes the URL-safe one, which OpenAI refuses."""
    if "-" in data or "_" in data:
        data = data.translate(_STANDARD)
    return data + "=" * (-len(data) % 4)
