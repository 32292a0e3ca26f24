"""Fields that a model of OpenAI refuses, by its own word: said under their newer name, or left out.

Which models refuse what is nowhere listed and changes with each of them, so nothing is guessed from a model's name: a
request that the provider takes goes out as it is. The words are OpenAI's own, which compatible servers repeat:
"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead." (code
`unsupported_parameter`), "Unsupported value: 'temperature' does not support 0.5 with this model" (`unsupported_value`).
"""

from __future__ import annotations

from collections.abc import Mapping

from app.chat.model import Loss
from app.errors import UpstreamError
from app.wires.envelope import encode, open_body
from app.wires.openai_chat.names import NAME as CHAT
from app.wires.openai_responses.names import NAME as RESPONSES
from app.wires.wire import Outbound

REFUSALS = frozenset(("unsupported_parameter", "unsupported_value"))
NEWER: Mapping[str, str] = {"max_tokens": "max_completion_tokens"}
"""Older name → the one that says the same to every model (platform.openai.com, chat/create: `max_tokens`)."""

SPARED = frozenset(("temperature", "top_p", "presence_penalty", "frequency_penalty", "stop", "seed", "logit_bias"))
"""Ways to generate without which the answer is still an answer to what was asked."""

SPOKEN = (CHAT, RESPONSES)


def refused(error: UpstreamError) -> str:
    """The field that this refusal is about; empty if it is about something else."""
    return error.param or "" if error.status == 400 and error.code in REFUSALS else ""


def renamed(wire: str, outbound: Outbound, field: str) -> Outbound:
    """The request with the field under its newer name; the very same one if it has none, or none to rename."""
    newer = NEWER.get(field)
    if wire != CHAT or newer is None:
        return outbound
    fields = open_body(outbound.body)
    if field not in fields:
        return outbound
    body = {newer if name == field else name: raw for name, raw in fields.items() if name != newer}
    return Outbound(outbound.path, encode(body | {newer: fields.get(newer, fields[field])}), outbound.losses)


def spared(wire: str, outbound: Outbound, field: str) -> Outbound:
    """The request without the field, which is reported; the very same one where it must not be left out, or where the
    body is the client's own: what it says to its own provider is between the two."""
    if wire not in SPOKEN or field not in SPARED or outbound.untouched:
        return outbound
    fields = open_body(outbound.body)
    if fields.pop(field, None) is None:
        return outbound
    loss = Loss(field, f"{field}: the model refused it, so it was sent once more without.")
    return Outbound(outbound.path, encode(fields), (*outbound.losses, loss))
