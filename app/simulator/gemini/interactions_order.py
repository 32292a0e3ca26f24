"""How the steps of an interaction stand to each other: calls and their results, thoughts and what they led to."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from app.simulator.gemini.interactions_problems import refused
from app.simulator.gemini.proto import decoded
from app.simulator.gemini.signatures import BYPASSES
from app.simulator.shapes import Json, as_text, canonical, digest

_KEY = b"foldline simulator"
_MARK = b"\x12sim"
_LONG = 16  # bytes of each half of a signature
_ENDS = ("model_output", "thought", "function_call")


def check_order(history: Sequence[Json], new: Sequence[Json]) -> None:
    """The new steps after the history that the provider holds; RefusalError if they do not go on from it.

    Every function call is answered once, after it and before anything else is said; the request ends with something
    for the model to answer.
    """
    waiting: dict[str, str] = {}
    answering = False
    for at, step in enumerate([*history, *new], -len(history)):
        place, kind = f"input[{at}]", step["type"]
        match kind:
            case "function_call":
                _check_none_waits(waiting if answering else {})
                if as_text(step.get("id")) in waiting:
                    raise refused(f"{place}.id: another call has the id {step['id']!r}.")
                waiting[as_text(step.get("id"))] = as_text(step.get("name"))
                answering = False
            case "function_result":
                _check_answers(step, waiting, place)
                del waiting[step["call_id"]]
                answering = bool(waiting)
            case "user_input":
                _check_none_waits(waiting)
            case _:
                _check_none_waits(waiting if answering else {})
    _check_none_waits(waiting)
    if new and new[-1]["type"] in _ENDS:
        raise refused("input: must end with user input or a result, for the model to answer.")


def _check_answers(step: Json, waiting: dict[str, str], place: str) -> None:
    identity = step["call_id"]
    if identity not in waiting:
        raise refused(f"{place}.call_id: no function call {identity!r} waits for a result.")
    if step.get("name", waiting[identity]) != waiting[identity]:
        raise refused(f"{place}.name: the function call {identity!r} is of {waiting[identity]!r}.")


def _check_none_waits(waiting: dict[str, str]) -> None:
    if waiting:
        missing = ", ".join(waiting)
        raise refused(f"input: every function call must have its function_result; missing for: {missing}.")


def signed(thought: Json, calls: Sequence[Json], answer: str) -> Json:
    """A thought step with its signature, which holds for exactly this thought before these calls.

    Args:
        answer: names the answer that it is of.
    """
    salt = bytes.fromhex(digest(answer, length=2 * _LONG))
    seal = _seal(salt, thought, calls)
    return {"type": "thought", "signature": base64.b64encode(_MARK + salt + seal).decode()} | thought


def check_thoughts(steps: Sequence[Json]) -> None:
    """Thoughts come back as they were received, before the calls that they led to; RefusalError else.

    Signatures that the simulator never made are refused as it does elsewhere, but for the documented bypass strings.
    """
    for at, step in enumerate(steps):
        given = as_text(step.get("signature"))
        if step["type"] != "thought" or not given or _is_bypass(given):
            continue
        calls: list[Json] = []
        for after in steps[at + 1 :]:
            if after["type"] != "function_call":
                break
            calls.append(after)
        raw = decoded(given) or b""
        salt = raw[len(_MARK) : len(_MARK) + _LONG]
        if raw != _MARK + salt + _seal(salt, step, calls):
            raise refused(f"input[{at}].signature: Corrupted thought signature.")


def _seal(salt: bytes, thought: Json, calls: Sequence[Json]) -> bytes:
    said = {name: value for name, value in thought.items() if name not in ("type", "signature")}
    made = [[call.get("id"), call.get("name"), call.get("arguments")] for call in calls]
    text = canonical([said, made]).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, key=_KEY, salt=salt[:_LONG].ljust(_LONG, b"\x00"), digest_size=_LONG).digest()


def _is_bypass(given: str) -> bool:
    return given in BYPASSES or decoded(given) in {text.encode() for text in BYPASSES}
