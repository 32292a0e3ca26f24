"""The provider's own count of a request that is about to go out, where the provider has one.

It costs a round trip before the turn and carries the whole request, so it is for the few turns near a threshold. It
never fails a turn: whatever goes wrong, the estimate stands.

Sources: https://ai.google.dev/api/tokens (Gemini), the Vertex AI reference of countTokens, and the parameter types of
OpenAI's Python SDK for `responses.input_tokens.count`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from app.chat.model import Chat, Media, Message, Opaque, Part, Text, Thinking, Tool, ToolCall, ToolChoice, ToolResult
from app.upstreams.transport import Transport
from app.upstreams.upstream import Credential, Upstream
from app.wires.anthropic import count_body
from app.wires.envelope import ANYTHING, RAW_FIELDS, as_object, encode
from app.wires.gemini import GEMINI
from app.wires.gemini.spelling import camel
from app.wires.openai_chat.names import NAME as OPENAI_CHAT
from app.wires.openai_chat.names import TOOL_ERROR, legal
from app.wires.toolnames import short_id
from app.wires.wire import Outbound, Target

LOG = logging.getLogger(__name__)

PATIENCE = 2.0
"""Seconds that a count may take in all: the turn waits for it."""

LARGEST = 16 * 2**20
"""Bytes of a request that is sent for its count; more would hardly be there in time."""

_VERTEX_FIELDS = frozenset(("contents", "systemInstruction", "tools", "generationConfig"))
_STANDARD = str.maketrans("-_", "+/")
_NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}}


class UnsaidError(Exception):
    """The way of counting has no words for a part of the request, so its count would be another request's."""


class Question(msgspec.Struct, frozen=True):
    """What to ask: the path below the upstream's base URL, and the body."""

    path: str
    body: bytes


class Way(msgspec.Struct, frozen=True):
    """One provider's way of counting.

    Args:
        fits: whether an upstream counts this way.
        ask: the question for a request, its chat and model. Raises UnsaidError.
        field: where the answer has the number.
    """

    fits: Callable[[Upstream], bool]
    ask: Callable[[Outbound, Chat, str], Question]
    field: str


async def exact(
    transport: Transport, upstream: Upstream, outbound: Outbound, chat: Chat, model: str, credential: Credential
) -> int | None:
    """Tokens of the prompt by the provider's own count; None if it has none, refuses, or takes longer than 2 s.

    Args:
        outbound: the request as it will go out. chat: what it was encoded from, for `model`.
        credential: the client's, where we hold no key.
    """
    way = next((way for way in WAYS if way.fits(upstream)), None)
    if way is None or len(outbound.body) > LARGEST:
        return None
    try:
        question = way.ask(outbound, chat, model)
        async with asyncio.timeout(PATIENCE):
            said = await _asked(transport, upstream, question, credential)
        count = as_object(ANYTHING.decode(said)).get(way.field)
    except Exception as error:  # noqa: BLE001 (whatever it is, the turn goes on with its estimate)
        LOG.debug("upstream %s did not count a request: %s", upstream.name, type(error).__name__)
        return None
    return count if type(count) is int and count >= 0 else None


async def _asked(transport: Transport, upstream: Upstream, question: Question, credential: Credential) -> bytes:
    """The body of the answer; empty, which is no JSON, for a refusal."""
    headers = {**upstream.headers, "content-type": "application/json", "accept-encoding": "identity"}
    headers.update(await upstream.signed(credential))
    answer = await transport.post(upstream.base_url + question.path, headers, question.body)
    try:
        return await answer.read() if answer.status == 200 else b""
    finally:
        answer.close()


def _gemini(outbound: Outbound, chat: Chat, model: str) -> Question:
    """The whole request inside: bare contents would leave out the system text and the tools. Interactions have no count
    of their own: what they would say is written as a generateContent request."""
    if chat.after:
        raise UnsaidError
    if not outbound.path.startswith("/models/"):
        outbound = GEMINI.encode(chat, Target("", model))
    path = _counting(outbound.path)
    fields: dict[str, Any] = dict(RAW_FIELDS.decode(outbound.body))
    fields["model"] = path[1:].rpartition(":")[0]
    return Question(path, encode({"generateContentRequest": fields}))


def _anthropic(outbound: Outbound, chat: Chat, model: str) -> Question:
    """The request itself, without what that endpoint refuses."""
    return Question("/messages/count_tokens", count_body(chat, Target("", model)))


def _vertex(outbound: Outbound, chat: Chat, model: str) -> Question:
    """Vertex AI takes the request's own fields side by side, and only those that the prompt is made from."""
    given = RAW_FIELDS.decode(outbound.body).items()
    return Question(
        _counting(outbound.path), encode({name: raw for name, raw in given if camel(name) in _VERTEX_FIELDS})
    )


def _counting(path: str) -> str:
    """The same model's path with the verb that counts."""
    return path.partition("?")[0].rpartition(":")[0] + ":countTokens"


def _openai(outbound: Outbound, chat: Chat, model: str) -> Question:
    """Only the Responses API counts, so the chat is written as its input."""
    body: dict[str, Any] = {"model": model, "input": list(_items(chat.messages))}
    if system := [part.text for message in chat.system for part in message.parts if isinstance(part, Text)]:
        body["instructions"] = "\n\n".join(system)
    if tools := [written for tool in chat.tools if (written := _tool(tool))]:
        body["tools"] = tools
        if choice := chat.sampling.tool_choice:
            body["tool_choice"] = _choice(choice)
    if output := chat.sampling.output:
        described = {"name": output.name or "answer", "schema": output.schema, "strict": bool(output.strict)}
        kind = {"type": "json_object"} if output.schema is None else {"type": "json_schema", **described}
        body["text"] = {"format": kind}
    return Question("/responses/input_tokens", encode(body))


