"""A Responses request read as the Chat Completions request that says the same, so that one set of rules judges both.

Shapes that only this API has are judged here: which items, which parts, which keys. What both share (pairs of calls and
results, pictures, names, schemas) is left to the rules for chats, so those faults are named by the place in the chat.
Source: the parameter types of OpenAI's Python SDK.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from app.simulator.openai.problems import refused
from app.simulator.shapes import Json, as_list, as_object, as_text, is_list, is_object, kind_of, objects

_ITEM_KEYS: Mapping[str, frozenset[str]] = {
    "message": frozenset(("type", "role", "content", "id", "status", "phase")),
    "function_call": frozenset(("type", "call_id", "name", "arguments", "id", "status")),
    "function_call_output": frozenset(("type", "call_id", "output", "id", "status")),
    "custom_tool_call": frozenset(("type", "call_id", "name", "input", "id")),
    "custom_tool_call_output": frozenset(("type", "call_id", "output", "id")),
    "reasoning": frozenset(("type", "id", "summary", "content", "encrypted_content", "status")),
}
_PART_KEYS: Mapping[str, frozenset[str]] = {
    "input_text": frozenset(("type", "text", "prompt_cache_breakpoint")),
    "input_image": frozenset(("type", "image_url", "file_id", "detail", "prompt_cache_breakpoint")),
    "input_file": frozenset(
        ("type", "file_data", "file_id", "file_url", "filename", "detail", "prompt_cache_breakpoint")
    ),
    "input_audio": frozenset(("type", "input_audio")),
    "output_text": frozenset(("type", "text", "annotations", "logprobs")),
    "refusal": frozenset(("type", "refusal")),
}
_SAID = ("output_text", "refusal")
_GIVEN = ("input_text", "input_image", "input_file", "input_audio")
_PARTS = {"user": _GIVEN, "system": _GIVEN, "developer": _GIVEN, "assistant": _SAID}
_TOOL_KEYS = {
    "function": frozenset(("type", "name", "description", "parameters", "strict")),
    "custom": frozenset(("type", "name", "description", "format")),
}


def chat_of(body: Json) -> Json:
    """The chat request; RefusalError for items, parts and tools that this API does not take."""
    chat: Json = {"model": body.get("model"), "messages": list(_messages(body))}
    if body.get("tools") is not None:
        chat["tools"] = [_tool(as_object(tool), f"tools[{at}]") for at, tool in enumerate(as_list(body["tools"]))]
    if body.get("tool_choice") is not None:
        chat["tool_choice"] = _choice(body["tool_choice"])
    if body.get("parallel_tool_calls") is not None:
        chat["parallel_tool_calls"] = body["parallel_tool_calls"]
    if effort := as_object(body.get("reasoning")).get("effort"):
        chat["reasoning_effort"] = effort
    if said := as_object(as_object(body.get("text")).get("format")):
        inner = {key: value for key, value in said.items() if key != "type"}
        kind = said.get("type")
        chat["response_format"] = {"type": kind, "json_schema": inner} if kind == "json_schema" else {"type": kind}
    return chat


def _messages(body: Json) -> Iterator[Json]:
    if instructions := body.get("instructions"):
        yield {"role": "system", "content": instructions}
    given = body.get("input")
    if isinstance(given, str):
        yield {"role": "user", "content": given}
    elif is_list(given):
        yield from _from_items(given)
    else:
        said = f"expected one of a string or array of objects, but got {kind_of(given)} instead."
        raise refused(f"Invalid type for 'input': {said}", "input", "invalid_type")


def _from_items(items: list[object]) -> Iterator[Json]:
    """Calls join the assistant's message before them; a chat has one message for what are several items here."""
    speaking: Json | None = None
    pictures: list[Json] = []
    calls: dict[str, str] = {}
    for index, item in enumerate(items):
        kind = _kind_of(item, index)
        if kind in ("function_call", "custom_tool_call"):
            calls[as_object(item)["call_id"]] = kind
            speaking = speaking or {"role": "assistant", "content": None}
            speaking.setdefault("tool_calls", []).append(_call(as_object(item), kind))
        elif kind.endswith("_output"):
            _check_answers(as_object(item), kind, calls)
            yield from _ended(speaking, [])
            speaking = None
            yield _result(as_object(item), f"input[{index}]", pictures)
        elif kind == "message":
            yield from _ended(speaking, pictures)
            speaking, pictures = None, []
            message = _message(as_object(item), f"input[{index}]")
            if message["role"] == "assistant":
                speaking = message
            else:
                yield message
    yield from _ended(speaking, pictures)


def _check_answers(item: Json, kind: str, calls: Mapping[str, str]) -> None:
    """A result is of its call's kind. One without any call breaks a rule of chats."""
    called = calls.get(item["call_id"], "")
    if called and kind != f"{called}_output":
        words = kind.replace("_", " ")
        raise refused(f"No tool call found for {words} with call_id {item['call_id']}.", "input")


