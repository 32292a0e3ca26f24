"""Short ways to drive the Anthropic wire in a test, beside the other formats."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from app.chat.events import Event
from app.chat.model import Chat
from app.wires.anthropic import ANTHROPIC
from app.wires.gemini import GEMINI
from app.wires.openai_chat import OPENAI_CHAT
from app.wires.wire import Inbound, Outbound, Target, Wire
from tests.wires.talking import STAMP, Json, new_ids

WIRES: dict[str, Wire] = {"anthropic": ANTHROPIC, "openai": OPENAI_CHAT, "gemini": GEMINI}
OLD, MIDDLE, NEWEST = "claude-sonnet-4-5", "claude-opus-4-8", "claude-opus-5-5"
TARGETS = {"openai": Target("o", "gpt-x"), "gemini": Target("g", "gemini-3-flash-preview")}


def ask(*messages: Json, **more: Any) -> Json:
    """A Messages body."""
    return {"model": OLD, "max_tokens": 4096, "messages": list(messages) or [user("hi")], **more}


def openai(*messages: Json, **more: Any) -> Json:
    """A Chat Completions body."""
    return {"model": "gpt-x", "messages": list(messages) or [user("hi")], **more}


def user(content: Any) -> Json:
    """A user's message in any format that says it so."""
    return {"role": "user", "content": content}


def said(*blocks: Json | str) -> Json:
    """An assistant's message of these blocks; a string is a text block."""
    return {"role": "assistant", "content": [text(b) if isinstance(b, str) else b for b in blocks]}


def text(words: str, **more: Any) -> Json:
    """A text block."""
    return {"type": "text", "text": words, **more}


def thought(words: str, signature: str = "EqSig") -> Json:
    """A thinking block."""
    return {"type": "thinking", "thinking": words, "signature": signature}


def use(identity: str, name: str = "f", **arguments: Any) -> Json:
    """A tool_use block."""
    return {"type": "tool_use", "id": identity, "name": name, "input": arguments}


def result(identity: str, content: Any = "ok", **more: Any) -> Json:
    """A tool_result block."""
    return {"type": "tool_result", "tool_use_id": identity, "content": content, **more}


def tool(name: str = "f", **properties: Any) -> Json:
    """A tool in Anthropic's form."""
    return {"name": name, "input_schema": {"type": "object", "properties": properties}}


def openai_tool(name: str, **schema: Any) -> Json:
    """A tool in OpenAI's form."""
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", **schema}}}


def openai_calls(*calls: tuple[str, str, str], content: str | None = None) -> Json:
    """An assistant message of OpenAI's with calls: id, name, arguments."""
    listed = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
    return {"role": "assistant", "content": content, "tool_calls": listed}


def decoded(client: str, body: Json | bytes, before: Chat | None = None) -> Chat:
    """A body through a client's wire."""
    raw = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
    model = TARGETS["gemini"].model if client == "gemini" else ""
    return WIRES[client].decode(Inbound(raw, model=model), before)


def to_claude(chat: Chat, model: str = OLD) -> tuple[Json, Outbound]:
    """What Anthropic gets of a chat: as JSON, and with its losses."""
    outbound = ANTHROPIC.encode(chat, Target("a", model))
    return json.loads(outbound.body), outbound


def touched(chat: Chat) -> Chat:
    """The same chat, its list of messages no longer the very one that was read: as after any step."""
    return msgspec.structs.replace(chat, messages=(*chat.messages[:-1], chat.messages[-1]))


def fields_lost(outbound: Outbound) -> list[str]:
    """Where the losses stand."""
    return [loss.field for loss in outbound.losses]


def stream(*events: Json) -> bytes:
    """A stream of Anthropic's."""
    return b"".join(
        b"event: " + event["type"].encode() + b"\ndata: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n"
        for event in events
    )


def frames(data: bytes) -> list[Json]:
    """The events of a stream; each must name its type twice, as the format wants it."""
    found: list[Json] = []
    for block in data.decode().split("\n\n")[:-1]:
        name, body = block.split("\n")
        event = json.loads(body.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        found.append(event)
    return found


def start(usage: Json | None = None, **more: Any) -> Json:
    """message_start."""
    tokens = usage or {"input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": 1}
    message: Json = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "m1",
        "content": [],
        "usage": tokens,
    }
    return {"type": "message_start", "message": message | more}


def block(index: int, begun: Json, *deltas: Json) -> list[Json]:
    """One block of a stream, from its start to its stop."""
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def end(reason: str, usage: Json | None = None, **more: Any) -> list[Json]:
    """message_delta and message_stop."""
    delta = {"stop_reason": reason, "stop_sequence": None, **more}
    return [
        {"type": "message_delta", "delta": delta, "usage": usage or {"output_tokens": 20}},
        {"type": "message_stop"},
    ]


def events_of(
    upstream: str, chunks: Iterable[bytes], *, streamed: bool = True, chat: Chat | None = None
) -> list[Event]:
    """The events of a provider's answer that comes in these pieces."""
    reader = WIRES[upstream].reader(chat or decoded("openai", openai()), streamed, new_ids())
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.close()


def written(events: Iterable[Event], *, streamed: bool = True, chat: Chat | None = None) -> bytes:
    """What an Anthropic client gets for these events."""
    asked = ask(thinking={"type": "enabled", "budget_tokens": 1024})
    writer = ANTHROPIC.writer(chat or decoded("anthropic", asked), STAMP, streamed)
    return b"".join(map(writer.write, events)) + writer.close()
