"""When the model calls tools, which ones, and with what arguments.

"call NAME with {json}" calls exactly that; "… then call OTHER" is a further step of the same turn. Else plain words
that a tool's name contains choose it ("weather" chooses get_weather), and every target after "in", "of" or "for" gets
a call of its own ("in Oslo and Bergen": two parallel calls).
"""

from __future__ import annotations

import json
import re

from app.simulator.mind.instances import instance, kind
from app.simulator.mind.talk import Call, Talk, Tool
from app.simulator.shapes import Json, as_list, as_object, as_text

_EXPLICIT = re.compile(r"\bcall\s+([A-Za-z_][\w.:-]*)", re.IGNORECASE)
_WITH = re.compile(r"\s*(?:with\s*)?(?=\{)", re.IGNORECASE)
_STEP = re.compile(r"[,;.]?\s*\bthen\b\s+(?=call\b)", re.IGNORECASE)
_TARGETS = re.compile(r"\b(?:in|of|for|at|from|about|near)\s+(.+?)(?:[?!\n]|\.(?:\s|$)|$)", re.IGNORECASE)
_BETWEEN = re.compile(r"\s*(?:,|\band\b|&|、|と)\s*", re.IGNORECASE)
_QUOTED = re.compile(r"[\"'`“]([^\"'`”]{1,200})[\"'`”]")
_PATH = re.compile(r"(?<![\w/.])[\w./~-]*[\w-]\.[A-Za-z]\w{0,5}\b|(?<!\w)/[\w./-]+")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\da-zA-Z_]+")
_DULL = frozenset(
    (
        "get",
        "set",
        "list",
        "search",
        "find",
        "fetch",
        "call",
        "tool",
        "use",
        "run",
        "make",
        "do",
        "the",
        "a",
        "of",
        "by",
    )
)
_LOOKED_AT = 1000  # characters after a tool's name in which its argument is sought
_LONGEST_PLAIN = 600  # characters: a longer text is a paste, and words in it are no wish for a tool


def wanted_calls(talk: Talk, asked: str) -> tuple[Call, ...]:
    """The calls of this step; none if the model rather speaks.

    Args:
        asked: the user's last text without directives.
    """
    tools = {tool.name: tool for tool in talk.tools if not talk.allowed or tool.name in talk.allowed}
    if talk.choice == "none" or not tools:
        return ()
    calls = _explicit(tools, asked, done=sum(1 for one in talk.turn if one.calls), talk=talk)
    answered = any(one.role == "tool" for one in talk.turn)
    if not calls and not answered:
        calls = _plain(tools, asked, talk)
    if not calls and talk.choice == "required":
        calls = [_filled(next(iter(tools.values())), asked, talk)]
    return tuple(calls if talk.parallel else calls[:1])


def _explicit(tools: dict[str, Tool], asked: str, *, done: int, talk: Talk) -> list[Call]:
    steps = [found for part in _STEP.split(asked) if (found := _named(tools, part, talk))]
    return steps[done] if done < len(steps) else []


def _named(tools: dict[str, Tool], text: str, talk: Talk) -> list[Call]:
    calls: list[Call] = []
    for found in _EXPLICIT.finditer(text):
        tool = tools.get(found[1]) or tools.get(found[1].rstrip(".:-"))
        if tool is None:
            continue
        given = _json_at(text, found.end())
        calls.append(Call(tool.name, given) if given is not None else _filled(tool, text[found.end() :], talk))
    return calls


def _json_at(text: str, position: int) -> Json | None:
    brace = _WITH.match(text, position)
    if brace is None:
        return None
    try:  # a brace begins it, so what is read is an object
        value: object = json.JSONDecoder().raw_decode(text, brace.end())[0]
    except ValueError:
        return None
    return as_object(value)


def _plain(tools: dict[str, Tool], asked: str, talk: Talk) -> list[Call]:
    if len(asked) > _LONGEST_PLAIN:
        return []
    heard = {_stem(word) for word in _WORD.findall(asked)}
    scored = [(_score(tool, heard), tool) for tool in tools.values()]
    best = max(scored, key=lambda pair: pair[0], default=(0, None))
    if best[1] is None or best[0] == 0:
        return []
    tool = best[1]
    return [_with_target(tool, target, talk) for target in _targets(asked)] or [_filled(tool, asked, talk)]


def _score(tool: Tool, heard: set[str]) -> int:
    names = {_stem(word) for word in _WORD.findall(tool.name)}
    telling = (names - _DULL) & heard
    described = {_stem(word) for word in _WORD.findall(tool.description) if len(word) > 3}
    return 10 * len(telling) + len(names & heard) + len(described & heard) if telling else 0


def _stem(word: str) -> str:
    low = word.lower()
    return low[:-1] if len(low) > 3 and low.endswith("s") and not low.endswith("ss") else low


def _targets(asked: str) -> list[str]:
    found = _TARGETS.search(asked)
    if found is None:
        return []
    parts = [part.strip().strip("\"'`“”") for part in _BETWEEN.split(found[1])]
    return [part for part in parts if part and len(part) <= 200][:8]


def _filled(tool: Tool, text: str, talk: Talk) -> Call:
    text = text[:_LOOKED_AT]
    quoted, path = _QUOTED.search(text), _PATH.search(text)
    target = quoted[1] if quoted else path[0] if path else next(iter(_targets(text)), text.strip(" ?!."))
    return _with_target(tool, target[:200], talk)


def _with_target(tool: Tool, target: str, talk: Talk) -> Call:
    """Required arguments, or all if none is required: the first free string gets the target, the rest an instance."""
    properties = as_object(tool.schema.get("properties"))
    required = [as_text(name) for name in as_list(tool.schema.get("required"))]
    arguments: Json = {}
    free = True
    for name in [name for name in properties if name in required] or list(properties):
        schema = as_object(properties[name])
        known = _seen(name, talk)
        if known is not None:
            arguments[name] = known
        elif free and target and kind(schema) == "string" and not schema.keys() & {"enum", "const", "$ref", "anyOf"}:
            arguments[name], free = target, False
        else:
            arguments[name] = instance({**schema, "$defs": tool.schema.get("$defs")}, name)
    return Call(tool.name, arguments)


def _seen(name: str, talk: Talk) -> str | None:
    """A value of that name in an earlier tool result, such as the handle that a small result gives for the whole."""
    if name not in {"handle", "id", "cursor", "path"} and not name.endswith("_id"):
        return None
    pattern = re.compile(rf'"{re.escape(name)}"\s*:\s*"([^"]{{1,200}})"')
    for one in reversed(talk.said):
        found = pattern.search(one.text) if one.role == "tool" else None
        if found:
            return found[1]
    return None
