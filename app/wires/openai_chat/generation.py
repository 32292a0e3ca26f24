"""How to generate, and with which tools: neutral values → the root fields of a Chat Completions request.

OpenAI's reasoning models refuse sampling, penalties and stop sequences, whoever serves them
(https://platform.openai.com/docs/guides/reasoning): what a model refuses is left out, and said as a loss.
"""

from __future__ import annotations

from typing import Any

import msgspec

from app.chat.model import Chat, Loss, OutputFormat, Reasoning, Tool, ToolChoice
from app.chat.windows import UNKNOWN, window_of
from app.errors import ClientError
from app.wires import schema
from app.wires.envelope import ANYTHING, as_object
from app.wires.openai_chat.names import NAME, OPENAIS, REASONS, legal
from app.wires.openai_chat.searching import options
from app.wires.searching import among_functions, forbidden, functions
from app.wires.wire import Target

MOST_STOPS = 4
FREE_TEXT: dict[str, Any] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}
"""The arguments of a function in place of a tool that takes free text, for servers that know functions only."""

SAME = frozenset(
    (
        *("metadata", "user", "safety_identifier", "service_tier"),
        *("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options"),
    )
)
"""Root fields that the Responses API has too, with the same meaning."""


def sampling(chat: Chat, target: Target, losses: list[Loss]) -> dict[str, Any]:
    """The root fields that say how to generate. Raises ClientError for more than one answer at a time."""
    s = chat.sampling
    if s.candidates and s.candidates > 1:
        raise ClientError("More than one candidate is not supported: ask for one.", param="candidateCount")
    reasons = REASONS.match(target.model) is not None
    # compatible servers often know only the older name, which OpenAI's reasoning models refuse
    limit = "max_completion_tokens" if target.own or reasons else "max_tokens"
    body: dict[str, Any] = {
        limit: _limit(s.max_tokens, target, losses),
        "seed": s.seed,
        "parallel_tool_calls": s.parallel_tools if functions(chat.tools) else None,
        "reasoning_effort": _effort(s.reasoning, target, losses),
        "tool_choice": tool_choice(among_functions(chat, losses), functions(chat.tools), target),
        "response_format": _response_format(s.output, losses),
        **({} if forbidden(chat) else options(chat.tools, target.model, losses)),
        "top_k": None if target.own or reasons else s.top_k,
        "store": chat.store if target.own else None,
        **_chance(chat, target, reasons, losses),
    }
    if s.top_k is not None and (target.own or reasons):
        losses.append(Loss("top_k", "OpenAI does not take top_k."))
    return {name: value for name, value in body.items() if value is not None}


def _limit(asked: int | None, target: Target, losses: list[Loss]) -> int | None:
    """Tokens of the answer; OpenAI refuses to be asked for more than the model gives."""
    window = window_of(target.model)
    bound = OPENAIS.match(target.model) is not None and window is not UNKNOWN
    if asked is None or not bound or asked <= window.output:
        return asked
    losses.append(Loss("max_tokens", f"This model gives {window.output} tokens at most: that is asked for."))
    return window.output


