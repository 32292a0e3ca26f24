"""Short ways to drive this wire in a test: a client's body in, a provider's stream in, and what comes out."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from typing import Any

import msgspec

from app.chat.events import Event, Failed
from app.chat.model import Chat
from app.wires.gemini import GEMINI
from app.wires.gemini_interactions import GEMINI_INTERACTIONS
from app.wires.openai_chat import OPENAI_CHAT
from app.wires.wire import Inbound, Outbound, Reader, Stamp, Target, Wire

Json = dict[str, Any]
WIRES: dict[str, Wire] = {"openai": OPENAI_CHAT, "gemini": GEMINI, "interactions": GEMINI_INTERACTIONS}
MODEL = "gemini-3.8-flash"
TARGET = Target("gemini", MODEL)
OLDER = Target("gemini", "gemini-2.5-flash")
STAMP = Stamp("abc", 1_790_000_000)
HELLO: Json = {"model": MODEL, "input": "hi"}


def decoded(body: Json | bytes, client: str = "interactions") -> Chat:
    """A client's body as a chat."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return WIRES[client].decode(Inbound(raw, model=MODEL if client == "gemini" else ""))


def encoded(chat: Chat, target: Target = TARGET) -> tuple[Json, Outbound]:
    """What Gemini gets: as JSON, and with its losses."""
    outbound = GEMINI_INTERACTIONS.encode(chat, target)
    return json.loads(outbound.body), outbound


def said(*messages: Json, **more: Any) -> Chat:
    """An OpenAI client's chat."""
    return decoded({"model": "m", "messages": list(messages), **more}, "openai")


def changed(chat: Chat, **fields: Any) -> Chat:
    """The chat with other fields."""
    return msgspec.structs.replace(chat, **fields)


def stream(*events: Json, end: str = "\n\n", done: bool = True) -> bytes:
    """A stream as Google writes it."""
    lines = [f"event: {each['event_type']}\ndata: {json.dumps(each, ensure_ascii=False)}{end}" for each in events]
    return "".join([*lines, f"event: done\ndata: [DONE]{end}"] if done else lines).encode()


def created(identity: str = "v1_up", model: str = MODEL) -> Json:
    """The first event."""
    interaction = {"id": identity, "status": "in_progress", "object": "interaction", "model": model}
    return {"event_type": "interaction.created", "interaction": interaction}


def start(index: int, **step: Any) -> Json:
    """A step begins."""
    return {"event_type": "step.start", "index": index, "step": step}


def delta(index: int, **said: Any) -> Json:
    """A step goes on."""
    return {"event_type": "step.delta", "index": index, "delta": said}


def stop(index: int) -> Json:
    """A step ends."""
    return {"event_type": "step.stop", "index": index}


def completed(status: str = "completed", identity: str = "v1_up", **more: Any) -> Json:
    """The last event."""
    return {"event_type": "interaction.completed", "interaction": {"id": identity, "status": status, **more}}


def text(words: str) -> Json:
    """A content of words."""
    return {"type": "text", "text": words}


def user(words: str) -> Json:
    """What the user says, as a step."""
    return {"type": "user_input", "content": [text(words)]}


def model(words: str) -> Json:
    """What the model says, as a step."""
    return {"type": "model_output", "content": [text(words)]}


def call(identity: str, name: str = "f", **arguments: Any) -> Json:
    """A call, as a step."""
    return {"type": "function_call", "id": identity, "name": name, "arguments": arguments}


def read(
    data: bytes | Iterable[bytes], *, streamed: bool = True, chat: Chat | None = None, wire: str = "interactions"
) -> tuple[list[Event], Reader]:
    """The events of an answer, and the reader that read it."""
    counter = itertools.count(1)
    reader = WIRES[wire].reader(chat or decoded(HELLO), streamed, lambda: str(next(counter)))
    chunks = [data] if isinstance(data, bytes) else data
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return events + reader.close(), reader


def answered(data: bytes, **more: Any) -> list[Event]:
    """The events without the bytes that they came in."""
    return [
        event if isinstance(event, Failed) or not hasattr(event, "native") else changed_event(event)
        for event in read(data, **more)[0]
    ]


def changed_event(event: Event) -> Event:
    """The event without its native chunk."""
    return msgspec.structs.replace(event, native=None)


def written(events: Iterable[Event], *, streamed: bool = True, chat: Chat | None = None) -> bytes:
    """What a client of this format gets for these events."""
    writer = GEMINI_INTERACTIONS.writer(chat or decoded(HELLO), STAMP, streamed)
    return b"".join(map(writer.write, events)) + writer.close()


def frames(data: bytes) -> list[tuple[str, Any]]:
    """Event names and data of a stream."""
    found: list[tuple[str, Any]] = []
    for block in data.decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if lines:
            body = lines["data"]
            found.append((lines["event"], body if body == "[DONE]" else json.loads(body)))
    return found
