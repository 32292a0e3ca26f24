"""What a run of letters, digits and joints is: a path, an identifier, code, a version, an acronym, or nothing."""

from __future__ import annotations

import re

from app.context.critical.kinds import LONGEST, Kind

_EXTENSION = re.compile(
    r"\.(?:py|pyi|js|jsx|ts|tsx|mjs|json|jsonl|ya?ml|toml|ini|cfg|conf|env|md|rst|txt|csv|tsv|xlsx?|docx?|pptx?|pdf|html?"
    r"|css|scss|xml|svg|png|jpe?g|gif|webp|mp[34]|wav|zip|tar|gz|tgz|rs|go|java|kt|swift|rb|php|c|h|cc|cpp|hpp|cs|sh|bash|ps1"
    r"|bat|sql|db|sqlite|log|lock|proto|tf|vue|svelte|ipynb|parquet|pem|key|crt|exe|dll|so|whl|properties|gradle|dockerfile)$",
    re.IGNORECASE,
)
_BRANCH = re.compile(
    r"(?:feature|feat|fix|bugfix|hotfix|release|chore|docs|test|refactor|spike|wip|origin|dev|users?|dependabot)/"
)
_VERSION = re.compile(r"[vV]?\d+(?:\.\d+)+(?:-?[A-Za-z][\w.-]*)?|[vV]\d+")
_HEX = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}", re.IGNORECASE)
_CAMEL = re.compile(r"[a-z]+[A-Z]|[A-Z][a-z]+[A-Z]")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|x|s)", re.IGNORECASE)
_NOT_PATH = re.compile(r"[a-z]{1,12}/[a-z]{1,12}|[A-Z]/[A-Z]")
_DOTTED = re.compile(r"[A-Za-z_]\w+(?:\.\w{2,})+")


def word(text: str) -> tuple[Kind, str, float] | None:
    """The kind of a run, its key, and the share of the kind's weight that it has; None if it is a plain word."""
    if len(text) > LONGEST:
        return None
    called = text.endswith("()")
    bare = text.removesuffix("()").rstrip("/") if len(text) > 1 else text
    if "/" in bare or "\\" in bare:
        return _slashed(bare)
    if bare.startswith("--") or (bare.startswith("-") and len(bare) > 3):
        return ("code", f"code:{bare}", 0.8) if bare[1:].strip("-")[:1].isalpha() and bare.startswith("--") else None
    if bare[:1] in {"@", "#"}:
        return ("id", f"word:{bare.casefold()}", 0.7) if len(bare) > 2 else None
    bare = bare.lstrip("-")
    if _EXTENSION.search(bare) or (bare.startswith(".") and len(bare) > 3 and bare[1:].isalnum()):
        return "path", f"path:{bare}", 1.0
    has_digit = any(map(str.isdigit, bare))
    if has_digit:
        return _numbered(bare)
    if called or "_" in bare.strip("_") or _CAMEL.search(bare):
        return "code", f"code:{bare}", 1.0 if "_" in bare or called or "." in bare else 0.8
    if "." in bare:
        return ("code", f"code:{bare}", 0.9) if _DOTTED.fullmatch(bare) else None
    if bare.isupper() and len(bare) > 1:
        return "name", f"name:{bare.casefold()}", 0.5 if len(bare) > 4 else 0.3
    if "-" in bare and any(part[:1].isupper() for part in bare.split("-")[1:]):
        return "name", f"name:{bare.casefold()}", 0.8
    return None


def _slashed(bare: str) -> tuple[Kind, str, float] | None:
    if _BRANCH.match(bare):
        return "id", f"word:{bare}", 1.0
    if _NOT_PATH.fullmatch(bare):
        return None
    named = _EXTENSION.search(bare) or bare.count("/") > 1 or "\\" in bare or bare[0] in "/.~" or not bare.isalpha()
    key = bare.removeprefix("./")
    return "path", f"path:{key}", 1.0 if named else 0.6


def _numbered(bare: str) -> tuple[Kind, str, float] | None:
    if _ORDINAL.fullmatch(bare):
        return None
    if _VERSION.fullmatch(bare):
        return "id", f"word:{bare.casefold().removeprefix('v') if '.' in bare else bare.casefold()}", 0.9
    if "_" in bare and not re.search(r"\d{2,}$", bare):
        return "code", f"code:{bare}", 1.0
    if _HEX.fullmatch(bare):
        return "id", f"word:{bare.casefold()}", 1.0
    return "id", f"word:{bare.casefold()}", 0.6 if len(bare) < 4 else 1.0
