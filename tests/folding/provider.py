"""A provider on a real socket whose answers and summaries a test decides, and which notes every body it gets.

It speaks OpenAI chat and Gemini generateContent, whole and streamed. A request is for a summary if it has no tools and
its system text orders one; all others are the chat's own.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, cast

import msgspec
from aiohttp import web

from app.chat import size
from app.chat.family import family_of
from app.wires.wire import Inbound
from tests.wires.talking import WIRES

Json: TypeAlias = dict[str, Any]

SUMMARISER = ("summarise", "要約")
"""How the system text of a request for a summary begins, or what it holds."""


def strings(value: Any) -> Iterator[str]:
    """All strings inside a JSON value, in order; names of fields are left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in cast("Json", value).values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from strings(inner)


@dataclass(frozen=True)
class Call:
    """One request that reached the provider.

    Attributes:
        at: seconds on a monotonic clock. raw: the body's bytes. body: the same, parsed.
    """

    path: str
    raw: bytes
    body: Json
    at: float

    @property
    def wire(self) -> str:
        """`openai` or `gemini`."""
        return "gemini" if "contents" in self.body else "openai"

    @cached_property
    def model(self) -> str:
        """The model that is asked for."""
        return self.path.rpartition("/")[2].partition(":")[0] if self.wire == "gemini" else self.body["model"]

    @property
    def stream(self) -> bool:
        """Whether it is to be streamed."""
        return "streamGenerateContent" in self.path or bool(self.body.get("stream"))

    @cached_property
    def messages(self) -> list[Json]:
        """The messages, or Gemini's contents, without the leading system messages."""
        if self.wire == "gemini":
            return self.body["contents"]
        said: list[Json] = self.body["messages"]
        leading = next((at for at, one in enumerate(said) if one["role"] not in ("system", "developer")), len(said))
        return said[leading:]

    @cached_property
    def system(self) -> str:
        """The system text."""
        if self.wire == "gemini":
            return "\n".join(strings(self.body.get("systemInstruction", {}).get("parts", [])))
        leading = len(self.body["messages"]) - len(self.messages)
        return "\n".join(text for one in self.body["messages"][:leading] for text in strings(one["content"]))

    @cached_property
    def serialized(self) -> bytes:
        """The list of messages as it stood on the wire, without blanks between its values."""
        fields = msgspec.json.decode(self.raw, type=dict[str, msgspec.Raw])
        return msgspec.json.format(bytes(fields["contents" if self.wire == "gemini" else "messages"]), indent=-1)

    def extends(self, before: Call) -> bool:
        """Whether this begins with all that was sent before, byte for byte."""
        return self.serialized.startswith(before.serialized.removesuffix(b"]"))

    @cached_property
    def texts(self) -> list[str]:
        """What each message holds, or each part of Gemini's contents, system texts left out: words, calls, results."""
        if self.wire == "gemini":
            return ["\n".join(strings(_bare(part))) for content in self.messages for part in content["parts"]]
        return ["\n".join(strings(_bare(one))) for one in self.messages]

    @cached_property
    def text(self) -> str:
        """All that the model sees but the system text."""
        return "\n".join(self.texts)

    @cached_property
    def tokens(self) -> int:
        """Estimated tokens of the whole request."""
        chat = WIRES[self.wire].decode(Inbound(self.raw, self.model if self.wire == "gemini" else "", self.stream))
        return size.of_chat(chat, family_of(self.model))

    @cached_property
    def is_summary(self) -> bool:
        """Whether it is made only to write a summary."""
        system = self.system.lower().strip()
        return not self.body.get("tools") and (system.startswith(SUMMARISER[0]) or SUMMARISER[1] in system)


def _bare(piece: Json) -> Json:
    return {name: value for name, value in piece.items() if name not in ("role", "tool_call_id", "thoughtSignature")}


@dataclass(frozen=True)
class Said:
    """One answer.

    Attributes:
        calls: name and arguments of tools to call. signature: of Gemini's first call.
        finish: `stop`, `length` or `tool_calls`. served: the model to name; empty is the one that was asked for.
        body: the whole body in place of an answer. after: seconds before the first byte.
        prompt: tokens to report for the prompt; None is an honest count, 0 reports nothing.
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


Answering: TypeAlias = Callable[[Call], Said]


def refused(message: str, code: str | None = None, status: int = 400) -> Said:
    """An error in OpenAI's form."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return Said(status=status, body=json.dumps({"error": error}).encode())


@dataclass
class Provider:
    """What it got, and how it answers.

    Attributes:
        calls: the chat's own requests. summaries: those for summaries. Both in order of arrival.
        answer, summarise: what it says to either. busy: requests that it has not answered yet.
        hold: while set and unset inside, requests for summaries wait for it before they are answered.
    """

    answer: Answering = lambda call: Said("Noted.")
    summarise: Answering = lambda call: Said("They talked.")
    calls: list[Call] = field(default_factory=list[Call])
    summaries: list[Call] = field(default_factory=list[Call])
    hold: asyncio.Event | None = None
    busy: int = 0
    url: str = ""

    @property
    def last(self) -> Call:
        """The newest request of the chat's own."""
        return self.calls[-1]

    def clear(self) -> None:
        """Forget what it got."""
        self.calls.clear()
        self.summaries.clear()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        raw = await request.read()
        if request.method != "POST":
            return web.json_response({"error": {"message": "There is no such page.", "code": 404}}, status=404)
        call = Call(request.path, raw, json.loads(raw), time.monotonic())
        self.busy += 1
        try:
            if call.is_summary:
                self.summaries.append(call)
                said = self.summarise(call)
                if self.hold is not None:
                    await self.hold.wait()
            else:
                self.calls.append(call)
                said = self.answer(call)
            await asyncio.sleep(said.after)
            return _response(call, said)
        finally:
            self.busy -= 1


def _response(call: Call, said: Said) -> web.Response:
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
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": said.served or call.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    } | ({"usage": usage} if prompt else {})


def _chunks(whole: Json) -> list[Json]:
    head = {**whole, "object": "chat.completion.chunk"}
    choice = head.pop("choices")[0]
    usage = head.pop("usage", None)
    delta: Json = {"role": "assistant", "content": choice["message"]["content"]}
    calls = choice["message"].get("tool_calls", [])
    if calls:
        delta["tool_calls"] = [{"index": at, **one} for at, one in enumerate(calls)]
    said = [{"index": 0, "delta": delta, "finish_reason": None}]
    ended = [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]
    counted = [{**head, "choices": [], "usage": usage}] if usage else []
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


@asynccontextmanager
async def running_provider() -> AsyncGenerator[Provider]:
    """A provider on a free port, for as long as the block lasts. Its URL is Gemini's base; OpenAI's has /v1 behind."""
    provider = Provider()
    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_route("*", "/{path:.*}", provider.serve)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    provider.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield provider
    finally:
        await runner.cleanup()
