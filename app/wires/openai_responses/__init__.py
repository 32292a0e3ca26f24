"""OpenAI Responses (POST /v1/responses), the format of OpenAI's newer models and of Codex. Both directions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.chat.model import Chat, Message
from app.errors import ProxyError, UpstreamError
from app.wires.openai_responses.decode import confined, decode
from app.wires.openai_responses.encode import encode
from app.wires.openai_responses.errors import failure, problem
from app.wires.openai_responses.names import NAME
from app.wires.openai_responses.reader import AnswerReader, StreamReader
from app.wires.openai_responses.sealed import restore
from app.wires.openai_responses.writer import AnswerWriter, StreamWriter
from app.wires.wire import Inbound, Outbound, Problem, Reader, Stamp, Target, Writer

__all__ = ["OPENAI_RESPONSES", "OpenAIResponses", "confined"]


class OpenAIResponses:
    """The wire: see app.wires.wire.Wire."""

    name = NAME
    proves_calls = False

    def decode(self, inbound: Inbound, before: Chat | None = None) -> Chat:
        """A client's request as a Chat."""
        return decode(inbound, before)

    def encode(self, chat: Chat, target: Target) -> Outbound:
        """The chat for OpenAI, or a server that speaks as it does."""
        return encode(chat, target)

    def reader(self, chat: Chat, stream: bool, new_id: Callable[[], str]) -> Reader:
        """A reader for the provider's answer."""
        return StreamReader(chat) if stream else AnswerReader(chat)

    def writer(self, chat: Chat, stamp: Stamp, stream: bool) -> Writer:
        """A writer for the client."""
        return StreamWriter(chat, stamp) if stream else AnswerWriter(chat, stamp)

    def problem(self, error: ProxyError) -> Problem:
        """An error before any byte of an answer."""
        return problem(error)

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
        """A provider's error answer, understood."""
        return failure(status, headers, body)

    def restore(self, message: Message, sealed: bytes, in_loop: bool) -> Message:
        """The assistant message as OpenAI's own items, reasoning in its place."""
        return restore(message, sealed)


OPENAI_RESPONSES = OpenAIResponses()
