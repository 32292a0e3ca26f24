"""Neutral messages → Gemini's `contents`, by the API's own rules.

The rules (https://ai.google.dev/gemini-api/docs/function-calling, …/thought-signatures, and what the API answers with
400): roles alternate; the first content is the user's; all calls of a step stand in one model content, all their
results in the one user content after it, results before anything else and in the order of the calls; no content without
parts, no part without data; the first call of a step carries the signature that Gemini gave it, in the very part it
came in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from app.chat.model import Chat, Loss, Media, Message, Native, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from app.errors import ClientError
from app.wires.envelope import RAW_FIELDS, encode
from app.wires.gemini.names import BYPASS, NAME, OWN_FILES, legal, signs
from app.wires.gemini.spelling import camel

SEALED = msgspec.json.Decoder(list[msgspec.Raw])
DATA_URL_MIME = "application/octet-stream"
RESOLUTIONS = {
    "low": "MEDIA_RESOLUTION_LOW",
    "high": "MEDIA_RESOLUTION_HIGH",
    "original": "MEDIA_RESOLUTION_ULTRA_HIGH",
}
"""A picture's detail → the resolution that Gemini 3 and later read it at; `auto` and older models choose themselves."""

BEGUN_BY_ASSISTANT = "(The conversation begins with the assistant.)"
GO_ON = "(Go on.)"


class Sealed(msgspec.Struct, frozen=True):
    """An assistant message's parts as Gemini itself wrote them, in order."""

    parts: tuple[msgspec.Raw, ...]


class _Call(msgspec.Struct):
    """A call of the step that is open: how the client names it, and how Gemini does."""

    client_id: str
    name: str
    gemini_name: str
    gemini_id: str


def restore(message: Message, sealed: bytes) -> Message:
    """The message carrying Gemini's own parts. The address vouches that they say what the client's copy says.

    A Gemini client that gave its signatures back has nothing missing: its message stays as it is. What another format
    carries as a signature of its own is none of Gemini's.
    """
    if message.native is not None and message.native.wire == NAME and _is_signed(message):
        return message
    return message.carrying(Native(NAME, Sealed(tuple(SEALED.decode(sealed)))))


def _is_signed(message: Message) -> bool:
    """Whether Gemini's proof is where it has to be: on the first call, or, where nothing is called, on a thought."""
    if message.calls:
        return bool(message.calls[0].signature)
    return any(isinstance(part, Thinking) and part.signature for part in message.parts)


def contents(chat: Chat, model: str) -> tuple[list[dict[str, Any]], list[Loss]]:
    """The contents for `model`, and what could not be said."""
    builder = _Builder(signs(model))
    for message in chat.messages:
        builder.add(message)
    return builder.done(), builder.losses


