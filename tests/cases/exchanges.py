"""One exchange of a field case: what a bare client sends and gets, and what a provider is made to answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import httpx2

GEMINI = "gemini-3-flash-preview"
OPENAI = "gpt-4.1"


@dataclass
class Heard:
    """An answer as a client of chat completions puts it together, whole or streamed.

    Attributes:
        calls: id, name and arguments of each tool call, by index.
        done: how many `[DONE]` came.
        cut: the connection broke before the answer's end.
    """

    status: int
    headers: httpx2.Headers
    raw: bytes = b""
    events: list[Any] = field(default_factory=list[Any])
    text: str = ""
    calls: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    finish: str | None = None
    usage: dict[str, Any] = field(default_factory=dict[str, Any])
    done: int = 0
    cut: bool = False

    @property
    def body(self) -> Any:
        """The JSON of an answer in one piece."""
        return json.loads(self.raw)

    @property
    def arguments(self) -> list[Any]:
        """The calls' arguments, parsed."""
        return [json.loads(call["arguments"]) for call in self.calls]


async def ask(http: httpx2.AsyncClient, body: dict[str, Any], **headers: str) -> Heard:
    """Post a chat completion and read the answer to its end, or to where it breaks off."""
    async with http.stream("POST", "/v1/chat/completions", json=body, headers=headers) as response:
        heard = Heard(response.status_code, response.headers)
        try:
            async for data in response.aiter_bytes():
                heard.raw += data
        except httpx2.TransportError:
            heard.cut = True
    if heard.status == 200:
        _understand(heard)
    return heard


def _understand(heard: Heard) -> None:
    if heard.headers["content-type"].startswith("text/event-stream"):
        for line in heard.raw.decode().splitlines():
            if line.startswith("data:"):
                _take(heard, line.removeprefix("data:").strip())
        return
    choice = heard.body["choices"][0]
    heard.text = choice["message"].get("content") or ""
    heard.finish = choice["finish_reason"]
    heard.usage = heard.body.get("usage") or {}
    for call in _listed(choice["message"].get("tool_calls")):
        heard.calls.append({"id": call["id"], **call["function"]})


def _take(heard: Heard, data: str) -> None:
    if data == "[DONE]":
        heard.done += 1
        return
    event = json.loads(data)
    heard.events.append(event)
    heard.usage = event.get("usage") or heard.usage
    for choice in event.get("choices", []):
        heard.finish = choice.get("finish_reason") or heard.finish
        heard.text += choice["delta"].get("content") or ""
        for piece in _listed(choice["delta"].get("tool_calls")):
            _add(heard.calls, piece)


def _listed(value: Any) -> list[Any]:
    """The list, or an empty one for null."""
    return value or []


def _add(calls: list[dict[str, str]], piece: dict[str, Any]) -> None:
    at: int = piece["index"]
    while len(calls) <= at:
        calls.append({"id": "", "name": "", "arguments": ""})
    call = calls[at]
    call["id"] = piece.get("id") or call["id"]
    for name in ("name", "arguments"):
        call[name] += piece.get("function", {}).get(name) or ""


def chat(*messages: Any, model: str = GEMINI, **fields: Any) -> dict[str, Any]:
    """A request body. A bare string is a user message."""
    said = [{"role": "user", "content": one} if isinstance(one, str) else one for one in messages]
    return {"model": model, "messages": said, **fields}


