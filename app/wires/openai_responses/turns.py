"""Input items → messages. What the model said in one turn (reasoning, words, calls) is several items here, and one
assistant message; everything else is a message an item.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from app.chat.model import Media, Message, Native, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from app.errors import ClientError
from app.wires.envelope import as_object, as_text, read
from app.wires.openai_responses.citing import SEARCH, is_ours
from app.wires.openai_responses.names import NAME, TAG, TOOL_ERROR, is_given, spaced


class Kind(msgspec.Struct):
    """What tells one item from another; a message may leave its type out."""

    type: str | None = None
    role: str | None = None
    id: Any = None


class MessageItem(msgspec.Struct):
    """`message`, the easy form too."""

    role: str
    content: str | list[dict[str, Any]] | None = None


class ReasoningItem(msgspec.Struct):
    """`reasoning`."""

    summary: list[dict[str, Any]] | None = None
    content: list[dict[str, Any]] | None = None
    encrypted_content: str | None = None


class CallItem(msgspec.Struct):
    """`function_call` and `custom_tool_call`; `arguments` is JSON text, by some clients an object."""

    call_id: str
    name: str
    arguments: str | msgspec.Raw | None = ""
    input: str | None = ""
    namespace: Any = None
    caller: Any = None


class OutputItem(msgspec.Struct):
    """`function_call_output` and `custom_tool_call_output`."""

    call_id: str
    output: str | list[dict[str, Any]] | None = None


KIND = msgspec.json.Decoder(Kind)
MESSAGE = msgspec.json.Decoder(MessageItem)
REASONING = msgspec.json.Decoder(ReasoningItem)
CALL = msgspec.json.Decoder(CallItem)
OUTPUT = msgspec.json.Decoder(OutputItem)


class Turns:
    """Reads items in order.

    `ours` tells that an item of our own making (reasoning, a search) was among them, which must not go to OpenAI;
    `refers` that one stands for something that only OpenAI holds; `last` is how many items the last message was made
    of.
    """

    def __init__(self) -> None:
        self.ours = False
        self.refers = False
        self.last = 0
        self._messages: list[Message] = []
        self._parts: list[Part] = []
        self._raws: list[msgspec.Raw] = []
        self._open = 0
        self._signature = ""
        self._called: set[str] = set()

    def read(self, slices: Sequence[msgspec.Raw], start: int = 0) -> list[Message]:
        """The messages. Raises ClientError naming the item at fault; `start` is the first one's place in the input."""
        for index, raw in enumerate(slices, start):
            self._item(raw, f"input[{index}]")
        self._close()
        return self._messages

    def _item(self, raw: msgspec.Raw, where: str) -> None:
        kind = read(raw, KIND, where)
        match kind.type or ("message" if kind.role else ""):
            case "message":
                self._message(raw, where)
            case "reasoning":
                self._reasoning(raw, where)
            case "function_call" | "custom_tool_call" as name:
                self._call(raw, where, name == "custom_tool_call")
            case "function_call_output" | "custom_tool_call_output":
                self._result(raw, where)
            case "":
                raise ClientError(f"{where}.type is missing: say what kind of item it is.", param=f"{where}.type")
            case name if is_given(name):
                self.refers = self.refers or name == "item_reference"
                self._hear("user", (Opaque(Native(NAME, raw)),), raw)
            case name if name == SEARCH and is_ours(kind.id):
                self.ours = True
                self._say(None)
            case _:
                self._say(raw, Opaque(Native(NAME, raw)))

    def _message(self, raw: msgspec.Raw, where: str) -> None:
        item = read(raw, MESSAGE, where)
        parts = _parts(item.content, f"{where}.content")
        match item.role:
            case "assistant":
                self._say(raw, *parts)
            case "user":
                self._hear("user", parts, raw)
            case "system" | "developer":
                self._hear("system", parts, raw)
            case role:
                raise ClientError(
                    f"{where}.role: {role!r} is not a role. Use user, assistant, developer or system.",
                    param=f"{where}.role",
                )

    def _reasoning(self, raw: msgspec.Raw, where: str) -> None:
        item = read(raw, REASONING, where)
        text = "\n\n".join(as_text(part.get("text")) for part in item.summary or item.content or ())
        sealed = item.encrypted_content or ""
        if sealed.startswith(TAG):
            self.ours = True
            wire, _, signature = sealed.removeprefix(TAG).partition(".")
            self._signature = signature if wire == "gemini" else ""
            self._say(None, *([Thinking(text)] if text else []))
        else:
            self._say(raw, Thinking(text, sealed, Native(NAME, raw)))

    def _call(self, raw: msgspec.Raw, where: str, custom: bool) -> None:
        item = read(raw, CALL, where)
        if not item.call_id or not item.name:
            field = f"{where}.{'name' if item.call_id else 'call_id'}"
            raise ClientError(f"{field} is empty: a call has an id and names its tool.", param=field)
        self._called.add(item.call_id)
        arguments = (item.input or "") if custom else _arguments(item.arguments)
        native = Native(NAME, raw) if item.namespace is not None or item.caller is not None else None
        kind: Literal["function", "custom"] = "custom" if custom else "function"
        name = spaced(as_text(item.namespace), item.name)
        self._say(raw, ToolCall(item.call_id, name, arguments, self._signature, kind, native))
        self._signature = ""

    def _result(self, raw: msgspec.Raw, where: str) -> None:
        item = read(raw, OUTPUT, where)
        if self.refers and item.call_id not in self._called:  # its call may be among what is only referred to
            self._hear("user", (Opaque(Native(NAME, raw)),), raw)
            return
        parts = _parts(item.output, f"{where}.output")
        kept = tuple(part for part in parts if isinstance(part, Text | Media | Opaque))
        first = kept[0] if kept else None
        is_error = isinstance(first, Text) and first.text.startswith(TOOL_ERROR)
        if is_error and isinstance(first, Text):
            kept = (Text(first.text.removeprefix(TOOL_ERROR)), *kept[1:])
        self._hear("user", (ToolResult(item.call_id, kept, is_error=is_error),), raw)

    def _say(self, raw: msgspec.Raw | None, *parts: Part) -> None:
        self._open += 1
        self._parts.extend(parts)
        if raw is not None:
            self._raws.append(raw)

    def _hear(self, role: Literal["system", "user"], parts: tuple[Part, ...], raw: msgspec.Raw) -> None:
        self._close()
        self.last = 1
        self._messages.append(Message(role, parts, Native(NAME, (raw,))))

    def _close(self) -> None:
        """The assistant's turn ends here."""
        if not self._open:
            return
        self.last, self._open = self._open, 0
        self._messages.append(Message("assistant", tuple(self._parts), Native(NAME, tuple(self._raws))))
        self._parts, self._raws, self._signature = [], [], ""


