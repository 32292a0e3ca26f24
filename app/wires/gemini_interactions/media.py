"""Pictures, sounds, films and documents of other formats → contents of this one."""

from __future__ import annotations

from typing import Any

from app.chat.model import Media
from app.errors import ClientError
from app.wires.gemini.decode import media_kind
from app.wires.gemini.names import OWN_FILES

RESOLUTIONS = {"low": "low", "high": "high", "original": "ultra_high"}
"""A picture's detail → `resolution`; with `auto` the model chooses."""

_STANDARD = str.maketrans("-_", "+/")
_ENDINGS = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
    "heic": "image/heic",
    "pdf": "application/pdf",
    "mp3": "audio/mp3",
    "wav": "audio/wav",
    "mp4": "video/mp4",
}
_USUAL = {"image": "image/jpeg", "audio": "audio/wav", "video": "video/mp4", "file": "application/pdf"}


def content_of(media: Media) -> dict[str, Any]:
    """One content. Raises ClientError for a file that only another provider can read."""
    mime = media.mime or _ENDINGS.get(_ending(media.url), _USUAL[media.kind])
    kind = media_kind(mime) if media.kind == "file" else media.kind
    content: dict[str, Any] = {"type": "document" if kind == "file" else kind}
    if media.data:
        content["data"] = _standard(media.data)
    elif media.url:
        content["uri"] = media.url
    elif media.file_id.startswith(OWN_FILES):
        content["uri"] = media.file_id
    else:
        raise ClientError(
            f"The file {media.file_id[:40]!r} is stored at another provider: Gemini cannot read it. "
            "Send its bytes instead."
        )
    content["mime_type"] = mime
    if kind in ("image", "video") and (level := RESOLUTIONS.get(media.detail)):
        content["resolution"] = level
    return content


def _standard(data: str) -> str:
    """Base64 in the standard alphabet, padded."""
    if "-" in data or "_" in data:
        data = data.translate(_STANDARD)
    return data + "=" * (-len(data) % 4)


def _ending(url: str) -> str:
    return url.partition("?")[0].rpartition(".")[2].lower()
