"""Short ways to drive a wire in a test: decode, encode for the other, read an answer, write it for a client."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from app.chat.events import Event
from app.chat.model import Chat
from app.wires.gemini import GEMINI
from app.wires.openai_chat import OPENAI_CHAT
from app.wires.wire import Inbound, Outbound, Stamp, Target, Wire

Json = dict[str, Any]
STAMP = Stamp("1", 1_790_000_000)
WIRES: dict[str, Wire] = {"openai": OPENAI_CHAT, "gemini": GEMINI}
PAIRS = [(client, upstream) for client in WIRES for upstream in WIRES]
TARGETS = {"openai": Target("openai", "gpt-x"), "gemini": Target("gemini", "gemini-3-flash-preview")}
OLDER = Target("gemini", "gemini-2.5-flash")
HELLO: dict[str, Json] = {
    "openai": {"model": "gpt-x", "messages": [{"role": "user", "content": "hi"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
}


def new_ids() -> Callable[[], str]:
    """Ids that a test can foresee: 1, 2, 3 …"""
    counter = itertools.count(1)
    return lambda: str(next(counter))


def decoded(client: str, body: Json | bytes, *, stream: bool = False) -> Chat:
    """A request body through a client's wire."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return WIRES[client].decode(
        Inbound(raw, model=TARGETS["gemini"].model if client == "gemini" else "", stream=stream)
    )


def sent(client: str, upstream: str, body: Json | bytes, target: Target | None = None) -> tuple[Json, Outbound]:
    """What an upstream gets of a client's body: as JSON, and with its losses."""
    outbound = WIRES[upstream].encode(decoded(client, body), target or TARGETS[upstream])
    return json.loads(outbound.body), outbound


def events_of(upstream: str, chunks: Iterable[bytes], *, stream: bool = True, chat: Chat | None = None) -> list[Event]:
    """The events of an answer that comes in these pieces."""
    reader = WIRES[upstream].reader(chat or decoded(upstream, HELLO[upstream]), stream, new_ids())
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return events + reader.close()


def written(client: str, events: Iterable[Event], *, stream: bool = True, chat: Chat | None = None) -> bytes:
    """What a client gets for these events."""
    writer = WIRES[client].writer(chat or decoded(client, HELLO[client]), STAMP, stream)
    return b"".join(map(writer.write, events)) + writer.close()


def sse(*bodies: Json | str, end: str = "\n\n") -> bytes:
    """A stream of data lines."""
    return "".join(f"data: {body if isinstance(body, str) else json.dumps(body)}{end}" for body in bodies).encode()


def lines(stream: bytes) -> list[Any]:
    """The data lines of a stream as JSON; the end marker as text."""
    found = [block.removeprefix("data: ").strip() for block in stream.decode().replace("\r\n", "\n").split("\n\n")]
    return [data if data == "[DONE]" else json.loads(data) for data in found if data and not data.startswith(":")]


def openai_chunk(delta: Json, finish: str | None = None, **more: Any) -> Json:
    """One chunk of a Chat Completions stream."""
    return {"id": "r1", "model": "m1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def gemini_chunk(*parts: Json, finish: str = "", **more: Any) -> Json:
    """One chunk of a generateContent stream."""
    candidate: Json = {"index": 0, "content": {"role": "model", "parts": list(parts)}}
    return {
        "candidates": [candidate | ({"finishReason": finish} if finish else {})],
        "responseId": "r1",
        "modelVersion": "m1",
        **more,
    }


def plain(events: list[Event]) -> list[Any]:
    """Events without the chunks that they came in."""
    return [msgspec.structs.replace(e, native=None) if hasattr(e, "native") else e for e in events]


def tool_loop(arguments: Any, result: Any = "ok", name: str = "f", identity: str = "c1") -> Json:
    """An OpenAI body with one call and its result."""
    call = {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {
        "model": "m",
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": identity, "content": result},
        ],
    }
