"""Short ways to drive the Responses wire in a test, and talks as a Responses client writes them."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterable
from typing import Any

import msgspec

from app.chat.events import Event
from app.chat.model import Chat
from app.chat.reply import Reply
from app.wires.gemini import GEMINI
from app.wires.openai_chat import OPENAI_CHAT
from app.wires.openai_responses import OPENAI_RESPONSES
from app.wires.wire import Inbound, Outbound, Stamp, Target, Wire
from tests.chat.talks import Answered, Asked, Picture, Result, Returned, Talk

Json = dict[str, Any]
STAMP = Stamp("1", 1_790_000_000)
TARGET = Target("openai", "gpt-5.6-sol")
CLIENTS: dict[str, Wire] = {"openai": OPENAI_CHAT, "gemini": GEMINI, "responses": OPENAI_RESPONSES}
HELLO: Json = {"model": "gpt-5.6-sol", "input": "hi"}
ASK: Json = {"role": "user", "content": "Where is Ann?"}
THOUGHT: Json = {
    "type": "reasoning",
    "id": "rs_a",
    "summary": [{"type": "summary_text", "text": "Look her up."}],
    "encrypted_content": "gAAAAA-1",
}
CALL: Json = {"type": "function_call", "id": "fc_a", "call_id": "call_a", "name": "find", "arguments": '{"who": "Ann"}'}
RESULT: Json = {"type": "function_call_output", "call_id": "call_a", "output": "Room 4"}
SAID: Json = {
    "type": "message",
    "id": "msg_a",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "In room 4.", "annotations": []}],
}
LOOP = [ASK, THOUGHT, CALL, RESULT, SAID, {"role": "user", "content": "And Bob?"}]


def body_of(*items: Json, **more: Any) -> Json:
    """A request with these input items."""
    return {"model": TARGET.model, "input": list(items)} | more


def decoded(body: Json | bytes, before: Chat | None = None, client: str = "responses") -> Chat:
    """A request body through a client's wire."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return CLIENTS[client].decode(Inbound(raw, model=TARGET.model if client == "gemini" else ""), before)


def encoded(chat: Chat, target: Target = TARGET) -> tuple[Json, Outbound]:
    """What OpenAI gets of a chat: as JSON, and with its losses."""
    outbound = OPENAI_RESPONSES.encode(chat, target)
    return json.loads(outbound.body), outbound


def edited(chat: Chat, **changes: Any) -> Chat:
    """The chat with these fields changed."""
    return msgspec.structs.replace(chat, **changes)


def said(*events: Json, names: bool = True) -> bytes:
    """A stream of these events, numbered."""
    numbered = [{"sequence_number": number} | event for number, event in enumerate(events)]
    return "".join(
        (f"event: {event['type']}\n" if names else "") + f"data: {json.dumps(event)}\n\n" for event in numbered
    ).encode()


def response(*output: Json, status: str = "completed", **more: Any) -> Json:
    """A response object."""
    return {
        "id": "resp_up",
        "object": "response",
        "model": "gpt-real",
        "status": status,
        "output": list(output),
        "store": True,
        "usage": {
            "input_tokens": 9,
            "input_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 1},
            "output_tokens": 4,
            "output_tokens_details": {"reasoning_tokens": 3},
        },
    } | more


def events_of(chunks: Iterable[bytes], *, stream: bool = True, chat: Chat | None = None) -> list[Event]:
    """The events of an answer that comes in these pieces."""
    reader = OPENAI_RESPONSES.reader(chat or decoded(HELLO), stream, lambda: "1")
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return events + reader.close()


def told(events: Iterable[Event]) -> Reply:
    """The answer that these events make."""
    reply = Reply()
    for event in events:
        reply.add(event)
    return reply


def written(events: Iterable[Event], *, stream: bool = True, chat: Chat | None = None) -> bytes:
    """What a Responses client gets for these events."""
    writer = OPENAI_RESPONSES.writer(chat or decoded(HELLO), STAMP, stream)
    return b"".join(map(writer.write, events)) + writer.close()


def lines(stream: bytes) -> list[Json]:
    """The events of a stream as JSON; each one's name must be its type."""
    blocks = [block.split("\n") for block in stream.decode().split("\n\n") if block]
    found: list[Json] = [json.loads(block[-1].removeprefix("data: ")) for block in blocks]
    assert [block[0] for block in blocks] == [f"event: {event['type']}" for event in found]
    return found


def as_items(talk: Talk) -> tuple[list[Json], list[int]]:
    """The talk as input items, and for each step how many messages there are by its end."""
    items: list[Json] = []
    ends: list[int] = []
    count = itertools.count()
    ids: list[str] = []
    messages = 0
    for step in talk:
        match step:
            case Asked(pieces):
                items.append({"type": "message", "role": "user", "content": [_piece(piece) for piece in pieces]})
                messages += 1
            case Answered(text, calls):
                items.append({"type": "reasoning", "id": f"rs_{next(count)}", "summary": [], "encrypted_content": "g"})
                if text:
                    content: list[Json] = [{"type": "output_text", "text": text, "annotations": []}]
                    items.append({"type": "message", "role": "assistant", "content": content})
                ids = [f"call_{next(count)}" for _ in calls]
                for identity, call in zip(ids, calls, strict=True):
                    arguments = json.dumps(call.arguments)
                    items.append(
                        {"type": "function_call", "call_id": identity, "name": call.name, "arguments": arguments}
                    )
                messages += 1
            case Returned(results):
                items.extend(_output(*pair) for pair in zip(ids, results, strict=True))
                messages += len(results)
        ends.append(messages)
    return items, ends


def _piece(piece: str | Picture) -> Json:
    if isinstance(piece, str):
        return {"type": "input_text", "text": piece}
    data = base64.b64encode(piece.data).decode()
    return {"type": "input_image", "image_url": f"data:{piece.mime};base64,{data}", "detail": "auto"}


def _output(identity: str, result: Result) -> Json:
    text = ("[tool error] " if result.is_error else "") + result.text
    return {"type": "function_call_output", "call_id": identity, "output": text}
