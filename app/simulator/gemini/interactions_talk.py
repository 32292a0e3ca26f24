"""The steps of an interaction as a talk for the mind."""

from __future__ import annotations

from collections.abc import Iterable

from app.simulator.gemini.interactions_rules import functions, text_format
from app.simulator.gemini.models import Model
from app.simulator.mind.talk import Call, Role, Talk, Tool, Utterance
from app.simulator.shapes import Json, as_list, as_number, as_object, as_text, dump, is_list, is_object, objects


def talk_of(body: Json, steps: Iterable[Json], model: Model) -> Talk:
    """The talk of a request, after all that its chain holds. Only steps are inherited: the rest is the request's own.

    Args:
        steps: the history and the new input.
    """
    config = as_object(body.get("generation_config"))
    mode, allowed = _choice(config.get("tool_choice"))
    most = as_number(config.get("max_output_tokens"))
    form = text_format(body)
    return Talk(
        said=(*system(body), *said_in(steps)),
        tools=tuple(_tool(one) for one in functions(body)),
        choice="required" if mode == "any" else "none" if mode == "none" else "auto",
        allowed=allowed,
        schema=as_object(form.get("schema")) if form.get("mime_type") == "application/json" else None,
        stop=tuple(as_text(one) for one in as_list(config.get("stop_sequences"))),
        max_tokens=None if most is None else int(most),
        thinks=model.thinks and config.get("thinking_level") != "minimal",
        searches=any(tool.get("type") == "google_search" for tool in objects(body.get("tools"))),
        received=body,
    )


def system(body: Json) -> tuple[Utterance, ...]:
    """The system text, if there is one."""
    text = as_text(body.get("system_instruction"))
    return (Utterance("system", text),) if text else ()


def said_in(steps: Iterable[Json]) -> tuple[Utterance, ...]:
    """What was said, step by step; calls in a row are one utterance, as they are one step of the model."""
    said: list[Utterance] = []
    names: dict[str, str] = {}
    calls: list[Call] = []
    for step in steps:
        kind = as_text(step.get("type"))
        if kind == "function_call":
            call = Call(as_text(step.get("name")), as_object(step.get("arguments")), as_text(step.get("id")))
            names[call.id] = call.name
            calls.append(call)
            continue
        said += [Utterance("model", "", tuple(calls))] if calls else []
        calls = []
        match kind:
            case "user_input":
                said.append(_spoken("user", objects(step.get("content"))))
            case "model_output":
                said.append(_spoken("model", objects(step.get("content"))))
            case "function_result":
                said.append(_result(step, names))
            case _:  # thoughts, and the provider's own tools, are nothing that was said
                pass
    return (*said, *([Utterance("model", "", tuple(calls))] if calls else []))


def _spoken(role: Role, content: list[Json]) -> Utterance:
    text = "".join(as_text(part.get("text")) for part in content)
    return Utterance(role, text, pictures=sum(1 for part in content if part.get("type") != "text"))


def _result(step: Json, names: dict[str, str]) -> Utterance:
    result = step.get("result")
    tool = as_text(step.get("name")) or names.get(as_text(step.get("call_id")), "")
    if isinstance(result, str):
        return Utterance("tool", result, tool=tool)
    if is_list(result):
        parts = objects(result)
        text = "".join(as_text(part.get("text")) for part in parts)
        return Utterance("tool", text, pictures=sum(1 for part in parts if part.get("type") != "text"), tool=tool)
    return Utterance("tool", dump(result), tool=tool)


def _choice(given: object) -> tuple[str, tuple[str, ...]]:
    if not is_object(given):
        return as_text(given) or "auto", ()
    allowed = as_object(given.get("allowed_tools"))
    return as_text(allowed.get("mode")) or "auto", tuple(as_text(name) for name in as_list(allowed.get("tools")))


def _tool(tool: Json) -> Tool:
    return Tool(as_text(tool.get("name")), as_text(tool.get("description")), as_object(tool.get("parameters")))
