"""Whether the model that answered is the one that was pinned.

A summary model is pinned because its summaries were found good: another one may lose other things. Providers answer an
alias with the version behind it, and gateways add or drop a prefix; neither is drift. Anything else is.
"""

from __future__ import annotations

import re

_DAY = r"20\d\d-?(?:0[1-9]|1[0-2])-?[0-3]\d"
_SHORT_DATE = r"(?:0[1-9]|1[0-2])[0-3]\d|2\d(?:0[1-9]|1[0-2])"

ADDED: tuple[tuple[str, str], ...] = (
    # what a response may add to the name that was asked for: it is the same model, said more exactly
    (r"-\d{3}", "Gemini's stable versions: gemini-2.0-flash is answered as gemini-2.0-flash-001"),
    (rf"[-@]{_DAY}", "the day of a version: gpt-5-mini-2025-08-07, claude-sonnet-4-5@20250929 on Vertex AI"),
    (rf"-(?:{_SHORT_DATE})", "the same in four digits: gpt-3.5-turbo-0125, mistral-large-2411"),
    (rf"-preview-(?:\d\d-\d\d|\d\d-20\d\d|{_DAY})", "a dated preview behind an alias: -preview-09-2025"),
    (r"[-:]latest", "the alias spelled out: Ollama answers llama3 as llama3:latest"),
)
"""Pattern and reason. They stand at the end of the name, once; `-lite`, `-mini`, `-2`, `-32k` are other models."""

_ADDED = re.compile("(?:" + "|".join(pattern for pattern, _ in ADDED) + ")")
_ADDED_LAST = re.compile(rf"{_ADDED.pattern}\Z")
_PATHS = re.compile(r"^.*\bmodels/")  # models/, publishers/google/models/, accounts/fireworks/models/
_BEDROCK = re.compile(r"^(?:(?:us|eu|apac|jp|au|global)\.)?(?:anthropic|amazon|meta|mistral|deepseek|openai|qwen)\.")
_BEDROCK_VERSION = re.compile(r"-v\d+(?::\d+)?$")
_OFFER = re.compile(r":(?:free|nitro|floor|exacto|online|extended)$")  # OpenRouter: how it is served, not what
_MOVING = re.compile(r"[-:]latest$")
_FIRST = re.compile(r"-0$")  # claude-sonnet-4-0 is Anthropic's alias of claude-sonnet-4-20250514
_NUMBER = re.compile(r"-v?\d+(?:\.\d+)?(?=-|$)")
_PREVIEW = re.compile(r"-preview$")


def drifted(pinned: str, served: str) -> bool:
    """True if the model that answered is not the pinned one.

    An empty name says nothing, and is no drift. A name pinned with its version must come back with that version: one
    without it proves nothing, so it counts as drift. A pinned `…-latest` may move, within its own kind of model.
    """
    if not pinned.strip() or not served.strip():
        return False
    wanted, got = _name(pinned), _name(served)
    if not _same_publisher(wanted, got):
        return True
    wanted, got = wanted.rpartition("/")[2], got.rpartition("/")[2]
    if wanted == got or _is_version(wanted, got):
        return False
    if (first := _FIRST.sub("", wanted)) != wanted and _is_version(first, got):
        return False
    alias = _MOVING.sub("", wanted)
    return alias == wanted or not _resolves(alias, got)


def _name(model: str) -> str:
    """A model's name without what is not part of it: case, paths of an API, how a gateway offers it."""
    name = _PATHS.sub("", model.strip().lower())
    if (bare := _BEDROCK.sub("", name)) != name:
        name = _BEDROCK_VERSION.sub("", bare)
    return _OFFER.sub("", name)


def _same_publisher(wanted: str, got: str) -> bool:
    """Whether the parts before the slash agree; a side that has none (or fewer) says nothing against it."""
    ours, theirs = wanted.split("/")[:-1], got.split("/")[:-1]
    least = min(len(ours), len(theirs))
    return not least or ours[-least:] == theirs[-least:]


def _is_version(alias: str, got: str) -> bool:
    return got.startswith(alias) and _ADDED.fullmatch(got, len(alias)) is not None


def _resolves(alias: str, got: str) -> bool:
    """Whether a moving alias may mean this model: gemini-flash-latest any gemini-N-flash, none of their -lite."""
    if got == alias or _is_version(alias, got):
        return True
    bare = _PREVIEW.sub("", _ADDED_LAST.sub("", got))
    return _NUMBER.sub("", bare, count=1) == alias