class _Builder:
    """Builds contents one message at a time; `losses` says what was left out."""

    def __init__(self, signed: bool) -> None:
        self.losses: list[Loss] = []
        self._signed = signed
        self._contents: list[dict[str, Any]] = []
        self._calls: list[_Call] = []
        self._results: dict[int, Any] = {}

    def add(self, message: Message) -> None:
        if message.role == "assistant":
            self._extend("model", self._model_parts(message))
            return
        others: list[Any] = []
        for part in message.parts:
            if isinstance(part, ToolResult):
                self._answer(part, others)
            else:
                others.extend(self._user_part(part, message.role == "system"))
        self._extend("user", others)

    def done(self) -> list[dict[str, Any]]:
        """The contents, beginning and ending with the user."""
        if not self._contents:
            raise ClientError("The conversation holds no text, file or tool result to send.", param="messages")
        if self._contents[0]["role"] == "model":
            self._contents.insert(0, {"role": "user", "parts": [{"text": BEGUN_BY_ASSISTANT}]})
            self.losses.append(Loss("messages[0]", "Gemini wants the user first: a line saying so was put before it."))
        if self._contents[-1]["role"] == "model":
            self._contents.append({"role": "user", "parts": [{"text": GO_ON}]})
            self.losses.append(Loss("messages[-1]", "Gemini takes no prefilled answer: it is asked to go on instead."))
        return self._contents

    def _extend(self, role: str, parts: Sequence[Any]) -> None:
        if not parts:
            return
        if self._contents and self._contents[-1]["role"] == role:
            self._contents[-1]["parts"].extend(parts)
        else:
            self._contents.append({"role": role, "parts": list(parts)})

    def _model_parts(self, message: Message) -> list[Any]:
        if not (self._contents and self._contents[-1]["role"] == "model"):
            self._calls = []  # a new step; otherwise the same turn, cut in two by the client
        if message.native and isinstance(message.native.body, Sealed):
            return self._sealed(message, message.native.body)
        written: list[Any] = []
        for part in message.parts:
            match part:
                case Text(text=text) if text:
                    written.append(_own(part) or {"text": text})
                case ToolCall():
                    written.append(self._call(part))
                case Media():
                    written.append(self._media(part))
                case Opaque(native=native) if native.wire == NAME:
                    written.append(native.body)
                case Opaque():
                    self.losses.append(Loss("messages", "A part that only its own provider understands was left out."))
                case Thinking(native=native) if native and native.wire == NAME and part.signature:
                    written.append(native.body)
                case _:  # empty text; reasoning without its proof, which no provider wants back
                    pass
        return written

    def _sealed(self, message: Message, sealed: Sealed) -> list[Any]:
        calls = iter(message.calls)
        for raw in sealed.parts:
            fields = RAW_FIELDS.decode(raw)
            if "functionCall" not in fields:
                continue
            body = msgspec.json.decode(fields["functionCall"], type=dict[str, msgspec.Raw])
            name = msgspec.json.decode(body["name"], type=str)
            identity = msgspec.json.decode(body["id"], type=str) if "id" in body else ""
            client = next(calls, None)
            self._calls.append(
                _Call(client.id if client else identity, client.name if client else name, name, identity)
            )
        return list(sealed.parts)

    def _call(self, call: ToolCall) -> Any:
        """A call written anew. It carries no id: Gemini pairs by order then; Vertex AI refuses ids it never gave."""
        first = not self._calls
        name = legal(call.name)
        if own := _own(call):
            self._calls.append(_Call(call.id, call.name, call.name, _own_id(own, "functionCall")))
            if call.signature or not (first and self._signed):
                return own
            fields: dict[str, Any] = dict(RAW_FIELDS.decode(encode(own)))
            return fields | {"thoughtSignature": BYPASS}
        self._calls.append(_Call(call.id, call.name, name, ""))
        part: dict[str, Any] = {"functionCall": {"name": name, "args": wrapped(call)}}
        if first and self._signed:
            part["thoughtSignature"] = call.signature or BYPASS
        return part

    def _answer(self, result: ToolResult, others: list[Any]) -> None:
        """A result, put at its call's place. Mending has paired them before: one without a call cannot come here."""
        position = self._position(result)
        call = self._calls[position] if position is not None else None
        response: dict[str, Any] = {"name": call.gemini_name if call else legal(result.name or "unknown")}
        if call and call.gemini_id:
            response["id"] = call.gemini_id
        response["response"] = {"error" if result.is_error else "output": result.text}
        media = [self._media(part) for part in result.content if isinstance(part, Media)]
        if media and self._signed:  # Gemini 3 takes pictures inside a result, older models do not
            response["parts"] = media
        elif media:
            others.extend(media)
        part = _own(result)
        if part is not None and (call is None or _own_id(part, "functionResponse") != call.gemini_id):
            part = None
        self._place(position, part or {"functionResponse": response})

    def _position(self, result: ToolResult) -> int | None:
        for index, call in enumerate(self._calls):
            same = call.client_id == result.call_id if result.call_id and call.client_id else call.name == result.name
            if same and index not in self._results_of_step():
                return index
        return None

    def _results_of_step(self) -> dict[int, Any]:
        if not self._contents or self._contents[-1]["role"] == "model":
            self._results = {}
        return self._results

    def _place(self, position: int | None, part: Any) -> None:
        """Results stand first in their content, in the order of the calls, whatever order they came in."""
        results = self._results_of_step()
        before = len(results)
        results[position if position is not None else 10_000 + before] = part
        ordered = [results[key] for key in sorted(results)]
        if before:
            self._contents[-1]["parts"][:before] = ordered
        else:
            self._extend("user", ordered)

    def _user_part(self, part: Part, system: bool) -> list[Any]:
        match part:
            case Text(text=text) if text:
                if system:  # said in the middle: moving it to the front would change the prefix for all that follows
                    return [{"text": f"<system-reminder>\n{text}\n</system-reminder>"}]
                return [_own(part) or {"text": text}]
            case Media():
                return [self._media(part)]
            case Opaque(native=native) if native.wire == NAME:
                return [native.body]
            case Opaque():
                self.losses.append(Loss("messages", "A part that only its own provider understands was left out."))
                return []
            case _:
                return []

    def _media(self, media: Media) -> Any:
        if own := _own(media):
            return own
        if media.data:
            part: dict[str, Any] = {"inlineData": {"mimeType": media.mime or DATA_URL_MIME, "data": media.data}}
            if level := RESOLUTIONS.get(media.detail):
                if self._signed:
                    part["mediaResolution"] = {"level": level}
                else:
                    words = "This model looks at every picture as it does by itself: detail is left out."
                    self.losses.append(Loss("messages", words))
            return part
        if media.file_id.startswith(OWN_FILES):
            return {"fileData": {"mimeType": media.mime or _mime_of(media.file_id), "fileUri": media.file_id}}
        if media.file_id:
            raise ClientError(
                f"The file {media.file_id[:40]!r} is stored at another provider: Gemini cannot read it. "
                "Send its bytes instead."
            )
        self.losses.append(
            Loss("messages", "A picture given by address is handed on as it is; older models refuse it.")
        )
        return {"fileData": {"mimeType": media.mime or _mime_of(media.url), "fileUri": media.url}}


def _own(part: Text | Media | ToolCall | ToolResult) -> Any:
    return part.native.body if part.native and part.native.wire == NAME else None


def _own_id(part: Any, kind: str) -> str:
    """The id in a part that a Gemini client wrote; empty if it gave none."""
    fields = {camel(name): value for name, value in RAW_FIELDS.decode(encode(part)).items()}
    identity = RAW_FIELDS.decode(fields[kind]).get("id")
    return msgspec.json.decode(identity, type=str) if identity is not None else ""


def wrapped(call: ToolCall) -> Any:
    """Arguments as an object, numbers as they were spelled; what is not an object is carried under a key of its own."""
    text = call.arguments.strip() or "{}"
    if call.kind == "custom":
        return {"input": call.arguments}
    try:
        RAW_FIELDS.decode(text.encode())
        msgspec.json.format(text.encode(), indent=-1)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return {"_raw": call.arguments}
    return msgspec.Raw(text.encode())


def _mime_of(url: str) -> str:
    ending = url.partition("?")[0].rpartition(".")[2].lower()
    return {
        "png": "image/png",
        "webp": "image/webp",
        "gif": "image/gif",
        "heic": "image/heic",
        "pdf": "application/pdf",
    }.get(ending, "image/jpeg")
