"""A stretch of conversation as words: for a check of facts, and as the data that a summariser reads.

In the transcript every message begins with a mark that no text can write, and ends where the next one stands: a mark at
both ends would cost a chat of short messages as much as its words. One that is too long for its reader is cut where it
costs least: tool results first, then whatever is longest, and the oldest messages at last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from app.chat import size
from app.chat.family import Family
from app.chat.model import Media, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from app.context.critical import Said

Speaker: TypeAlias = Literal["system", "user", "assistant", "tool"]

MARK = "said"
"""Marks are `<said user>`, `</said>` and `<said-…>`: one word, so that one rule keeps all of them shut."""

LONGEST_NAME = 200
"""Characters of a picture's name or address that are shown."""

LEAST_RESULT = 200
LEAST_MESSAGE = 100
"""Tokens that a cut tool result, and any cut message, keeps before older messages are left out."""

VALUE = 80
"""Characters that a cut is moved by, at most, so as not to go through a number, a name or a path."""

_LOOSE = re.compile(r"[<＜](?=[^\w<＜]{0,8}(?:said|ｓａｉｄ)(?![^\W_]))", re.IGNORECASE)
_JOINTS = frozenset("._-/:@%+#=&?~,$")


def said_of(messages: Sequence[Message]) -> tuple[Said, ...]:
    """The words of messages: texts, tool calls (name and arguments), and tool results as role "tool".

    Pictures and files stand as "[image: name]". Thinking is left out, and so is what says nothing. Every text is valid
    Unicode.
    """
    return tuple(said for message in messages for said in _said(message))


def transcript(said: Sequence[Said], room: int, family: Family, results: int = 0) -> str:
    """The conversation behind marks, within `room` estimated tokens.

    Never fails: where the room is too small for anything, a beginning and an end of the newest message stay.

    Args:
        results: tokens that all tool results together may take, but for the ends that each keeps; 0: no limit.
    """
    pieces = [(one.role, shut(one.text)) for one in said]
    bulky = [role == "tool" for role, _ in pieces]
    texts, gone = fitted([text for _, text in pieces], bulky, room, family, results)
    kept = pieces[len(pieces) - len(texts) :]
    lines = [f"<{MARK} {role}>{text}" for (role, _), text in zip(kept, texts, strict=True)]
    if gone:
        lines.insert(0, f"[… {gone:,} older message{'s' if gone > 1 else ''} left out …]")
    return "\n".join((*lines, f"</{MARK}>")) if lines else ""


def block(kind: str, text: str) -> str:
    """Something else between marks of its own: `<said-kind>`."""
    return _block(f"{MARK}-{kind}", f"{MARK}-{kind}", shut(text))


def shut(text: str) -> str:
    """The text without anything that looks like one of the marks."""
    text = _valid(text)
    low = text.lower()
    return _LOOSE.sub("&lt;", text) if MARK in low or "ｓａｉｄ" in low else text


def fitted(
    texts: Sequence[str], bulky: Sequence[bool], room: int, family: Family, results: int = 0
) -> tuple[list[str], int]:
    """The texts within `room` tokens, and how many of the oldest were left out for that.

    Args:
        bulky: which of them are tool results; they are cut first.
        results: tokens that those may take together, but for what each keeps in any case; 0: as many as fit.
    """
    frame = size.of_text(f"<{MARK} assistant>\n</{MARK}>\n", family)
    sizes = [frame + size.of_text(text, family) for text in texts]
    cut = [index for index, is_bulky in enumerate(bulky) if is_bulky]
    most = sum(sizes) - sum(sizes[index] for index in cut) + results if results else room
    aims = _lowered(sizes, cut, LEAST_RESULT, min(most, room))
    aims = _lowered(aims, range(len(aims)), LEAST_MESSAGE, room)
    first = _first(aims, room, frame)
    if aims and first == len(aims) - 1:
        aims[first] = min(aims[first], room - frame if first else room)
    kept = [
        text if aim >= taken else shortened(text, aim - frame, family)
        for text, aim, taken in zip(texts[first:], aims[first:], sizes[first:], strict=True)
    ]
    return kept, first