def _ended(speaking: Json | None, pictures: list[Json]) -> Iterator[Json]:
    """What waited for more: the assistant's message, and the pictures of the results before it."""
    if pictures:
        yield {"role": "user", "content": pictures}
    if speaking is not None:
        yield speaking


def _kind_of(item: object, index: int) -> str:
    where = f"input[{index}]"
    if not is_object(item):
        said = f"Invalid type for '{where}': expected an object, but got {kind_of(item)} instead."
        raise refused(said, where, "invalid_type")
    kind = as_text(item.get("type", "message"))
    if kind not in _ITEM_KEYS:
        supported = ", ".join(f"'{one}'" for one in _ITEM_KEYS)
        raise refused(f"Invalid value: '{kind}'. Supported values are: {supported}.", where, "invalid_value")
    _no_others(item, _ITEM_KEYS[kind], where)
    for key in _ITEM_KEYS[kind] & {"call_id", "name", "arguments", "input"}:
        if not isinstance(item.get(key), str) or (not item[key] and key != "input"):
            raise refused(
                f"Missing required parameter: '{where}.{key}'.", f"{where}.{key}", "missing_required_parameter"
            )
    return kind


def _message(item: Json, where: str) -> Json:
    role = as_text(item.get("role"))
    if role not in _PARTS:
        said = f"Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'."
        raise refused(said, f"{where}.role", "invalid_value")
    content = item.get("content")
    return {"role": role, "content": list(_parts(content, _PARTS[role], where)) if is_list(content) else content}


def _parts(content: object, allowed: tuple[str, ...], where: str) -> Iterator[Json]:
    for index, one in enumerate(as_list(content)):
        part, place = as_object(one), f"{where}.content[{index}]"
        kind = as_text(part.get("type"))
        if kind not in allowed:
            supported = " and ".join(f"'{each}'" for each in allowed)
            raise refused(f"Invalid value: '{kind}'. Supported values are: {supported}.", place, "invalid_value")
        _no_others(part, _PART_KEYS[kind], place)
        yield _part(part, kind)


def _part(part: Json, kind: str) -> Json:
    match kind:
        case "input_text" | "output_text":
            return {"type": "text", "text": part.get("text")}
        case "input_image" if part.get("image_url"):
            return {"type": "image_url", "image_url": {"url": part["image_url"], "detail": part.get("detail", "auto")}}
        case "input_image":
            return {"type": "file", "file": {"file_id": part.get("file_id")}}
        case "input_file":
            identity = part.get("file_id") or part.get("file_url")
            return {"type": "file", "file": {"file_id": identity} if identity else {"file_data": part.get("file_data")}}
        case _:
            return {"type": kind, kind: part.get(kind)}


def _call(item: Json, kind: str) -> Json:
    if kind == "custom_tool_call":
        return {"id": item["call_id"], "type": "custom", "custom": {"name": item["name"], "input": item["input"]}}
    function = {"name": item["name"], "arguments": item["arguments"]}
    return {"id": item["call_id"], "type": "function", "function": function}


def _result(item: Json, where: str, pictures: list[Json]) -> Json:
    """The tool's message. A chat's tool message has no place for pictures: they are put aside for a user message."""
    output = item.get("output")
    if is_list(output):
        parts = list(_parts(output, _GIVEN, where))
        pictures.extend(part for part in parts if part["type"] != "text")
        output = "".join(as_text(part.get("text")) for part in parts)
    return {"role": "tool", "tool_call_id": item["call_id"], "content": output}


def _tool(tool: Json, where: str) -> Json:
    kind = as_text(tool.get("type"))
    if kind not in _TOOL_KEYS:
        raise refused(
            f"Invalid value: '{kind}'. Supported values are: 'function' and 'custom'.", where, "invalid_value"
        )
    _no_others(tool, _TOOL_KEYS[kind], where)
    inner = {key: value for key, value in tool.items() if key != "type"}
    if kind == "function":
        inner["strict"] = tool.get("strict", True)  # here, and only here, what is left out means true
    return {"type": kind, kind: inner}


def _choice(choice: object) -> object:
    if not is_object(choice):
        return choice
    kind = as_text(choice.get("type"))
    if kind == "allowed_tools":
        tools = [_named(tool) for tool in objects(choice.get("tools"))]
        return {"type": kind, kind: {"mode": choice.get("mode"), "tools": tools}}
    return _named(choice)


def _named(choice: Json) -> Json:
    kind = as_text(choice.get("type"))
    return {"type": kind, kind: {"name": choice.get("name")}}


def _no_others(given: Json, known: frozenset[str], where: str) -> None:
    if unknown := sorted(given.keys() - known):
        param = f"{where}.{unknown[0]}"
        raise refused(f"Unknown parameter: '{param}'.", param, "unknown_parameter")