def _items(messages: Iterable[Message]) -> Iterable[dict[str, Any]]:
    custom: set[str] = set()  # ids of calls in free text, whose results are items of their own kind
    for message in messages:
        for result in message.results:
            yield _result(result, custom)
        said = "output_text" if message.role == "assistant" else "input_text"
        if content := [body for part in message.parts if (body := _part(part, said))]:
            yield {"type": "message", "role": message.role, "content": content}
        for call in message.calls:
            if call.kind == "custom":
                custom.add(call.id)
            yield _call(call)


def _call(call: ToolCall) -> dict[str, Any]:
    head = {"call_id": _call_id(call.id, call.name), "name": legal(call.name)}
    if call.kind == "custom":
        return {"type": "custom_tool_call", **head, "input": call.arguments}
    return {"type": "function_call", **head, "arguments": call.arguments or "{}"}


def _result(result: ToolResult, custom: set[str]) -> dict[str, Any]:
    text = (TOOL_ERROR if result.is_error else "") + result.text
    others = [body for part in result.content if not isinstance(part, Text) and (body := _part(part, "input_text"))]
    output = [*([{"type": "input_text", "text": text}] if text else []), *others] if others else text
    kind = "custom_tool_call_output" if result.call_id in custom else "function_call_output"
    return {"type": kind, "call_id": _call_id(result.call_id, result.name), "output": output}


def _call_id(identity: str, name: str) -> str:
    """The oldest calls have no ids, and are answered one at a time by name."""
    return short_id(identity or f"call_{legal(name)}")


def _part(part: Part, said: str) -> dict[str, Any] | None:
    """One part; None for what the chat format leaves out as well, or what stands elsewhere."""
    match part:
        case Text(text=text):
            return {"type": said, "text": text} if text else None
        case Media():
            if said == "output_text":  # a chat has no place for media that the model made
                return None
            return _media(part)
        case Opaque(native=native) if native.wire == OPENAI_CHAT:
            raise UnsaidError
        case Thinking() | Opaque() | ToolCall() | ToolResult():
            return None


def _media(media: Media) -> dict[str, Any]:
    where = f"data:{media.mime};base64,{_standard(media.data)}" if media.data else media.url
    match media.kind:
        case "image":
            place = {"image_url": where} if where else {"file_id": media.file_id}
            return {"type": "input_image", **place, "detail": media.detail or "auto"}
        case "file" if media.data:
            return {"type": "input_file", "filename": media.name or "file", "file_data": where}
        case "file":
            return {"type": "input_file", **({"file_url": where} if where else {"file_id": media.file_id})}
        case "audio" | "video":
            raise UnsaidError


def _standard(data: str) -> str:
    """Base64 in the standard alphabet, padded: Google's SDK writes the URL-safe one, which OpenAI refuses."""
    plain = data.translate(_STANDARD) if "-" in data or "_" in data else data
    return plain + "=" * (-len(plain) % 4)


def _tool(tool: Tool) -> dict[str, Any] | None:
    """One tool; None for one that runs at another provider and does not go out."""
    ours = tool.native is not None and tool.native.wire == OPENAI_CHAT
    match tool.kind:
        case "function":
            body = {"type": "function", "name": legal(tool.name), "parameters": tool.schema or _NO_ARGUMENTS}
            strict = bool(tool.strict) and ours  # left out, it would mean true here; of other formats it is not sent
            return body | {"strict": strict} | ({"description": tool.description} if tool.description else {})
        case "custom" if ours and tool.native:
            inner = as_object(as_object(tool.native.body).get("custom"))
            grammar = as_object(inner.get("format"))
            body = {"type": "custom", **{name: value for name, value in inner.items() if name != "format"}}
            flat = {"type": grammar.get("type"), **as_object(grammar.get("grammar"))}
            return body | ({"format": flat} if grammar else {})
        case "custom":
            return {"type": "function", "name": legal(tool.name), "parameters": _NO_ARGUMENTS, "strict": False}
        case "hosted":
            if ours:
                raise UnsaidError
            return None


def _choice(choice: ToolChoice) -> Any:
    named = [{"type": "function", "name": legal(name)} for name in choice.names]
    if not named:
        return choice.mode
    if len(named) == 1 and choice.mode == "required":
        return named[0]
    return {"type": "allowed_tools", "mode": choice.mode, "tools": named}


def _is_vertex(upstream: Upstream) -> bool:
    return upstream.kind == "gemini" and "/publishers/" in upstream.base_url


WAYS: tuple[Way, ...] = (
    # the first that fits counts. Compatible servers have no count in common
    Way(_is_vertex, _vertex, "totalTokens"),
    Way(lambda upstream: upstream.kind == "gemini", _gemini, "totalTokens"),
    Way(lambda upstream: upstream.kind == "anthropic", _anthropic, "input_tokens"),
    Way(lambda upstream: upstream.kind == "openai" and upstream.own, _openai, "input_tokens"),
)
"""Every way of counting that there is."""
