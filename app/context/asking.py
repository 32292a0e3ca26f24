"""The summariser's question: a chat of its own, in which the conversation stands as data.

The same wish always makes the same bytes. The answer is checked by `flaw` first, and by the retention gate then.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from app.chat import size
from app.chat.family import Family
from app.chat.model import Chat, Message, Reasoning, Sampling, Text
from app.chat.windows import window_of
from app.context.critical import Critical
from app.context.flaws import flaw
from app.context.instructions import closing, language_of, orders
from app.context.transcript import block, level, said_of, shortened, transcript

__all__ = ["Wish", "ask", "flaw", "named", "on_one_line", "sampling_of"]

TEMPERATURE = 0.2
LEAST = 64
"""Tokens that a summary may take at least."""

SPARE = 256
THINKING = 4_096
UNKNOWN = 1_024
"""Tokens beyond twice the limit that an answer may take, so that a good one is never cut: of a model that does not
think, of one that thinks before it answers (that counts too), and of one that we do not know."""

CERTAIN = 0.95
"""Of the window that is filled: the rest is for what estimates get wrong."""

MOST_MISSING = 100
MISSING_CHARACTERS = 300
"""How many missing values are named, and how much of each."""

RESULTS = 16
"""Times the summary's limit that all tool results together may take in its question, beyond the beginning and end of
each: a segment has room for a line on each of fifty results, and reading them whole would be most of its price."""

OTHER_SHARE = 2
"""What stands beside the messages (earlier summaries, a draft) takes at most one part in this many of the room."""


class Wish(msgspec.Struct, frozen=True):
    """One summary segment to be made.

    Args:
        messages: what it is to stand for.
        before: texts of earlier segments that stay: context, not to be repeated.
        rolled: texts of earlier segments that this one replaces: what they say must be kept.
        limit: tokens that it may take.
        loop: the messages are finished steps of one task of an agent.
    """

    messages: tuple[Message, ...]
    before: tuple[str, ...] = ()
    rolled: tuple[str, ...] = ()
    limit: int = 1024
    loop: bool = False


Effort: TypeAlias = Literal["", "none", "minimal", "low"]


class _Manner(msgspec.Struct, frozen=True):
    """How a model is asked: effort ("" leaves it alone), tokens beside the answer, and if it takes a temperature."""

    effort: Effort
    spare: int
    warm: bool


_MANNERS: tuple[tuple[re.Pattern[str], _Manner], ...] = tuple(
    (re.compile(pattern), manner)
    for pattern, manner in (
        # the first that fits counts. OpenAI's reasoning models refuse any temperature but 1; -pro and -chat models know
        # no small effort; `minimal` is known to the first GPT-5 only, `low` to all (platform.openai.com/docs/models)
        (r"gpt-[5-9][.\d]*(?:-\w+)*-(?:pro|chat)\b", _Manner("", THINKING, False)),
        (r"gpt-5(?:-mini|-nano)?(?:-20\d\d.*)?$", _Manner("minimal", THINKING, False)),
        (r"gpt-[5-9]|\bcodex", _Manner("low", THINKING, False)),
        (r"\bo1-(?:mini|preview)", _Manner("", THINKING, False)),
        (r"\bo[1-9]\b", _Manner("low", THINKING, False)),
        # Gemini 2.5 Flash can leave thinking off, Pro cannot; Gemini 3 chooses its own temperature
        # (ai.google.dev/gemini-api/docs/thinking, …/gemini-3)
        (r"gemini-2\.5-flash", _Manner("none", SPARE, True)),
        (r"gemini-2\.5", _Manner("low", THINKING, True)),
        (r"gemini-[12]\b|gemma|learnlm", _Manner("", SPARE, True)),
        (r"gemini", _Manner("minimal", THINKING, False)),
        # Claude from 4.7 on refuses a temperature (docs.claude.com/en/api/messages)
        (r"claude-(?:instant|[123]\b)", _Manner("", SPARE, True)),
        (r"claude-(?:opus|sonnet|haiku)-4(?!\d|[-.][7-9](?!\d))", _Manner("", SPARE, True)),
        (r"claude", _Manner("", THINKING, False)),
        (r"gpt-[34]|\blab\b", _Manner("", SPARE, True)),
        (
            r"deepseek-(?:r|v[4-9])|qwq|think|reason|gpt-oss|magistral|qwen-?[3-9]|\bglm-|kimi|grok|minimax|nemotron",
            _Manner("", THINKING, True),
        ),
    )
)
_OTHER = _Manner("", UNKNOWN, True)


def ask(wish: Wish, model: str, *, family: Family, window: int, missing: Sequence[str] = (), draft: str = "") -> Chat:
    """The question as a chat that any upstream can be sent: rules as system text, one user message, no tools.

    Never fails: what does not fit the window is cut, tool results first (see transcript.py). Of many tool results only
    beginnings and ends are shown. A second question shows the draft and what it lost, and not the conversation again.

    Args:
        model: the summary model. family: whose tokenizer counts. window: tokens that it takes, 0 if that is not known.
        missing: what the first answer lost (see `named`). draft: that answer. It is then asked to write it again.
    """
    said = said_of(wish.messages)
    language = language_of(said, (*wish.rolled, *wish.before))
    limit = max(wish.limit, LEAST)
    beside = _beside(wish, missing, draft)
    system = orders(
        language,
        limit,
        loop=wish.loop,
        beside=beside,
    )
    end = closing(language)
    whole = window if window > 0 else window_of(model).context
    sampling = sampling_of(model, limit, whole)
    taken = size.of_text(system + end, family) + 2 * size.PER_MESSAGE + (sampling.max_tokens or 0)
    room = max(int(whole * CERTAIN) - taken, LEAST)
    beside = _within(beside, room // OTHER_SHARE, family)
    room -= sum(size.of_text(text, family) for text in beside.values())
    order = (
        *(beside.get(kind, "") for kind in ("before", "older")),
        "" if draft else transcript(said, room, family, limit * RESULTS),
        *(beside.get(kind, "") for kind in ("draft", "missing")),
        end,
    )
    return Chat(
        model,
        (Message("user", (Text("\n".join(filter(None, order))),)),),
        system=(Message("system", (Text(system),)),),
        sampling=sampling,
        store=False,
        plain=True,
    )


def named(lost: Critical) -> str:
    """A value that a summary lost as the second question names it: with the words around it, if they say more."""
    return lost.context if lost.kind == "rule" or lost.context == lost.value else f"{lost.value} (in: {lost.context})"


def on_one_line(values: Sequence[str]) -> list[str]:
    """Values as a question names them: each on one line, and shortened; none that is empty."""
    return [said for value in values if (said := " ".join(value.split())[:MISSING_CHARACTERS])]


def _beside(wish: Wish, missing: Sequence[str], draft: str) -> dict[str, str]:
    """What stands beside the messages, by the kind of its mark; only what says something. A draft has it all."""
    values = on_one_line(missing[:MOST_MISSING])
    every = {
        "before": "" if draft else "\n\n".join(wish.before),
        "older": "" if draft else "\n\n".join(wish.rolled),
        "draft": draft,
        "missing": "\n".join(f"- {value}" for value in values),
    }
    return {kind: text for kind, text in every.items() if text.strip()}


def _within(beside: dict[str, str], room: int, family: Family) -> dict[str, str]:
    """The same as blocks between their marks, the longest cut where they would take more than `room` tokens."""
    blocks = {kind: block(kind, text) for kind, text in beside.items()}
    sizes = [size.of_text(text, family) for text in blocks.values()]
    if sum(sizes) <= room:
        return blocks
    most = level(sizes, room)
    frame = max(size.of_text(block(kind, ""), family) for kind in beside)
    return {
        kind: text if taken <= most else block(kind, shortened(beside[kind], most - frame, family))
        for (kind, text), taken in zip(blocks.items(), sizes, strict=True)
    }


def sampling_of(model: str, limit: int, window: int) -> Sampling:
    """How to generate: cool, with as little thinking as the model allows, and with room for a whole answer.

    Args:
        limit: tokens that the summary may take. window: tokens that the model takes, question and answer.
    """
    name = model.lower()
    manner = next((manner for pattern, manner in _MANNERS if pattern.search(name)), _OTHER)
    most = min(limit * 2 + manner.spare, window_of(model).output, max(window // 2, LEAST))
    return Sampling(
        max_tokens=most,
        temperature=TEMPERATURE if manner.warm else None,
        reasoning=Reasoning(effort=manner.effort) if manner.effort else None,
    )
