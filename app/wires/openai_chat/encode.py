"""Chat → a Chat Completions request.

A chat that came in this format goes out as its own bytes. Where something was changed, only that is rebuilt and spliced
between the raw slices of the rest; messages from other formats are written anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from app.chat.model import Chat, Loss, Media, Message, Native, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from app.errors import ClientError
from app.wires.envelope import ANYTHING, Envelope, as_list, as_object
from app.wires.envelope import encode as to_json
from app.wires.openai_chat.generation import sampling, shared, tool_choice, tools
from app.wires.openai_chat.names import LOOP_ONLY, NAME, TOOL_ERROR, legal
from app.wires.openai_chat.options import sampling_fields, sampling_of, tools_of
from app.wires.toolnames import short_id
from app.wires.unsaid import lost_marks, refuse_held
from app.wires.wire import Outbound, Target

PATH = "/chat/completions"
PICTURES = frozenset(("image/png", "image/jpeg", "image/jpg", "image/webp", "image/gif", ""))
SOUNDS = frozenset(("wav", "mp3"))
"""What OpenAI reads and hears (https://platform.openai.com/docs/guides/images-vision, …/audio)."""

AT_OPENAI = frozenset((NAME, "openai_responses"))
"""Formats whose file ids are OpenAI's."""

SAY_JSON = "Answer with JSON."
_STANDARD = str.maketrans("-_", "+/")
OURS = frozenset(("foldline",))


def encode(chat: Chat, target: Target) -> Outbound:
    """The request body. Raises ClientError for content that this format cannot hold at all."""
    envelope = chat.native.body if chat.native and chat.native.wire == NAME else None
    if not isinstance(envelope, Envelope):
        return _anew(chat, target)
    same = chat.messages is envelope.messages and chat.system is envelope.system and target.model == envelope.model
    if same and not envelope.mended and not OURS & envelope.fields.keys():
        return Outbound(PATH, envelope.raw, untouched=True)
    fields: dict[str, Any] = {name: raw for name, raw in envelope.fields.items() if name not in OURS}
    fields["model"] = target.model
    losses: list[Loss] = []
    kept = chat.messages is envelope.messages and chat.system is envelope.system
    if not kept or "messages" not in fields:  # read on from an earlier turn, an envelope has no slice of them all
        fields["messages"] = list(_messages(chat, target, losses))
        fields |= _changed_tools(chat, target, envelope, losses)
    said = {name: value for name, value in fields.items() if value is not None}
    return Outbound(PATH, to_json(said), tuple(dict.fromkeys(losses)))


def _changed_tools(chat: Chat, target: Target, envelope: Envelope, losses: list[Loss]) -> dict[str, Any]:
    """The tools, and the choice among them, where they are no longer the client's own; None for what must go."""
    changed: dict[str, Any] = {}
    if chat.tools != tools_of(envelope.fields):
        changed |= {"tools": tools(chat.tools, target, losses) or None, "functions": None}
    if chat.sampling.tool_choice != sampling_of(sampling_fields(envelope.fields)).tool_choice:
        chosen = tool_choice(chat.sampling.tool_choice, chat.tools, target)
        changed |= {"tool_choice": chosen, "function_call": None}
    return changed


def _anew(chat: Chat, target: Target) -> Outbound:
    refuse_held(chat)
    losses = list(lost_marks(chat))
    body: dict[str, Any] = {"model": target.model, "messages": list(_messages(chat, target, losses))}
    if _must_say_json(chat):
        body["messages"].insert(0, {"role": "system", "content": SAY_JSON})
        losses.append(
            Loss("response_format", "OpenAI's JSON mode wants the word in the prompt: a line was put before it.")
        )
    body |= sampling(chat, target, losses)
    if listed := tools(chat.tools, target, losses):
        body["tools"] = listed
    body |= shared(chat, target, losses)
    if chat.stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return Outbound(PATH, to_json(body), tuple(dict.fromkeys(losses)))


def _must_say_json(chat: Chat) -> bool:
    """JSON mode without a schema is refused unless the prompt says JSON somewhere. Only the system texts are asked, so
    that the line does not come and go as the chat grows (https://platform.openai.com/docs/guides/structured-outputs)."""
    output = chat.sampling.output
    if output is None or output.schema is not None:
        return False
    texts = (part.text for message in chat.system for part in message.parts if isinstance(part, Text))
    return not any("json" in text.lower() for text in texts)


def _messages(chat: Chat, target: Target, losses: list[Loss]) -> Iterable[Any]:
    for message in (*chat.system, *chat.messages):
        if message.native and message.native.wire == NAME:
            yield message.native.body
        else:
            losses.extend(_left_out(message))
            yield from _written(message, target.own)


def _left_out(message: Message) -> Iterable[Loss]:
    """Parts that this format has no place for."""
    for part in message.parts:
        if isinstance(part, Opaque) and part.native.wire != NAME:
            yield Loss("messages", "A part that only its own provider understands was left out.")
        elif isinstance(part, Media) and message.role == "assistant":
            yield Loss("messages", f"Chat Completions has no place for the {part.kind} that the model made.")


def _written(message: Message, own: bool) -> Iterable[dict[str, Any]]:
    """One neutral message as one or several of this format: each tool result is a message of its own, results first."""
    if message.role == "assistant":
        if written := _assistant(message.parts, own):
            yield written
        return
    moved: list[Part] = []
    for result in message.results:
        yield _result(result)
        moved.extend(part for part in result.content if not isinstance(part, Text))
    rest = [*moved, *(part for part in message.parts if not isinstance(part, ToolResult))]
    if content := _content(rest, own):
        yield {"role": message.role, "content": content}


def _assistant(parts: tuple[Part, ...], own: bool = True) -> dict[str, Any] | None:
    text = "".join(part.text for part in parts if isinstance(part, Text))
    calls = [_call(part, own) for part in parts if isinstance(part, ToolCall)]
    if not text and not calls:
        return None
    written: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        written["tool_calls"] = calls
    return written


def _call(call: ToolCall, own: bool) -> dict[str, Any]:
    if call.kind == "custom" and not own:
        call = ToolCall(call.id, call.name, to_json({"input": call.arguments}).decode())
    if call.kind == "custom":
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.arguments}}
    function = {"name": legal(call.name), "arguments": call.arguments or "{}"}
    return {"id": short_id(call.id), "type": "function", "function": function}