def level(sizes: Sequence[int], room: int) -> int:
    """The height at which to cut these sizes so that together they take at most `room`; 0 if there is none."""
    left = max(room, 0)
    for index, each in enumerate(sorted(sizes)):
        if each * (len(sizes) - index) > left:
            return left // (len(sizes) - index)
        left -= each
    return max(sizes, default=0)


def shortened(text: str, most: int, family: Family) -> str:
    """Head and tail of a text, two thirds and one third, within `most` tokens, and what was left out between them.

    Where not even that fits, only the words that say what was left out.
    """
    tokens = size.of_text(text, family)
    keep = len(text) * max(most, 0) // max(tokens, 1)
    while tokens > most and keep > 0:
        made = _ends(text, keep)
        if size.of_text(made, family) <= most:
            return made
        keep = keep * 4 // 5
    return text if tokens <= most else _omitted(len(text))


def _said(message: Message) -> Iterator[Said]:
    """One for each tool result, and one for each run of other parts between them."""
    words: list[str] = []
    for part in message.parts:
        if isinstance(part, ToolResult):
            yield from _spoken(message.role, words)
            words = []
            yield from _spoken("tool", [*(["[error]"] if part.is_error else []), *map(_words, part.content)])
        else:
            words.append(_words(part))
    yield from _spoken(message.role, words)


def _spoken(role: Speaker, words: Sequence[str]) -> Iterator[Said]:
    text = "\n".join(filter(None, words))
    if text.strip():
        yield Said(role, text)


def _words(part: Part) -> str:
    match part:
        case Text():
            return _valid(part.text)
        case ToolCall():
            return _valid(f"[calls {part.name} {part.arguments}]")
        case Media():
            name = " ".join(_valid(part.name or part.url or part.file_id)[:LONGEST_NAME].split())
            shown = "" if name.startswith("data:") else name
            return f"[{part.kind}: {shown}]" if shown else f"[{part.kind}]"
        case ToolResult():
            return _valid(part.text)
        case Thinking() | Opaque():
            return ""


def _valid(text: str) -> str:
    """The text without lone surrogates, which no wire can carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _block(opening: str, closing: str, text: str) -> str:
    return f"<{opening}>\n{text}\n</{closing}>"


def _lowered(sizes: Sequence[int], chosen: Sequence[int], least: int, room: int) -> list[int]:
    """The sizes, the largest of the chosen ones brought down as far as it takes, but not below `least`."""
    aims = list(sizes)
    over = sum(sizes) - room
    if over > 0 and chosen:
        among = [sizes[index] for index in chosen]
        most = max(level(among, sum(among) - over), least)
        for index in chosen:
            aims[index] = min(sizes[index], most)
    return aims


def _first(sizes: Sequence[int], room: int, note: int) -> int:
    """The first that stays if as many of the newest stay as fit, the very last one in any case."""
    if sum(sizes) <= room:
        return 0
    left = room - note  # tokens of the words that say how many were left out
    first = len(sizes)
    while first > 0 and sizes[first - 1] <= left:
        first -= 1
        left -= sizes[first]
    return max(min(first, len(sizes) - 1), 0)


def _ends(text: str, keep: int) -> str:
    """The first two thirds of `keep` characters from the beginning, the rest from the end; no value is cut in two."""
    head = _whole(text, keep * 2 // 3, -1)
    tail = _whole(text, len(text) - (keep - keep * 2 // 3), 1)
    return f"{text[:head]}\n{_omitted(tail - head)}\n{text[tail:]}"


def _whole(text: str, at: int, step: int) -> int:
    """The place nearest to `at` in this direction that is not inside a number, a name or a path."""
    place = at
    for _ in range(VALUE):
        if not 0 < place < len(text) or not (_holds(text[place - 1]) and _holds(text[place])):
            return place
        place += step
    return at


def _holds(char: str) -> bool:
    return char.isdigit() or char in _JOINTS or (char.isascii() and char.isalnum())


def _omitted(characters: int) -> str:
    return f"[… {characters:,} characters left out …]"
