"""Thinking that is bound to the prefix it was made behind leaves where that prefix is folded, and only there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from app.chat.model import Message, Native, Opaque, Text, Thinking, ToolCall, ToolResult
from app.context.known import Checkpoint, Hop
from app.context.thinking import binds_thinking, unbind
from tests.context.folding import SMALL, answered, draft_of, fold_of, known_of, told

CHAT = told("u t u t u t u t u")
FOLD = fold_of(CHAT, 2)
SUMMARY = Message("user", (Text("<summary>"),))


def _after(*under: bool | None, binds: bool = True, chat: Sequence[Message] = CHAT) -> list[bool]:
    """Which of the kept answers of CHAT still think; `under`: which were made under the fold, None: nobody knows."""
    turns: list[dict[bytes, Checkpoint]] = [
        answered(CHAT, 4 + 2 * index, folded=FOLD.upto if each else b"")
        for index, each in enumerate(under)
        if each is not None
    ]
    known = known_of(CHAT, *turns, scale={"binds": binds})
    draft = unbind(draft_of((SUMMARY, *chat[2:]), fold=FOLD), known, SMALL)
    return [_thinks(message) for message in draft.chat.messages if message.role == "assistant"]


def _thinks(message: Message) -> bool:
    return any(isinstance(part, Thinking | Opaque) for part in message.parts)


@pytest.mark.parametrize(
    ("under", "stay"),
    [
        pytest.param((False, False, False), [False, False, False], id="all were made before it was folded"),
        pytest.param((False, False, True), [False, False, True], id="the newest was made under this fold"),
        pytest.param((True, True, True), [True, True, True], id="all were made under this fold"),
        pytest.param((True, False, True), [False, False, True], id="one in between was not: nothing before it stays"),
        pytest.param((None, None, None), [False, False, False], id="nobody knows how they were made"),
        pytest.param((None, True, True), [False, True, True], id="one was answered elsewhere"),
    ],
)
def test_only_thinking_made_under_the_fold_in_force_stays(under: tuple[bool | None, ...], stay: list[bool]) -> None:
    assert _after(*under) == stay


def test_a_model_that_does_not_bind_its_thinking_keeps_all_of_it() -> None:
    assert _after(False, False, False, binds=False) == [True, True, True]


def test_a_chat_that_is_not_folded_keeps_all_of_it() -> None:
    known = known_of(CHAT, scale={"binds": True})
    draft = draft_of(CHAT)
    assert unbind(draft, known, SMALL) is draft


def _put_back(*setups: bytes, bound_to: bytes = b"now") -> list[bool]:
    """Which answers of a chat whose client dropped all thinking would still get it back; `setups`: what each was made
    behind."""
    chat = tuple(
        Message(message.role, tuple(part for part in message.parts if isinstance(part, Text))) for message in CHAT
    )
    turns = [
        answered(chat, 2 + 2 * index, setup=made, sealed=b'[{"type":"thinking"}]') for index, made in enumerate(setups)
    ]
    made = unbind(draft_of(chat), known_of(chat, *turns, bound_to=bound_to), SMALL).chat.messages
    return [made[1 + 2 * index] is chat[1 + 2 * index] for index in range(len(setups))]


@pytest.mark.parametrize(
    ("setups", "stay"),
    [
        pytest.param((b"now", b"now"), [True, True], id="nothing changed"),
        pytest.param((b"old", b"now"), [False, True], id="the first was made behind another system prompt"),
        pytest.param((b"now", b"old", b"now"), [False, False, True], id="one in between: nothing before it stays"),
        pytest.param((b"a", b"b", b"c"), [False, False, False], id="a clock in the system prompt"),
        pytest.param((b"", b"now"), [True, True], id="nobody noted it"),
    ],
)
def test_thinking_made_behind_another_system_prompt_or_other_tools_is_not_put_back(
    setups: tuple[bytes, ...], stay: list[bool]
) -> None:
    assert _put_back(*setups) == stay
    assert _put_back(*setups, bound_to=b"") == [True] * len(setups), "a model that does not bind it"


def test_of_one_task_all_thinking_is_put_back_or_none() -> None:
    """The system prompt changed between the steps of a task; the next task is put back again."""
    steps: list[Message] = []
    for number in range(3):
        steps += [
            Message("assistant", (ToolCall(f"c{number}", "f", f'{{"n":{number}}}'),)),
            Message("user", (ToolResult(f"c{number}", (Text("r"),)),)),
        ]
    chat = (
        Message("user", (Text("do it"),)),
        *steps,
        *told("u t u")[1:2],
        Message("user", (Text("more"),)),
        *steps[:2],
    )
    sealed = b'[{"type":"thinking"}]'
    turns = [answered(chat, at, setup=made, sealed=sealed) for at, made in ((2, b"old"), (4, b"now"), (6, b"now"))]
    turns.append(answered(chat, 10, setup=b"now", sealed=sealed))
    made = unbind(draft_of(chat), known_of(chat, *turns, bound_to=b"now"), SMALL).chat.messages
    assert [made[place] is chat[place] for place in (1, 3, 5, 9)] == [False, False, False, True]


def test_thinking_that_the_client_itself_sends_behind_another_system_prompt_is_the_client_s() -> None:
    draft = draft_of(CHAT)
    assert unbind(draft, known_of(CHAT, answered(CHAT, 2, setup=b"old"), bound_to=b"now"), SMALL) is draft


def test_the_words_of_the_answers_stay_and_the_plan_says_what_left() -> None:
    known = known_of(CHAT, scale={"binds": True})
    draft = unbind(draft_of((SUMMARY, *CHAT[2:]), fold=FOLD), known, SMALL)
    words = [part for message in draft.chat.messages[1:] for part in message.parts if isinstance(part, Text)]
    assert words == [part for message in CHAT[2:] for part in message.parts if isinstance(part, Text)]
    assert [(each.step, each.applied) for each in draft.decisions] == [("thinking", "3")]
    assert draft.chat.messages[0] is SUMMARY
    assert draft.chat.messages[1] is CHAT[2]


def test_sealed_thinking_leaves_with_the_rest_and_other_unknown_parts_stay() -> None:
    sealed = Opaque(Native("anthropic", {"type": "redacted_thinking", "data": "x"}))
    other = Opaque(Native("anthropic", {"type": "server_tool_use"}))
    chat = (*CHAT[:3], Message("assistant", (sealed, other, Text("words"))), *CHAT[4:])
    known = known_of(chat, scale={"binds": True})
    made = unbind(draft_of((SUMMARY, *chat[2:]), fold=FOLD), known, SMALL).chat
    assert made.messages[2] == Message("assistant", (other, Text("words")))


def test_the_same_messages_go_without_their_thinking_on_every_later_turn() -> None:
    """The provider holds what came before to be unchanged: what left once must not come back."""
    sent: list[tuple[Message, ...]] = []
    chat = CHAT
    turns = [answered(CHAT, 4), answered(CHAT, 6), answered(CHAT, 8)]
    for number in range(3):
        known = known_of(chat, *turns, scale={"binds": True})
        sent.append(unbind(draft_of((SUMMARY, *chat[2:]), fold=FOLD), known, SMALL).chat.messages)
        chat = (*chat, *told("t u", 20 + number))
        turns.append(answered(chat, len(chat) - 1, folded=FOLD.upto))
    for before, after in pairwise(sent):
        assert after[: len(before)] == before


@pytest.mark.parametrize("where", ["answer", "hop"])
def test_thinking_that_the_client_dropped_is_not_put_back_behind_another_beginning(where: str) -> None:
    """What is put back goes to the very message that the client sent: a message that was rebuilt has none."""
    chat = told("u a u a u a u")
    sealed = {"sealed": b"[thinking]"} if where == "answer" else {"hops": (Hop("", (), b"[thinking]"),)}
    turns = [answered(chat, 4, **sealed), answered(chat, 6, **sealed, folded=fold_of(chat, 2).upto)]
    known = known_of(chat, *turns, scale={"binds": True})
    made = unbind(draft_of((SUMMARY, *chat[2:]), fold=fold_of(chat, 2)), known, SMALL)
    assert made.chat.messages == (SUMMARY, *chat[2:])
    assert made.chat.messages[2] is not chat[3]
    assert made.chat.messages[4] is chat[5]
    assert made.decisions[0].reason.startswith("1 message goes without its thinking")


@pytest.mark.parametrize(
    ("model", "binds"),
    [
        ("claude-opus-5-5", True),
        ("claude-sonnet-5-5-20260930", True),
        ("anthropic/claude-haiku-5.5", True),
        ("claude-fable-5-1", True),
        ("claude-mythos-5-2", True),
        ("claude-opus-5", False),
        ("claude-sonnet-4-6", False),
        ("claude-haiku-4-5-20251001", False),
        ("gemini-3-flash-preview", False),
        ("gpt-5.5", False),
    ],
)
def test_which_models_bind_their_thinking(model: str, binds: bool) -> None:
    assert binds_thinking(model) == binds