def _result(result: ToolResult) -> dict[str, Any]:
    text = (TOOL_ERROR if result.is_error else "") + result.text
    if any(not isinstance(part, Text) for part in result.content):
        text += "\n[its pictures and files follow in the next message]"
    if not result.call_id:  # the older function calls have no ids
        return {"role": "function", "name": result.name, "content": text}
    return {"role": "tool", "tool_call_id": short_id(result.call_id), "content": text}


def _content(parts: list[Part], own: bool) -> str | list[dict[str, Any]]:
    written = [body for part in parts if (body := _part(part, own))]
    if len(written) == 1 and written[0].keys() == {"type", "text"}:
        return written[0]["text"]
    return written


def _part(part: Part, own: bool) -> dict[str, Any] | None:
    if isinstance(part, Text | Media) and part.native and part.native.wire == NAME:
        return as_object(part.native.body)
    match part:
        case Text(text=text):
            return {"type": "text", "text": text} if text else None
        case Media():
            return _media(part, own)
        case Opaque(native=native) if native.wire == NAME:
            return as_object(native.body)
        case Thinking() | Opaque() | ToolCall() | ToolResult():
            return None


def _media(media: Media, own: bool) -> dict[str, Any]:
    """A picture, sound or file; `own`: for OpenAI itself, which reads some types only."""
    data = _standard(media.data)
    url = f"data:{media.mime};base64,{data}" if data else media.url
    if media.kind == "image" and url:
        if own and data and media.mime.lower() not in PICTURES:
            raise ClientError(
                f"OpenAI reads no picture of type {media.mime[:40]!r}. Send it as PNG, JPEG, WebP or GIF."
            )
        image = {"url": url} | ({"detail": media.detail} if media.detail else {})
        return {"type": "image_url", "image_url": image}
    if media.kind == "audio" and media.data:
        sound = _audio_format(media.mime)
        if own and sound not in SOUNDS:
            raise ClientError(f"OpenAI hears no sound of type {media.mime[:40]!r}. Send it as WAV or MP3.")
        return {"type": "input_audio", "input_audio": {"data": data, "format": sound}}
    if media.kind == "file" and media.data:
        return {"type": "file", "file": {"file_data": url, "filename": media.name or "file"}}
    if media.kind == "file" and media.file_id and media.native and media.native.wire in AT_OPENAI:
        return {"type": "file", "file": {"file_id": media.file_id}}
    raise ClientError(
        f"This model's provider takes no {media.kind} given by {'value' if media.data else 'address or provider id'}. "
        "Send images by value or https URL, audio and files by value."
    )


def _standard(data: str) -> str:
    """Base64 in the standard alphabet, padded: Google's SDK writes the URL-safe one, which OpenAI refuses."""
    if "-" in data or "_" in data:
        data = data.translate(_STANDARD)
    return data + "=" * (-len(data) % 4)


def _audio_format(mime: str) -> str:
    kind = mime.partition("/")[2].removeprefix("x-").lower()
    return {"mpeg": "mp3", "wave": "wav"}.get(kind, kind)


def restore(message: Message, sealed: bytes, in_loop: bool) -> Message:
    """The assistant message with the fields that the client dropped: reasoning, signatures on calls.

    `sealed` is {"message": {…}, "calls": [{…} | null, …]} as ChunkReader.sealed wrote it. Fields that the client did
    send stay as they are; plain reasoning goes back only inside the running tool loop (names.LOOP_ONLY).
    """
    kept = as_object(ANYTHING.decode(sealed))
    added = {name: value for name, value in as_object(kept.get("message")).items() if in_loop or name not in LOOP_ONLY}
    body: dict[str, Any]
    if message.native and message.native.wire == NAME:
        body = msgspec.json.decode(message.native.body, type=dict[str, Any])
    else:
        body = _assistant(message.parts) or {"role": "assistant", "content": ""}
    restored = body | {name: value for name, value in added.items() if body.get(name) is None}
    calls = [as_object(call) for call in as_list(body.get("tool_calls"))]
    for index, extra in enumerate(as_list(kept.get("calls"))[: len(calls)]):
        calls[index] = as_object(extra) | calls[index]
    if calls:
        restored["tool_calls"] = calls
    return message if restored == body else message.carrying(Native(NAME, restored))
