"""Items of OpenAI's Responses as its lists show them: each with an id, a message's words as parts; page by page."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from app.errors import ClientError
from app.wires.envelope import ANYTHING, RAW_FIELDS, as_text, encode

Item = dict[str, msgspec.Raw]

MOST, USUAL = 100, 20
"""Items of one page: at most, and where nobody says."""

PREFIXES: Mapping[str, str] = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
}
"""What the ids of items begin with, by their type."""


def shown(raw: bytes | msgspec.Raw, answer: str, place: int) -> Item:
    """One item. Where its client gave it no id it gets one that stays the same: it says which item of which answer."""
    fields = RAW_FIELDS.decode(raw)
    named = _text(fields, "type") or "message"
    item: Item = {"id": _raw(_text(fields, "id") or _made_id(named, answer, place)), "type": _raw(named)}
    item |= {name: value for name, value in fields.items() if name not in item}
    if named != "message":
        return item
    content = item.get("content", msgspec.Raw(b'""'))
    if bytes(content).lstrip()[:1] == b'"':
        part = {"type": "input_text", "text": content}
        if _text(fields, "role") == "assistant":
            part = {"type": "output_text", "text": content, "annotations": list[str]()}
        item["content"] = _raw([part])
    item.setdefault("status", _raw("completed"))
    return item


def id_of(item: Item) -> str:
    """The id of a shown item."""
    return msgspec.json.decode(item["id"], type=str)


def page(items: Sequence[Item], query: Mapping[str, str]) -> bytes:
    """A page of items, which are given oldest first; newest first unless `order` is asc.

    Raises:
        ClientError: `limit`, `order` or `after` is none that there is.
    """
    limit, order = query.get("limit", str(USUAL)), query.get("order", "desc")
    if not (limit.isascii() and limit.isdigit() and 1 <= int(limit) <= MOST):
        raise ClientError(f"Invalid 'limit': expected an integer from 1 to {MOST}.", param="limit")
    if order not in ("asc", "desc"):
        words = f"Invalid value: '{order[:40]}'. Supported values are: 'asc' and 'desc'."
        raise ClientError(words, param="order")
    ordered = list(items) if order == "asc" else list(reversed(items))
    if after := query.get("after"):
        place = next((i for i, item in enumerate(ordered) if id_of(item) == after), None)
        if place is None:
            raise ClientError(f"Item with id '{after[:80]}' not found.", kind="not_found", param="after")
        ordered = ordered[place + 1 :]
    return listed(ordered[: int(limit)], more=len(ordered) > int(limit))


def listed(items: Sequence[Item], *, more: bool = False) -> bytes:
    """These items as a list object. `more`: others come behind them."""
    ends = {"first_id": items[0]["id"] if items else None, "last_id": items[-1]["id"] if items else None}
    return encode({"object": "list", "data": items, **ends, "has_more": more})


def refuse_unlike(raws: Iterable[msgspec.Raw], where: str) -> None:
    """Raises ClientError for an entry that is no object, or only names an item."""
    for place, raw in enumerate(raws):
        at = f"{where}[{place}]"
        if bytes(raw)[:1] != b"{":
            raise ClientError(f"{at}: an item is an object.", param=at)
        if _text(RAW_FIELDS.decode(raw), "type") == "item_reference":
            raise ClientError(f"{at}: an item_reference only names an item. Send the item itself.", param=at)


def _made_id(kind: str, answer: str, place: int) -> str:
    digest = hashlib.sha256(f"{answer}/{place}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{PREFIXES.get(kind, 'item')}_{digest[:48]}"


def _text(fields: Item, name: str) -> str:
    """A field that should be a string; empty if it is none."""
    return as_text(ANYTHING.decode(fields[name])) if name in fields else ""


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(encode(value))
