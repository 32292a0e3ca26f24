"""How to generate: neutral sampling, thinking, output format and length → the fields of the model's generation.

Each Claude takes another set of these fields and refuses the rest (models.py). What a model cannot do is done as nearly
as it can be, and said as a loss.
"""

from __future__ import annotations

from typing import Any

from app.chat.model import Chat, Loss, Reasoning
from app.chat.windows import UNKNOWN, window_of
from app.errors import ClientError
from app.wires.anthropic.models import ALL, Claude
from app.wires.anthropic.shape import UnsayableError, for_output
from app.wires.envelope import encode
from app.wires.wire import Target

DEFAULT_OUTPUT = 32_000
"""Tokens of an answer where the client named no limit: the format wants one. Less where the model gives less."""

SMALL_OUTPUT = 1_024
"""Tokens. Thinking counts in the limit, so that a model which always thinks may say nothing within so few."""

SMALLEST_BUDGET = 1_024
BUDGETS = {"minimal": 1_024, "low": 4_096, "medium": 8_192, "high": 16_384, "xhigh": 32_768, "max": 32_768}
"""Effort → thinking budget in tokens, for the models up to 4.5."""

USUAL = {"temperature": 1, "top_p": 1}
"""What every Claude does anyway: to be asked for it is no loss, where it takes no such field."""

DYNAMIC_BUDGET = BUDGETS["medium"]
JSON_ONLY = "Answer with one JSON value and nothing else: no fences, no words around it."


def generation(chat: Chat, target: Target, rules: Claude, forced: bool, losses: list[Loss]) -> dict[str, Any]:
    """max_tokens, thinking, effort, sampling and stop sequences. Raises ClientError for more than one candidate.

    `forced`: a tool is forced. That and a thinking budget exclude each other: the client relies more on the call.
    """
    s = chat.sampling
    if s.candidates and s.candidates > 1:
        raise ClientError("n: more than one answer per request is not supported. Ask for one.", param="n")
    thinking, effort = _thinking(chat, rules, losses)
    if forced and thinking is not None and thinking["type"] == "enabled":
        thinking = None
        losses.append(Loss("reasoning", "Claude does not think before a call that it is forced to make."))
    limit, thinking = _lengths(chat, target, thinking, losses)
    stop = [words for words in s.stop if words.strip()]
    if len(stop) < len(s.stop):
        losses.append(Loss("stop", "Claude takes no stop sequence of white space alone."))
    others = {
        "seed": s.seed is not None,
        "presence_penalty": bool(s.presence_penalty),
        "frequency_penalty": bool(s.frequency_penalty),
    }
    losses.extend(Loss(name, f"Claude has no {name.replace('_', ' ')}.") for name, set_ in others.items() if set_)
    on = thinking is not None and thinking["type"] in ("enabled", "adaptive")
    body = {
        "max_tokens": limit,
        "thinking": thinking,
        "stop_sequences": stop or None,
        "output_config": {"effort": effort} if effort else None,
        **_sampling(chat, rules, on, losses),
    }
    return {name: value for name, value in body.items() if value is not None}


def _sampling(chat: Chat, rules: Claude, thinks: bool, losses: list[Loss]) -> dict[str, Any]:
    """Newer models refuse these fields, older ones refuse temperature beside top_p, or either beside thinking."""
    s = chat.sampling
    said = {"temperature": s.temperature, "top_p": s.top_p, "top_k": s.top_k}
    said = {name: value for name, value in said.items() if value is not None}
    if not rules.sampling or thinks:
        who = "Claude" if rules.sampling else "This model"
        while_ = " while it thinks" if rules.sampling else ""
        asked = [name for name, value in said.items() if value != USUAL.get(name)]
        losses.extend(Loss(name, f"{who} chooses its own sampling{while_}.") for name in asked)
        return {}
    if s.temperature is not None and s.temperature > 1:
        said["temperature"] = 1.0
        losses.append(Loss("temperature", "Claude's temperature ends at 1: it was set to that."))
    if "temperature" in said and said.pop("top_p", None) is not None:
        losses.append(Loss("top_p", "Claude takes temperature or top_p: temperature was kept."))
    return said


