"""Gemini generateContent and streamGenerateContent, as REST speaks them. Both directions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.chat.model import Chat, Message
from app.errors import ProxyError, UpstreamError
from app.wires.gemini.contents import restore
from app.wires.gemini.decode import decode
from app.wires.gemini.encode import encode
from app.wires.gemini.errors import failure, problem
from app.wires.gemini.names import NAME
from app.wires.gemini.reader import AnswerReader, StreamReader
from app.wires.gemini.writer import AnswerWriter, ArrayWriter, StreamWriter
from app.wires.wire import Inbound, Outbound, Problem, Reader, Stamp, Target, Writer


class Gemini:
    """The wire: see app.wires.wire.Wire."""

    name = NAME
    proves_calls = True

    def decode(self, inbound: Inbound, before: Chat | None = None) -> Chat:
        """A client's request as a Chat; model, verb and framing stand in its path."""
        return decode(inbound)

    def encode(self, chat: Chat, target: Target) -> Outbound:
        """The chat as Gemini takes it."""
        return encode(chat, target)

    def reader(self, chat: Chat, stream: bool, new_id: Callable[[], str]) -> Reader:
        """A reader for Gemini's answer (streamed: always asked for as server-sent events)."""
        return StreamReader(chat, new_id) if stream else AnswerReader(chat, new_id)

    def writer(self, chat: Chat, stamp: Stamp, stream: bool) -> Writer:
        """A writer for the client. Without `alt=sse` a stream is a JSON array."""
        if not stream:
            return AnswerWriter(chat, stamp)
        return ArrayWriter(chat, stamp) if chat.framing == "array" else StreamWriter(chat, stamp)

    def problem(self, error: ProxyError) -> Problem:
        """An error before any byte of an answer."""
        return problem(error)

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
        """Gemini's error answer, understood."""
        return failure(status, headers, body)

    def restore(self, message: Message, sealed: bytes, in_loop: bool) -> Message:
        """The assistant message as Gemini's own parts, signatures and call ids in place."""
        return restore(message, sealed)


GEMINI = Gemini()