def _chance(chat: Chat, target: Target, reasons: bool, losses: list[Loss]) -> dict[str, Any]:
    """Temperature, top_p, penalties and stop sequences, as far as the model takes them."""
    s = chat.sampling
    if len(s.stop) > MOST_STOPS:
        losses.append(Loss("stop", f"Only the first {MOST_STOPS} stop sequences are sent."))
    stop = list(s.stop[:MOST_STOPS]) or None
    said = {
        "temperature": s.temperature,
        "top_p": s.top_p,
        "presence_penalty": s.presence_penalty,
        "frequency_penalty": s.frequency_penalty,
        "stop": stop,
    }
    said = {name: value for name, value in said.items() if value is not None}
    if not reasons:
        return said
    usual: dict[str, Any] = {"temperature": 1, "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0}
    if target.model.startswith("o1"):
        usual["stop"] = stop
    refused = [name for name, value in said.items() if value != usual.get(name)]
    losses.extend(Loss(name, f"{target.model} reasons, and takes no {name}.") for name in refused)
    return {name: value for name, value in said.items() if name not in refused}


def _effort(reasoning: Reasoning | None, target: Target, losses: list[Loss]) -> str | None:
    if reasoning is None:
        return None
    if reasoning.show and target.own:
        losses.append(Loss("reasoning", "OpenAI shows no reasoning in Chat Completions."))
    budget = reasoning.budget
    if reasoning.effort or budget is None:
        return reasoning.effort or None
    losses.append(Loss("reasoning", "The thinking budget in tokens is sent as the nearest effort."))
    if budget < 0:
        return None
    return "none" if budget == 0 else "low" if budget < 4096 else "medium" if budget < 12288 else "high"


def tool_choice(choice: ToolChoice | None, offered: tuple[Tool, ...], target: Target) -> Any:
    """`tool_choice`; None where the default holds."""
    if choice is None or not offered:
        return None
    if not choice.names:
        return choice.mode
    free = {tool.name for tool in offered if _is_custom(tool, target)}
    kinds = ["custom" if name in free else "function" for name in choice.names]
    named = [{"type": kind, kind: {"name": legal(name)}} for kind, name in zip(kinds, choice.names, strict=True)]
    if len(named) == 1 and choice.mode == "required":
        return named[0]
    mode = "required" if choice.mode == "required" else "auto"
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": named}}


def _response_format(output: OutputFormat | None, losses: list[Loss]) -> dict[str, Any] | None:
    if output is None:
        return None
    if output.schema is None:
        return {"type": "json_object"}
    fits = schema.for_openai_strict(output.schema)
    if output.strict and not fits:
        losses.append(Loss("response_format", "The schema is outside OpenAI's strict subset: strict was turned off."))
    body: dict[str, Any] = {"name": legal(output.name or "answer"), "schema": output.schema}
    body["strict"] = fits and output.strict is not False
    if output.description:
        body["description"] = output.description
    return {"type": "json_schema", "json_schema": body}


def tools(offered: tuple[Tool, ...], target: Target, losses: list[Loss]) -> list[Any]:
    """The tools, in their order."""
    written: list[Any] = []
    for tool in offered:
        if tool.search is not None:  # stands in a field of its own
            continue
        if tool.native and tool.native.wire == NAME:
            written.append(tool.native.body)
        elif tool.kind == "hosted":
            losses.append(Loss(f"tools.{tool.name}", "This tool runs only at its own provider."))
        elif _is_custom(tool, target):
            custom = {"name": legal(tool.name), "description": tool.description, "format": _grammar(tool)}
            written.append({"type": "custom", "custom": {name: value for name, value in custom.items() if value}})
        else:
            written.append({"type": "function", "function": _function(tool, losses)})
    return written


def _is_custom(tool: Tool, target: Target) -> bool:
    mine = tool.native is not None and tool.native.wire == NAME
    return tool.kind == "custom" and (target.own or mine)


def _function(tool: Tool, losses: list[Loss]) -> dict[str, Any]:
    parameters = tool.schema
    if tool.kind == "custom":
        parameters = FREE_TEXT
        reason = "It takes free text: this server is given one string argument, and its grammar is left out."
        losses.append(Loss(f"tools.{tool.name}", reason))
    strict = bool(tool.strict) and schema.for_openai_strict(tool.schema)
    if tool.strict and not strict:
        reason = "The schema is outside OpenAI's strict subset: strict was turned off."
        losses.append(Loss(f"tools.{tool.name}", reason))
    function = {
        "name": legal(tool.name),
        "description": tool.description,
        "parameters": parameters,
        "strict": strict,
    }
    return {name: value for name, value in function.items() if value}  # no schema: a function without arguments


def _grammar(tool: Tool) -> Any:
    """What a Responses tool says about its text: there the grammar is flat, here it is nested."""
    if tool.native is None or tool.native.wire != "openai_responses":
        return None
    wanted = as_object(as_object(tool.native.body).get("format"))
    if wanted.get("type") == "grammar":
        return {"type": "grammar", "grammar": {name: wanted[name] for name in wanted if name != "type"}}
    return wanted or None


def shared(chat: Chat, target: Target, losses: list[Loss]) -> dict[str, Any]:
    """Root fields that a client of OpenAI's Responses sent, and that OpenAI takes here too; the others are lost."""
    alike = target.own and chat.native is not None and chat.native.wire == "openai_responses"
    kept: dict[str, Any] = {}
    for name, raw in chat.rest.items():
        if alike and name in SAME:
            kept[name] = raw
        elif alike and name == "text":
            text = as_object(ANYTHING.decode(raw) if isinstance(raw, msgspec.Raw) else raw)
            kept |= {"verbosity": text["verbosity"]} if "verbosity" in text else {}
            losses.extend(
                Loss(f"text.{field}", "Chat Completions has no such field.")
                for field in text
                if field not in ("format", "verbosity")
            )
        else:
            losses.append(Loss(name, "Chat Completions has no such field."))
    return kept
