"""A generateContent answer → events, streamed or whole.

Text parts are increments, function calls come whole, usage is a running total, and the only end is a finishReason: a
stream without one is broken. A thought signature may come late, in a part with empty text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from app.chat.events import (
    Event,
    Failed,
    Finished,
    FinishReason,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCalled,
    Unknown,
    Usage,
)
from app.chat.model import Chat, Native, Part, Text, Thinking, ToolCall
from app.errors import UpstreamError
from app.wires.envelope import as_text, encode
from app.wires.forgetful import Forgetful
from app.wires.framing import FramedReader
from app.wires.gemini.citing import Grounding
from app.wires.gemini.decode import part as decode_part
from app.wires.gemini.errors import stream_failure
from app.wires.gemini.names import FINISH_IN, NAME, RESUMED, reverse


class Content(msgspec.Struct):
    """The model's content; its parts are opened one by one, so that what is unknown survives."""

    parts: list[msgspec.Raw] | None = None
    role: str | None = None


class Candidate(msgspec.Struct, rename="camel"):
    """One candidate; only the first is read."""

    content: Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None
    index: int | None = 0
    grounding_metadata: Any = None
    citation_metadata: Any = None
    continuation_token: Any = None


class Feedback(msgspec.Struct, rename="camel"):
    """Why a prompt was blocked."""

    block_reason: str | None = None


class Tokens(msgspec.Struct, rename="camel"):
    """usageMetadata. `candidates` excludes thoughts, `prompt` includes what was cached."""

    prompt_token_count: int | None = 0
    candidates_token_count: int | None = 0
    thoughts_token_count: int | None = 0
    cached_content_token_count: int | None = 0
    tool_use_prompt_token_count: int | None = 0
    total_token_count: int | None = 0


class Body(msgspec.Struct, rename="camel"):
    """A chunk, or the whole answer."""

    candidates: list[Candidate] | None = None
    prompt_feedback: Feedback | None = None
    usage_metadata: Tokens | None = None
    model_version: str | None = None
    response_id: str | None = None
    error: Any = None


BODY = msgspec.json.Decoder(Body)
BODIES = msgspec.json.Decoder(list[msgspec.Raw])
CUSTOM = msgspec.json.Decoder(dict[str, Any])


class _Answer:
    """What one answer has said so far; shared by the streamed and the whole form."""

    def __init__(self, chat: Chat, new_id: Callable[[], str]) -> None:
        self._names = reverse(chat)
        self._custom = {tool.name for tool in chat.tools if tool.kind == "custom"}
        self._new_id = new_id
        self._ids: set[str] = set()
        self._started = False
        self._finish: FinishReason | None = None
        self._words = ""
        self._calls = 0
        self._usage: Usage | None = None
        self._kept: list[bytes] = []
        self._plain = ""  # unsigned answer text not yet in _kept
        self._worth_keeping = False
        self._grounding = Grounding()
        self._token = ""

    def take(self, body: Body, native: Native | None) -> list[Event]:
        """The events of one chunk (or of the whole answer)."""
        if body.error is not None:
            return [Failed(stream_failure(body.error))]
        events: list[Event] = []
        if not self._started:
            self._started = True
            events.append(Started(body.response_id or "", body.model_version or "", native))
        if body.prompt_feedback and body.prompt_feedback.block_reason:
            self._finish, self._words = "content_filter", body.prompt_feedback.block_reason
        self._grounding.piece()
        for candidate in body.candidates or ():
            if candidate.index:
                continue
            self._token = as_text(candidate.continuation_token) or self._token
            if candidate.grounding_metadata is not None:
                self._grounding.add(candidate.grounding_metadata)
            if candidate.citation_metadata is not None:
                self._grounding.quote(candidate.citation_metadata)
            if candidate.content and candidate.content.parts:
                events.extend(self._parts(candidate.content.parts, native))
            if candidate.finish_reason:
                self._finish = FINISH_IN.get(candidate.finish_reason, "stop")
                self._words = candidate.finish_reason
        if body.usage_metadata:
            self._usage = _usage(body.usage_metadata, native)
            events.append(self._usage)
        if self._finish == "malformed_call":  # said at once, while nothing of this answer has gone out
            words = f"The model made a tool call that cannot be used ({self._words}). Send the request again."
            events.append(Failed(UpstreamError(words, kind="upstream_failed", code=self._words)))
        return events

    def _parts(self, raws: Iterable[msgspec.Raw], native: Native | None) -> Iterable[Event]:
        for index, raw in enumerate(raws):
            part = decode_part(raw, "parts")
            self._keep(part, raw)
            match part:
                case Text(text=text):
                    if text:
                        self._grounding.say(index, text)
                        yield TextDelta(text, native)
                case Thinking(text=text):
                    if text:
                        yield ThinkingDelta(text, native)
                case ToolCall():
                    yield ToolCalled(self._calls, self._named(part))
                    self._calls += 1
                case _:
                    yield Unknown(Native(NAME, raw))

    def _named(self, call: ToolCall) -> ToolCall:
        """The call as the client knows it: its own name for the tool, an id that no other call of this answer has."""
        name = self._names.get(call.name, call.name)
        identity = call.id if _plain_id(call.id) and call.id not in self._ids else "call_" + self._new_id()
        self._ids.add(identity)
        if name in self._custom:
            words = as_text(CUSTOM.decode(call.arguments).get("input"))
            return ToolCall(identity, name, words, call.signature, "custom", call.native)
        return ToolCall(identity, name, call.arguments, call.signature, native=call.native)

    def _keep(self, part: Part, raw: msgspec.Raw) -> None:
        """Parts for `sealed`: unsigned text runs together, a signed part stands alone, unsigned thoughts go."""
        if isinstance(part, Text) and part.native is None:
            self._plain += part.text
            return
        if isinstance(part, Thinking) and not part.signature:
            return
        self._flush()
        self._kept.append(bytes(raw))
        self._worth_keeping = True

    def _flush(self) -> None:
        if self._plain:
            self._kept.append(encode({"text": self._plain}))
            self._plain = ""

    def finish(self) -> list[Event]:
        """The closing events; Failed if the answer has no end."""
        if self._finish is None:
            return [Failed(UpstreamError("Gemini's answer broke off before its end. Send the request again."))]
        reason = "tool_calls" if self._calls and self._finish == "stop" else self._finish
        return [*self._grounding.told(), Finished(reason)]

    def onward(self, chat: Chat) -> Chat | None:
        """The same request with the token that the answer stopped with."""
        if self._finish != "paused" or not self._token:
            return None
        return msgspec.structs.replace(chat, resume=RESUMED + self._token)

    def sealed(self) -> bytes:
        """Gemini's own parts, if they hold more than words: signatures, call ids, code, unknown fields."""
        if not self._worth_keeping:
            return b""
        self._flush()
        return b"[" + b",".join(self._kept) + b"]"


