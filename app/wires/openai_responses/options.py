"""The root fields of a Responses request that say how to generate, and the tools → neutral values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal

import msgspec

from app.chat.model import Native, OutputFormat, Reasoning, Sampling, Tool, ToolChoice
from app.errors import ClientError
from app.wires.envelope import as_list, as_object, as_text, read
from app.wires.openai_responses.names import NAME, spaced
from app.wires.openai_responses.searching import search_of

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max", ""]


class RootFields(msgspec.Struct):
    """The root fields that we read; everything else stays in its raw slice."""

    stream: bool | None = None
    store: bool | None = None
    previous_response_id: str | None = None
    conversation: str | dict[str, Any] | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    reasoning: dict[str, Any] | None = None
    text: dict[str, Any] | None = None
    instructions: str | None = None
    foldline: dict[str, Any] | None = None


FIELDS = {f.name: msgspec.json.Decoder(f.type) for f in msgspec.structs.fields(RootFields)}
TOOL_LIST = msgspec.json.Decoder(list[dict[str, Any]])
EFFORTS = frozenset(("none", "minimal", "low", "medium", "high", "xhigh", "max"))
CHOICES = frozenset(("function", "custom", "allowed_tools", "web_search", "web_search_preview"))
SAYS_NOTHING: Mapping[str, frozenset[bytes]] = {
    "include": frozenset((b"null", b"[]", b'["reasoning.encrypted_content"]')),
    "truncation": frozenset((b"null", b'"disabled"')),
    "background": frozenset((b"null", b"false")),
    "metadata": frozenset((b"null", b"{}")),
}
"""Values that are the default, or that ask only for what other formats have no need of: leaving them out loses
nothing."""


def given(fields: Mapping[str, msgspec.Raw], name: str) -> bool:
    """Whether the body has this field, with more than null in it."""
    return name in fields and bytes(fields[name]) != b"null"


def unmodelled(name: str, raw: msgspec.Raw, said: RootFields) -> bool:
    """Whether a root field says something that the neutral chat does not hold: it survives on its own wire only."""
    match name:
        case "model" | "input" | "tools" | "stream_options":
            return False
        case "reasoning":
            reasoning = said.reasoning or {}
            effort = reasoning.get("effort")
            return bool(reasoning.keys() - {"effort", "summary"}) or not (effort is None or effort in EFFORTS)
        case "text":
            text = said.text or {}
            kind = as_object(text.get("format")).get("type", "text")
            return bool(text.keys() - {"format"}) or kind not in ("text", "json_object", "json_schema")
        case "tool_choice":
            return isinstance(said.tool_choice, dict) and said.tool_choice.get("type") not in CHOICES
        case _:
            return name not in FIELDS and bytes(raw) not in SAYS_NOTHING.get(name, (b"null",))


def root_fields(fields: Mapping[str, msgspec.Raw]) -> RootFields:
    """The fields that are there, typed. Raises ClientError naming the one at fault."""
    said = RootFields()
    for name, raw in fields.items():
        if decoder := FIELDS.get(name):
            setattr(said, name, read(raw, decoder, name))
    return said


def conversation_of(said: RootFields) -> str:
    """The id of the conversation that the client adds to. Raises ClientError if it names a response, too."""
    given = said.conversation
    identity = given if isinstance(given, str) else as_text((given or {}).get("id"))
    if identity and said.previous_response_id:
        raise ClientError(
            "previous_response_id and conversation exclude each other: send one of them.", param="conversation"
        )
    return identity


def tools_of(fields: Mapping[str, msgspec.Raw]) -> tuple[Tool, ...]:
    """`tools`."""
    return _tool_list(bytes(fields["tools"])) if "tools" in fields else ()


@lru_cache(maxsize=64)
def _tool_list(raw: bytes) -> tuple[Tool, ...]:
    """Tools are the same on every turn of an agent, often 100 kB of them: read once."""
    if raw == b"null":
        return ()
    listed = read(raw, TOOL_LIST, "tools")
    return tuple(tool for i, body in enumerate(listed) for tool in _tools_in(body, f"tools[{i}]"))


def _tools_in(body: dict[str, Any], where: str) -> Iterable[Tool]:
    """The tool; of a namespace all its tools, which share the namespace as what the client wrote."""
    native = Native(NAME, body)
    namespace = as_text(body.get("name"))
    inner = as_list(body.get("tools")) if body.get("type") == "namespace" and namespace else []
    if not inner:
        yield _tool(body, where, native)
    for i, one in enumerate(inner):
        yield _tool(as_object(one), f"{where}.tools[{i}]", native, namespace)


def _tool(tool: dict[str, Any], where: str, native: Native, namespace: str = "") -> Tool:
    kind = as_text(tool.get("type"))
    if not kind:
        raise ClientError(f'{where}.type is missing: say "function", or the tool that OpenAI runs.', param=where)
    if kind not in ("function", "custom"):
        return Tool(kind, kind="hosted", native=native, search=search_of(tool))
    name = as_text(tool.get("name"))
    if not name:
        raise ClientError(f"{where}.name is missing: name the tool.", param=f"{where}.name")
    name = spaced(namespace, name)
    description = as_text(tool.get("description"))
    if kind == "custom":
        return Tool(name, description, kind="custom", native=native)
    strict = tool.get("strict")
    return Tool(
        name,
        description,
        as_object(tool.get("parameters")),
        "function",
        strict if isinstance(strict, bool) else None,
        native,
    )


def sampling_of(said: RootFields) -> Sampling:
    """How to generate. None where the client did not say."""
    return Sampling(
        max_tokens=said.max_output_tokens,
        temperature=said.temperature,
        top_p=said.top_p,
        reasoning=_reasoning(said.reasoning or {}),
        output=_output(as_object((said.text or {}).get("format"))),
        tool_choice=_tool_choice(said.tool_choice),
        parallel_tools=said.parallel_tool_calls,
    )


def _reasoning(reasoning: dict[str, Any]) -> Reasoning | None:
    effort = as_text(reasoning.get("effort"))
    show = True if reasoning.get("summary") else None
    if not effort and show is None:
        return None
    return Reasoning(msgspec.convert(effort if effort in EFFORTS else "", Effort), show=show)


def _output(wanted: dict[str, Any]) -> OutputFormat | None:
    match wanted.get("type"):
        case "json_object":
            return OutputFormat()
        case "json_schema":
            if not isinstance(schema := wanted.get("schema"), dict):
                raise ClientError("text.format.schema is missing: give the JSON Schema.", param="text.format.schema")
            strict = wanted.get("strict")
            return OutputFormat(
                as_text(wanted.get("name")),
                as_object(schema),
                strict if isinstance(strict, bool) else None,
                as_text(wanted.get("description")),
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
            tools = [as_object(tool) for tool in as_list(choice.get("tools"))]
            names = tuple(as_text(tool.get("name")) or as_text(tool.get("type")) for tool in tools)
            return ToolChoice("required" if choice.get("mode") == "required" else "auto", names)
        case {"type": "function" | "custom", "name": str(name)}:
            return ToolChoice("required", (name,))
        case {"type": "web_search" | "web_search_preview" as search}:
            return ToolChoice("required", (search,))
        case dict() if choice.get("type") not in (None, "function", "custom"):  # a hosted tool: its own wire's business
            return None
        case _:
            raise ClientError(
                'tool_choice: use "none", "auto", "required" or {"type": "function", "name": …}.', param="tool_choice"
            )
