"""The root fields of a Chat Completions request that say how to generate, and the tools → neutral values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

import msgspec

from app.chat.model import Native, OutputFormat, Reasoning, Sampling, Tool, ToolChoice
from app.errors import ClientError
from app.wires.envelope import as_list, as_object, as_text, read
from app.wires.openai_chat.names import NAME
from app.wires.openai_chat.searching import tool_of

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max", ""]


class SamplingFields(msgspec.Struct):
    """The root fields that say how to generate."""

    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    seed: int | None = None
    n: int | None = None
    stop: str | list[str] | None = None
    tool_choice: str | dict[str, Any] | None = None
    function_call: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    response_format: dict[str, Any] | None = None
    reasoning_effort: str | None = None
    extra_body: dict[str, Any] | None = None
    google: dict[str, Any] | None = None
    foldline: dict[str, Any] | None = None


FIELDS = {f.name: msgspec.json.Decoder(f.type) for f in msgspec.structs.fields(SamplingFields)}
TOOL_LIST = msgspec.json.Decoder(list[dict[str, Any]])
EFFORTS = frozenset(("none", "minimal", "low", "medium", "high", "xhigh", "max"))
NOTHING_SAID = SamplingFields()
_DEFAULT = Sampling()


def unread(name: str, said: SamplingFields) -> bool:
    """A value that we do not know, such as one that OpenAI added since: its own provider judges it, others lose it."""
    match name:
        case "reasoning_effort":
            return said.reasoning_effort is not None and said.reasoning_effort not in EFFORTS
        case "response_format":
            return (said.response_format or {}).get("type", "text") not in ("text", "json_object", "json_schema")
        case "extra_body":
            google = as_object((said.extra_body or {}).get("google"))
            return bool((said.extra_body or {}).keys() - {"google"} or google.keys() - {"thinking_config"})
        case "google":
            return bool((said.google or {}).keys() - {"thinking_config"})
        case _:
            return False


def sampling_fields(fields: Mapping[str, msgspec.Raw]) -> SamplingFields:
    """The fields that are there, typed. Raises ClientError naming the one at fault."""
    said = NOTHING_SAID
    for name, raw in fields.items():
        if decoder := FIELDS.get(name):
            if said is NOTHING_SAID:
                said = SamplingFields()
            setattr(said, name, read(raw, decoder, name))
    return said


def tools_of(fields: Mapping[str, msgspec.Raw]) -> tuple[Tool, ...]:
    """`tools`, the older `functions`, and the web search that has a field of its own."""
    tools = _tool_list(bytes(fields["tools"])) if "tools" in fields else ()
    return tools + (_function_list(bytes(fields["functions"])) if "functions" in fields else ()) + tool_of(fields)


@lru_cache(maxsize=64)
def _tool_list(raw: bytes) -> tuple[Tool, ...]:
    """Tools are the same on every turn of an agent, often 100 kB of them: read once."""
    if raw == b"null":
        return ()
    return tuple(_tool(tool, f"tools[{i}]") for i, tool in enumerate(read(raw, TOOL_LIST, "tools")))


@lru_cache(maxsize=8)
def _function_list(raw: bytes) -> tuple[Tool, ...]:
    if raw == b"null":
        return ()
    functions = read(raw, TOOL_LIST, "functions")
    return tuple(_tool({"type": "function", "function": f}, f"functions[{i}]") for i, f in enumerate(functions))


def _tool(tool: dict[str, Any], where: str) -> Tool:
    native = Native(NAME, tool)
    kind = tool.get("type") or "function"
    if kind not in ("function", "custom"):
        return Tool(str(kind), kind="hosted", native=native)
    body = as_object(tool.get(str(kind)))
    name = as_text(body.get("name"))
    if not name:
        raise ClientError(f"{where}.{kind}.name is missing: name the tool.", param=where)
    description = as_text(body.get("description"))
    if kind == "custom":
        return Tool(name, description, kind="custom", native=native)
    strict = body.get("strict")
    return Tool(name, description, as_object(body.get("parameters")), "function", strict, native)


def sampling_of(said: SamplingFields) -> Sampling:
    """How to generate. None where the client did not say."""
    if said is NOTHING_SAID:
        return _DEFAULT
    stop = (said.stop,) if isinstance(said.stop, str) else tuple(said.stop or ())
    return Sampling(
        max_tokens=said.max_completion_tokens if said.max_completion_tokens is not None else said.max_tokens,
        temperature=said.temperature,
        top_p=said.top_p,
        top_k=said.top_k,
        stop=stop,
        seed=said.seed,
        presence_penalty=said.presence_penalty,
        frequency_penalty=said.frequency_penalty,
        candidates=said.n,
        reasoning=_reasoning(said),
        output=_output(said.response_format),
        tool_choice=_tool_choice(said.tool_choice if said.tool_choice is not None else said.function_call),
        parallel_tools=said.parallel_tool_calls,
    )


def _reasoning(said: SamplingFields) -> Reasoning | None:
    """`reasoning_effort`, and Google's own switches where its compatibility endpoint takes them."""
    google = as_object((said.extra_body or {}).get("google")) or said.google or {}
    thinking = as_object(google.get("thinking_config"))
    level = as_text(thinking.get("thinking_level")).lower() or (said.reasoning_effort or "")
    if not level and not thinking:
        return None
    effort = msgspec.convert(level if level in EFFORTS else "", Effort)
    return Reasoning(effort, thinking.get("thinking_budget"), thinking.get("include_thoughts"))


def _output(response_format: dict[str, Any] | None) -> OutputFormat | None:
    match (response_format or {}).get("type"):
        case "json_object":
            return OutputFormat()
        case "json_schema":
            body = as_object((response_format or {}).get("json_schema"))
            if not isinstance(schema := body.get("schema"), dict):
                raise ClientError("response_format.json_schema.schema is missing.", param="response_format")
            return OutputFormat(
                as_text(body.get("name")), as_object(schema), body.get("strict"), as_text(body.get("description"))
            )
        case _:
            return None


def _tool_choice(choice: str | dict[str, Any] | None) -> ToolChoice | None:
    match choice:
        case None:
            return None
        case "none" | "auto" | "required":
            return ToolChoice(choice)
        case {"type": "allowed_tools"}:
            allowed = as_object(choice.get("allowed_tools"))
            names = tuple(_named(as_object(tool)) for tool in as_list(allowed.get("tools")))
            return ToolChoice("required" if allowed.get("mode") == "required" else "auto", names)
        case dict() if name := _named(choice):
            return ToolChoice("required", (name,))
        case _:
            raise ClientError(
                'tool_choice: use "none", "auto", "required" or {"type": "function", "function": {"name": …}}.',
                param="tool_choice",
            )


def _named(choice: dict[str, Any]) -> str:
    kind = as_text(choice.get("type")) or "function"
    return as_text(as_object(choice.get(kind)).get("name")) or as_text(choice.get("name"))
