"""The fields of a request's root: which there are, which need a beta, and the settings that depend on the model."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from app.simulator.anthropic.kinds import fields_at, flag_at, list_at, number_at, object_at, one_of, tag_of, whole_at
from app.simulator.anthropic.models import ALL_EFFORTS, Model, model_named
from app.simulator.anthropic.problems import extra, refused
from app.simulator.anthropic.terms import Terms
from app.simulator.anthropic.tools import check_format, forced
from app.simulator.shapes import Json, as_number, as_object, as_text, is_list

_DOCS = "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
COUNTED = (
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "cache_control",
    "speed",
)
ASKED = (
    *COUNTED,
    "max_tokens",
    "stop_sequences",
    "stream",
    "metadata",
    "service_tier",
    "inference_geo",
    "container",
    "diagnostics",
)
_SAMPLING = ("temperature", "top_p", "top_k")
_BETAS: Mapping[str, tuple[str, ...]] = {  # field: beginnings of the betas that bring it
    "context_management": ("context-management-", "compact-"),
    "compaction": ("compact-",),
    "thread": ("message-threads-",),
    "safeguards": ("dangerous-tool-use-",),  # what Claude Code sends with that beta
    "mcp_servers": ("mcp-client-",),
    "fallbacks": ("",),  # which beta brings it is not known: any does
    "fallback_credit_token": ("",),
    "billing_policy": ("",),
}
_COUNTED_BETAS = ("context_management", "mcp_servers", "compaction", "billing_policy")
_LEAST_BUDGET = 1024


def check_fields(body: Json, terms: Terms, known: Collection[str]) -> Model:
    """The root's fields and the model; RefusalError for one that is unknown, of a beta that is off, or wrong."""
    name = body.get("model")
    if "model" not in body:
        raise refused("model: Field required")
    if not isinstance(name, str) or not name:
        raise refused("model: Input should be a valid string")
    answers = "max_tokens" in known
    taken = {*known, *(_SAMPLING if answers and not terms.strict else ())}
    taken |= {field for field in (_BETAS if answers else _COUNTED_BETAS) if any(map(terms.has, _BETAS[field]))}
    for field in body:
        if field not in taken:
            raise extra(field)
    model = model_named(name)
    _check_kinds(body)
    check_thinking(body, model, terms)
    _check_output(as_object(body.get("output_config")), model)
    return model


def check_limits(body: Json, model: Model) -> int:
    """`max_tokens` and sampling, which only an answer needs; the former is returned."""
    if "max_tokens" not in body:
        raise refused("max_tokens: Field required")
    most = whole_at("max_tokens", body["max_tokens"], 0)
    if most > model.most_output:
        raise refused(
            f"max_tokens: {most} > {model.most_output}, which is the maximum allowed number of output tokens for "
            f"{model.name}"
        )
    thinking = as_object(body.get("thinking"))
    budget = as_number(thinking.get("budget_tokens"))
    if budget is not None and thinking.get("type") == "enabled" and budget >= most:
        raise refused(
            f"`max_tokens` must be greater than `thinking.budget_tokens`. {_DOCS}#max-tokens-and-context-window-size"
        )
    _check_sampling(body, model)
    return most


def mode_of(body: Json, model: Model) -> str:
    """How the model thinks in this request: `adaptive`, `enabled`, `between_tools`, or `disabled`."""
    given = as_text(as_object(body.get("thinking")).get("type"))
    return given or ("adaptive" if model.thinks else "disabled")


def check_thinking(body: Json, model: Model, terms: Terms) -> None:
    """`thinking`, by the model and by what else the request says; RefusalError if it does not fit."""
    if body.get("thinking") is not None:
        _check_config(object_at("thinking", body["thinking"]), body, model, terms)
    mode = mode_of(body, model)
    if forced(body) and (mode == "enabled" or not model.forces):
        raise refused("Thinking may not be enabled when tool_choice forces tool use.")