class StreamReader(FramedReader, Forgetful):
    """Reads a stream of server-sent events."""

    wire, who = NAME, "Gemini"

    def __init__(self, chat: Chat, new_id: Callable[[], str]) -> None:
        super().__init__()
        self._answer = _Answer(chat, new_id)

    def _take(self, data: bytes) -> list[Event]:
        return self._answer.take(BODY.decode(data), Native(NAME, data))

    def _end(self) -> list[Event]:
        """The only end marker of this format is the finishReason seen before."""
        return self._answer.finish()

    def onward(self, chat: Chat) -> Chat | None:
        """The request for the rest of a paused answer."""
        return self._answer.onward(chat)

    def sealed(self) -> bytes:
        """What a client may drop."""
        return self._answer.sealed()


class AnswerReader(Forgetful):
    """Reads an answer in one piece: one object, or the JSON array that a stream without alt=sse is."""

    def __init__(self, chat: Chat, new_id: Callable[[], str]) -> None:
        self._data: list[bytes] = []
        self._answer = _Answer(chat, new_id)

    def feed(self, data: bytes) -> list[Event]:
        """Nothing yet: the body is read at its end."""
        self._data.append(data)
        return []

    def close(self) -> list[Event]:
        """All events of the answer."""
        data = b"".join(self._data)
        events: list[Event] = []
        try:
            bodies = BODIES.decode(data) if data.lstrip()[:1] == b"[" else [msgspec.Raw(data)]
            for body in bodies:
                events.extend(self._answer.take(BODY.decode(body), Native(NAME, bytes(body))))
        except Exception as error:  # noqa: BLE001 (an unreadable body is the provider's failure, said as such)
            return [Failed(UpstreamError(f"Gemini's answer cannot be read ({type(error).__name__})."))]
        if any(isinstance(event, Failed) for event in events):
            return events
        return [*events, *self._answer.finish()]

    def onward(self, chat: Chat) -> Chat | None:
        """The request for the rest of a paused answer."""
        return self._answer.onward(chat)

    def sealed(self) -> bytes:
        """What a client may drop."""
        return self._answer.sealed()


def _plain_id(identity: str) -> bool:
    return 0 < len(identity) <= 40 and all(c.isascii() and (c.isalnum() or c in "_-") for c in identity)


def _usage(tokens: Tokens, native: Native | None) -> Usage:
    thoughts = tokens.thoughts_token_count or 0
    return Usage(
        input=(tokens.prompt_token_count or 0) + (tokens.tool_use_prompt_token_count or 0),
        output=(tokens.candidates_token_count or 0) + thoughts,
        cached=tokens.cached_content_token_count or 0,
        reasoning=thoughts,
        native=native,
    )
