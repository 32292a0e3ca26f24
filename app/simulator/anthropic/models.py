"""Which models the Anthropic side knows, and what each takes.

Every name is served, so that any route can end here; only names that contain `no-such` are unknown. A name that is not
Claude's gets a model that takes every kind of thinking and thinks only when asked to. Source of the table: Anthropic's
pages on thinking, effort, prompt caching and each model's release, state of November 2026.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from app.simulator.anthropic.problems import refused
from app.simulator.estimate import small_window

LOW_TO_HIGH = ("low", "medium", "high")
WITH_MAX = (*LOW_TO_HIGH, "max")
ALL_EFFORTS = (*LOW_TO_HIGH, "xhigh", "max")


@dataclass(frozen=True, slots=True)
class Model:
    """What the rules ask of a model.

    Attributes:
        window, most_output, least_cached: in tokens; a shorter prefix than `least_cached` is silently not cached.
        modes: the types of `thinking` that it takes.
        thinks: it thinks when nobody says.
        bound: its thinking blocks hold only in the very conversation that they were made in.
        forces: `tool_choice` may force a call.
        samples: takes temperature, top_p, top_k under version 2023-06-01.
        prefills: the last message may be the assistant's.
        told_between: messages of role `system` may stand between the others.
        efforts: levels of `output_config.effort`; none if it has no such setting.
        hides: thinking text is left out unless asked for.
        keeps: it reads the thinking of all earlier turns, not only of the last.
        both: temperature and top_p may be set together.
        elastic: a prompt and max_tokens that together pass the window are let in.
        rank: the generation, for whose thinking it can read.
    """

    name: str
    window: int
    most_output: int
    modes: tuple[str, ...]
    thinks: bool = False
    bound: bool = False
    forces: bool = True
    samples: bool = False
    prefills: bool = False
    told_between: bool = True
    efforts: tuple[str, ...] = ALL_EFFORTS
    hides: bool = True
    keeps: bool = True
    both: bool = False
    elastic: bool = True
    least_cached: int = 1024
    rank: float = 4.6


_BOTH_WAYS = ("adaptive", "disabled")
_NEW = Model("", 1_000_000, 128_000, ("adaptive",), thinks=True)
_BOUND = replace(_NEW, bound=True, forces=False)
_CLAUDE_4 = Model(
    "",
    200_000,
    64_000,
    ("enabled", "disabled"),
    samples=True,
    prefills=True,
    told_between=False,
    efforts=(),
    hides=False,
    keeps=False,
    rank=4.5,
)
_FOUR_SIX = replace(
    _NEW,
    modes=("adaptive", "enabled", "disabled"),
    thinks=False,
    samples=True,
    told_between=False,
    efforts=WITH_MAX,
    hides=False,
)
_FOUR_SEVEN = replace(_NEW, modes=_BOTH_WAYS, thinks=False, told_between=False, least_cached=2048, rank=4.7)
_OTHER = Model("", 200_000, 64_000, ("adaptive", "enabled", "disabled"), samples=True, hides=False)
_KINDS: tuple[tuple[str, Model], ...] = (  # the first whose pattern is found in the name
    (r"claude-(?:fable|mythos)-5[-.][1-9]\b", replace(_BOUND, least_cached=512, rank=6)),
    (r"claude-(?:fable|mythos)", replace(_NEW, least_cached=512, rank=6)),
    (r"claude-opus-5[-.]5\b", replace(_BOUND, rank=5.5)),
    (r"claude-opus-5", replace(_NEW, modes=_BOTH_WAYS, least_cached=512, rank=5.1)),
    (r"claude-sonnet-5[-.]5\b", replace(_BOUND, modes=("adaptive", "between_tools"), least_cached=512, rank=5.5)),
    (r"claude-sonnet-5", replace(_NEW, modes=_BOTH_WAYS, told_between=False, rank=5)),
    (r"claude-haiku-5", replace(_BOUND, modes=_BOTH_WAYS, forces=True, told_between=False, rank=5.5)),
    (r"claude-opus-4[-.]8\b", replace(_FOUR_SEVEN, told_between=True, least_cached=1024, rank=4.8)),
    (r"claude-opus-4[-.]7\b", _FOUR_SEVEN),
    (r"claude-opus-4[-.]6\b", replace(_FOUR_SIX, least_cached=4096)),
    (r"claude-sonnet-4[-.]6\b", _FOUR_SIX),
    (r"claude-opus-4[-.]5\b", replace(_CLAUDE_4, efforts=LOW_TO_HIGH, keeps=True, least_cached=4096)),
    (r"claude-haiku-4[-.]5\b", replace(_CLAUDE_4, least_cached=4096)),
    (r"claude-sonnet-4[-.]5\b", _CLAUDE_4),
    (r"claude-(?:opus|sonnet)-4", replace(_CLAUDE_4, most_output=32_000, elastic=False, rank=4)),
    (r"claude-3[-.]7", replace(_CLAUDE_4, elastic=False, rank=3.7)),
    (r"claude", replace(_CLAUDE_4, most_output=8_192, modes=("disabled",), both=True, elastic=False, rank=3)),
    (r"", _OTHER),
)


def model_named(name: str) -> Model:
    """The model of that name; RefusalError (404) if there is none."""
    if "no-such" in name:
        raise refused(f"model: {name}", status=404)
    kind = next(model for pattern, model in _KINDS if re.search(pattern, name))
    return replace(kind, name=name, window=small_window(name) or kind.window)


def reads(reader: Model, maker: str) -> bool:
    """Whether a model can read the thinking of the model called `maker`; what it cannot read is left out silently."""
    if reader.name == maker:
        return True
    made = model_named(maker)
    if "fable" in maker or "mythos" in maker or "sonnet-5-5" in maker:
        return False
    if "sonnet-5-5" in reader.name or "haiku-5-5" in reader.name:
        return made.rank <= 5
    return made.rank <= reader.rank
