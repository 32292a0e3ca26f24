"""Talks as neither format writes them, and as each of the two formats may write them.

`talks()` draws a talk; `as_openai` and `as_gemini` write it down, each in one of the many ways that clients have. Both
give the messages and, for each step of the talk, how many messages stand for the talk up to its end.
"""

from __future__ import annotations

import base64
import json
import random
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from app.chat.address import addresses
from app.chat.model import Chat
from app.wires.gemini import GEMINI
from app.wires.openai_chat import OPENAI_CHAT
from app.wires.wire import Inbound

Json = dict[str, Any]
TENANT = b"tenant-1"


@dataclass(frozen=True)
class Picture:
    data: bytes
    mime: str = "image/png"


@dataclass(frozen=True)
class Call:
    name: str
    arguments: Json


@dataclass(frozen=True)
class Asked:
    """What the user said."""

    pieces: tuple[str | Picture, ...]


@dataclass(frozen=True)
class Answered:
    """What the model said."""

    text: str
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Result:
    text: str
    is_error: bool = False


@dataclass(frozen=True)
class Returned:
    """What the tools answered, in the order of the calls."""

    results: tuple[Result, ...]


Step = Asked | Answered | Returned
Talk = tuple[Step, ...]

WORDS = st.text(min_size=1, max_size=12).filter(lambda text: text.strip()[:1] not in ("", "{", "["))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
ARGUMENTS = st.dictionaries(st.sampled_from(("q", "n", "path", "ünïcode", "a b")), VALUES, max_size=3)
CALLS = st.builds(Call, st.sampled_from(("get_rows", "read-file", "f")), ARGUMENTS)
RESULTS = st.builds(
    Result,
    WORDS | st.builds(json.dumps, st.dictionaries(st.sampled_from(("rows", "total")), VALUES, min_size=1)),
    st.booleans(),
)
PICTURES = st.builds(Picture, st.binary(min_size=1, max_size=9), st.sampled_from(("image/png", "image/jpeg")))
ASKED = st.builds(Asked, st.lists(WORDS | PICTURES, min_size=1, max_size=2).map(tuple))


@st.composite
def talks(draw: st.DrawFn, steps: int = 4) -> Talk:
    """A talk that begins with the user; calls are answered."""
    talk: list[Step] = []
    for _ in range(draw(st.integers(1, steps))):
        talk.append(draw(ASKED))
        for calls in draw(st.lists(st.lists(CALLS, min_size=1, max_size=3), max_size=2)):
            talk.append(Answered(draw(WORDS | st.just("")), tuple(calls)))
            talk.append(Returned(tuple(draw(RESULTS) for _ in calls)))
        if draw(st.booleans()) or talk[-1] is not talk[0]:
            talk.append(Answered(draw(WORDS)))
    return tuple(talk)


@dataclass(frozen=True)
class Style:
    """How a client writes. `seed` 0 is the plainest way; any other number shuffles, spaces, splits and decorates."""

    seed: int = 0
    chance: random.Random = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "chance", random.Random(self.seed))

    def maybe(self) -> bool:
        return self.seed > 0 and self.chance.random() < 0.5

    def outer(self, text: str) -> str:
        return f"{'  ' if self.maybe() else ''}{text}{chr(10) if self.maybe() else ''}"

    def spelled(self, value: Json) -> str:
        if not self.maybe():
            return json.dumps(value)
        items = list(value.items())
        self.chance.shuffle(items)
        return json.dumps(dict(items), indent=self.chance.choice((None, 1)), ensure_ascii=self.maybe())

    def shuffled(self, items: list[Any]) -> list[Any]:
        if self.maybe():
            self.chance.shuffle(items)
        return items

    def keys(self, value: Json) -> Json:
        return dict(self.shuffled(list(value.items())))

    def halves(self, text: str) -> list[str]:
        cut = len(text) // 2
        return [text[:cut], text[cut:]] if self.maybe() and cut else [text]


STYLES = st.builds(Style, st.integers(0, 10_000))


def as_openai(talk: Talk, style: Style) -> tuple[list[Json], list[int]]:
    """Chat Completions messages, and for each step how many there are by its end."""
    messages: list[Json] = []
    ends: list[int] = []
    ids: list[str] = []
    for number, step in enumerate(talk):
        match step:
            case Asked(pieces):
                messages.extend(_openai_user(pieces, style))
            case Answered(text, calls):
                ids = [f"call_{style.chance.getrandbits(40):x}_{number}_{i}" for i in range(len(calls))]
                messages.extend(_openai_assistant(text, calls, ids, style))
            case Returned(results):
                messages.extend(
                    style.shuffled([_openai_result(*pair, style) for pair in zip(ids, results, strict=True)])
                )
        ends.append(len(messages))
    return [style.keys(message) for message in messages], ends


def _openai_user(pieces: tuple[str | Picture, ...], style: Style) -> list[Json]:
    if len(pieces) == 1 and isinstance(pieces[0], str) and not style.maybe():
        return [{"role": "user", "content": style.outer(pieces[0])}]
    parts: list[Json] = []
    for piece in pieces:
        if isinstance(piece, str):
            parts.append({"type": "text", "text": style.outer(piece)})
        else:
            url = f"data:{piece.mime};base64,{base64.b64encode(piece.data).decode()}"
            parts.append({"type": "image_url", "image_url": {"url": url}})
    if style.maybe():
        parts.append({"type": "text", "text": ""})
    if style.maybe():
        return [{"role": "user", "content": [part]} for part in parts]
    return [{"role": "user", "content": parts}]


