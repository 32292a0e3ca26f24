"""Gemini's generateContent: every part is a message here, so that results stand by themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec

from bench.memory.bodies import Body, Said, made
from bench.memory.spoken.api import Api, History, Item, Told, UnreadableError, joined, raw, text_of


class _Content(msgspec.Struct):
    parts: list[msgspec.Raw] = []
    role: str = "user"


class _Raw(msgspec.Struct, rename="camel"):
    contents: list[_Content]
    system_instruction: msgspec.Raw = msgspec.Raw(b"")
    tools: msgspec.Raw = msgspec.Raw(b"")
    generation_config: Item | None = None


def _read(data: bytes, model: str, _history: History) -> Body:
    try:
        given = msgspec.json.decode(data, type=_Raw)
    except msgspec.MsgspecError as error:
        raise UnreadableError(str(error)) from error
    system = bytes(given.system_instruction)
    first = [Said(system, "system", text_of(json.loads(system)["parts"]))] if system else []
    said = [*first, *joined(one for content in given.contents for one in _parts(content))]
    name, _, verb = model.partition(":")
    return made(
        said,
        tools=bytes(given.tools),
        model=name,
        stream=verb != "generateContent",
        limit=(given.generation_config or {}).get("maxOutputTokens") or 0,
        size=len(data),
    )


def _parts(content: _Content) -> Iterator[Said]:
    role = "assistant" if content.role == "model" else "user"
    for part in content.parts:
        read: Item = json.loads(bytes(part))
        if call := read.get("functionCall"):
            words = f"{call['name']} {json.dumps(call.get('args'), ensure_ascii=False)}"
            yield Said(bytes(part), role, words, (call.get("id") or call["name"],))
        elif result := read.get("functionResponse"):
            words = json.dumps(result.get("response"), ensure_ascii=False)
            yield Said(bytes(part), "tool", words, answers=result.get("id") or result["name"])
        else:
            yield Said(bytes(part), role, str(read.get("text") or ""))


def _whole(told: Told) -> Item:
    parts: list[Item] = [{"text": told.text}] if told.text else []
    for identity, name, arguments in told.calls:
        parts.append({"functionCall": {"id": identity, "name": name, "args": json.loads(arguments)}})
    usage = {
        "promptTokenCount": told.asked.tokens,
        "cachedContentTokenCount": told.cached,
        "candidatesTokenCount": told.answered,
        "totalTokenCount": told.asked.tokens + told.answered,
    }
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": told.asked.model,
        "responseId": told.id or raw(told.asked.tokens).decode(),
    }


GENERATE = Api(
    "generate",
    "/v1beta/models/{model}",
    kind="gemini",
    setting="gemini_api",
    value="generate",
    model="gemini-2.5-flash",
    read=_read,
    whole=_whole,
)
