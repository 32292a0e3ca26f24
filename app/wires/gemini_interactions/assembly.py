"""One step of a streamed answer, put together from its pieces as the provider would have written it whole.

Strings are joined and nothing is spelled anew, so that signatures and arguments go back as they came.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from app.chat.model import ToolCall
from app.wires.envelope import ANYTHING, RAW_FIELDS, RAW_LIST, as_list, as_object, as_text, compact, encode


class Step:
    """A step that is open. `number` counts the calls of the answer."""

    __slots__ = ("_contents", "_fields", "_more", "_pieces", "_signature", "call", "kind", "number")

    def __init__(self, raw: msgspec.Raw, number: int) -> None:
        """`raw` is the step as step.start holds it, maybe with its beginning in it."""
        self._fields: dict[str, Any] = dict(RAW_FIELDS.decode(raw))
        self.kind = self.text_of("type")
        self.number = number
        self.call: ToolCall | None = None
        self._pieces: list[str] = []
        self._more: list[str] = []  # words that go on from the last content
        self._signature = self.text_of("signature") if self.kind == "thought" else ""
        name = "summary" if self.kind == "thought" else "content"
        self._contents: list[Any] = []
        if self.kind in ("thought", "model_output") and name in self._fields:
            self._contents = _listed(self._fields[name])

    def text_of(self, name: str) -> str:
        """A field of step.start that is a string; empty if it is missing."""
        raw = self._fields.get(name)
        value: Any = ANYTHING.decode(raw) if raw is not None else None
        return as_text(value)

    @property
    def beginning(self) -> str:
        """The words that step.start held already."""
        return "".join(as_text(as_object(each).get("text")) for each in self._contents)

    @property
    def arguments(self) -> str:
        """The arguments as JSON text: what the deltas made, else what step.start held."""
        if self._pieces:
            return "".join(self._pieces)
        raw = self._fields.get("arguments")
        return compact(raw).decode() if raw is not None and bytes(raw) != b"null" else "{}"

    @property
    def pieces(self) -> bool:
        """Whether arguments came in deltas."""
        return bool(self._pieces)

    def argue(self, piece: str) -> None:
        """More of the arguments."""
        if piece:
            self._pieces.append(piece)

    def sign(self, signature: str) -> None:
        """The thought's signature, or more of it."""
        self._signature += signature

    def say(self, words: str) -> None:
        """More words: they go on from the text before them, if text stands there."""
        if not self._more and as_object(self._contents[-1] if self._contents else None).get("type") != "text":
            self._contents.append({"type": "text", "text": ""})
        self._more.append(words)

    def add(self, content: Mapping[str, Any]) -> None:
        """More content. Mere text is words that go on, anything else stands for itself."""
        if len(content) == 2 and content.get("type") == "text" and "text" in content:
            self.say(as_text(content["text"]))
        else:
            self._join()
            self._contents.append(dict(content))

    def annotate(self, annotations: list[Any]) -> None:
        """Annotations of the text that was said last."""
        self._join()
        last = as_object(self._contents[-1]) if self._contents else {}
        if last.get("type") == "text":
            self._contents[-1] = last | {"annotations": [*as_list(last.get("annotations")), *annotations]}

    def _join(self) -> None:
        if self._more:
            last = as_object(self._contents[-1])
            self._contents[-1] = last | {"text": as_text(last.get("text")) + "".join(self._more)}
            self._more = []

    @property
    def contents(self) -> list[Any]:
        """What it holds by now."""
        self._join()
        return self._contents

    def merge(self, delta: Mapping[str, msgspec.Raw]) -> None:
        """Fields of a step that its provider runs: each delta says them as they stand now."""
        self._fields |= {name: value for name, value in delta.items() if name != "type"}

    @property
    def adorned(self) -> bool:
        """Whether it is more than words that every client keeps."""
        return self.kind != "model_output" or any(
            set(as_object(each)) - {"type", "text"} and as_object(each).get("annotations") != []
            for each in self._contents
        )

    def whole(self) -> bytes:
        """The step as one JSON object."""
        self._join()
        fields = dict(self._fields)
        if self.kind == "thought":
            fields |= {"signature": self._signature} if self._signature else {}
            fields |= {"summary": self._contents} if self._contents else {}
        elif self.kind == "model_output":
            fields["content"] = self._contents
        elif self.kind == "function_call":
            fields["arguments"] = _object(self.arguments)  # an empty object where nothing was said
        return encode(fields)


def _listed(raw: Any) -> list[Any]:
    """The contents as step.start has them; unknown ones stay raw."""
    try:
        slices = RAW_LIST.decode(raw)
    except msgspec.DecodeError:
        return []
    return [ANYTHING.decode(each) for each in slices]


def _object(text: str) -> Any:
    """Arguments as they were spelled, if they are a JSON object; else under a key that says they are not."""
    try:
        RAW_FIELDS.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {"_raw": text}
    return msgspec.Raw(text.encode())
