"""Tool names and call ids across formats: what one provider allows another may refuse.

A name that is not legal where it goes is changed the same way every time, and changed back in the answer.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping

from app.chat.model import Chat

LONGEST_ID = 40
"""Characters that OpenAI and most compatible servers take as a call id."""


def alias(name: str, legal: re.Pattern[str], illegal: re.Pattern[str]) -> str:
    """The name itself if `legal` matches all of it, else a cleaned one with a digest of the original behind it.

    So two names never fall together, and the same name always becomes the same. At most 64 characters.
    """
    if legal.fullmatch(name):
        return name
    clean = illegal.sub("_", name)
    if not clean or not (clean[0].isalpha() or clean[0] == "_"):
        clean = "_" + clean
    return f"{clean[:55]}_{_digest(name)[:8]}"


def changed(chat: Chat, wire: str, legal: Callable[[str], str]) -> Mapping[str, str]:
    """What the provider says → what the client calls it, for tools whose name had to be changed.

    Tools that came in the provider's own format (`wire`) went out as they are.
    """
    names = (tool.name for tool in chat.tools if tool.native is None or tool.native.wire != wire)
    return {short: name for name in names if (short := legal(name)) != name}


def short_id(identity: str) -> str:
    """The call id, or where it is too long for some provider one made from it."""
    return identity if len(identity) <= LONGEST_ID else "call_" + _digest(identity)[:24]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
