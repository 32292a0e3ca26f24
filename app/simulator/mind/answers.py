"""What the model answers: the one door to the mind is `think`."""

from __future__ import annotations

import dataclasses
import re

from app.simulator import directives
from app.simulator.directives import Directives
from app.simulator.estimate import shortened, tokens
from app.simulator.mind import calling, facts
from app.simulator.mind.instances import instance
from app.simulator.mind.searching import searched
from app.simulator.mind.talk import Answer, Talk
from app.simulator.shapes import dump

_SAY = re.compile(r"^\s*(?:please\s+)?(?:say|repeat|answer with)\s*:\s*(.+)", re.IGNORECASE | re.DOTALL)
_SUM = re.compile(
    r"(?<![\w.])(-?\d{1,9}(?:\.\d+)?)\s*(\+|-|\*|x|×|/|plus|minus|times)\s*(-?\d{1,9}(?:\.\d+)?)(?![\w.])"
)
_COUNT = re.compile(r"\bcount (?:the )?words\b[^:]*:\s*(.+)", re.IGNORECASE | re.DOTALL)
_GREETING = re.compile(r"^\s*(?:(?:hello|hi|hey|good (?:morning|evening|day))\b|こんにちは|おはよう)", re.IGNORECASE)
_SUMMARY_TOKENS = 700  # a summary's length where the request sets no cap
_LENGTH = re.compile(r"at most (\d{1,6}) tokens|全体で(\d{1,6})トークン")
_END = 2000  # characters at each end of the user's text in which a question is sought
_LONGEST_RESULT = 4000  # characters of a tool's result that the answer repeats


def orders_of(talk: Talk) -> Directives:
    """The directives that hold for this request. A request for a summary quotes old texts, and obeys none of them."""
    return Directives({}) if asks_for_summary(talk) else directives.read(talk.asked)


def asks_for_summary(talk: Talk) -> bool:
    """Whether the system text or the user's last text asks for a summary, and no tool is offered."""
    systems = [one.text for one in talk.said if one.role == "system"]
    return not talk.tools and any(facts.wants_summary(text) for text in [*systems[:1], talk.asked])


def think(talk: Talk, orders: Directives) -> Answer:
    """The answer to a conversation, cut where a stop sequence or the cap on tokens ends it."""
    asked = directives.without(talk.asked)
    calls = () if "echo" in orders or "words" in orders else calling.wanted_calls(talk, asked)
    search = searched(asked) if talk.searches and not (calls or talk.turn or talk.schema) else None
    text = "" if calls else search.text if search else _text(talk, orders, asked)
    said = Answer(_stopped(text, talk.stop), calls, _reasoning(talk, orders, asked), search=search)
    return _capped(said, talk.max_tokens)


def parts_of(text: str, orders: Directives) -> list[str]:
    """The text in the portions that a stream sends: [[chunks=N]] equal ones, else a few words each."""
    count = orders.number("chunks")
    if count:
        size = max(1, -(-len(text) // count))
        return [text[at : at + size] for at in range(0, len(text), size)]
    words = re.findall(r"\S+\s*|\s+", text)
    size = max(3, -(-len(words) // 40))
    return ["".join(words[at : at + size]) for at in range(0, len(words), size)]


def _text(talk: Talk, orders: Directives, asked: str) -> str:
    count = orders.number("words")
    if "echo" in orders:
        return dump(talk.received)
    if count is not None:
        return " ".join(f"word{number}" for number in range(1, count + 1))
    if talk.schema is not None:
        return dump(instance(talk.schema) if talk.schema else {"answer": _spoken(talk, asked)})
    return _spoken(talk, asked)


def _wanted_length(talk: Talk) -> int:
    """The tokens that the request asks for in words."""
    found = [_LENGTH.search(one.text) for one in talk.said if one.role == "system"]
    return min((int(length[1] or length[2]) for length in found if length), default=_SUMMARY_TOKENS)


def _spoken(talk: Talk, asked: str) -> str:
    if asks_for_summary(talk):
        return facts.summary(talk, int(min(talk.max_tokens or _SUMMARY_TOKENS, _wanted_length(talk)) * 0.9))
    results = [one for one in talk.turn if one.role == "tool"]
    if results:
        return "; ".join(f"{one.tool or 'the tool'} says: {one.text[:_LONGEST_RESULT]}" for one in results)
    repeat, counted = _SAY.match(asked), _COUNT.search(asked)
    if repeat:
        return repeat[1].strip()
    if counted:
        return f"{_counted(len(counted[1].split()), 'word')}."
    asked = _ends_of(asked)
    if re.search(r"\bhow many (?:messages|pictures|images)\b|\b(?:picture|image|photo)s?\b", asked, re.IGNORECASE):
        return _seen(talk)
    return _sum(asked) or facts.recalled(talk, asked) or _small_talk(talk, asked)


def _ends_of(asked: str) -> str:
    """A question stands at an end of what was asked: what lies between is a paste, and may be megabytes."""
    return asked if len(asked) <= 2 * _END else f"{asked[:_END]}\n{asked[-_END:]}"


def _seen(talk: Talk) -> str:
    messages = sum(1 for one in talk.said if one.role != "system")
    pictures = sum(one.pictures for one in talk.said)
    return f"I see {_counted(messages, 'message')} and {_counted(pictures, 'picture')}."


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _sum(asked: str) -> str | None:
    found = _SUM.search(asked)
    if found is None:
        return None
    left, right = float(found[1]), float(found[3])
    match found[2]:
        case "+" | "plus":
            result = left + right
        case "-" | "minus":
            result = left - right
        case "/" if right == 0:
            return "Nothing can be divided by zero."
        case "/":
            result = left / right
        case _:
            result = left * right
    return f"{found[1]} {found[2]} {found[3]} = {result:g}" if abs(result) < 1e6 else f"{result:.0f}"


def _small_talk(talk: Talk, asked: str) -> str:
    if _GREETING.match(asked):
        return "Hello! I am Foldline's simulated model. Tell me something, and ask me for it later."
    if not asked:
        return "I see no text to answer."
    first = asked if len(asked) <= 80 else asked[:80].rstrip() + "…"
    return f"I heard: {first} ({_seen(talk)})"


def _reasoning(talk: Talk, orders: Directives, asked: str) -> str:
    count = orders.number("think")
    if count is not None:
        return " ".join(f"thought{number}" for number in range(1, count + 1))
    return f"The user wrote {_counted(len(asked.split()), 'word')}. I answer shortly." if talk.thinks else ""


def _stopped(text: str, stop: tuple[str, ...]) -> str:
    ends = [at for mark in stop if mark and (at := text.find(mark)) >= 0]
    return text[: min(ends)] if ends else text


def _capped(answer: Answer, limit: int | None) -> Answer:
    if limit is None:
        return answer
    room = limit - tokens(answer.reasoning)
    if room <= 0:
        return Answer(reasoning=shortened(answer.reasoning, limit), cut=True)
    spent = tokens(answer.text) + sum(tokens(dump(call.arguments)) for call in answer.calls)
    if spent <= room:
        return answer
    return dataclasses.replace(answer, text=shortened(answer.text, room), calls=(), cut=True)
