"""Anthropic Messages (POST /v1/messages), the format of Claude and its agents. Both directions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.chat.model import Chat, Message
from app.errors import ProxyError, UpstreamError
from app.wires.anthropic.decode import decode
from app.wires.anthropic.encode import count_body, encode, restore
from app.wires.anthropic.errors import failure, problem
from app.wires.anthropic.names import NAME
from app.wires.anthropic.reader import AnswerReader, StreamReader
from app.wires.anthropic.writer import EventWriter, MessageWriter
from app.wires.wire import Inbound, Outbound, Problem, Reader, Stamp, Target, Writer


class Anthropic:
    """The wire: see app.wires.wire.Wire."""

    name = NAME
    proves_calls = False

    def decode(self, inbound: Inbound, before: Chat | None = None) -> Chat:
        """A client's request as a Chat."""
        return decode(inbound, before)

    def encode(self, chat: Chat, target: Target) -> Outbound:
        """The chat as Anthropic takes it."""
        return encode(chat, target, target.marks)

    def reader(self, chat: Chat, stream: bool, new_id: Callable[[], str]) -> Reader:
        """A reader for the provider's answer."""
        return StreamReader(chat, new_id) if stream else AnswerReader(chat, new_id)

    def writer(self, chat: Chat, stamp: Stamp, stream: bool) -> Writer:
        """A writer for the client."""
        return EventWriter(chat, stamp) if stream else MessageWriter(chat, stamp)

    def problem(self, error: ProxyError) -> Problem:
        """An error before any byte of an answer."""
        return problem(error)

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
        """A provider's error answer, understood."""
        return failure(status, headers, body)

    def restore(self, message: Message, sealed: bytes, in_loop: bool) -> Message:
        """The assistant turn as Anthropic's own blocks: thinking, signatures, server tools."""
        return restore(message, sealed, in_loop)


ANTHROPIC = Anthropic()

__all__ = ["ANTHROPIC", "Anthropic", "count_body", "encode"]
