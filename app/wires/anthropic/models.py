"""What each generation of Claude takes: kinds of thinking, efforts, sampling, prefilled answers, later system messages.

State: November 2026, from Anthropic's own pages (troubleshooting thinking; effort; mid-conversation system messages;
structured outputs; what is new in each 5.5 model). A Claude that the table does not know counts as the newest, with the
strictest rules; a model that is no Claude (a compatible server's) as an old one, with the most widely known fields.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

Mode = Literal["adaptive", "enabled", "none"]
"""How thinking is switched on: by itself (`adaptive`), with a budget (`enabled`), or not at all."""


class Claude(msgspec.Struct, frozen=True):
    """One model's rules.

    Args:
        mode: how its thinking is asked for.
        off: the `thinking.type` that switches thinking off; empty if it is off unless asked for, None if it cannot be.
        efforts: the values of `output_config.effort`; none if it has no such field.
        sampling: whether temperature, top_p and top_k are taken.
        prefill: whether the last message may be the assistant's.
        inside: whether role `system` may stand among the messages.
        forced: whether a tool may be forced.
        formats: whether `output_config.format` is taken.
    """

    mode: Mode
    off: str | None = ""
    efforts: tuple[str, ...] = ()
    sampling: bool = False
    prefill: bool = False
    inside: bool = False
    forced: bool = True
    formats: bool = True


BASIC = ("low", "medium", "high")
MOST = (*BASIC, "max")
ALL = (*BASIC, "xhigh", "max")

_NEWEST = Claude("adaptive", None, BASIC, forced=False)
_OTHER = Claude("enabled", sampling=True, prefill=True, formats=False)

_TABLE: tuple[tuple[str, tuple[int, int], Claude], ...] = (
    # family, from this version on; the first that fits counts
    ("fable|mythos", (5, 1), Claude("adaptive", None, ALL, inside=True, forced=False)),
    ("fable|mythos", (0, 0), Claude("adaptive", None, ALL, inside=True)),
    ("opus", (5, 1), Claude("adaptive", None, MOST, inside=True, forced=False)),
    ("opus", (5, 0), Claude("adaptive", "disabled", ALL, inside=True)),
    ("opus", (4, 8), Claude("adaptive", "", ALL, inside=True)),
    ("opus", (4, 7), Claude("adaptive", "", ALL)),
    ("opus", (4, 6), Claude("adaptive", "", MOST, sampling=True)),
    ("opus", (4, 5), Claude("enabled", "", BASIC, sampling=True, prefill=True)),
    ("sonnet", (5, 1), Claude("adaptive", "between_tools", MOST, inside=True, forced=False)),
    ("sonnet", (5, 0), Claude("adaptive", "disabled", ALL)),
    ("sonnet", (4, 6), Claude("adaptive", "", MOST, sampling=True)),
    ("sonnet", (4, 5), Claude("enabled", sampling=True, prefill=True)),
    ("haiku", (5, 0), Claude("adaptive", "disabled", BASIC)),
    ("haiku", (4, 5), Claude("enabled", sampling=True, prefill=True)),
    ("opus|sonnet|haiku", (3, 7), Claude("enabled", sampling=True, prefill=True, formats=False)),
    ("opus|sonnet|haiku", (0, 0), Claude("none", sampling=True, prefill=True, formats=False)),
)

_NEW_STYLE = re.compile(r"claude-(fable|mythos|opus|sonnet|haiku)(?:-(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?)?")
_OLD_STYLE = re.compile(r"claude-(\d)(?:[-.](\d))?-(opus|sonnet|haiku)")


def claude(model: str) -> Claude:
    """The rules of a model, by its name: as Anthropic spells it, with a date or a cloud's prefix around it."""
    name = model.lower()
    if old := _OLD_STYLE.search(name):
        return _rules(old[3], (int(old[1]), int(old[2] or 0)))
    if new := _NEW_STYLE.search(name):
        return _rules(new[1], (int(new[2]), int(new[3] or 0)) if new[2] else (99, 0))
    return _NEWEST if "claude" in name else _OTHER


def _rules(family: str, version: tuple[int, int]) -> Claude:
    rules = (rules for families, since, rules in _TABLE if family in families.split("|") and version >= since)
    return next(rules, _NEWEST)
