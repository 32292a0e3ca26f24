"""Content blocks put together from the pieces of a stream, byte for byte where a block came whole."""

from __future__ import annotations

from typing import Any

import msgspec

from app.wires.envelope import as_list, as_text, encode

_JOINED = {"text_delta": "text", "thinking_delta": "thinking"}
"""Kind of a delta → the field of block and delta that grows by it."""


class Assembly:
    """The blocks of one answer, in order. Blocks are strictly sequential: one is open at most."""

    __slots__ = ("_begun", "_input", "_parts", "_raw", "_set", "blocks")

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self._raw: bytes | None = None
        self._begun: dict[str, Any] = {}
        self._forget()

    def _forget(self) -> None:
        self._parts: dict[str, list[str]] = {}
        self._input: list[str] = []
        self._set: dict[str, Any] = {}

    def start(self, raw: bytes, begun: dict[str, Any]) -> None:
        """A block begins, with what content_block_start holds of it: as it was written, and read."""
        if self._raw is not None:
            self.stop()
        self._raw, self._begun = raw, begun

    def delta(self, delta: dict[str, Any]) -> None:
        """The open block grows. Kinds that we do not know set the fields that they name."""
        kind = as_text(delta.get("type"))
        if (field := _JOINED.get(kind)) is not None:
            self._parts.setdefault(field, []).append(as_text(delta.get(field)))
        elif kind == "input_json_delta":
            self._input.append(as_text(delta.get("partial_json")))
        elif kind == "signature_delta":
            self._set["signature"] = delta.get("signature")
        elif kind == "citations_delta":
            before = as_list(self._set.get("citations")) or as_list(self._begun.get("citations"))
            self._set["citations"] = [*before, delta.get("citation")]
        else:
            self._set |= {name: value for name, value in delta.items() if name != "type"}

    @property
    def input(self) -> str:
        """The JSON text of the open tool call's arguments so far; empty if there was none."""
        return "".join(self._input)

    def stop(self) -> bytes:
        """The open block is complete; empty if none is open."""
        if self._raw is None:
            return b""
        block = self._written()
        self.blocks.append(block)
        self._raw = None
        self._forget()
        return block

    def _written(self) -> bytes:
        raw, begun = self._raw or b"", self._begun
        grown: dict[str, Any] = {
            name: as_text(begun.get(name)) + "".join(pieces) for name, pieces in self._parts.items()
        }
        if said := self.input:
            grown["input"] = _json(said)
        grown |= self._set
        return encode({**begun, **grown}) if grown else raw


def _json(text: str) -> Any:
    """Arguments as they were spelled; if they are no JSON (the answer was cut off), as words."""
    try:
        msgspec.json.format(text.encode(), indent=-1)
    except (msgspec.DecodeError, RecursionError):
        return {"_raw": text}
    return msgspec.Raw(text.encode())
