"""A Messages request as a talk for the mind."""

from __future__ import annotations

from collections.abc import Iterator

from app.simulator.anthropic.fields import mode_of
from app.simulator.anthropic.line import blocks_in
from app.simulator.anthropic.models import Model
from app.simulator.anthropic.searching import is_search
from app.simulator.anthropic.tools import on_server
from app.simulator.anthropic.turns import in_loop
from app.simulator.mind.talk import Call, Talk, Tool, Utterance
from app.simulator.shapes import Json, as_list, as_object, as_text, dump, objects

_MEDIA = ("image", "document")


def talk_of(body: Json, model: Model, received: object, most: int | None) -> Talk:
    """The talk, without what the assistant has begun to say.

    Args:
        received: the body as it came, for [[echo]].
        most: cap on thinking and answer together, in tokens.
    """
    choice = as_object(body.get("tool_choice"))
    kind = as_text(choice.get("type"))
    messages = objects(body.get("messages"))
    mode = mode_of(body, model)
    form = as_object(as_object(body.get("output_config")).get("format"))
    return Talk(
        said=tuple(_said(body, messages[:-1] if begun(messages) is not None else messages)),
        tools=tuple(_tool(tool) for tool in objects(body.get("tools")) if not on_server(tool)),
        choice="required" if kind in ("any", "tool") else "none" if kind == "none" else "auto",
        allowed=(as_text(choice.get("name")),) if kind == "tool" else (),
        parallel=choice.get("disable_parallel_tool_use") is not True,
        schema=as_object(form.get("schema")) if form else None,
        stop=tuple(as_text(stop) for stop in as_list(body.get("stop_sequences"))),
        max_tokens=most,
        thinks=in_loop(messages) if mode == "between_tools" else mode != "disabled",
        searches=kind != "none" and any(is_search(tool) for tool in objects(body.get("tools"))),
        received=received,
    )


def begun(messages: list[Json]) -> str | None:
    """The text that the last message, if it is the assistant's, has begun; None if it is not."""
    if not messages or messages[-1].get("role") != "assistant":
        return None
    return _text(blocks_in(messages[-1].get("content")))


def _said(body: Json, messages: list[Json]) -> Iterator[Utterance]:
    system = _text(blocks_in(body.get("system")))
    if system:
        yield Utterance("system", system)
    names: dict[str, str] = {}
    for message in messages:
        blocks = blocks_in(message.get("content"))
        calls = [block for block in blocks if block.get("type") == "tool_use"]
        names |= {as_text(block.get("id")): as_text(block.get("name")) for block in calls}
        match message.get("role"):
            case "assistant":
                made = (Call(as_text(one["name"]), as_object(one["input"]), as_text(one["id"])) for one in calls)
                yield Utterance("model", _text(blocks), tuple(made))
            case "system":
                yield Utterance("system", _text(blocks))
            case _:
                yield from _from_user(blocks, names)


def _from_user(blocks: list[Json], names: dict[str, str]) -> Iterator[Utterance]:
    for block in blocks:
        if block.get("type") == "tool_result":
            inner = blocks_in(block.get("content"))
            pictures = sum(1 for one in inner if one.get("type") in _MEDIA)
            name = names.get(as_text(block.get("tool_use_id")), "")
            yield Utterance("tool", _text(inner), pictures=pictures, tool=name)
        elif block.get("type") == "compaction":
            yield Utterance("model", as_text(block.get("content")))
    text = _text([block for block in blocks if block.get("type") != "compaction"])
    pictures = sum(1 for block in blocks if block.get("type") in _MEDIA)
    if text or pictures:
        yield Utterance("user", text, pictures=pictures)


def _text(blocks: list[Json]) -> str:
    return "".join(_spoken(block) for block in blocks)


def _spoken(block: Json) -> str:
    match block.get("type"):
        case "text":
            return as_text(block.get("text"))
        case "document":
            source = as_object(block.get("source"))
            return f"{as_text(source.get('data'))}\n" if source.get("type") == "text" else ""
        case "search_result":
            return _text(blocks_in(block.get("content")))
        case "compaction":
            return as_text(block.get("content"))
        case "tool_reference":
            return dump(block)
        case _:
            return ""


def _tool(tool: Json) -> Tool:
    schema = as_object(tool.get("input_schema"))
    return Tool(as_text(tool.get("name")), as_text(tool.get("description")), schema)
