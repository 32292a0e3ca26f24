"""The encrypted content of reasoning items: made for one organisation and model, checked when it comes back.

Content that the simulator did not make is refused; its own, but of another credential or model, is left out silently
and reported in `input_transformations`, as OpenAI documents it.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence

from app.simulator.openai.problems import refused
from app.simulator.shapes import Json, as_list, as_text, digest, dump

_START = "gAAAAA"


def encrypted(owner: str, model: str, identity: str) -> str:
    """The encrypted content of the reasoning item of that id."""
    said = dump([owner, model, identity])
    return _START + base64.urlsafe_b64encode(f"{said} {_seal(said)}".encode()).decode()


def usable(items: Sequence[Json], owner: str, model: str) -> tuple[tuple[Json, ...], list[Json]]:
    """The items that the model reads, and what is told of those that were left out.

    Raises:
        RefusalError: content that nobody can read.
    """
    used: list[Json] = []
    told: list[Json] = []
    for item in items:
        content = as_text(item.get("encrypted_content"))
        if item["type"] not in ("reasoning", "compaction") or not content:
            used.append(item)
            continue
        whose, made_by = _read(content, as_text(item.get("id")))
        reason = "organization_mismatch" if whose != owner else "model_mismatch" if made_by != model else ""
        if reason:
            told.append({"type": "reasoning", "id": item.get("id"), "action": "removed", "reason": reason})
        else:
            used.append(item)
    return tuple(used), told


def _read(content: str, identity: str) -> tuple[str, str]:
    try:
        raw = base64.urlsafe_b64decode(content.removeprefix(_START)).decode()
        said, _, seal = raw.rpartition(" ")
        whose, model, _ = as_list(json.loads(said))
    except (binascii.Error, ValueError):
        said, seal, whose, model = "", "", "", ""
    if not content.startswith(_START) or seal != _seal(said):
        raise refused(
            f"The encrypted content for item {identity} could not be verified. "
            "Reason: Encrypted content could not be decrypted or parsed.",
            "input",
            "invalid_encrypted_content",
        )
    return whose, model


def _seal(said: str) -> str:
    return digest("encrypted reasoning", said)