def _check_config(thinking: Json, body: Json, model: Model, terms: Terms) -> None:
    kind = tag_of("thinking", thinking, ("enabled", "disabled", "adaptive", "between_tools"))
    place = f"thinking.{kind}"
    shown = ("display", "block_binding") if terms.has("thinking-binding-controls") else ("display",)
    more = shown if kind in ("adaptive", "enabled") else ()
    fields_at(place, thinking, ("budget_tokens",) if kind == "enabled" else (), more)
    if thinking.get("display") is not None:
        updates = ("updates",) if terms.betas else ()  # which beta brings it is not known: any does
        one_of(f"{place}.display", thinking["display"], ("summarized", "omitted", *updates))
    if thinking.get("block_binding") is not None:
        binding = object_at(f"{place}.block_binding", thinking["block_binding"])
        fields_at(f"{place}.block_binding", binding, ("prefix_mismatch_behavior",), typed=False)
        allowed = ("error", "drop_block")
        one_of(f"{place}.block_binding.prefix_mismatch_behavior", binding["prefix_mismatch_behavior"], allowed)
    if kind == "enabled":
        whole_at(f"{place}.budget_tokens", thinking["budget_tokens"], _LEAST_BUDGET)
    if kind not in model.modes:
        raise _not_taken(kind, model)
    effort = as_object(body.get("output_config")).get("effort")
    if kind in ("disabled", "between_tools") and model.thinks and effort in ("xhigh", "max"):
        raise refused(f'"thinking.type.{kind}" is only supported with effort high or lower for this model.')


def _not_taken(kind: str, model: Model) -> Exception:
    if kind == "adaptive":
        return refused("adaptive thinking is not supported on this model")
    said = f'"thinking.type.{kind}" is not supported for this model.'
    if "adaptive" in model.modes:
        said += ' Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
    return refused(said)


def _check_output(output: Json, model: Model) -> None:
    fields_at("output_config", output, (), ("effort", "format", "task_budget"), typed=False)
    effort = output.get("effort")
    if effort is not None:
        level = one_of("output_config.effort", effort, ALL_EFFORTS)
        if not model.efforts:
            raise refused("This model does not support the effort parameter.")
        if level not in model.efforts:
            levels = ", ".join(sorted(model.efforts))
            raise refused(f"This model does not support effort level '{level}'. Supported levels: {levels}.")
    check_format(output.get("format"))


def _check_kinds(body: Json) -> None:
    flag_at("stream", body.get("stream"))
    for field in ("metadata", "output_config", "context_management", "diagnostics"):
        if body.get(field) is not None:
            object_at(field, body[field])
    metadata = as_object(body.get("metadata"))
    fields_at("metadata", metadata, (), ("user_id",), typed=False)
    if metadata.get("user_id") is not None and not isinstance(metadata["user_id"], str):
        raise refused("metadata.user_id: Input should be a valid string")
    if body.get("service_tier") is not None:
        one_of("service_tier", body["service_tier"], ("auto", "standard_only"))
    if body.get("speed") is not None:
        one_of("speed", body["speed"], ("standard", "fast"))
    stops = body.get("stop_sequences")
    if stops is not None and not is_list(stops):
        raise refused("stop_sequences: Input should be a valid list")
    for at, stop in enumerate(stops or []):
        if not isinstance(stop, str):
            raise refused(f"stop_sequences.{at}: Input should be a valid string")
        if not stop.strip():
            raise refused("stop_sequences: each stop sequence must contain non-whitespace")
    for field in ("mcp_servers", "safeguards"):
        if body.get(field) is not None:
            list_at(field, body[field])


def _check_sampling(body: Json, model: Model) -> None:
    number_at("temperature", body.get("temperature"), 0, 1)
    number_at("top_p", body.get("top_p"), 0, 1)
    if body.get("top_k") is not None:
        whole_at("top_k", body["top_k"], 0)
    temperature, top_p, top_k = (body.get(name) for name in _SAMPLING)
    if not model.samples:
        for name, value, usual in (("temperature", temperature, 1), ("top_p", top_p, 1), ("top_k", top_k, None)):
            if value is not None and value != usual:
                raise refused(f"`{name}` is deprecated for this model.")
    if temperature is not None and top_p is not None and not model.both:
        said = "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
        raise refused(said)
    if mode_of(body, model) not in ("adaptive", "enabled"):
        return
    where = f"{_DOCS}#important-considerations-when-using-extended-thinking"
    if temperature not in (None, 1):
        raise refused(f"`temperature` may only be set to 1 when thinking is enabled or in adaptive mode. {where}")
    if top_p is not None and top_p < 0.95:
        raise refused(f"`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled. {where}")
    if top_k is not None:
        raise refused(f"`top_k` must be unset when thinking is enabled. {where}")
