"""`item_reference` in the input of a Responses request: an item of an earlier answer, named by its id alone.

SDKs that keep their whole chat send one in place of every item that the API has stored (Vercel's AI SDK, for one). An
id of ours says which answer it belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from app.wires.envelope import RAW_FIELDS, RAW_LIST, encode, open_body

WORD = b"item_reference"
OURS = re.compile(r"[a-z]+_([0-9a-f]{48})_[0-9]{1,5}")


class _Item(msgspec.Struct):
    type: msgspec.Raw = msgspec.Raw(b"null")
    id: msgspec.Raw = msgspec.Raw(b"null")


ITEM = msgspec.json.Decoder(_Item)


def referred(body: bytes) -> dict[str, str]:
    """The items of ours that a request names: their ids, and those of the answers that they belong to."""
    if WORD not in body:
        return {}
    found: dict[str, str] = {}
    for raw in _items(body):
        if (named := _named(raw)) and (ours := OURS.fullmatch(named)):
            found[named] = "resp_" + ours[1]
    return found


def told(listed: Iterable[bytes]) -> dict[str, msgspec.Raw]:
    """The items of these lists by their ids."""
    raws = [raw for each in listed for raw in RAW_LIST.decode(each)]
    return {identity: raw for raw in raws if (identity := _text(ITEM.decode(raw).id))}


def resolved(body: bytes, items: Mapping[str, msgspec.Raw]) -> bytes:
    """The body with these items in the places where they are named."""
    raws = [items.get(_named(raw), raw) for raw in _items(body)]
    return encode(open_body(body) | {"input": msgspec.Raw(b"[" + b",".join(map(bytes, raws)) + b"]")})


def _items(body: bytes) -> list[msgspec.Raw]:
    listed = bytes(RAW_FIELDS.decode(body).get("input", b"null")).strip()
    return RAW_LIST.decode(listed) if listed[:1] == b"[" else []


def _named(raw: msgspec.Raw) -> str:
    """The id that an item names; empty if it is no reference."""
    if WORD not in bytes(raw):
        return ""
    item = ITEM.decode(raw)
    return _text(item.id) if _text(item.type) == "item_reference" else ""


def _text(raw: msgspec.Raw) -> str:
    value = msgspec.json.decode(raw)
    return value if isinstance(value, str) else ""
