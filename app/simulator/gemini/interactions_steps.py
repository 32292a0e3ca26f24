"""The steps of an interaction: what each kind holds, and the input of a request read as steps.

Unknown kinds and fields are refused, and so are camelCase names. Source: the types of the google-genai SDK 3.6.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.simulator.gemini.interactions_problems import refused
from app.simulator.gemini.proto import decoded
from app.simulator.shapes import Json, as_object, as_text, is_list, is_object

Fields = Mapping[str, str]
_BUILT_IN = ("code_execution", "google_search", "url_context", "google_maps", "file_search", "retrieval", "processing")
_CALL: tuple[Fields, Fields] = (
    {"id": "string", "arguments": "object"},
    {"signature": "string", "search_type": "string"},
)
_RESULT: tuple[Fields, Fields] = ({"call_id": "string", "result": "any"}, {"is_error": "bool", "signature": "string"})
STEPS: Mapping[str, tuple[Fields, Fields]] = {  # type: what it must have, what it may have
    "user_input": ({"content": "contents"}, {}),
    "model_output": ({"content": "contents"}, {"error": "object"}),
    "thought": ({}, {"signature": "string", "summary": "contents"}),
    "function_call": ({"id": "string", "name": "string", "arguments": "object"}, {"signature": "string"}),
    "function_result": ({"call_id": "string", "result": "result"}, {"name": "string", "is_error": "bool"}),
    "mcp_server_tool_call": (
        {"id": "string", "name": "string", "server_name": "string", "arguments": "object"},
        {},
    ),
    "mcp_server_tool_result": ({"call_id": "string", "result": "any"}, {"name": "string", "server_name": "string"}),
    **{f"{name}_call": _CALL for name in (*_BUILT_IN, "tool_search")},
    **{f"{name}_result": _RESULT for name in (*_BUILT_IN, "tool_search")},
}
_MEDIA: Fields = {
    "data": "base64",
    "uri": "string",
    "mime_type": "string",
    "resolution": "resolution",
    "name": "string",
    "processing": "object",
    "sample_rate": "whole",
    "channels": "whole",
}
CONTENTS: Mapping[str, tuple[Fields, Fields]] = {
    "text": ({"text": "string"}, {"annotations": "list"}),
    **{kind: ({}, _MEDIA) for kind in ("image", "audio", "document", "video")},
}
_RESOLUTIONS = ("low", "medium", "high", "ultra_high")
_KINDS = {
    "string": "a string",
    "object": "an object",
    "bool": "a boolean",
    "list": "a list",
    "contents": "a list of contents",
    "whole": "a whole number",
    "base64": "base64 data",
    "resolution": f"one of {', '.join(_RESOLUTIONS)}",
    "result": "an object, a string or a list of contents",
}


def steps_of(given: object) -> tuple[Json, ...]:
    """The input of a request as steps: a text, one content, a list of contents, or a list of steps.

    Raises:
        RefusalError: it is none of these.
    """
    if isinstance(given, str):
        return (_said_by_user([{"type": "text", "text": given}]),)
    if is_object(given):
        _check_content(given, "input")
        return (_said_by_user([given]),)
    if not is_list(given) or not given:
        raise refused("input: must be a text, a content, or a list of contents or steps that is not empty.")
    if all(as_text(as_object(one).get("type")) in CONTENTS for one in given):
        for at, one in enumerate(given):
            _check_content(one, f"input[{at}]")
        return (_said_by_user([as_object(one) for one in given]),)
    for at, one in enumerate(given):
        _check_step(one, f"input[{at}]")
    return tuple(as_object(one) for one in given)


def _said_by_user(content: list[Json]) -> Json:
    return {"type": "user_input", "content": content}


def _check_step(step: object, place: str) -> None:
    if not is_object(step):
        raise refused(f"{place}: must be a step, which is an object with a type.")
    kind = as_text(step.get("type"))
    if kind not in STEPS:
        raise refused(f"{place}.type: unknown step type {kind!r}.")
    _check_fields(step, STEPS[kind], place)
    if kind in ("user_input", "model_output") and not step["content"]:
        raise refused(f"{place}.content: must not be empty.")


def _check_content(content: object, place: str) -> None:
    if not is_object(content):
        raise refused(f"{place}: must be a content, which is an object with a type.")
    kind = as_text(content.get("type"))
    if kind not in CONTENTS:
        raise refused(f"{place}.type: unknown content type {kind!r}.")
    _check_fields(content, CONTENTS[kind], place)
    if kind == "text":
        return
    if ("data" in content) == ("uri" in content):
        raise refused(f"{place}: exactly one of data and uri must be set.")
    if "data" in content and not content.get("mime_type"):
        raise refused(f"{place}.mime_type: must be set beside data.")


def _check_fields(value: Json, known: tuple[Fields, Fields], place: str) -> None:
    must, may = known
    for name in value:
        if name != "type" and name not in must and name not in may:
            raise refused(f"Unknown parameter '{place}.{name}'.", "parameter_unknown")
    for name, kind in {**must, **may}.items():
        if name in value:
            _check_kind(value[name], kind, f"{place}.{name}")
        elif name in must:
            raise refused(f"{place}.{name}: is required.")


def _check_kind(value: object, kind: str, place: str) -> None:
    if kind == "any":
        return
    if kind == "contents" or (kind == "result" and is_list(value)):
        if not is_list(value):
            raise refused(f"{place}: must be {_KINDS[kind]}.")
        for at, one in enumerate(value):
            _check_content(one, f"{place}[{at}]")
        return
    fits = {
        "string": isinstance(value, str),
        "object": is_object(value),
        "bool": isinstance(value, bool),
        "list": is_list(value),
        "whole": isinstance(value, int) and not isinstance(value, bool),
        "base64": isinstance(value, str) and bool(decoded(value)),
        "resolution": value in _RESOLUTIONS if isinstance(value, str) else False,
        "result": isinstance(value, str) or is_object(value),
    }
    if not fits[kind]:
        raise refused(f"{place}: must be {_KINDS[kind]}.")
