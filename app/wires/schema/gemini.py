"""JSON Schema for Gemini: what a client wrote, said in the subset that Gemini takes.

The subset that is documented for `parametersJsonSchema` and `responseJsonSchema` (API reference of GenerationConfig,
2026): type, format, title, description, enum of strings and numbers, items, prefixItems, minItems, maxItems, minimum,
maximum, anyOf, properties, additionalProperties, required and Gemini's own propertyOrdering. References have limits
there that no client knows, so they are written out.

The input is never changed; time and size are bounded whatever the input is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, cast
from urllib.parse import unquote

from app.wires.schema.keywords import (
    MERGED,
    REFERENCES,
    Schema,
    count_of,
    list_of,
    modern,
    number_of,
    table_of,
    type_of,
    types_of,
    values_of,
    whole_number,
)
from app.wires.schema.unions import joined, nullable_schema, object_root

DEPTH = 60  # levels that are kept; deeper ones become plain objects
NODES = 4_000  # sub-schemas that one schema may come to when its references are written out
UNROLLED = (2, 1, 0)  # how often a recursive reference is written out again, tried until NODES suffice

ANNOTATIONS = ("title", "description", "default")
# A branch of a union without any of these does not say what the value is, only what else must hold.
SHAPES = ("type", "properties", "items", "prefixItems", "enum", "const", "anyOf", "oneOf", "allOf", *REFERENCES)
FORMATS = ("date-time", "date", "time")  # the formats of text that Gemini documents
# Keywords that Gemini lacks, by the type they narrow ("" is any): told in the description, or dropped.
TOLD: Mapping[str, tuple[str, ...]] = {
    "string": ("format", "pattern", "minLength", "maxLength"),
    "number": ("multipleOf", "format"),
    "integer": ("multipleOf", "format"),
    "array": ("uniqueItems",),
}
DROPPED: Mapping[str, tuple[str, ...]] = {
    "": ("not", "if"),
    "string": ("contentEncoding", "contentMediaType", "contentSchema"),
    "array": ("contains", "minContains", "maxContains", "unevaluatedItems"),
    "object": (
        "patternProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "unevaluatedProperties",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
    ),
}
NOTE_CHARACTERS = 200  # a longer pattern or default is not repeated in the description

TOO_DEEP = f"The schema is nested more than {DEPTH} levels deep; what lies below became plain objects."
TOO_LARGE = f"The schema comes to more than {NODES} parts when written out; the rest became plain objects."
RECURSIVE = "The schema refers to itself; it was written out a few levels deep and ends in plain objects."
UNRESOLVED = "A $ref that leads out of the schema, or nowhere, became a plain object."


def for_gemini(schema: Schema, *, tool: bool = True) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Writes `schema` in the subset that Gemini takes, for a tool's arguments or (`tool=False`) an answer.

    A tool's root is always an object schema. Null is always said as `"type": [T, "null"]`. Unions stand as `anyOf`
    with nothing but title and description beside it. Applying it to its own result changes nothing.

    Returns:
        The new schema, and one sentence for each way in which it says less than the client's.
    """
    result, losses = _rewritten(schema, *UNROLLED)
    if tool:
        root, changed = object_root(result)
        result, more = _rewritten(root, 0)
        losses = [*losses, *changed, *more]
    return result, tuple(dict.fromkeys(losses))


def _rewritten(schema: Schema, unrolled: int, *fewer: int) -> tuple[dict[str, Any], list[str]]:
    rewriting = _Rewriting(schema, unrolled)
    result = rewriting.schema(schema, 0, ())
    if fewer and TOO_LARGE in rewriting.losses:
        return _rewritten(schema, *fewer)
    return result, list(rewriting.losses)


