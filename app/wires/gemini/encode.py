"""Chat → a generateContent request."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from app.chat.model import Chat, Loss, Message, Text, Tool
from app.errors import ClientError
from app.wires import schema
from app.wires.envelope import Envelope
from app.wires.envelope import encode as to_json
from app.wires.gemini.contents import contents
from app.wires.gemini.names import NAME, RESUMED, generation, legal
from app.wires.gemini.options import tool_choice_of, tools_of
from app.wires.gemini.searching import tool as search_tool
from app.wires.gemini.spelling import camel
from app.wires.searching import among_functions
from app.wires.unsaid import lost_marks, refuse_held
from app.wires.wire import Outbound, Target

BUDGETS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576, "xhigh": 24576, "max": -1}
"""Effort → thinking budget in tokens for Gemini 2.5 (https://ai.google.dev/gemini-api/docs/openai)."""

USUAL = {"temperature": 1, "topP": 0.95, "topK": 64}
"""What Gemini 3 and later do anyway (https://ai.google.dev/api/models): to be asked for it is no loss."""

NO_MINIMAL = ("gemini-3.8-flash", "gemini-3.7-flash", "gemini-3.1-pro", "gemini-3-pro")
"""Models that answer 400 to thinkingLevel minimal (https://ai.google.dev/gemini-api/docs/thinking)."""

HOSTED = {
    "google_maps": "googleMaps",
    "code_execution": "codeExecution",
    "url_context": "urlContext",
}
"""Interactions' tools that Google runs → their names here."""

FROM_INTERACTIONS = {"labels": "labels", "service_tier": "serviceTier", "cached_content": "cachedContent"}
"""Interactions' root fields that mean the same here."""


def path(model: str, stream: bool, framing: str = "sse") -> str:
    """Below the base URL and its version. A model may be given as `models/x` or `tunedModels/x`.

    A client that wants its stream as a JSON array (`framing`) has Gemini's own array passed on.
    """
    name = model if "/" in model else f"models/{model}"
    if not stream:
        return f"/{name}:generateContent"
    return f"/{name}:streamGenerateContent" + ("?alt=sse" if framing == "sse" else "")


def encode(chat: Chat, target: Target) -> Outbound:
    """The request. Raises ClientError for content that Gemini cannot take at all."""
    where = path(target.model, chat.stream, chat.framing)
    envelope = chat.native.body if chat.native and chat.native.wire == NAME else None
    if not isinstance(envelope, Envelope):
        return _anew(chat, target, where)
    fields = {name: raw for name, raw in envelope.fields.items() if name != "foldline"}
    if chat.messages is envelope.messages and chat.system is envelope.system:
        untouched = len(fields) == len(envelope.fields) and not envelope.mended
        return Outbound(where, envelope.raw if untouched else to_json(fields), untouched=untouched)
    written, losses = contents(chat, target.model)
    body: dict[str, Any] = {
        name: raw for name, raw in fields.items() if camel(name) not in ("contents", "systemInstruction")
    }
    body |= _system(chat.system) | {"contents": written}
    body = _with_tools(body, chat, target.model, losses)
    return Outbound(where, to_json(body), tuple(dict.fromkeys(losses)))


def _with_tools(body: dict[str, Any], chat: Chat, model: str, losses: list[Loss]) -> dict[str, Any]:
    """The body with the tools, and the choice among them, as they are now."""
    fields = {camel(name): raw for name, raw in body.items()}
    if chat.tools != tools_of(fields):
        body = {name: raw for name, raw in body.items() if camel(name) != "tools"} | {
            "tools": _tools(chat, model, losses)
        }
    if chat.sampling.tool_choice != tool_choice_of(fields):
        body = {name: raw for name, raw in body.items() if camel(name) != "toolConfig"}
        body |= {"toolConfig": config} if (config := _tool_config(chat, losses)) else {}
    return body


def _anew(chat: Chat, target: Target, where: str) -> Outbound:
    written, losses = contents(chat, target.model)
    losses.extend(lost_marks(chat))
    rest = _rest(chat, losses)
    body: dict[str, Any] = {**_system(chat.system), "contents": written}
    if tools := _tools(chat, target.model, losses):
        body["tools"] = tools
        if config := _tool_config(chat, losses) | _both_kinds(tools, target):
            body["toolConfig"] = config
    if config := _generation_config(chat, target.model, losses):
        body["generationConfig"] = config
    if chat.store is not None:
        body["store"] = chat.store
    if chat.resume.startswith(RESUMED):
        body["continuationToken"] = chat.resume.removeprefix(RESUMED)
    return Outbound(where, to_json(body | rest), tuple(dict.fromkeys(losses)))


def _rest(chat: Chat, losses: list[Loss]) -> dict[str, Any]:
    known = FROM_INTERACTIONS if chat.native and chat.native.wire == "gemini_interactions" else {}
    refuse_held(chat, known)
    losses.extend(Loss(name, "Gemini has no such field.") for name in chat.rest if name not in known)
    return {known[name]: value for name, value in chat.rest.items() if name in known}


def _system(system: tuple[Message, ...]) -> dict[str, Any]:
    if len(system) == 1 and system[0].native and system[0].native.wire == NAME:
        return {"systemInstruction": system[0].native.body}
    texts = [part.text for message in system for part in message.parts if isinstance(part, Text) and part.text]
    return {"systemInstruction": {"parts": [{"text": "\n\n".join(texts)}]}} if texts else {}


def _tools(chat: Chat, model: str, losses: list[Loss]) -> list[dict[str, Any]]:
    declarations: list[Any] = []
    hosted: list[Any] = []
    for tool in chat.tools:
        if tool.native and tool.native.wire == NAME:
            (hosted if tool.kind == "hosted" else declarations).append(tool.native.body)
        elif tool.search is not None:
            hosted.extend(search_tool(chat, tool, tool.search, model, losses))
        elif tool.kind == "hosted":
            hosted.extend(_hosted(tool, losses))
        else:
            declaration, weakened = _declaration(tool)
            declarations.append(declaration)
            losses.extend(Loss(f"tools.{tool.name}", reason) for reason in weakened)
    return ([{"functionDeclarations": declarations}] if declarations else []) + hosted


def _hosted(tool: Tool, losses: list[Loss]) -> list[Any]:
    name = HOSTED.get(tool.name) if tool.native and tool.native.wire == "gemini_interactions" else None
    if name is None or tool.native is None:
        losses.append(Loss(f"tools.{tool.name}", "This tool runs only at its own provider."))
        return []
    more = " Its settings were left out." if len(tool.native.body) > 1 else ""
    words = "It runs, but what it found is not written into the steps of Interactions."
    losses.append(Loss(f"tools.{tool.name}", words + more))
    return [{name: {}}]


def _declaration(tool: Tool) -> tuple[msgspec.Raw, tuple[str, ...]]:
    if tool.kind == "custom":
        wanted = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
        raw, _ = _declared(tool.name, tool.description, to_json(wanted))
        return raw, ("It takes free text: Gemini is given one string argument, and its grammar is left out.",)
    return _declared(tool.name, tool.description, to_json(tool.schema))


@lru_cache(maxsize=512)
def _declared(name: str, description: str, parameters: bytes) -> tuple[msgspec.Raw, tuple[str, ...]]:
    """An agent sends the same tools on every turn: each is translated once."""
    body: dict[str, Any] = {"name": legal(name)}
    if description:
        body["description"] = description
    translated, losses = schema.for_gemini(msgspec.json.decode(parameters, type=dict[str, Any]))
    if translated.get("properties"):  # a function without parameters is declared without a schema
        body["parametersJsonSchema"] = translated
    return msgspec.Raw(to_json(body)), losses


def _both_kinds(tools: list[dict[str, Any]], target: Target) -> dict[str, Any]:
    """Gemini runs a search beside functions only where it may show what it ran, which then is sent back to it
    (https://ai.google.dev/gemini-api/docs/tool-combination)."""
    kinds = {name for tool in tools for name in tool}
    both = {"googleSearch", "functionDeclarations"} <= kinds
    return {"includeServerSideToolInvocations": True} if both and "gemini-" in target.model else {}


def _tool_config(chat: Chat, losses: list[Loss]) -> dict[str, Any]:
    """`toolConfig`, empty where the default holds: a choice is among functions."""
    if chat.sampling.parallel_tools is False:
        losses.append(Loss("parallel_tool_calls", "Gemini cannot be held to one call at a time."))
    choice = among_functions(chat, losses)
    strict = any(tool.strict for tool in chat.tools)
    if choice is None:
        return {"functionCallingConfig": {"mode": "VALIDATED"}} if strict else {}
    mode = {"auto": "AUTO", "none": "NONE", "required": "ANY"}[choice.mode]
    config: dict[str, Any] = {"mode": mode}
    if choice.names:
        config["allowedFunctionNames"] = [legal(name) for name in choice.names]
    if mode == "AUTO" and (choice.names or strict):  # names may be limited only with ANY or VALIDATED
        config["mode"] = "VALIDATED"
    return {"functionCallingConfig": config}


def _generation_config(chat: Chat, model: str, losses: list[Loss]) -> dict[str, Any]:
    s = chat.sampling
    if s.candidates and s.candidates > 1:
        raise ClientError("n: more than one answer per request is not supported. Ask for one.", param="n")
    if len(s.stop) > 5:
        losses.append(Loss("stop", "Only the first 5 stop sequences are sent."))
    config: dict[str, Any] = {
        "maxOutputTokens": s.max_tokens,
        "stopSequences": list(s.stop[:5]) or None,
        "seed": s.seed,
        "presencePenalty": s.presence_penalty,
        "frequencyPenalty": s.frequency_penalty,
        **_thinking(chat, model),
        **_output(chat, model, losses),
    }
    sampling: Mapping[str, Any] = {"temperature": s.temperature, "topP": s.top_p, "topK": s.top_k}
    if generation(model)[0] >= 3 and "gemini-" in model:
        reason = "Gemini 3 and later choose their own sampling; Google asks to leave it out."
        losses.extend(Loss(n, reason) for n, value in sampling.items() if value not in (None, USUAL[n]))
    else:
        config |= sampling
    return {name: value for name, value in config.items() if value is not None}


def _thinking(chat: Chat, model: str) -> dict[str, Any]:
    """Effort as a level for Gemini 3 and later, as a budget for 2.5. Never both: the API refuses that."""
    reasoning = chat.sampling.reasoning
    if reasoning is None:
        return {}
    config: dict[str, Any] = {}
    effort = reasoning.effort
    if reasoning.budget is not None and not effort:
        config["thinkingBudget"] = reasoning.budget
    elif effort and generation(model)[0] >= 3:
        config["thinkingLevel"] = _level(effort, model)
    elif effort and "2.5" in model:
        config["thinkingBudget"] = 128 if effort == "none" and "pro" in model else BUDGETS[effort]
    if reasoning.show is not None:
        config["includeThoughts"] = reasoning.show
    return {"thinkingConfig": config} if config else {}


def _level(effort: str, model: str) -> str:
    if effort in ("none", "minimal"):
        return "LOW" if model.removeprefix("models/").startswith(NO_MINIMAL) else "MINIMAL"
    return {"low": "LOW", "medium": "MEDIUM"}.get(effort, "HIGH")


def _output(chat: Chat, model: str, losses: list[Loss]) -> dict[str, Any]:
    output = chat.sampling.output
    if output is None:
        return {}
    if chat.tools and generation(model)[0] < 3:
        losses.append(Loss("response_format", "Gemini 2.5 takes no JSON output beside tools: the tools were kept."))
        return {}
    if output.schema is None:
        return {"responseMimeType": "application/json"}
    translated, weakened = schema.for_gemini(output.schema, tool=False)
    losses.extend(Loss("response_format", reason) for reason in weakened)
    return {"responseMimeType": "application/json", "responseJsonSchema": translated}
