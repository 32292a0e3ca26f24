"""OpenAI's rules for the messages of a chat: roles, contents, and the pairing of tool calls with their results."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable

from app.simulator.openai.models import Model
from app.simulator.openai.problems import refused
from app.simulator.openai.tools import check_length, check_name, check_string_length
from app.simulator.shapes import Json, as_list, as_object, as_text, kind_of, objects

_ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_KEYS = frozenset(
    ("role", "content", "name", "tool_calls", "tool_call_id", "refusal", "audio", "function_call", "annotations")
)
_PARTS = {
    "system": ("text",),
    "developer": ("text",),
    "tool": ("text",),
    "function": ("text",),
    "assistant": ("text", "refusal"),
    "user": ("text", "image_url", "input_audio", "file"),
}
_DATA_URL = re.compile(r"^data:([\w.+-]+/[\w.+-]+)(?:;[\w=-]+)*;base64,(.*)$", re.DOTALL)
_IMAGES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_LONGEST_ID = 40
_MOST_MESSAGES = 100_000


def check_messages(body: Json, model: Model) -> None:
    """All messages, then how they stand to each other; RefusalError if one breaks a rule."""
    if "messages" not in body:
        raise refused("Missing required parameter: 'messages'.", "messages", "missing_required_parameter")
    check_length("messages", body["messages"], 1, _MOST_MESSAGES)
    for index, message in enumerate(as_list(body["messages"])):
        where = f"messages[{index}]"
        if not isinstance(message, dict):
            said = f"Invalid type for '{where}': expected an object, but got {kind_of(message)} instead."
            raise refused(said, where, "invalid_type")
        _check_message(as_object(as_list(body["messages"])[index]), where, model)
    _check_pairing(objects(body["messages"]))
    if model.thinking_mode and as_object(body.get("thinking")).get("type") != "disabled":
        _check_reasoning_returned(objects(body["messages"]))


def _check_message(message: Json, where: str, model: Model) -> None:
    role = message.get("role")
    if role is None:
        raise refused(f"Missing required parameter: '{where}.role'.", f"{where}.role", "missing_required_parameter")
    if role not in _ROLES:
        said = (
            f"Invalid value: '{role}'. Supported values are: "
            "'system', 'assistant', 'user', 'function', 'tool', and 'developer'."
        )
        raise refused(said, f"{where}.role", "invalid_value")
    unknown = [key for key in message if key not in _KEYS]
    if model.own and unknown:
        raise refused(f"Unknown parameter: '{where}.{unknown[0]}'.", f"{where}.{unknown[0]}", "unknown_parameter")
    _check_content(message, role, where)
    if model.own:
        _check_known_keys(message, where)
    if role == "assistant" and message.get("tool_calls") is not None:
        _check_calls(message["tool_calls"], where)
    if role == "tool":
        identity = message.get("tool_call_id")
        if not isinstance(identity, str):
            param = f"{where}.tool_call_id"
            raise refused(f"Missing required parameter: '{param}'.", param, "missing_required_parameter")
        check_string_length(f"{where}.tool_call_id", identity, _LONGEST_ID)


def _check_content(message: Json, role: str, where: str) -> None:
    content = message.get("content")
    if content is None:
        if role == "assistant" and (message.keys() & {"tool_calls", "function_call", "refusal", "audio"}):
            return
        place = where.replace("[", ".[")
        raise refused("Invalid value for 'content': expected a string, got null.", f"{place}.content")
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        said = (
            f"Invalid type for '{where}.content': expected one of a string or array of objects, "
            f"but got {kind_of(content)} instead."
        )
        raise refused(said, f"{where}.content", "invalid_type")
    check_length(f"{where}.content", message["content"], 1, 10_000)
    for index, part in enumerate(as_list(message["content"])):
        _check_part(as_object(part), _PARTS[role], f"{where}.content[{index}]")


def _check_part(part: Json, allowed: tuple[str, ...], where: str) -> None:
    kind = as_text(part.get("type"))
    if not kind:
        raise refused(f"Missing required parameter: '{where}.type'.", f"{where}.type", "missing_required_parameter")
    if kind not in allowed:
        supported = " and ".join(f"'{one}'" for one in allowed)
        raise refused(f"Invalid value: '{kind}'. Supported values are: {supported}.", f"{where}.type", "invalid_value")
    if not isinstance(part.get(kind), str if kind in ("text", "refusal") else dict):
        said = f"Invalid type for '{where}.{kind}': got {kind_of(part.get(kind))} instead."
        raise refused(said, f"{where}.{kind}", "invalid_type")
    check: Callable[[Json, str], None] | None = {
        "image_url": _check_image,
        "file": _check_file,
        "input_audio": _check_audio,
    }.get(kind)
    if check is not None:
        check(as_object(part[kind]), where)


def _check_known_keys(message: Json, where: str) -> None:
    """Keys that other providers' clients add to parts and calls (cache marks, signatures) are unknown to OpenAI."""
    for kind in ("content", "tool_calls"):
        for index, one in enumerate(objects(message.get(kind))):
            known = {"type", as_text(one.get("type")), "prompt_cache_breakpoint" if kind == "content" else "id"}
            unknown = [key for key in one if key not in known]
            if unknown:
                param = f"{where}.{kind}[{index}].{unknown[0]}"
                raise refused(f"Unknown parameter: '{param}'.", param, "unknown_parameter")