class _Rewriting:
    """One pass over one schema: its root, what is left of the size limit, and what was weakened so far.

    The second pass over a result must do nothing. So whatever comes out has been charged for and measured in depth at
    least as high as a visit of it would be.
    """

    def __init__(self, root: Schema, unrolled: int) -> None:
        self.root = root
        self.unrolled = unrolled
        self.left = NODES
        self.losses: dict[str, None] = {}

    def lose(self, sentence: str) -> None:
        self.losses.setdefault(sentence)

    def schema(self, node: Any, depth: int, refs: tuple[str, ...]) -> dict[str, Any]:
        """Rewrites one sub-schema. `refs` are the references that were followed to get here."""
        self.left -= 1
        if depth > DEPTH or self.left < 0:
            self.lose(TOO_DEEP if depth > DEPTH else TOO_LARGE)
            return {"type": "object"}
        if not isinstance(node, Mapping) and node is not True:
            self.lose("`false`, or something that is no schema, stood for a schema; any value is allowed there now.")
        flat, refs = self.flattened(node, refs)
        branches = list_of(flat.get("anyOf"))
        if branches and any(key in flat for key in SHAPES if key != "anyOf") and not any(map(_shapes, branches)):
            self.lose("Gemini has no either-or between conditions (anyOf or oneOf of `required` and the like).")
            branches = []
        nullable = flat.get("nullable") is True
        if not branches:
            types = types_of(flat)
            plain = [name for name in types if name != "null"]
            nullable = nullable or "null" in types
            if len(plain) < 2:
                kind = plain[0] if plain else "null" if "null" in types else ""
                result = self.single(flat, kind, depth, refs)
                return nullable_schema(result) if nullable else result
            branches = [{"type": name} for name in plain]
            flat.pop("type", None)
        return self.union(flat, branches, nullable, depth, refs)

    # ------------------------------------------------------------ references and allOf

    def flattened(self, node: Any, refs: tuple[str, ...]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """One keyword table for a node: references followed, `allOf` merged, older spellings modernised."""
        result: dict[str, Any] = {}
        todo: list[Any] = [node]
        followed: dict[str, None] = {}
        while todo:
            part = modern(table_of(todo.pop()))
            below = list_of(part.pop("allOf", None))
            ref = next((part[key] for key in REFERENCES if isinstance(part.get(key), str)), None)
            self.left -= len(below) + (ref is not None)
            if self.left < 0:
                self.lose(TOO_LARGE)
                return {"type": ["object"]}, refs
            todo.extend(reversed(below))
            if ref is not None and ref not in followed:
                todo.append(self.target(ref, refs))
                followed[ref] = None
            result = self.merged(result, part) if result else part
        return result, (*refs, *followed)

    def target(self, ref: str, refs: tuple[str, ...]) -> Any:
        """What a JSON pointer (RFC 6901, in a fragment) leads to, or a plain object."""
        if refs.count(ref) > self.unrolled:
            self.lose(RECURSIVE)
            return {"type": "object"}
        found: Any = self.root if ref == "#" or ref.startswith("#/") else None
        for token in ref.split("/")[1:]:
            key = unquote(token).replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping):
                found = cast("Schema", found).get(key)
            else:
                items = list_of(found)
                found = items[int(key)] if key.isdecimal() and len(key) < 9 and int(key) < len(items) else None
        if not isinstance(found, Mapping) and found is not True:
            self.lose(UNRESOLVED)
            return {"type": "object"}
        return cast("Any", found)

    def merged(self, first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
        """Both at once: limits get tighter, properties are united, and of two annotations the first stays."""
        result = dict(first)
        for key, value in second.items():
            if key not in result:
                result[key] = value
            elif key in ("anyOf", "not", "if") and result[key] is not value:
                self.lose(f"Of several `{key}` that hold at once only the first was kept.")
            elif key in MERGED:
                result[key] = MERGED[key](result[key], value)
        return result

    # ------------------------------------------------------------ unions

    def union(
        self, flat: dict[str, Any], branches: list[Any], nullable: bool, depth: int, refs: tuple[str, ...]
    ) -> dict[str, Any]:
        """What stands beside the union goes into each branch; null, repeated and nested branches are folded."""
        beside = {k: v for k, v in flat.items() if k not in ("anyOf", "nullable", *ANNOTATIONS)}
        found: dict[str, dict[str, Any]] = {}
        for branch in branches:
            if branch is False:
                continue
            shape = self.schema({"allOf": [branch, beside]} if beside else branch, depth + 1, refs)
            if shape.get("type") == "null":
                nullable = True
                continue
            for part in shape["anyOf"] if shape.keys() == {"anyOf"} else [shape]:
                found.setdefault(json.dumps(part, sort_keys=True), part)
        around = self.annotated(flat, "")
        kept = list(found.values())
        if len(kept) > 1:
            result = around | {"anyOf": kept}
        elif kept:
            result = joined(around, kept[0])
        else:
            result = around | ({"type": "null"} if nullable else {})
        return nullable_schema(result) if nullable else result

    # ------------------------------------------------------------ one type

    def single(self, flat: dict[str, Any], kind: str, depth: int, refs: tuple[str, ...]) -> dict[str, Any]:
        """A schema of one type ("" is any): only the keywords that mean something for it."""
        for key in (*DROPPED[""], *(DROPPED.get(kind, ()) if kind else ())):
            if flat.get(key) and not (key == "propertyNames" and _is_any_name(flat[key])):
                self.lose(f"Gemini has no `{key}`: it was dropped.")
        notes: list[str] = []
        result: dict[str, Any] = {"type": kind} if kind else {}
        match kind:
            case "object":
                result |= self.object(flat, depth, refs)
            case "array":
                result |= self.array(flat, depth, refs)
            case "integer" | "number":
                result |= self.bounds(flat, kind, notes)
            case "string" if flat.get("format") in FORMATS:
                result["format"] = flat["format"]
            case _:
                pass
        if "enum" in flat and kind:
            result |= self.enum(list_of(flat["enum"]), kind, notes)
        return self.annotated(flat, kind, notes) | result

    def object(self, flat: dict[str, Any], depth: int, refs: tuple[str, ...]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        properties = flat.get("properties")
        names: set[str] = set()
        if isinstance(properties, Mapping):
            table = cast("Schema", properties)
            names = set(table)
            result["properties"] = {name: self.schema(each, depth + 1, refs) for name, each in table.items()}
        more = flat.get("additionalProperties")
        if isinstance(more, bool):
            result["additionalProperties"] = more
        elif isinstance(more, Mapping):
            result["additionalProperties"] = self.schema(more, depth + 1, refs)
        for key in ("required", "propertyOrdering"):
            wanted = [name for name in list_of(flat.get(key)) if isinstance(name, str)]
            kept = [name for name in dict.fromkeys(wanted) if name in names]
            if key == "required" and not names.issuperset(wanted):
                self.lose("`required` named properties that the schema does not describe; they are optional now.")
            if kept:
                result[key] = kept
        return result

    def array(self, flat: dict[str, Any], depth: int, refs: tuple[str, ...]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        first = list_of(flat.get("prefixItems"))
        if first:
            result["prefixItems"] = [self.schema(each, depth + 1, refs) for each in first]
        items = flat.get("items")
        if isinstance(items, Mapping):
            result["items"] = self.schema(items, depth + 1, refs)
        elif not first:
            result["items"] = self.schema(True, depth + 1, refs)
        limits = {key: value for key in ("minItems", "maxItems") if (value := count_of(flat.get(key))) is not None}
        if items is False:
            limits["maxItems"] = min(len(first), limits.get("maxItems", len(first)))
        return result | limits

    def bounds(self, flat: dict[str, Any], kind: str, notes: list[str]) -> dict[str, Any]:
        """Exclusive bounds become inclusive ones: exact for integers, told in the description for numbers."""
        result: dict[str, Any] = {}
        for key, exclusive, tighter, step, words in (
            ("minimum", "exclusiveMinimum", max, 1, "greater than"),
            ("maximum", "exclusiveMaximum", min, -1, "less than"),
        ):
            if any(side in flat and number_of(flat[side]) is None for side in (key, exclusive)):
                self.lose("A bound that is no number, or no 64-bit one, was dropped.")
            limit, beyond = number_of(flat.get(key)), number_of(flat.get(exclusive))
            if kind == "integer":
                limit = whole_number(limit, math.ceil if step > 0 else math.floor)
                beyond = whole_number(beyond, math.floor if step > 0 else math.ceil)
                beyond = None if beyond is None else number_of(beyond + step)
            elif beyond is not None:
                self.lose(f"Gemini has no `{exclusive}` for numbers: the bound itself is allowed now.")
                notes.append(f"{words} {beyond}")
            present = [each for each in (limit, beyond) if each is not None]
            if present:
                result[key] = tighter(present)
        return result

    def enum(self, values: list[Any], kind: str, notes: list[str]) -> dict[str, Any]:
        """The values that Gemini can list: non-empty strings, and numbers."""
        kept = values_of(values, kind)
        if kind == "string" and not kept:
            kept = [str(value) for value in values if type_of(value) in ("integer", "number")]
        if kind == "boolean" and len(kept) == 1:
            notes.append(f"always {json.dumps(kept[0])}")
        usable: list[Any] = [value for value in kept if value != "" and kind in ("string", "integer", "number")]
        usable = [value for value in usable if isinstance(value, str) or number_of(value) is not None]
        if len(usable) < len(values) and not (kind == "boolean" and len(kept) == 2):
            self.lose("`enum` held values that Gemini cannot list (empty, of another type, or no text and no number).")
        return {"enum": list(dict.fromkeys(usable))} if usable else {}

    def annotated(self, flat: dict[str, Any], kind: str, notes: Iterable[str] = ()) -> dict[str, Any]:
        """Title and description; what Gemini has no keyword for is told in the description, shortly."""
        told: list[str] = list(notes)
        for key in TOLD.get(kind, ()):
            value = flat.get(key)
            if value in (None, False, "") or (key == "format" and value in FORMATS):
                continue
            if key != "format" or kind == "string":  # int32, double and the like only say how a number is stored
                self.lose(f"Gemini has no such `{key}`: it is told in the description instead of enforced.")
            told.append(_note(key, value))
        told.append(_note("default", flat.get("default")))
        note = "; ".join(filter(None, told))
        description = flat.get("description") if isinstance(flat.get("description"), str) else ""
        if note:
            description = f"{description} ({note})" if description else note
        result = {"title": flat["title"]} if isinstance(flat.get("title"), str) else {}
        return result | ({"description": description} if description else {})


def _shapes(branch: Any) -> bool:
    return isinstance(branch, Mapping) and any(key in branch for key in SHAPES)


def _is_any_name(names: Any) -> bool:
    """Every property name is a string: some generators write so for each map, and it excludes nothing."""
    return names in ({}, {"type": "string"})


def _note(key: str, value: Any) -> str:
    """A keyword in words, "" where there is nothing short to say."""
    if not isinstance(value, str | int | float) or (not isinstance(value, str | bool) and number_of(value) is None):
        return ""
    words = value if isinstance(value, str) and key != "default" else json.dumps(value, ensure_ascii=False)
    return f"{key}: {words}" if len(words) <= NOTE_CHARACTERS else ""
