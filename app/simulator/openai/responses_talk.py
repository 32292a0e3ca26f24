"""The items of a Responses request as a talk for the mind."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from app.simulator.mind.talk import Call, Role, Talk, Tool, Utterance
from app.simulator.openai.models import Model
from app.simulator.shapes import Json, as_number, as_object, as_text, is_list, is_object, objects

_ROLES: dict[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "model"}
_CUSTOM: Json = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def talk_of(body: Json, items: Iterable[Json], model: Model) -> Talk:
    """The talk of a request, after all that its chain holds. Only items are inherited: the rest is the request's own.

    Args:
        items: the history and the new input.
    """
    mode, allowed = _choice(body.get("tool_choice"))
    limit = as_number(body.get("max_output_tokens"))
    effort = as_object(body.get("reasoning")).get("effort")
    return Talk(
        said=(*instructions(body), *said_in(items)),
        tools=tuple(_tool(tool) for tool, _ in own_tools(body)),
        choice="none" if mode == "none" else "required" if mode == "required" else "auto",
        allowed=allowed,
        parallel=body.get("parallel_tool_calls") is not False,
        schema=_schema(as_object(as_object(body.get("text")).get("format"))),
        max_tokens=None if limit is None else int(limit),
        thinks=(model.reasons or model.thinking_mode or effort is not None) and effort != "none",
        searches=mode != "none" and any(is_search(tool) for tool in objects(body.get("tools"))),
        received=body,
    )


def is_search(tool: Json) -> bool:
    """Whether OpenAI searches the web by this tool."""
    return as_text(tool.get("type")).startswith("web_search")


def own_tools(body: Json) -> Iterator[tuple[Json, str]]:
    """The functions and custom tools, each with the namespace that it stands in; empty if it stands in none."""
    for tool in objects(body.get("tools")):
        if tool.get("type") == "namespace":
            yield from ((inner, as_text(tool.get("name"))) for inner in objects(tool.get("tools")))
        elif tool.get("type") in ("function", "custom"):
            yield tool, ""


def instructions(body: Json) -> tuple[Utterance, ...]:
    """The instructions, if there are any."""
    text = as_text(body.get("instructions"))
    return (Utterance("system", text),) if text else ()


def said_in(items: Iterable[Json]) -> tuple[Utterance, ...]:
    """What was said, item by item; calls join what the assistant said before them, as they do in a chat."""
    said: list[Utterance] = []
    names: dict[str, str] = {}
    joins = False
    for item in items:
        match item["type"]:
            case "message":
                said.append(_message(item))
                joins = said[-1].role == "model"
            case "function_call" | "custom_tool_call":
                call = _call(item)
                names[call.id] = call.name
                before = said.pop() if joins else Utterance("model", "")
                said.append(Utterance("model", before.text, (*before.calls, call)))
                joins = True
            case "function_call_output" | "custom_tool_call_output":
                text, pictures = _content(item.get("output"))
                tool = names.get(as_text(item.get("call_id")), "")
                said.append(Utterance("tool", text, pictures=pictures, tool=tool))
                joins = False
            case _:  # reasoning, and the items of the provider's own tools, are nothing that was said
                pass
    return tuple(said)


def _message(item: Json) -> Utterance:
    text, pictures = _content(item.get("content"))
    return Utterance(_ROLES.get(as_text(item.get("role")), "user"), text, pictures=pictures)


def _content(content: object) -> tuple[str, int]:
    if not is_list(content):
        return as_text(content), 0
    parts = objects(content)
    text = "".join(as_text(part.get("text")) or as_text(part.get("refusal")) for part in parts)
    return text, sum(1 for part in parts if part.get("type") == "input_image")


def _call(item: Json) -> Call:
    name, identity = as_text(item.get("name")), as_text(item.get("call_id"))
    if item["type"] == "custom_tool_call":
        return Call(name, {"input": as_text(item.get("input"))}, identity)
    try:
        arguments = as_object(json.loads(as_text(item.get("arguments")) or "{}"))
    except ValueError:  # a model may have written broken JSON, and clients send it back as it was
        arguments = {}
    return Call(name, arguments, identity)


def _tool(tool: Json) -> Tool:
    schema = _CUSTOM if tool.get("type") == "custom" else as_object(tool.get("parameters"))
    return Tool(as_text(tool.get("name")), as_text(tool.get("description")), schema)


def _choice(given: object) -> tuple[str, tuple[str, ...]]:
    if not is_object(given):
        return as_text(given) or "auto", ()
    match given.get("type"):
        case "allowed_tools":
            names = tuple(as_text(tool.get("name")) for tool in objects(given.get("tools")))
            return as_text(given.get("mode")), names
        case "function" | "custom":
            return "required", (as_text(given.get("name")),)
        case _:
            return "auto", ()


def _schema(form: Json) -> Json | None:
    match form.get("type"):
        case "json_schema":
            return as_object(form.get("schema"))
        case "json_object":
            return {}
        case _:
            return None