def tool(name: str, *properties: str, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    """A function tool; its parameters are strings unless `schema` says otherwise."""
    texts = {one: {"type": "string"} for one in properties}
    parameters = schema or {"type": "object", "properties": texts}
    return {"type": "function", "function": {"name": name, "description": f"Does {name}.", "parameters": parameters}}


def called(heard: Heard, *, content: str | None = None) -> dict[str, Any]:
    """The assistant message that a client sends back: standard fields only, everything else of the answer dropped."""
    calls = [
        {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
        for call in heard.calls
    ]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def result(call: dict[str, str], content: str) -> dict[str, Any]:
    """The message that answers one call."""
    return {"role": "tool", "tool_call_id": call["id"], "content": content}


def gemini_said(*parts: dict[str, Any], finish: str = "STOP", usage: dict[str, int] | None = None) -> dict[str, Any]:
    """A script entry: one whole answer of Gemini."""
    counted = usage or {"promptTokenCount": 31, "candidatesTokenCount": 9, "totalTokenCount": 40}
    candidate = {"content": {"role": "model", "parts": list(parts)}, "finishReason": finish, "index": 0}
    return {"json": {"candidates": [candidate], "usageMetadata": counted}}


def gemini_call(name: str, args: dict[str, Any] | None = None, signature: str = "") -> dict[str, Any]:
    """A part that calls a function, signed or not."""
    part: dict[str, Any] = {"functionCall": {"name": name} | ({} if args is None else {"args": args})}
    return part | ({"thoughtSignature": signature} if signature else {})


def gemini_chunk(*parts: dict[str, Any], finish: str = "", usage: dict[str, int] | None = None) -> str:
    """One event of a stream of Gemini's."""
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return "data: " + json.dumps({"candidates": [candidate]} | ({"usageMetadata": usage} if usage else {}))


def gemini_streamed(*chunks: str, **delivery: Any) -> dict[str, Any]:
    """A script entry: a stream of these chunks."""
    return {"headers": {"content-type": "text/event-stream"}, "sse": list(chunks), **delivery}


openai_streamed = gemini_streamed


def openai_chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **fields: Any) -> str:
    """The JSON of one chunk of chat completions, to be put behind `data:`."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    head = {"id": "cmpl-77", "object": "chat.completion.chunk", "created": 1_790_000_111, "model": "served-1"}
    return json.dumps({**head, "choices": choices, **fields}, ensure_ascii=False)


def openai_said(message: dict[str, Any], finish: str = "stop") -> dict[str, Any]:
    """A script entry: one whole completion."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    head = {"id": "cmpl-78", "object": "chat.completion", "created": 1_790_000_111, "model": "served-1"}
    usage = {"prompt_tokens": 12, "completion_tokens": 4, "total_tokens": 16}
    return {"json": {**head, "choices": [choice], "usage": usage}}


def pairing_faults(messages: list[dict[str, Any]]) -> list[str]:
    """What OpenAI would refuse in this history: calls without a result right behind them, results without a call."""
    waiting: list[str] = []
    faults: list[str] = []
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                faults.append(f"messages[{index}] answers no open call")
            continue
        faults += [f"messages[{index}] comes before the result of {one}" for one in waiting]
        waiting = [call["id"] for call in _listed(message.get("tool_calls"))]
    return faults + [f"{one} is never answered" for one in waiting]


def turn_faults(contents: list[dict[str, Any]]) -> list[str]:
    """What Gemini would refuse in this history: empty turns, a wrong order, calls and results that do not match."""
    faults = [f"contents[{at}] has no parts" for at, one in enumerate(contents) if not one.get("parts")]
    faults += [f"contents[{at}] has the role {one['role']}" for at, one in enumerate(contents) if _stranger(one)]
    if contents[0]["role"] != "user":
        faults.append("the first turn is not the user's")
    for at, one in enumerate(contents):
        names = _names(one, "functionCall")
        if names and (at == 0 or contents[at - 1]["role"] == "model"):
            faults.append(f"contents[{at}] calls without a user turn before it")
        if names and (at + 1 == len(contents) or sorted(names) != sorted(_names(contents[at + 1], "functionResponse"))):
            faults.append(f"contents[{at}] calls {names}, which the next turn does not answer")
        if _names(one, "functionResponse") and (at == 0 or not _names(contents[at - 1], "functionCall")):
            faults.append(f"contents[{at}] answers no call")
    return faults


def _stranger(content: dict[str, Any]) -> bool:
    return content.get("role") not in ("user", "model")


def _names(content: dict[str, Any], kind: str) -> list[str]:
    return [part[kind]["name"] for part in content.get("parts", []) if kind in part]