def _openai_assistant(text: str, calls: tuple[Call, ...], ids: list[str], style: Style) -> list[Json]:
    said = [{"role": "assistant", "content": piece} for piece in style.halves(style.outer(text))] if text else []
    written: list[Json] = list(said)
    if calls:
        listed: list[Json] = []
        for call, identity in zip(calls, ids, strict=True):
            function = {"name": call.name, "arguments": style.spelled(call.arguments)}
            entry: Json = {"id": identity, "type": "function", "function": function}
            if style.maybe():
                entry["extra_content"] = {"google": {"thought_signature": "c2ln"}}
            listed.append(entry)
        if written and not style.maybe():
            written[-1]["tool_calls"] = listed
        else:
            written.append({"role": "assistant", "tool_calls": listed} | ({"content": None} if style.maybe() else {}))
    if style.maybe():
        written[0]["reasoning_content"] = "let me think"
    if style.maybe():
        written[-1] |= {"refusal": None, "annotations": []}
    if style.maybe():
        written.append({"role": "assistant", "content": ""})
    return written


def _openai_result(identity: str, result: Result, style: Style) -> Json:
    text = ("[tool error] " if result.is_error else "") + style.outer(result.text)
    content: Any = [{"type": "text", "text": text}] if style.maybe() else text
    return {"role": "tool", "tool_call_id": identity, "content": content}


def as_gemini(talk: Talk, style: Style) -> tuple[list[Json], list[int]]:
    """Gemini contents, and for each step how many there are by its end."""
    contents: list[Json] = []
    ends: list[int] = []
    ids: list[str] = []
    names: list[str] = []
    for number, step in enumerate(talk):
        match step:
            case Asked(pieces):
                contents.append({"role": "user", "parts": [_gemini_piece(piece, style) for piece in pieces]})
            case Answered(text, calls):
                with_ids = not style.maybe()
                ids = [f"g{style.chance.getrandbits(30):x}{number}{i}" if with_ids else "" for i in range(len(calls))]
                names = [call.name for call in calls]
                contents.extend(_gemini_model(text, calls, ids, style))
            case Returned(results):
                contents.extend(_gemini_results(results, names, ids, style))
        ends.append(len(contents))
    return [style.keys(content) for content in contents], ends


def _gemini_piece(piece: str | Picture, style: Style) -> Json:
    if isinstance(piece, str):
        return {"text": style.outer(piece)}
    data = base64.urlsafe_b64encode(piece.data) if style.maybe() else base64.b64encode(piece.data)
    kind, mime = ("inlineData", "mimeType") if style.maybe() else ("inline_data", "mime_type")
    return {kind: {mime: piece.mime, "data": data.decode()}}


def _gemini_model(text: str, calls: tuple[Call, ...], ids: list[str], style: Style) -> list[Json]:
    parts: list[Json] = [{"text": "thinking", "thought": True, "thoughtSignature": "dGg="}] if style.maybe() else []
    parts.extend({"text": piece} for piece in style.halves(style.outer(text)) if text)
    for call, identity in zip(calls, ids, strict=True):
        body: Json = {"name": call.name}
        if call.arguments or not style.maybe():
            body["args"] = style.keys(call.arguments)
        if identity:
            body["id"] = identity
        parts.append({"functionCall": style.keys(body)} | ({"thoughtSignature": "c2lnbg=="} if style.maybe() else {}))
    if style.maybe():
        parts.append({"text": "", "thoughtSignature": "bGF0ZQ=="})
    if style.maybe() and len(parts) > 1:
        return [{"role": "model", "parts": parts[:1]}, {"role": "model", "parts": parts[1:]}]
    return [{"role": "model", "parts": parts}]


def _gemini_results(results: tuple[Result, ...], names: list[str], ids: list[str], style: Style) -> list[Json]:
    parts: list[Json] = []
    for result, name, identity in zip(results, names, ids, strict=True):
        response: Json = {"error" if result.is_error else "output": style.outer(result.text)}
        if not result.is_error and result.text[0] == "{" and style.maybe():
            response = json.loads(result.text)
        body: Json = {"name": name, "response": response} | ({"id": identity} if identity else {})
        parts.append({"functionResponse": style.keys(body)})
    if all(ids):
        parts = style.shuffled(parts)
    if style.maybe():
        return [{"role": "user", "parts": [part]} for part in parts]
    return [{"role": "user", "parts": parts}]


def openai_chat(messages: list[Json], **more: Any) -> Chat:
    """The messages through the OpenAI wire."""
    body = json.dumps({"model": "m", "messages": messages} | more)
    return OPENAI_CHAT.decode(Inbound(body.encode()))


def gemini_chat(contents: list[Json], **more: Any) -> Chat:
    """The contents through the Gemini wire."""
    return GEMINI.decode(Inbound(json.dumps({"contents": contents} | more).encode(), model="gemini-3-flash"))


def marks(chat: Chat, ends: list[int], tenant: bytes = TENANT) -> list[bytes]:
    """The address at the end of each step."""
    all_of_them = addresses(chat.messages, tenant)
    return [all_of_them[end - 1] for end in ends]


def openai_marks(talk: Talk, style: Style) -> list[bytes]:
    """The addresses of the talk's steps, as an OpenAI client writes it."""
    messages, ends = as_openai(talk, style)
    return marks(openai_chat(messages), ends)


def gemini_marks(talk: Talk, style: Style) -> list[bytes]:
    """The addresses of the talk's steps, as a Gemini client writes it."""
    contents, ends = as_gemini(talk, style)
    return marks(gemini_chat(contents), ends)
