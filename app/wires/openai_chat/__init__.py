"""OpenAI Chat Completions (POST /v1/chat/completions), the format most clients speak. Both directions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.chat.model import Chat, Message
from app.errors import ProxyError, UpstreamError
from app.wires.openai_chat.decode import decode
from app.wires.openai_chat.encode import encode, restore
from app.wires.openai_chat.errors import failure, problem
from app.wires.openai_chat.names import NAME
from app.wires.openai_chat.reader import ChunkReader, CompletionReader
from app.wires.openai_chat.writer import ChunkWriter, CompletionWriter
from app.wires.wire import Inbound, Outbound, Problem, Reader, Stamp, Target, Writer


class OpenAIChat:
    """The wire: see app.wires.wire.Wire."""

    name = NAME
    proves_calls = False

    def decode(self, inbound: Inbound, before: Chat | None = None) -> Chat:
        """A client's request as a Chat."""
        return decode(inbound, before)

    def encode(self, chat: Chat, target: Target) -> Outbound:
        """The chat for an OpenAI-compatible provider."""
        return encode(chat, target)

    def reader(self, chat: Chat, stream: bool, new_id: Callable[[], str]) -> Reader:
        """A reader for the provider's answer."""
        return ChunkReader(chat) if stream else CompletionReader(chat)

    def writer(self, chat: Chat, stamp: Stamp, stream: bool) -> Writer:
        """A writer for the client."""
        return ChunkWriter(chat, stamp) if stream else CompletionWriter(chat, stamp)

    def problem(self, error: ProxyError) -> Problem:
        """An error before any byte of an answer."""
        return problem(error)

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
        """A provider's error answer, understood."""
        return failure(status, headers, body)

    def restore(self, message: Message, sealed: bytes, in_loop: bool) -> Message:
        """The assistant message with the fields that the client dropped."""
        return restore(message, sealed, in_loop)


OPENAI_CHAT = OpenAIChat()
