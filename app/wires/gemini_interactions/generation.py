"""How to generate, in this format's words: `generation_config` with the tool choice in it, and `response_format`."""

from __future__ import annotations

from typing import Any

from app.chat.model import Chat, Loss
from app.chat.windows import window_of
from app.errors import ClientError
from app.wires import schema
from app.wires.gemini.encode import NO_MINIMAL
from app.wires.gemini.names import generation, legal
from app.wires.searching import among_functions, functions

MOST_STOPS = 5


def generation_config(chat: Chat, model: str, losses: list[Loss]) -> dict[str, Any]:
    """The fields that were asked for; what is not known here is a loss."""
    s = chat.sampling
    if s.candidates and s.candidates > 1:
        raise ClientError("n: more than one answer per request is not supported. Ask for one.", param="n")
    stop = [word for word in s.stop if word]  # an empty one is refused
    if len(stop) > MOST_STOPS:
        losses.append(Loss("stop", f"Only the first {MOST_STOPS} stop sequences are sent."))
    config: dict[str, Any] = {
        "max_output_tokens": _limit(s.max_tokens, model, losses),
        "seed": s.seed,
        "stop_sequences": stop[:MOST_STOPS] or None,
        **_thinking(chat, model, losses),
        "tool_choice": tool_choice(chat, losses),
    }
    unknown = {"top_k": s.top_k, "presence_penalty": s.presence_penalty, "frequency_penalty": s.frequency_penalty}
    losses.extend(Loss(name, f"Interactions does not take {name}.") for name, value in unknown.items() if value)
    config |= {"temperature": s.temperature, "top_p": s.top_p}  # taken by every model; newer ones choose for themselves
    return {name: value for name, value in config.items() if value is not None}


def _limit(asked: int | None, model: str, losses: list[Loss]) -> int | None:
    """The length of the answer in tokens; asking for more than the model can give is refused."""
    most = window_of(model).output
    if asked is None or asked <= most or "gemini-" not in model:
        return asked
    losses.append(Loss("max_tokens", f"This model gives {most} tokens at most: that is asked for."))
    return most


def _thinking(chat: Chat, model: str, losses: list[Loss]) -> dict[str, Any]:
    """Effort as a level. There is no budget in this format, and levels are for Gemini 3 and later
    (https://ai.google.dev/gemini-api/docs/thinking)."""
    reasoning = chat.sampling.reasoning
    if reasoning is None:
        return {}
    config: dict[str, Any] = {}
    effort = reasoning.effort
    if not effort and reasoning.budget is not None and reasoning.budget >= 0:
        effort = _effort_of(reasoning.budget)
        losses.append(Loss("reasoning", "The thinking budget in tokens is sent as the nearest level."))
    if effort and (generation(model)[0] < 3 or "gemma" in model):
        losses.append(Loss("reasoning", "This model takes no thinking level through Interactions: it decides itself."))
    elif effort:
        config["thinking_level"] = _level(effort, model)
    if reasoning.show is not None:
        config["thinking_summaries"] = "auto" if reasoning.show else "none"
    return config


def _effort_of(budget: int) -> str:
    return "none" if budget == 0 else "low" if budget < 4096 else "medium" if budget < 12288 else "high"


def _level(effort: str, model: str) -> str:
    if effort in ("none", "minimal"):
        return "low" if model.startswith(NO_MINIMAL) else "minimal"
    return effort if effort in ("low", "medium") else "high"


def tool_choice(chat: Chat, losses: list[Loss]) -> Any:
    """`generation_config.tool_choice`; None where the default holds."""
    if chat.sampling.parallel_tools is False:
        losses.append(Loss("parallel_tool_calls", "Gemini cannot be held to one call at a time."))
    choice = among_functions(chat, losses)
    strict = any(tool.strict for tool in chat.tools)
    if not functions(chat.tools):  # a choice is among functions
        return None
    if choice is None:
        return "validated" if strict else None
    mode = {"auto": "auto", "none": "none", "required": "any"}[choice.mode]
    if mode == "auto" and (choice.names or strict):  # names may be limited only where calls are checked or forced
        mode = "validated"
    if choice.names and mode != "none":
        return {"allowed_tools": {"mode": mode, "tools": [legal(name) for name in choice.names]}}
    return mode


def response_format(chat: Chat, model: str, losses: list[Loss]) -> dict[str, Any] | None:
    """Structured output; None for plain text."""
    output = chat.sampling.output
    if output is None:
        return None
    if chat.tools and generation(model)[0] < 3:
        losses.append(Loss("response_format", "Gemini 2.5 takes no JSON output beside tools: the tools were kept."))
        return None
    written: dict[str, Any] = {"type": "text", "mime_type": "application/json"}
    if output.schema is not None:
        written["schema"], weakened = schema.for_gemini(output.schema, tool=False)
        losses.extend(Loss("response_format", reason) for reason in weakened)
    return written