def _arguments(arguments: str | msgspec.Raw | None) -> str:
    if isinstance(arguments, str):
        return arguments
    return bytes(arguments).decode() if arguments else ""


def _parts(content: str | list[dict[str, Any]] | None, where: str) -> tuple[Part, ...]:
    if content is None:
        return ()
    if isinstance(content, str):
        return (Text(content),)
    return tuple(_part(part, f"{where}[{i}]") for i, part in enumerate(content))


def _part(part: dict[str, Any], where: str) -> Part:
    native = Native(NAME, part)
    match part.get("type"):
        case "input_text" | "output_text" | "text":
            if not isinstance(text := part.get("text"), str):
                raise ClientError(f"{where}.text: a text part needs a string.", param=f"{where}.text")
            plain = not any(part.get(name) for name in part.keys() - {"type", "text"})
            return Text(text, None if plain else native)
        case "refusal":
            return Text(as_text(part.get("refusal")), native)
        case "input_image":
            return _image(part, where, native)
        case "input_file":
            return _file(part, native)
        case "input_audio":
            audio = as_object(part.get("input_audio"))
            return Media("audio", f"audio/{audio.get('format') or 'wav'}", as_text(audio.get("data")), native=native)
        case _:
            return Opaque(native)


def _image(part: dict[str, Any], where: str, native: Native) -> Media:
    given, detail = part.get("image_url"), as_text(part.get("detail"))
    url = given if isinstance(given, str) else as_text(as_object(given).get("url"))
    if url:
        return _by_url("image", url, native, detail)
    if file_id := as_text(part.get("file_id")):
        return Media("image", file_id=file_id, detail=detail, native=native)
    raise ClientError(
        f"{where}.image_url is missing: give an https or data URL as a string, or a file_id.",
        param=f"{where}.image_url",
    )


def _file(part: dict[str, Any], native: Native) -> Media:
    name = as_text(part.get("filename"))
    if data := as_text(part.get("file_data")):
        media = _by_url("file", data, native)
        return Media("file", media.mime or "application/pdf", media.data or data, name=name, native=native)
    if url := as_text(part.get("file_url")):
        return Media("file", url=url, name=name, native=native)
    return Media("file", file_id=as_text(part.get("file_id")), name=name, native=native)


def _by_url(kind: Literal["image", "file"], url: str, native: Native, detail: str = "") -> Media:
    """A data URL is taken apart; any other URL is handed on, never fetched."""
    if not url.startswith("data:"):
        return Media(kind, url=url, detail=detail, native=native)
    head, _, data = url.partition(",")
    return Media(kind, head[5:].partition(";")[0], data, detail=detail, native=native)
