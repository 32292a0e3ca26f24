"""What a scripted provider says: answers, calls and errors, whole and streamed, in OpenAI's and Gemini's words."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

from aiohttp import web

from app.chat import size
from app.chat.family import family_of
from tests.folding.call import Call, Json


@dataclass(frozen=True)
class Said:
    """One answer.

    Attributes:
        calls: name and arguments of tools to call. signature: of Gemini's first call.
        finish: `stop`, `length` or `tool_calls`. served: the model to name; empty is the one that was asked for.
        body: the whole body in place of an answer. after: seconds before the first byte.
        prompt: tokens to report for the prompt; None is an honest count, 0 reports nothing.
        endless: in a stream of OpenAI's, the text is said again and again until nobody listens.
    """

    text: str = ""
    calls: tuple[tuple[str, Json], ...] = ()
    signature: str = ""
    finish: str = ""
    served: str = ""
    status: int = 200
    body: bytes | None = None
    after: float = 0
    prompt: int | None = None
    endless: bool = False


def refused(message: str, code: str | None = None, status: int = 400) -> Said:
    """An error in OpenAI's form."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return Said(status=status, body=json.dumps({"error": error}).encode())


def response(call: Call, said: Said) -> web.Response:
    """The answer on the wire."""
    if said.body is not None:
        return web.Response(status=said.status, body=said.body, content_type="application/json")
    if said.status >= 400:
        error: Json = {"code": said.status, "message": said.text or "It broke.", "status": "INTERNAL"}
        return web.json_response({"error": error}, status=said.status)
    whole = _gemini(call, said) if call.wire == "gemini" else _openai(call, said)
    if not call.stream:
        return web.json_response(whole)
    events = [whole] if call.wire == "gemini" else _chunks(whole)
    data = "".join(f"data: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events)
    end = "" if call.wire == "gemini" else "data: [DONE]\n\n"
    return web.Response(text=data + end, content_type="text/event-stream")


async def endless(request: web.Request, call: Call, said: Said) -> web.StreamResponse:
    """The text as a stream without an end; it breaks off when the listener has gone."""
    answer = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await answer.prepare(request)
    chunk = json.dumps(_chunks(_openai(call, said))[0], ensure_ascii=False)
    while True:
        await answer.write(f"data: {chunk}\n\n".encode())
        await asyncio.sleep(0.001)


def _prompt(call: Call, said: Said) -> int:
    return call.tokens if said.prompt is None else said.prompt


def _openai(call: Call, said: Said) -> Json:
    number = len(call.raw)
    calls = [
        {"id": f"call_{number}_{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for at, (name, given) in enumerate(said.calls)
    ]
    message: Json = {"role": "assistant", "content": said.text or None} | ({"tool_calls": calls} if calls else {})
    finish = said.finish or ("tool_calls" if calls else "stop")
    prompt, written = _prompt(call, said), size.of_text(said.text, family_of(call.model))
    usage = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
    answer: Json = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": said.served or call.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    return answer | ({"usage": usage} if prompt else {})


def _chunks(whole: Json) -> list[Json]:
    head: Json = {**whole, "object": "chat.completion.chunk"}
    choice: Json = head.pop("choices")[0]
    usage: Json | None = head.pop("usage", None)
    delta: Json = {"role": "assistant", "content": choice["message"]["content"]}
    calls = choice["message"].get("tool_calls", [])
    if calls:
        delta["tool_calls"] = [{"index": at, **one} for at, one in enumerate(calls)]
    said = [{"index": 0, "delta": delta, "finish_reason": None}]
    ended: list[Json] = [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]
    counted: list[Json] = [{**head, "choices": [], "usage": usage}] if usage else []
    return [{**head, "choices": said}, {**head, "choices": ended}, *counted]


def _gemini(call: Call, said: Said) -> Json:
    parts: list[Json] = [{"text": said.text}] if said.text else []
    for at, (name, given) in enumerate(said.calls):
        signed = {"thoughtSignature": said.signature} if said.signature and at == 0 else {}
        parts.append({"functionCall": {"name": name, "args": given}, **signed})
    finish = {"length": "MAX_TOKENS"}.get(said.finish, "STOP")
    prompt, written = _prompt(call, said), size.of_text(said.text, "gemini")
    usage = {"promptTokenCount": prompt, "candidatesTokenCount": written, "totalTokenCount": prompt + written}
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}],
        "modelVersion": said.served or call.model,
        "responseId": f"r{len(call.raw)}",
    } | ({"usageMetadata": usage} if prompt else {})
