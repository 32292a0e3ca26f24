"""Google's rules for contents: roles, parts, and how function calls and their responses stand to each other."""

from __future__ import annotations

from collections import Counter

from app.simulator.gemini import signatures
from app.simulator.gemini.messages import ONEOFS
from app.simulator.gemini.models import Model
from app.simulator.gemini.problems import refused
from app.simulator.shapes import Json, as_object, as_text, objects

_DATA = ONEOFS["Part"][0]
_MEDIA = ("audio/", "video/", "text/")
_TYPES = frozenset(
    ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf", "application/json")
)
_ROOT = "GenerateContentRequest"


def check_contents(contents: list[Json], model: Model, *, counting: bool = False) -> None:
    """All contents, in camelCase; RefusalError if they break a rule. `counting` leaves out what only answers need."""
    if not contents:
        raise refused(f"* {_ROOT}.contents: contents is not specified\n")
    for index, content in enumerate(contents):
        _check_content(content, index)
    if counting:
        return
    _check_order(contents)
    _check_ends(contents, model)
    if model.signs:
        signatures.check_turn(contents)


def check_parts(parts: list[Json], place: str) -> None:
    """The parts of one content; RefusalError if there is none, or one without data."""
    if not parts:
        raise refused(f"* {place}.parts: contents.parts must not be empty.\n")
    for index, part in enumerate(parts):
        if not any(field in part for field in _DATA):
            said = f"* {place}.parts[{index}].data: required oneof field 'data' must have one initialized field\n"
            raise refused(said)
        blob = as_object(part.get("inlineData"))
        if blob:
            _check_blob(blob, f"{place}.parts[{index}]")
        for kind in ("functionCall", "functionResponse"):
            if kind in part and not as_text(as_object(part[kind]).get("name")):
                field = "function_call" if kind == "functionCall" else "function_response"
                raise refused(f"* {place}.parts[{index}].{field}.name: Name cannot be empty.\n")
        if "functionResponse" in part and "response" not in as_object(part["functionResponse"]):
            raise refused(f"* {place}.parts[{index}].function_response.response: response cannot be empty.\n")


def _check_content(content: Json, index: int) -> None:
    role = content.get("role", "user")
    if role not in ("user", "model"):
        raise refused("Please use a valid role: user, model.")
    parts = objects(content.get("parts"))
    check_parts(parts, f"{_ROOT}.contents[{index}]")
    wrong = "functionResponse" if role == "model" else "functionCall"
    if any(wrong in part for part in parts):
        owner = "user" if role == "model" else "model"
        raise refused(f"Please ensure that {wrong} parts are only in contents of role {owner}.")


def _check_blob(blob: Json, place: str) -> None:
    kind = as_text(blob.get("mimeType"))
    if not kind or not as_text(blob.get("data")):
        missing = "mime_type" if not kind else "data"
        raise refused(f"* {place}.inline_data.{missing}: {missing} must be set.\n")
    if kind not in _TYPES and not kind.startswith(_MEDIA):
        raise refused(f"Unsupported MIME type: {kind}")


def _check_order(contents: list[Json]) -> None:
    before: Json | None = None
    for index, content in enumerate(contents):
        parts = objects(content.get("parts"))
        calls, responses = _inner(parts, "functionCall"), _inner(parts, "functionResponse")
        waiting = _inner(objects(as_object(before).get("parts")), "functionCall")
        if calls and (before is None or before.get("role", "user") == "model"):
            raise refused(
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn."
            )
        if responses and not waiting:
            raise refused("Please ensure that function response turn comes immediately after a function call turn.")
        _check_pairs(waiting, responses)
        if calls and index == len(contents) - 1:
            _check_pairs(calls, [])
        before = content


def _check_pairs(calls: list[Json], responses: list[Json]) -> None:
    if len(calls) != len(responses):
        raise refused(
            "Please ensure that the number of function response parts is equal to the number of function call parts "
            "of the function call turn."
        )
    if Counter(as_text(one.get("name")) for one in calls) != Counter(as_text(one.get("name")) for one in responses):
        raise refused("Please ensure that the function response names match the names of the function call turn.")
    known = {as_text(one.get("id")) for one in calls}
    given = [as_text(one.get("id")) for one in responses if one.get("id")]
    if any(identity not in known for identity in given) or len(set(given)) != len(given):
        raise refused("Please ensure that each function response id is the id of one function call of that turn.")


def _inner(parts: list[Json], kind: str) -> list[Json]:
    return [as_object(part[kind]) for part in parts if kind in part]


def _check_ends(contents: list[Json], model: Model) -> None:
    if contents[0].get("role", "user") != "user":
        raise refused("Please ensure that multiturn requests start with a user turn.")
    if model.generation >= 3 and contents[-1].get("role", "user") != "user":
        raise refused("Please ensure that multiturn requests ends with a user role or a function response.")
