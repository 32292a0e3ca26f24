"""What of a request's beginning OpenAI keeps with the conversation, and does not get again behind a response's id.

Items are inherited, and items only (https://platform.openai.com/docs/guides/conversation-state): `instructions`, tools
and the answer's format are sent every time. So it is the system and developer items at the front, and the line that
asks for JSON, that would go on holding after the client has changed them.
"""

from __future__ import annotations

import hashlib

from app.chat.model import Chat, Message, Text
from app.wires.envelope import encode as to_json
from app.wires.openai_responses.names import NAME
from app.wires.openai_responses.turns import KIND

SIZE = 8


def inherited(chat: Chat) -> bytes:
    """A digest (8 bytes) of it; empty if there is nothing of the kind."""
    said = [_said(message) for message in chat.system if is_item(message)]
    if must_say_json(chat):
        said.append(["json"])
    return hashlib.sha256(to_json(said)).digest()[:SIZE] if said else b""


def is_item(message: Message) -> bool:
    """Whether a leading system text stands in the input, as an item of its own."""
    return message.native is not None and message.native.wire == NAME and bool(message.native.body)


def must_say_json(chat: Chat) -> bool:
    """Whether a line is put first in the input: JSON mode without a schema is refused unless the input (not the
    instructions) says JSON somewhere (https://platform.openai.com/docs/guides/structured-outputs). A Responses client
    sees to that itself."""
    output = chat.sampling.output
    return not (chat.native and chat.native.wire == NAME) and output is not None and output.schema is None


def _said(message: Message) -> list[object]:
    """Rank and words, however the item is written; as it is written where it says more than words."""
    raws = message.native.body if message.native else ()
    said: list[object] = [KIND.decode(raw).role for raw in raws]
    if all(isinstance(part, Text) for part in message.parts):
        return [*said, "".join(part.text for part in message.parts if isinstance(part, Text))]
    return [*said, *raws]
