"""Random chats with all that clients do to tool calls: parallel, lost, late, among words, ids missing or reused."""

from __future__ import annotations

from hypothesis import strategies as st

from app.chat.model import Message, Part, Text, ToolCall, ToolResult
from tests.context.folding import words

IDS = ("x", "y", "z")
SIZES = (5, 40, 150)


@st.composite
def chats(draw: st.DrawFn, longest: int = 14, ids: tuple[str, ...] = (*IDS, "")) -> tuple[Message, ...]:
    """A chat that ends with words of the user or with results; its calls have these `ids`."""
    messages: list[Message] = [_words(draw, "user", 0)]
    for number in range(1, draw(st.integers(1, longest))):
        kind = draw(st.sampled_from(("user", "assistant", "assistant", "exchange", "exchange", "exchange", "system")))
        if kind == "exchange":
            messages += _exchange(draw, number, ids)
        else:
            messages.append(_words(draw, kind, number))
    if messages[-1].role != "user":
        messages.append(_words(draw, "user", 99))
    return tuple(messages)


def _words(draw: st.DrawFn, role: str, number: int) -> Message:
    tokens = draw(st.sampled_from(SIZES))
    return Message(role, (Text(words(tokens, number)),))  # type: ignore[arg-type] # one of the roles above


def _exchange(draw: st.DrawFn, number: int, ids: tuple[str, ...]) -> list[Message]:
    count = draw(st.integers(1, 3))
    names = [draw(st.sampled_from(ids)) for _ in range(count)]
    calls = [ToolCall(name, f"f{index}", f'{{"n":{number}}}') for index, name in enumerate(names)]
    results: list[Message] = []
    for index in draw(st.permutations(range(count))):
        result = ToolResult(names[index], (Text(words(draw(st.sampled_from(SIZES)), number)),), f"f{index}")
        fate = draw(st.sampled_from(("here", "here", "here", "lost", "late", "mixed")))
        parts: tuple[Part, ...] = (result,)
        if fate == "lost":
            continue
        if fate == "mixed":
            parts = tuple(draw(st.permutations((result, Text(words(5, number))))))
        if fate == "late":
            results.append(_words(draw, draw(st.sampled_from(("user", "assistant"))), number))
        if results and results[-1].results and draw(st.booleans()):
            results[-1] = Message("user", (*results[-1].parts, *parts))  # one message for several, as some formats do
        else:
            results.append(Message("user", parts))
    said: tuple[Part, ...] = (Text(words(5, number)),) if draw(st.booleans()) else ()
    return [Message("assistant", (*said, *calls)), *results]
