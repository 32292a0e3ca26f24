"""A client's JSON body, opened only as far as needed: top-level fields as raw slices, so that what we do not change is
never re-encoded (re-encoding loses big integers, number spellings and unknown fields).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import msgspec

from app.chat.model import Message
from app.errors import ClientError

T = TypeVar("T")
RAW_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
RAW_LIST = msgspec.json.Decoder(list[msgspec.Raw])
ANYTHING = msgspec.json.Decoder(Any)
_ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a whole pair: right as it is
    rb"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\.",  # any other escape, so that an escaped backslash before a plain "ud800" is not taken for one
    re.DOTALL,
)

_SPELLED = re.compile(rb"(?P<units>(?:\\u[0-9a-fA-F]{4})+)|\\.", re.DOTALL)


class Envelope(msgspec.Struct, frozen=True):
    """A decoded request as it came.

    Args:
        raw: the body, byte for byte.
        fields: its top-level fields, raw, by the client's spelling.
        model: the model that it names.
        system, messages: the neutral messages made from it: while the chat still holds these very objects, the body
            stands for it unchanged.
        mended: true if `raw` had to be repaired before it could be read, so that it must not go out as it is.
        head: how the next body of this chat will begin (prefix.py), if that is worth knowing: `messages` but the last.
            `fields` may then lack the list of messages.
        plain: no message has a tool call or a result.
    """

    raw: bytes
    fields: Mapping[str, msgspec.Raw]
    model: str
    system: tuple[Message, ...]
    messages: tuple[Message, ...]
    mended: bool = False
    head: Any = None
    plain: bool = False


def open_body(body: bytes) -> dict[str, msgspec.Raw]:
    """The body's top-level fields. Raises ClientError for anything but a JSON object in UTF-8."""
    if not is_utf8(body):
        raise ClientError("The request body is not valid UTF-8. Encode it as UTF-8.")
    try:
        return RAW_FIELDS.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _unreadable(error) from None


def read_or_mend(body: bytes, read: Callable[[bytes, bool], T]) -> T:
    """What `read` makes of the body; if lone surrogates keep it from being read, of the mended body (then with True).

    Half of a split emoji, `"\\ud83d"`, is no text in any encoding, and every provider refuses it; clients that cut
    strings by UTF-16 units send it all the same. It becomes U+FFFD. They are looked for only when reading has failed: a
    search through every long chat would cost more than reading it.
    """
    try:
        return read(body, False)
    except ClientError:
        mended = _without_lone_surrogates(body)
        if mended is body:
            raise
        return read(mended, True)


def is_utf8(data: bytes) -> bool:
    """Whether it is text. The JSON decoder looks only at the strings that it makes, not at those that stay raw."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _without_lone_surrogates(body: bytes) -> bytes:
    """The body with every lone surrogate escape as U+FFFD; the same object if there is none."""
    found = False

    def mend(match: re.Match[bytes]) -> bytes:
        nonlocal found
        if match["lone"] is None:
            return match[0]
        found = True
        return rb"\ufffd"

    mended = _ESCAPES.sub(mend, body)
    return mended if found else body


def _unreadable(error: Exception) -> ClientError:
    if isinstance(error, RecursionError):
        return ClientError("The request body is nested too deeply. Send JSON of at most 500 levels.")
    words = str(error)
    if isinstance(error, msgspec.ValidationError):
        return ClientError("The request body must be a JSON object.")
    return ClientError(f"The request body is not valid JSON: {words}.")


def read(raw: msgspec.Raw | bytes, decoder: msgspec.json.Decoder[T], where: str) -> T:
    """One field, typed. Raises ClientError that names it: `where` is its path as the client would write it."""
    try:
        return decoder.decode(raw)
    except RecursionError:
        raise ClientError(f"{where} is nested too deeply.", param=where) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        words, _, path = str(error).partition(" - at `$")
        field = where + path.rstrip("`")
        raise ClientError(f"{field}: {words[:1].lower()}{words[1:]}.", param=field) from None


def is_null(raw: msgspec.Raw) -> bool:
    """Whether the value is null."""
    value = memoryview(raw)
    return len(value) == 4 and bytes(value) == b"null"


def forbids_storing(fields: Mapping[str, msgspec.Raw]) -> bool:
    """Whether the body says that its answer may not be stored; that it may be is what most formats take for granted."""
    return bytes(fields.get("store", b"")) == b"false"


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a JSON array, else an empty one."""
    return cast(list[Any], value) if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """The value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def encode(value: Any) -> bytes:
    """Compact JSON in UTF-8; Raw slices are copied as they are."""
    return msgspec.json.encode(value)


def compact(raw: bytes | msgspec.Raw) -> bytes:
    """The same JSON without spacing, every number spelled as it was, and text as itself.

    Clients in Python escape whatever is not ASCII. A model that reads JSON as text would read, and be billed, six
    characters for one.
    """
    plain = msgspec.json.format(bytes(raw), indent=-1)
    return _SPELLED.sub(_as_itself, plain) if b"\\u" in plain else plain


def _as_itself(match: re.Match[bytes]) -> bytes:
    if match["units"] is None:
        return match[0]
    units = bytes.fromhex(match["units"].replace(b"\\u", b"").decode())
    try:
        text = units.decode("utf-16-be")
    except UnicodeDecodeError:  # half of a pair is no text
        return match[0]
    return msgspec.json.encode(text)[1:-1]
