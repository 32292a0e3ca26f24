"""The numbers that steps obey, after settings, route and request have each had their say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeGuard, cast

import msgspec

from app.context.tool_results.settings import DEFAULT, ToolSettings
from app.errors import ClientError


class Policy(msgspec.Struct, frozen=True):
    """One request's policy. Sizes are in tokens, `keep_recent` in messages; `tools` has what single tools need.

    `tool_step_tokens` is what all results of one step may take together, 0 for any number. It follows from the window.
    """

    profile: Literal["chat", "agent"] = "chat"
    fold_at_tokens: int = 8000
    fold_to_tokens: int = 4000
    keep_recent: int = 6
    heavy_tool_tokens: int = 4000
    tool_result_tokens: int = 6000
    tool_text_tokens: int = 20000
    tool_step_tokens: int = 0
    fetch_rows_limit: int = 40
    summary_tokens: int = 1024
    min_retention: float = 0.9
    summary_model: str = "auto"
    summary_when: Literal["behind", "before"] = "behind"
    chain: Literal["auto", "never"] = "auto"
    cache_marks: Literal["auto", "always", "never"] = "auto"
    tools: Mapping[str, ToolSettings] = {}
    strict: bool = False
    off: bool = False


NUMBERS = (
    "fold_at_tokens",
    "fold_to_tokens",
    "keep_recent",
    "heavy_tool_tokens",
    "tool_result_tokens",
    "tool_text_tokens",
    "fetch_rows_limit",
    "summary_tokens",
    "min_retention",
)
_ANY = frozenset((*NUMBERS, "summary_model", "summary_when", "chain", "cache_marks", "tools", "off"))
PER_REQUEST = frozenset((*NUMBERS, "session", "profile", "chain", "off", "memory", "tools"))
AGENT_MOST = 100_000
AGENT_SHARE = 0.6
"""An agent's history is folded at this share of its model's window, and at most at AGENT_MOST tokens."""

STEP_SHARE = 0.5
"""Share of the window that the results of one step may take: they cannot be folded, and a prompt that is larger than
the window because of them would be refused for good."""

_DEFAULTS = Policy()
_AGENT = Policy(profile="agent", fold_at_tokens=AGENT_MOST, fold_to_tokens=AGENT_MOST // 2)


def policy_of(
    settings: Mapping[str, Any],
    route: Mapping[str, Any],
    request: Mapping[str, Any],
    *,
    agent: bool,
    window: int = 0,
) -> Policy:
    """The policy of one request: what it says itself, else its route, else the settings, else the profile's default.

    Args:
        request: the body's `foldline` object.
        agent: whether the request carries tools, which is what `auto` goes by.
        window: tokens that the model takes, 0 if that is not known.

    Raises ClientError for an unknown name or a value of the wrong kind in `request`.
    """
    if not (settings or route or request):
        return _in_window(_agent(window) if agent else _DEFAULTS, window)
    for name in request:
        if name not in PER_REQUEST:
            raise ClientError(
                f"foldline.{name} is not an option. There are: {', '.join(sorted(PER_REQUEST))}.",
                param=f"foldline.{name}",
            )
    profile = request.get("profile") or route.get("profile") or settings.get("profile") or "auto"
    if profile not in ("auto", "chat", "agent"):
        raise ClientError("foldline.profile must be auto, chat or agent.", param="foldline.profile")
    start = _agent(window) if profile == "agent" or (profile == "auto" and agent) else _DEFAULTS
    values = {name: value for source in (settings, route) for name, value in source.items() if name in _ANY}
    values |= {name: _number(name, request[name]) for name in NUMBERS if name in request}
    if "tools" in request:
        values["tools"] = _tools(request["tools"], values.get("tools", {}))
    if "fold_at_tokens" in values and "fold_to_tokens" not in values:
        values["fold_to_tokens"] = values["fold_at_tokens"] // 2
    if (chain := request.get("chain", values.pop("chain", "auto"))) not in ("auto", "never"):
        raise ClientError('foldline.chain must be "auto" or "never".', param="foldline.chain")
    if not isinstance(off := request.get("off", values.pop("off", False)), bool):
        raise ClientError("foldline.off must be true or false.", param="foldline.off")
    return _in_window(msgspec.structs.replace(start, chain=chain, off=off, **values), window)


def _in_window(policy: Policy, window: int) -> Policy:
    return msgspec.structs.replace(policy, tool_step_tokens=int(window * STEP_SHARE)) if window else policy


def _agent(window: int) -> Policy:
    at = min(AGENT_MOST, int(window * AGENT_SHARE)) if window else AGENT_MOST
    if at == AGENT_MOST:
        return _AGENT
    return msgspec.structs.replace(_AGENT, fold_at_tokens=at, fold_to_tokens=at // 2)


def _tools(said: Any, before: Mapping[str, ToolSettings]) -> dict[str, ToolSettings]:
    """What single tools need: of each, what the request says itself, else what the settings say."""
    if not _is_table(said):
        raise _refused("tools", "must be an object: the settings of each tool by its name")
    return {**before, **{name: _tool(name, table, before.get(name, DEFAULT)) for name, table in said.items()}}


def _tool(name: str, said: Any, before: ToolSettings) -> ToolSettings:
    field = f"tools.{name[:60]}"
    if not _is_table(said):
        raise _refused(field, f"must be an object with {', '.join(_KEYS)}")
    for key, value in said.items():
        if key not in _KEYS:
            raise _refused(f"{field}.{key[:60]}", f"is not a setting of a tool. There are: {', '.join(_KEYS)}")
        if not _KEYS[key](value):
            raise _refused(f"{field}.{key}", f"must be {_WANTED[key]}")
    given = dict(said)
    if "keep_fields" in given:
        given["keep_fields"] = tuple(given["keep_fields"])
    return msgspec.structs.replace(before, **given)


def _is_table(said: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(said, Mapping)


def _is_names(said: object) -> bool:
    return isinstance(said, list) and all(isinstance(name, str) for name in cast(list[object], said))


def _is_budget(said: object) -> bool:
    return said is None or (isinstance(said, int) and not isinstance(said, bool) and said >= 1)


_KEYS: Mapping[str, Callable[[object], bool]] = {
    "keep_fields": _is_names,
    "budget": _is_budget,
    "compact": lambda said: isinstance(said, bool),
}
_WANTED = {
    "keep_fields": "a list of field names",
    "budget": "a whole number of at least 1, in tokens",
    "compact": "true or false",
}


def _refused(field: str, why: str) -> ClientError:
    return ClientError(f"foldline.{field} {why}.", param=f"foldline.{field}")


def _number(name: str, value: Any) -> int | float:
    whole = name != "min_retention"
    right = isinstance(value, int if whole else int | float) and not isinstance(value, bool) and value >= 0
    if not right or (not whole and value > 1):
        kind = "a whole number of at least 0" if whole else "a share between 0 and 1"
        raise ClientError(f"foldline.{name} must be {kind}.", param=f"foldline.{name}")
    return value
