"""The input of a Responses request as items: which there are, what each holds, and those that only name a kept one.

Messages, their parts, and the outputs of tools are judged by input_items.py, in their own places. Source: the parameter
types of OpenAI's Python SDK; the sentences are those that users quote in reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.simulator.chains import Chains
from app.simulator.openai.problems import refused
from app.simulator.shapes import Json, as_text, digest, is_list, is_object, kind_of

Fields = tuple[tuple[str, ...], tuple[str, ...]]
_FIELDS: Mapping[str, Fields] = {  # type: strings that it must have, what else it may have
    "function_call": (("call_id", "name", "arguments"), ("id", "status", "namespace", "caller")),
    "function_call_output": (("call_id",), ("output", "id", "status", "caller")),
    "custom_tool_call": (("call_id", "name", "input"), ("id", "status", "namespace", "caller")),
    "custom_tool_call_output": (("call_id",), ("output", "id", "status", "caller")),
    "reasoning": ((), ("id", "summary", "content", "encrypted_content", "status")),
    "item_reference": (("id",), ()),
}
_HOSTED = (  # items of OpenAI's own tools, which clients send back as they came
    "file_search_call",
    "web_search_call",
    "computer_call",
    "computer_call_output",
    "code_interpreter_call",
    "image_generation_call",
    "local_shell_call",
    "local_shell_call_output",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
    "mcp_list_tools",
    "mcp_call",
    "mcp_approval_request",
    "mcp_approval_response",
    "tool_search_call",
    "tool_search_output",
    "additional_tools",
    "configuration_update",
    "program",
    "program_output",
)
_SUPPORTED = ("message", *_FIELDS, *_HOSTED)
PREFIXES: Mapping[str, str] = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "function_call_output": "fco",
    "custom_tool_call_output": "ctco",
}
_CHECKED_PREFIXES = frozenset(("message", "reasoning", "function_call", "custom_tool_call"))
_LONGEST_ID = 64


def items_of(given: object, chains: Chains, owner: str) -> tuple[Json, ...]:
    """The input as items, with references resolved; RefusalError for what this API does not take.

    Args:
        owner: whose kept items may be named.
    """
    if isinstance(given, str):
        return ({"type": "message", "role": "user", "content": given},)
    if not is_list(given):
        said = f"expected one of a string or array of objects, but got {kind_of(given)} instead."
        raise refused(f"Invalid type for 'input': {said}", "input", "invalid_type")
    return tuple(_item(one, f"input[{at}]", chains, owner) for at, one in enumerate(given))


def messages_of(items: Sequence[Json]) -> list[Json]:
    """The same number of messages, for the rules about messages: an output with parts stands as a user's message."""
    return [
        item
        if item["type"] == "message"
        else {"role": "user", "content": item["output"] if is_list(item.get("output")) and item["output"] else "json"}
        for item in items
    ]


def kept(item: Json, seed: str, at: int) -> Json:
    """An input item as it is kept: with an id, and a message's text as a part."""
    kind = item["type"]
    known: Json = {"id": f"{PREFIXES.get(kind, 'item')}_{digest(seed, 'given', at)}"} | item
    if kind != "message":
        return known
    part = "output_text" if item["role"] == "assistant" else "input_text"
    content = item.get("content")
    if isinstance(content, str):
        known["content"] = [{"type": part, "text": content}]
    return known | {"status": item.get("status", "completed")}


def _item(item: object, where: str, chains: Chains, owner: str) -> Json:
    if not is_object(item):
        said = f"Invalid type for '{where}': expected an object, but got {kind_of(item)} instead."
        raise refused(said, where, "invalid_type")
    kind = as_text(item.get("type", "message"))
    if kind not in _SUPPORTED:
        supported = ", ".join(f"'{one}'" for one in _SUPPORTED)
        raise refused(f"Invalid value: '{kind}'. Supported values are: {supported}.", where, "invalid_value")
    if kind in _FIELDS:
        _check_fields(item, _FIELDS[kind], where)
    _check_id(item, kind, where)
    if kind == "item_reference" or (kind == "reasoning" and not item.get("encrypted_content")):
        return _found(item, chains, owner)
    if kind.endswith("_call_output") and kind in _FIELDS and not isinstance(item.get("output"), str | list):
        raise _missing(f"{where}.output")
    return item if "type" in item else {"type": kind} | item


def _check_fields(item: Json, fields: Fields, where: str) -> None:
    must, may = fields
    if unknown := sorted(item.keys() - {"type", *must, *may}):
        param = f"{where}.{unknown[0]}"
        raise refused(f"Unknown parameter: '{param}'.", param, "unknown_parameter")
    for name in must:
        if not isinstance(item.get(name), str) or (not item[name] and name not in ("input", "arguments")):
            raise _missing(f"{where}.{name}")
    if item.get("type") == "reasoning" and not is_list(item.get("summary")):
        raise _missing(f"{where}.summary")


def _missing(param: str) -> Exception:
    return refused(f"Missing required parameter: '{param}'.", param, "missing_required_parameter")


def _check_id(item: Json, kind: str, where: str) -> None:
    identity = item.get("id")
    if identity is None:
        return
    place = f"{where}.id"
    if not isinstance(identity, str):
        raise refused(f"Invalid type for '{place}': expected a string.", place, "invalid_type")
    if len(identity) > _LONGEST_ID:
        said = f"string too long. Expected a string with maximum length {_LONGEST_ID}."
        raise refused(f"Invalid '{place}': {said}", place, "string_above_max_length")
    if kind in _CHECKED_PREFIXES and not identity.startswith(PREFIXES[kind]):
        said = f"Invalid '{place}': '{identity}'. Expected an ID that begins with '{PREFIXES[kind]}'."
        raise refused(said, place, "invalid_value")


def _found(item: Json, chains: Chains, owner: str) -> Json:
    identity = as_text(item.get("id"))
    known = chains.item(owner, identity)
    if known is None:
        said = (
            f"Item with id '{identity}' not found. Items are not persisted when `store` is set to false. "
            "Try again with `store` set to true, or remove this item from your input."
        )
        raise refused(said, "input", status=404)
    return known