def _check_image(image: Json, where: str) -> None:
    url = as_text(image.get("url"))
    if url.startswith(("https://", "http://")):
        return
    found = _DATA_URL.match(url)
    if found is None or found[1].lower() not in _IMAGES:
        said = (
            f"Invalid '{where}.image_url'. Expected a base64-encoded data URL with an image MIME type (e.g. "
            f"'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got a value without one of the supported types "
            "'image/png', 'image/jpeg', 'image/gif', 'image/webp'."
        )
        raise refused(said, f"{where}.image_url", "invalid_value")
    if not _decodes(found[2]):
        raise refused("Invalid base64 image_url.", f"{where}.image_url", "invalid_base64")
    if image.get("detail", "auto") not in ("auto", "low", "high", "original"):
        said = f"Invalid value: '{image['detail']}'. Supported values are: 'low', 'high', 'original', and 'auto'."
        raise refused(said, f"{where}.image_url.detail", "invalid_value")


def _check_file(file: Json, where: str) -> None:
    data = file.get("file_data")
    if file.get("file_id") or (isinstance(data, str) and (found := _DATA_URL.match(data)) and _decodes(found[2])):
        return
    said = f"Invalid '{where}.file': expected a 'file_id', or a 'file_data' that is a base64-encoded data URL."
    raise refused(said, f"{where}.file", "invalid_value")


def _check_audio(audio: Json, where: str) -> None:
    if audio.get("format") not in ("wav", "mp3"):
        said = f"Invalid value: '{audio.get('format')}'. Supported values are: 'wav' and 'mp3'."
        raise refused(said, f"{where}.input_audio.format", "invalid_value")
    if not _decodes(as_text(audio.get("data"))):
        raise refused("Invalid base64 input_audio.", f"{where}.input_audio.data", "invalid_base64")


def _decodes(data: str) -> bool:
    try:
        return bool(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return False


def _check_calls(calls: object, where: str) -> None:
    check_length(f"{where}.tool_calls", calls, 1, 128)
    for index, call in enumerate(objects(calls)):
        place = f"{where}.tool_calls[{index}]"
        if not isinstance(call.get("id"), str) or not call["id"]:
            raise refused(f"Missing required parameter: '{place}.id'.", f"{place}.id", "missing_required_parameter")
        check_string_length(f"{place}.id", call["id"], _LONGEST_ID)
        kind = as_text(call.get("type"))
        if kind not in ("function", "custom"):
            said = f"Invalid value: '{kind}'. Supported values are: 'function' and 'custom'."
            raise refused(said, f"{place}.type", "invalid_value")
        inner, key = as_object(call.get(kind)), "arguments" if kind == "function" else "input"
        check_name(f"{place}.{kind}.name", inner.get("name"))
        if not isinstance(inner.get(key), str):
            param = f"{place}.{kind}.{key}"
            said = f"Invalid type for '{param}': expected a string, but got {kind_of(inner.get(key))} instead."
            raise refused(said, param, "invalid_type")


def _check_pairing(messages: list[Json]) -> None:
    """Each id of a tool-calling message is answered once, right after it, before anything else is said."""
    waiting: list[str] = []
    since = 0
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                said = (
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
                    "with 'tool_calls'."
                )
                raise refused(said, f"messages.[{index}].role")
            waiting.remove(message["tool_call_id"])
            continue
        _check_none_waits(waiting, since)
        since = index
        waiting = [as_text(call.get("id")) for call in objects(message.get("tool_calls"))]
    _check_none_waits(waiting, since)


def _check_none_waits(waiting: list[str], since: int) -> None:
    if waiting:
        said = (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}"
        )
        raise refused(said, f"messages.[{since}].role")


def _check_reasoning_returned(messages: list[Json]) -> None:
    """DeepSeek's thinking mode: the calls of the running turn come back with the reasoning that led to them."""
    last_user = max((at for at, message in enumerate(messages) if message["role"] == "user"), default=-1)
    for message in messages[last_user + 1 :]:
        if message.get("tool_calls") and not as_text(message.get("reasoning_content")):
            said = "The `reasoning_content` in the thinking mode must be passed back to the API."
            raise refused(said, None, "invalid_request_error")