def _thinking(chat: Chat, rules: Claude, losses: list[Loss]) -> tuple[dict[str, Any] | None, str]:
    """The `thinking` field and the effort, each empty where the model's own default holds."""
    asked = chat.sampling.reasoning
    if asked is None:
        limit = chat.sampling.max_tokens
        small = limit is not None and limit <= SMALL_OUTPUT and rules.off != "" and bool(rules.efforts)
        if not small:
            return None, ""
        losses.append(Loss("max_tokens", "So few tokens hold thinking too: the model is asked to think little."))
        return None, "low"
    if asked.effort == "none" or (asked.budget == 0 and not asked.effort):
        return _no_thinking(rules, losses)
    match rules.mode:
        case "adaptive":
            return _adaptive(asked, rules, losses)
        case "enabled":
            return _budgeted(asked), ""
        case "none":
            losses.append(Loss("reasoning", "This model does not think before it answers."))
            return None, ""


def _no_thinking(rules: Claude, losses: list[Loss]) -> tuple[dict[str, Any] | None, str]:
    if rules.off is None:
        losses.append(Loss("reasoning", "This model always thinks: it is asked to think as little as it can."))
        return None, "low"
    return ({"type": rules.off} if rules.off else None), ""


def _adaptive(asked: Reasoning, rules: Claude, losses: list[Loss]) -> tuple[dict[str, Any], str]:
    thinking: dict[str, Any] = {"type": "adaptive"}
    if asked.show is not None:
        thinking["display"] = "summarized" if asked.show else "omitted"
    effort = str(asked.effort)
    if not effort and asked.budget is not None and asked.budget > 0:
        effort = "low" if asked.budget < 4_096 else "medium" if asked.budget < 12_288 else "high"
        losses.append(Loss("reasoning", "The thinking budget in tokens is sent as the nearest effort."))
    if effort == "minimal":
        effort = "low"
    if effort and effort not in rules.efforts:
        nearest = "high" if effort in ALL else ""
        losses.append(Loss("reasoning", f"This model knows no effort {effort}: it got {nearest or 'its own'}."))
        effort = nearest
    return thinking, effort


def _budgeted(asked: Reasoning) -> dict[str, Any]:
    budget = asked.budget
    if budget is None or (asked.effort and budget <= 0):
        budget = BUDGETS.get(str(asked.effort), DYNAMIC_BUDGET)
    elif budget < 0:
        budget = DYNAMIC_BUDGET
    return {"type": "enabled", "budget_tokens": max(SMALLEST_BUDGET, budget)}


def _lengths(
    chat: Chat, target: Target, thinking: dict[str, Any] | None, losses: list[Loss]
) -> tuple[int, dict[str, Any] | None]:
    """max_tokens and thinking, fitted to each other and to the model: a budget must lie below max_tokens."""
    window = window_of(target.model)
    most = window.output if target.own and window is not UNKNOWN else 1_000_000_000
    asked = chat.sampling.max_tokens
    limit = asked if asked is not None else min(window.output, DEFAULT_OUTPUT)
    if limit > most:
        losses.append(Loss("max_tokens", f"This model gives at most {most} tokens: the limit was set to that."))
        limit = most
    budget = thinking.get("budget_tokens", 0) if thinking else 0
    if thinking is None or not budget or budget < limit:
        return limit, thinking
    total = min(most, limit + budget)
    room = min(budget, total - min(limit, SMALLEST_BUDGET))
    if room < SMALLEST_BUDGET:
        losses.append(Loss("reasoning", "This model's answers are too short to hold thinking: it goes without."))
        return limit, None
    if asked is not None:
        losses.append(Loss("max_tokens", "Thinking counts in it on Claude: it was raised by the budget for that."))
    return total, thinking | {"budget_tokens": room}


def output_format(chat: Chat, rules: Claude, losses: list[Loss]) -> tuple[dict[str, Any] | None, str]:
    """`output_config.format`, or the words for the system text where the model or the schema does not allow it."""
    output = chat.sampling.output
    if output is None:
        return None, ""
    if output.schema is None:
        losses.append(Loss("response_format", "Claude has no JSON mode: it is asked for JSON in words."))
        return None, JSON_ONLY
    if rules.formats:
        try:
            schema, weakened = for_output(output.schema)
        except UnsayableError:
            losses.append(Loss("response_format", "Claude cannot be held to this schema: it is asked for it in words."))
        else:
            losses.extend(Loss("response_format", reason) for reason in weakened)
            return {"type": "json_schema", "schema": schema}, ""
    else:
        losses.append(Loss("response_format", "This model cannot be held to a schema: it is asked for it in words."))
    return None, f"{JSON_ONLY} It must fit this JSON Schema: {encode(output.schema).decode()}"
