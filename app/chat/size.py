"""How many tokens a chat takes, estimated per kind of script and per family of tokenizer.

What a provider reported is always better: count its number plus the tail that is new (`known_plus_tail`), and correct
what is left by `chat.calibration`. How far off the estimates are is measured in docs/tokens.md. They lean upwards,
most of all for JSON and logs: a chat that is thought too long is folded a little early, one thought too short is
refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import mul
from typing import Any

import msgspec

from app.chat.family import Family, family_of
from app.chat.media import of_media
from app.chat.model import Chat, Media, Message, Opaque, Part, Text, Thinking, Tool, ToolCall, ToolResult
from app.chat.script import Script, script_of

__all__ = [
    "Family",
    "family_of",
    "known_plus_tail",
    "of_chat",
    "of_message",
    "of_part",
    "of_script",
    "of_text",
    "of_tools",
    "rough",
]

PER_MESSAGE = 4
"""Tokens that frame one message: its role and its ends (OpenAI counts 3 to 4, others about as many)."""

PER_CALL = 8
"""Tokens that frame one tool call, one tool result or one tool."""

PER_CHAT = 3
"""Tokens that open the answer."""

CLAUDE_TOOLS = 500
"""Claude is given a hidden prompt as soon as there are tools: 286 to 675 tokens by model, about 500 for most."""

SIGNATURE_CHARACTERS = 5
"""Characters of a signature a token of the reasoning that it seals. A guess: nobody publishes it."""

OPAQUE_ENCODED = 4_000
"""Characters of base64 in a part that we do not model which count as text; beyond, it is media in disguise."""

# fitted to the tokenizers named beside them, on texts of every kind (see docs/tokens.md); punctuation has a tenth
# added (a quarter for Claude), so that JSON and logs lean upwards
_WEIGHTS: Mapping[Family, Script] = {
    # o200k_base
    "openai": Script(
        lower=0.084, upper=0.112, digits=0.35, punctuation=0.57, blanks=0.39, newlines=1.25, words=0.3,
        numbers=1.22, encoded=0.69, repeated=0.032, latin=0.73, cyrillic=0.17, arabic=0.193, indic=0.24,
        symbols=0.9, kana=0.75, han=0.81, hangul=0.52, emoji=2.0,
    ),
    # nobody publishes the vocabulary for offline use: o200k's weights, but every digit is a token
    "gemini": Script(
        lower=0.089, upper=0.2, digits=1.0, punctuation=0.59, blanks=0.39, newlines=1.25, words=0.3,
        numbers=0.2, encoded=0.75, repeated=0.032, latin=0.85, cyrillic=0.35, arabic=0.45, indic=0.6,
        symbols=1.0, kana=0.75, han=0.82, hangul=0.7, emoji=2.0,
    ),
    # the tokenizer of Opus 4.7 and later; older models take a quarter less, except for Chinese, Japanese and Korean
    "claude": Script(
        lower=0.12, upper=0.7, digits=0.4, punctuation=0.73, blanks=0.173, newlines=1.24, words=1.08,
        numbers=1.09, encoded=0.96, repeated=0.117, latin=2.32, cyrillic=0.35, arabic=0.56, indic=0.7,
        symbols=1.3, kana=0.86, han=1.16, hangul=1.03, emoji=2.0,
    ),
    # the larger of cl100k_base (near Llama 3's) and Qwen 3.5
    "other": Script(
        lower=0.074, upper=0.1, digits=1.15, punctuation=0.63, blanks=0.43, newlines=1.7, words=0.3,
        numbers=0.5, encoded=0.8, repeated=0.041, latin=1.95, cyrillic=0.51, arabic=0.77, indic=1.15,
        symbols=1.1, kana=0.98, han=1.26, hangul=1.0, emoji=2.0,
    ),
}  # fmt: skip


def rough(body: bytes) -> int:
    """Tokens of a whole request, from its bytes: a quarter of them.

    Within 10 % for English and Japanese in UTF-8; JSON and logs take up to twice as many, pictures as base64 far fewer.
    """
    return len(body) // 4


def of_text(text: str, family: Family) -> int:
    """Tokens of words, code, JSON or logs. 0 for an empty text, else at least 1."""
    return of_script(script_of(text), family) if text else 0


def of_script(script: Script, family: Family) -> int:
    """Tokens of a text that is made of this (`script.together` adds up the pieces of one)."""
    return math.ceil(sum(map(mul, script, _WEIGHTS[family])))


def of_part(part: Part, family: Family, model: str = "") -> int:
    """Tokens of one part. `model` tells generations apart where their rules for media differ; empty is the newest."""
    match part:
        case Text():
            return of_text(part.text, family)
        case Thinking():
            return max(of_text(part.text, family), len(part.signature) // SIGNATURE_CHARACTERS)
        case ToolCall():
            said = of_text(part.name, family) + of_text(part.arguments, family)
            return PER_CALL + said + len(part.signature) // SIGNATURE_CHARACTERS
        case ToolResult():
            inside = sum(of_part(piece, family, model) for piece in part.content)
            return PER_CALL + of_text(part.name, family) + inside
        case Media():
            return of_media(part, family, model)
        case Opaque():
            script = script_of(_json(part.native.body))
            return of_script(script._replace(encoded=min(script.encoded, OPAQUE_ENCODED)), family)


def of_message(message: Message, family: Family, model: str = "") -> int:
    """Tokens of one message with its frame. Not memoised: a message is frozen, so the caller may keep the number."""
    return PER_MESSAGE + sum(of_part(part, family, model) for part in message.parts)


def of_tools(tools: Sequence[Tool], family: Family) -> int:
    """Tokens of the tools' names, descriptions and schemas, and of the hidden prompt that some providers add."""
    if not tools:
        return 0
    return sum(_of_tool(tool, family) for tool in tools) + (CLAUDE_TOOLS if family == "claude" else 0)


def of_chat(chat: Chat, family: Family) -> int:
    """Tokens of a whole request: system, messages, tools and the schema that the answer must fit."""
    said = sum(of_message(message, family, chat.model) for message in (*chat.system, *chat.messages))
    output = chat.sampling.output
    schema = of_text(_json(output.schema), family) if output and output.schema else 0
    return PER_CHAT + said + schema + of_tools(chat.tools, family)


def known_plus_tail(
    reported_input: int, reported_output: int, tail: Sequence[Message], family: Family, model: str = ""
) -> int:
    """Tokens of a chat of which the provider reported all but the tail: errors cannot add up over a long history.

    Args:
        reported_input: what the last turn's prompt took, cached tokens included.
        reported_output: what its answer took, which is part of the prompt from now on.
        tail: the messages after that answer.
        family: whose tokenizer counts the tail.
        model: see `of_part`.
    """
    return reported_input + reported_output + sum(of_message(message, family, model) for message in tail)


def _of_tool(tool: Tool, family: Family) -> int:
    if tool.kind == "hosted" and tool.native is not None:
        return PER_CALL + of_text(_json(tool.native.body), family)
    said = of_text(tool.name, family) + of_text(tool.description, family)
    return PER_CALL + said + of_text(_json(tool.schema), family)


def _json(body: Any) -> str:
    return msgspec.json.encode(body, enc_hook=str).decode("utf-8", "replace")
