"""How to generate, and the tools: neutral values → the root fields of a Responses request."""

from __future__ import annotations

from typing import Any

import msgspec

from app.chat.model import Chat, Loss, OutputFormat, Reasoning, Tool, ToolChoice
from app.errors import ClientError
from app.wires import schema
from app.wires.envelope import ANYTHING, as_object, as_text
from app.wires.openai_chat.names import REASONS
from app.wires.openai_responses.names import NAME, legal
from app.wires.openai_responses.searching import tool as search_tool
from app.wires.wire import Target

LEAST_TOKENS = 16
"""OpenAI refuses a smaller `max_output_tokens`."""

SAME = frozenset(
    (
        *("metadata", "user", "safety_identifier", "service_tier", "store"),
        *("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options"),
    )
)
"""Root fields that Chat Completions has too, with the same meaning."""

NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}


def sampling(chat: Chat, target: Target, losses: list[Loss]) -> dict[str, Any]:
    """The root fields that say how to generate. Raises ClientError for more than one answer at a time."""
    s = chat.sampling
    absent = {
        "stop": s.stop or None,
        "seed": s.seed,
        "presence_penalty": s.presence_penalty or None,
        "frequency_penalty": s.frequency_penalty or None,
        "top_k": s.top_k,
    }
    losses.extend(Loss(n, f"OpenAI's Responses API has no {n}.") for n, value in absent.items() if value is not None)
    if s.candidates and s.candidates > 1:
        raise ClientError("More than one answer at a time is not supported: ask for one.", param="n")
    tokens = s.max_tokens
    if tokens is not None and tokens < LEAST_TOKENS and target.own:
        tokens = LEAST_TOKENS
        losses.append(Loss("max_tokens", f"OpenAI takes no limit below {LEAST_TOKENS} tokens: that is sent instead."))
    output = _format(s.output, losses)
    body = {
        "max_output_tokens": tokens,
        **_chance(chat, target, losses),
        "parallel_tool_calls": s.parallel_tools,
        "reasoning": _reasoning(s.reasoning, losses),
        "tool_choice": _tool_choice(s.tool_choice, chat.tools),
        "text": {"format": output} if output else None,
    }
    return {name: value for name, value in body.items() if value is not None}


def _chance(chat: Chat, target: Target, losses: list[Loss]) -> dict[str, Any]:
    """Temperature and top_p. OpenAI's reasoning models refuse any but 1 while they reason
    (https://platform.openai.com/docs/guides/latest-model, "Parameter compatibility")."""
    s = chat.sampling
    said = {name: value for name, value in (("temperature", s.temperature), ("top_p", s.top_p)) if value is not None}
    awake = s.reasoning is None or s.reasoning.effort != "none"
    if not (target.own and awake and REASONS.match(target.model)):
        return said
    refused = [name for name, value in said.items() if value != 1]
    losses.extend(Loss(name, f"{target.model} takes no {name} while it reasons.") for name in refused)
    return {name: value for name, value in said.items() if name not in refused}


def _reasoning(reasoning: Reasoning | None, losses: list[Loss]) -> dict[str, Any] | None:
    if reasoning is None:
        return None
    effort = reasoning.effort
    budget = reasoning.budget
    if not effort and budget is not None and budget >= 0:
        effort = "none" if budget == 0 else "low" if budget < 4096 else "medium" if budget < 12288 else "high"
        losses.append(Loss("reasoning", "The thinking budget in tokens is sent as the nearest effort."))
    said = {"effort": effort or None, "summary": "auto" if reasoning.show else None}
    return {name: value for name, value in said.items() if value} or None


def _tool_choice(choice: ToolChoice | None, offered: tuple[Tool, ...]) -> Any:
    if choice is None or not offered:
        return None
    if not choice.names:
        return choice.mode
    tools = {tool.name: tool for tool in offered}
    named = [_named(name, tools.get(name)) for name in choice.names]
    if len(named) == 1 and choice.mode == "required":
        return named[0]
    return {"type": "allowed_tools", "mode": "required" if choice.mode == "required" else "auto", "tools": named}


def _named(name: str, tool: Tool | None) -> dict[str, Any]:
    if tool is not None and tool.kind == "hosted":
        own = tool.native is not None and tool.native.wire == NAME
        return {"type": name if own or tool.search is None else "web_search"}
    return {"type": tool.kind if tool else "function", "name": legal(name)}


def _format(output: OutputFormat | None, losses: list[Loss]) -> dict[str, Any] | None:
    if output is None:
        return None
    if output.schema is None:
        return {"type": "json_object"}
    fits = schema.for_openai_strict(output.schema)
    if output.strict and not fits:
        losses.append(Loss("response_format", "The schema is outside OpenAI's strict subset: strict was turned off."))
    said: dict[str, Any] = {"type": "json_schema", "name": legal(output.name or "answer"), "schema": output.schema}
    said["strict"] = fits and output.strict is not False
    return said | ({"description": output.description} if output.description else {})


def tools(offered: tuple[Tool, ...], losses: list[Loss]) -> list[Any]:
    """The tools. Those that came in this format stand as they came; `strict` is said for all others, because here, and
    only here, what is left out means true."""
    written: list[Any] = []
    for tool in offered:
        if tool.native and tool.native.wire == NAME:
            if not (written and written[-1] is tool.native.body):  # tools of one namespace share it
                written.append(tool.native.body)
        elif tool.search is not None:
            written.append(search_tool(tool, tool.search, losses))
        elif tool.kind == "hosted":
            losses.append(Loss(f"tools.{tool.name}", "This tool runs only at its own provider."))
        elif tool.kind == "custom":
            written.append(_described({"type": "custom", "name": legal(tool.name)}, tool) | _grammar(tool))
        else:
            written.append(_function(tool, losses))
    return written


def _function(tool: Tool, losses: list[Loss]) -> dict[str, Any]:
    strict = bool(tool.strict) and schema.for_openai_strict(tool.schema)
    if tool.strict and not strict:
        reason = "The schema is outside OpenAI's strict subset: strict was turned off."
        losses.append(Loss(f"tools.{tool.name}", reason))
    written = _described({"type": "function", "name": legal(tool.name)}, tool)
    return written | {"parameters": tool.schema or NO_ARGUMENTS, "strict": strict}


def _described(written: dict[str, Any], tool: Tool) -> dict[str, Any]:
    return written | ({"description": tool.description} if tool.description else {})


def _grammar(tool: Tool) -> dict[str, Any]:
    """What a Chat Completions tool says about its text: there the grammar is nested, here it is flat."""
    if tool.native is None or tool.native.wire != "openai_chat":
        return {}
    wanted = as_object(as_object(as_object(tool.native.body).get("custom")).get("format"))
    if wanted.get("type") == "grammar":
        return {"format": {"type": "grammar", **as_object(wanted.get("grammar"))}}
    return {"format": wanted} if wanted else {}


def shared(chat: Chat, losses: list[Loss]) -> dict[str, Any]:
    """Root fields that a client of Chat Completions sent, and that this API takes too; the others are lost."""
    alike = chat.native is not None and chat.native.wire == "openai_chat"
    kept: dict[str, Any] = {}
    for name, raw in chat.rest.items():
        if alike and name in SAME:
            kept[name] = raw
        elif alike and name == "verbosity":
            kept["text"] = {"verbosity": as_text(_plain(raw))}
        else:
            losses.append(Loss(name, "OpenAI's Responses API has no such field."))
    return kept


def _plain(raw: Any) -> Any:
    return ANYTHING.decode(raw) if isinstance(raw, msgspec.Raw) else raw
