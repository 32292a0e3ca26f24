"""Gemini Interactions (POST /interactions), Google's API with a memory of its own. Both directions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.chat.model import Chat, Message
from app.errors import ProxyError, UpstreamError
from app.wires.gemini_interactions.decode import decode
from app.wires.gemini_interactions.encode import encode
from app.wires.gemini_interactions.errors import failure, problem
from app.wires.gemini_interactions.names import NAME
from app.wires.gemini_interactions.reader import StreamReader, WholeReader
from app.wires.gemini_interactions.steps import restore
from app.wires.gemini_interactions.writer import StreamWriter, WholeResourceWriter
from app.wires.wire import Inbound, Outbound, Problem, Reader, Stamp, Target, Writer


class GeminiInteractions:
    """The wire: see app.wires.wire.Wire."""

    name = NAME
    proves_calls = False

    def decode(self, inbound: Inbound, before: Chat | None = None) -> Chat:
        """A client's request as a Chat."""
        return decode(inbound)

    def encode(self, chat: Chat, target: Target) -> Outbound:
        """The chat as Gemini takes it, or only what is new where Gemini holds the rest."""
        return encode(chat, target)

    def reader(self, chat: Chat, stream: bool, new_id: Callable[[], str]) -> Reader:
        """A reader for Gemini's answer."""
        return StreamReader(chat, new_id) if stream else WholeReader(chat, new_id)

    def writer(self, chat: Chat, stamp: Stamp, stream: bool) -> Writer:
        """A writer for the client."""
        return StreamWriter(chat, stamp) if stream else WholeResourceWriter(chat, stamp)

    def problem(self, error: ProxyError) -> Problem:
        """An error before any byte of an answer."""
        return problem(error)

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
        """Google's error answer, understood."""
        return failure(status, headers, body)

    def restore(self, message: Message, sealed: bytes, in_loop: bool) -> Message:
        """The assistant message as Gemini's own steps, thoughts and call ids in place."""
        return restore(message, sealed)


GEMINI_INTERACTIONS = GeminiInteractions()
