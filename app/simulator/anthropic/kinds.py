"""Checks of kinds, in the words of Anthropic's validator: `place: Input should be a valid string`."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from app.simulator.anthropic.problems import extra, refused
from app.simulator.shapes import Json, as_number, as_object, as_text, is_list, is_object, is_whole


def text_at(place: str, value: object, least: int = 0) -> str:
    """A string of at least so many characters."""
    if not isinstance(value, str):
        raise refused(f"{place}: Input should be a valid string")
    if len(value) < least:
        raise refused(f"{place}: String should have at least {least} character{'s' if least > 1 else ''}")
    return value


def flag_at(place: str, value: object) -> None:
    """A boolean, or nothing."""
    if value is not None and not isinstance(value, bool):
        raise refused(f"{place}: Input should be a valid boolean")


def whole_at(place: str, value: object, least: int) -> int:
    """A whole number that is not below `least`."""
    if not is_whole(value):
        raise refused(f"{place}: Input should be a valid integer")
    number = int(as_number(value) or 0)
    if number < least:
        raise refused(f"{place}: Input should be greater than or equal to {least}")
    return number


def number_at(place: str, value: object, low: float, high: float) -> None:
    """A number within bounds, or nothing."""
    number = as_number(value)
    if value is None:
        return
    if number is None:
        raise refused(f"{place}: Input should be a valid number")
    if number < low:
        raise refused(f"{place}: Input should be greater than or equal to {low:g}")
    if number > high:
        raise refused(f"{place}: Input should be less than or equal to {high:g}")


def object_at(place: str, value: object) -> Json:
    """An object."""
    if not is_object(value):
        raise refused(f"{place}: Input should be an object")
    return value


def list_at(place: str, value: object) -> list[Json]:
    """An array of objects."""
    if not is_list(value):
        raise refused(f"{place}: Input should be a valid list")
    return [object_at(f"{place}.{at}", one) for at, one in enumerate(value)]


def one_of(place: str, value: object, allowed: Collection[str]) -> str:
    """One of these strings."""
    if not isinstance(value, str) or value not in allowed:
        *others, last = [f"'{one}'" for one in allowed]
        raise refused(f"{place}: Input should be {', '.join(others)}{' or ' if others else ''}{last}")
    return value


def tag_of(place: str, value: Json, allowed: Iterable[str]) -> str:
    """The `type` of an object that comes in several kinds."""
    if "type" not in value:
        raise refused(f"{place}.type: Field required")
    kind = as_text(value["type"])
    allowed = tuple(allowed)
    if kind not in allowed:
        known = ", ".join(f"'{one}'" for one in allowed)
        raise refused(
            f"{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {known}"
        )
    return kind


def fields_at(
    place: str,
    value: object,
    required: Collection[str] = (),
    optional: Collection[str] = (),
    *,
    typed: bool = True,
) -> None:
    """All required fields are there, and none that is unknown; `typed` objects have a `type` beside them."""
    given = as_object(value)
    for name in required:
        if name not in given:
            raise refused(f"{place}.{name}: Field required")
    for name in given:
        if name not in required and name not in optional and not (typed and name == "type"):
            raise extra(f"{place}.{name}")
