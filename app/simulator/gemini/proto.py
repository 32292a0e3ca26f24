"""Reads proto-JSON as strictly as Google's front end: unknown names, wrong kinds and double oneofs are refused.

Both spellings of a name are taken (`mimeType`, `mime_type`); what is read has camelCase names throughout, but for the
keys inside free-form values (call arguments, tool responses, JSON schemas, labels), which nobody may touch. Paths in
errors have the proto names, as Google's have.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from app.simulator.gemini.messages import ENUMS, MESSAGES, ONEOFS
from app.simulator.gemini.problems import Violation, bad_fields
from app.simulator.shapes import Json, dump, is_list, is_number, is_object, is_whole

_PACKAGE = "type.googleapis.com/google.ai.generativelanguage.v1beta."
_CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])")


def read(message: str, value: object) -> Json:
    """The value as that message, in camelCase; RefusalError that lists every fault."""
    faults: list[Violation] = []
    read_value = _message(message, value, "", faults)
    if faults:
        raise bad_fields(faults)
    return read_value


def snake(name: str) -> str:
    """A field's name as the proto spells it."""
    return _CAMEL.sub(lambda found: "_" + found[1].lower(), name)


def decoded(data: str) -> bytes | None:
    """The bytes of base64 in either alphabet, with or without padding; None if it is none."""
    plain = data.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _message(name: str, value: object, path: str, faults: list[Violation]) -> Json:
    if not is_object(value):
        faults.append((path, f"Invalid value at '{path}' ({_PACKAGE}{name}), {_shown(value)}"))
        return {}
    fields = MESSAGES[name]
    known = {**{field: field for field in fields}, **{snake(field): field for field in fields}}
    result: Json = {}
    for key, inner in value.items():
        field = known.get(key)
        if field is None:
            at = f" at '{path}'" if path else ""
            faults.append((path, f'Invalid JSON payload received. Unknown name "{key}"{at}: Cannot find field.'))
        elif inner is not None:
            place = f"{path}.{snake(field)}" if path else snake(field)
            if field in result:
                faults.append((place, f"Invalid value at '{place}': the field is set twice, in both spellings."))
            result[field] = _value(fields[field], inner, place, faults)
    taken = [field for field in result if field in ONEOFS.get(name, ((), ""))[0]]
    for extra in taken[1:]:
        kind = ONEOFS[name][1]
        said = f"Invalid value at '{path}' (oneof), oneof field '{kind}' is already set. Cannot set '{extra}'"
        faults.append((path, said))
    return result


def _value(kind: str, value: object, path: str, faults: list[Violation]) -> Any:
    if kind.startswith("[]"):
        if not is_list(value):
            if is_object(value) and kind[2:] in MESSAGES:  # Google reads a lone message as a list of one
                return [_value(kind[2:], value, f"{path}[0]", faults)]
            faults.append((path, f"Invalid value at '{path}' ({_type_name(kind[2:])}), {_shown(value)}"))
            return []
        return [_value(kind[2:], one, f"{path}[{at}]", faults) for at, one in enumerate(value)]
    if kind.startswith("{}"):
        if not is_object(value):
            faults.append((path, f"Invalid value at '{path}' (Map), {_shown(value)}"))
            return {}
        entries = enumerate(value.items())
        return {key: _value(kind[2:], one, f"{path}[{at}].value", faults) for at, (key, one) in entries}
    if kind in MESSAGES:
        return _message(kind, value, path, faults)
    if not _fits(kind, value):
        decoding = " Base64 decoding failed for" if kind == "bytes" and isinstance(value, str) else ""
        faults.append((path, f"Invalid value at '{path}' ({_type_name(kind)}),{decoding} {_shown(value)}"))
    return value.upper() if kind in ENUMS and isinstance(value, str) and kind != "ServiceTier" else value


def _fits(kind: str, value: object) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case "int32":
            return is_whole(value)
        case "int64":  # Google's own JSON writes 64 bit numbers as strings
            return is_whole(value) or (isinstance(value, str) and value.lstrip("-").isdigit())
        case "float":
            return is_number(value)
        case "bytes":
            return isinstance(value, str) and decoded(value) is not None
        case "struct":
            return is_object(value)
        case "value":
            return True
        case _:
            return isinstance(value, str) and value.upper() in ENUMS[kind]


def _type_name(kind: str) -> str:
    scalars: Mapping[str, str] = {"struct": "type.googleapis.com/google.protobuf.Struct"}
    if kind in MESSAGES or kind in ENUMS:
        return _PACKAGE + kind
    return scalars.get(kind, f"TYPE_{kind.upper()}")


def _shown(value: object) -> str:
    text = dump(value)
    return text if len(text) <= 120 else text[:120] + "…"
