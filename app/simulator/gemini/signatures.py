"""Thought signatures: issued for one call, checked when they come back.

A signature is a keyed digest of the call's name and arguments and of the answer it was in, so nothing is stored and a
signature made up, or moved to another call, is known for what it is. Rules, from Google's page on thought signatures:
Gemini 3 and later validate the current turn, which begins at the newest user content with ordinary parts; in every
model content after it the first function call needs its signature in the same part. Calls that never had one take one
of two documented strings instead.
"""

from __future__ import annotations

import base64
import hashlib

from app.simulator.gemini.problems import refused
from app.simulator.gemini.proto import decoded
from app.simulator.shapes import Json, as_object, as_text, canonical, digest, objects

_KEY = b"foldline simulator"
_MARK = b"\x12sim"
_LONG = 16  # bytes of each half
BYPASSES = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
_PAGE = "https://ai.google.dev/gemini-api/docs/thought-signatures"


def for_call(name: str, args: Json, answer: str) -> str:
    """The signature of a call, in base64. `answer`: the id of the answer that makes the call."""
    salt = bytes.fromhex(digest(answer, length=2 * _LONG))
    return base64.b64encode(_MARK + salt + _seal(salt, "call", name, canonical(args))).decode()


def for_text(answer: str) -> str:
    """The signature of an answer without calls, in base64."""
    salt = bytes.fromhex(digest(answer, length=2 * _LONG))
    return base64.b64encode(_MARK + salt + _seal(salt, "text")).decode()


def check_turn(contents: list[Json]) -> None:
    """The signatures of the current turn; RefusalError if one is missing, made up or in the wrong place."""
    begin = max((at for at, content in enumerate(contents) if _is_ordinary_user(content)), default=-1)
    for position, content in enumerate(contents[begin + 1 :], begin + 2):
        if content.get("role") == "model":
            _check_content(objects(content.get("parts")), position)


def _check_content(parts: list[Json], position: int) -> None:
    calls = 0
    for part in parts:
        given = as_text(part.get("thoughtSignature"))
        call = as_object(part.get("functionCall"))
        if not call:
            if given and not _is_bypass(given) and not _is_genuine(given, "text"):
                raise refused("Corrupted thought signature.")
            continue
        calls += 1
        if not given and calls == 1:
            raise _missing(as_text(call.get("name")), position)
        if given and not _is_bypass(given):
            _check_call(given, call, first=calls == 1)


def _check_call(given: str, call: Json, *, first: bool) -> None:
    if not _is_genuine(given, "call", as_text(call.get("name")), canonical(as_object(call.get("args")))):
        raise refused("Corrupted thought signature.")
    if not first:
        raise refused("Thought signature is not valid: only the first function call of a step carries one.")


def _missing(name: str, position: int) -> Exception:
    return refused(
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
        "correctly, and missing thought_signature may lead to degraded model performance. Additional data, function "
        f"call `default_api:{name}` , position {position}. Please refer to {_PAGE} for more details."
    )


def _is_ordinary_user(content: Json) -> bool:
    parts = objects(content.get("parts"))
    return content.get("role", "user") == "user" and any("functionResponse" not in part for part in parts)


def _is_bypass(given: str) -> bool:
    """The literal string, or its base64, as Google's Python SDK sends it."""
    return given in BYPASSES or decoded(given) in {text.encode() for text in BYPASSES}


def _is_genuine(given: str, *said: str) -> bool:
    raw = decoded(given) or b""
    salt = raw[len(_MARK) : len(_MARK) + _LONG]
    return raw == _MARK + salt + _seal(salt, *said)


def _seal(salt: bytes, *said: str) -> bytes:
    text = "\x00".join(said).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, key=_KEY, salt=salt[:_LONG].ljust(_LONG, b"\x00"), digest_size=_LONG).digest()
