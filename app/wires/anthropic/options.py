"""The root fields of a Messages request that say how to generate, and the tools → neutral values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

import msgspec

from app.chat.model import Native, OutputFormat, Reasoning, Sampling, Tool, ToolChoice
from app.errors import ClientError
from app.wires.anthropic.names import NAME
from app.wires.anthropic.searching import search_of
from app.wires.envelope import as_object, as_text, read

Effort = Literal["low", "medium", "high", "xhigh", "max", ""]
EFFORTS = frozenset(("low", "medium", "high", "xhigh", "max"))
SHOWN: Mapping[Any, bool] = {"summarized": True, "omitted": False}
"""`thinking.display` → whether the thinking is wanted as text. Where nothing is said, the models that think within a
budget show it, and the others leave it out."""


class Said(msgspec.Struct):
    """The root fields that say how to generate."""

    stream: bool | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: list[str] | None = None
    tool_choice: dict[str, Any] | None = None
    thinking: dict[str, Any] | None = None
    output_config: dict[str, Any] | None = None
    foldline: dict[str, Any] | None = None


FIELDS = {f.name: msgspec.json.Decoder(f.type) for f in msgspec.structs.fields(Said)}
TOOL_LIST = msgspec.json.Decoder(list[dict[str, Any]] | None)


def unread(name: str, said: Said) -> bool:
    """Whether a field holds more than is understood of it: its own provider judges that, others lose it."""
    match name:
        case "output_config":
            config = said.output_config or {}
            kind = as_object(config.get("format")).get("type", "json_schema")
            unknown = config.get("effort") not in (None, *EFFORTS)
            return bool(config.keys() - {"effort", "format"}) or unknown or kind != "json_schema"
        case "thinking":
            thinking = said.thinking or {}
            return bool(thinking.keys() - {"type", "budget_tokens", "display"})
        case _:
            return False


def said_in(fields: Mapping[str, msgspec.Raw]) -> Said:
    """The fields that are there, typed. Raises ClientError naming the one at fault."""
    said = Said()
    for name, raw in fields.items():
        if decoder := FIELDS.get(name):
            setattr(said, name, read(raw, decoder, name))
    return said


def tools_of(fields: Mapping[str, msgspec.Raw]) -> tuple[Tool, ...]:
    """`tools`: those that the client runs, and those that Anthropic runs or knows by itself, which are `hosted`."""
    return _tool_list(bytes(fields["tools"])) if "tools" in fields else ()


@lru_cache(maxsize=64)
def _tool_list(raw: bytes) -> tuple[Tool, ...]:
    """Tools are the same on every turn of an agent, often 100 kB of them: read once."""
    return tuple(_tool(tool, f"tools[{i}]") for i, tool in enumerate(read(raw, TOOL_LIST, "tools") or ()))


def _tool(tool: dict[str, Any], where: str) -> Tool:
    native = Native(NAME, tool)
    kind = as_text(tool.get("type")) or "custom"
    name = as_text(tool.get("name"))
    if kind != "custom":
        return Tool(name or kind, kind="hosted", native=native, search=search_of(tool))
    if not name:
        raise ClientError(f"{where}.name is missing: name the tool.", param=f"{where}.name")
    strict = tool.get("strict")
    return Tool(
        name,
        as_text(tool.get("description")),
        as_object(tool.get("input_schema")),
        strict=strict if isinstance(strict, bool) else None,
        native=native,
    )


def sampling_of(said: Said) -> Sampling:
    """How to generate. None where the client did not say."""
    choice = said.tool_choice or {}
    single = choice.get("disable_parallel_tool_use")
    return Sampling(
        max_tokens=said.max_tokens,
        temperature=said.temperature,
        top_p=said.top_p,
        top_k=said.top_k,
        stop=tuple(said.stop_sequences or ()),
        reasoning=_reasoning(said),
        output=_output(as_object((said.output_config or {}).get("format"))),
        tool_choice=_tool_choice(choice),
        parallel_tools=not single if isinstance(single, bool) else None,
    )


def _reasoning(said: Said) -> Reasoning | None:
    thinking = said.thinking or {}
    level = as_text((said.output_config or {}).get("effort"))
    if not thinking and not level:
        return None
    kind = thinking.get("type")
    show = SHOWN.get(thinking.get("display"), True if kind == "enabled" else None)
    if kind in ("disabled", "between_tools"):
        return Reasoning("none", show=show)
    budget = thinking.get("budget_tokens")
    effort = msgspec.convert(level if level in EFFORTS else "", Effort)
    return Reasoning(effort, budget if kind == "enabled" and type(budget) is int else None, show)


def _output(said: dict[str, Any]) -> OutputFormat | None:
    if said.get("type") != "json_schema":
        return None
    schema = said.get("schema")
    if not isinstance(schema, dict):
        raise ClientError("output_config.format.schema is missing: give a JSON Schema.", param="output_config.format")
    return OutputFormat(schema=as_object(schema))


def _tool_choice(choice: dict[str, Any]) -> ToolChoice | None:
    match choice.get("type"):
        case None:
            return None
        case "auto":
            return ToolChoice("auto")
        case "none":
            return ToolChoice("none")
        case "any":
            return ToolChoice("required")
        case "tool" if name := as_text(choice.get("name")):
            return ToolChoice("required", (name,))
        case _:
            raise ClientError(
                'tool_choice: use {"type": "auto"}, "any", "none", or {"type": "tool", "name": …}.',
                param="tool_choice",
            )
