"""What people say in these tests: prose of a wished length that states nothing, and facts that must never be lost."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.chat import size
from tests.folding.provider import Answering, Call, Said

Language: TypeAlias = Literal["en", "ja"]

_ENGLISH = (
    ("the plan", "the draft", "this part", "the other side", "that idea", "the whole thing", "the first half"),
    ("looks fine", "needs more thought", "can wait a little", "is nearly done", "was talked over", "seems too long"),
    (
        "as we said",
        "for the time being",
        "if nobody minds",
        "in my view",
        "once more",
        "with some care",
        "by and large",
    ),
)
_JAPANESE = (
    ("この案は", "全体としては", "前半の話は", "残りの部分は", "あの考えは", "やり方そのものは", "今の流れは"),
    ("もう少し考えたいと", "だいたい良いと", "あとで直せば足りると", "少し長すぎると", "急がなくても良いと"),
    ("思います。", "感じています。", "みんなが言っています。", "見ています。", "考え直しました。"),
)
_SHAPES: dict[Language, str] = {"en": "{} {} {}. ", "ja": "{}{}{}"}


@functools.cache
def prose(tokens: int, seed: int = 0, language: Language = "en") -> str:
    """About so many tokens that hold no number, no name and no address; the same seed gives the same words."""
    chance = random.Random(f"{seed} {language}")
    said: list[str] = []
    spent = 0
    while spent < tokens:
        words = [chance.choice(group) for group in (_ENGLISH if language == "en" else _JAPANESE)]
        sentence = _SHAPES[language].format(*words)
        said.append(sentence[0].upper() + sentence[1:])
        spent += size.of_text(sentence, "openai")
    return "".join(said).strip()


@dataclass(frozen=True)
class Fact:
    """Something that was said, and the value in it that must come through letter by letter."""

    said: str
    value: str


_ENGLISH_FACTS = (
    ("The board is at {}.", "https://status.harbour.example/board/{}"),
    ("The invoice is {}.", "INV-{}"),
    ("The table is in {}.", "apps/billing/ports_{}.yaml"),
    ("The budget is {} for now.", "${},450"),
    ("The deadline is {}.", "20{}-03-14"),
    ("Write to {} about it.", "ops{}@harbour.example"),
    ("They run release {} there.", "v4.{}.17"),
    ("The database answers at {}.", "10.20.{}.9"),
    ("I use the branch {}.", "fix/ports-b{}"),
    ("The limit is {} requests.", "8{}72"),
    ("My contact is {}.", "{} Kowalczyk"),
    ("The key in the table is {}.", "retry_after_{}"),
)
_JAPANESE_FACTS = (
    ("掲示板は{}にあります。", "https://status.minato.example/board/{}"),
    ("請求書の番号は{}です。", "INV-{}"),
    ("表は{}に入っています。", "apps/billing/ports_{}.yaml"),
    ("予算は{}です。", "{},450円"),
    ("締め切りは{}です。", "20{}年3月14日"),
    ("連絡先は{}です。", "ops{}@minato.example"),
    ("今の版は{}です。", "v4.{}.17"),
    ("データベースは{}にあります。", "10.20.{}.9"),
    ("枝の名前は{}です。", "fix/ports-b{}"),
    ("上限は{}件です。", "8{}72"),
    ("担当は{}です。", "{}さん"),
    ("表の中の鍵は{}です。", "retry_after_{}"),
)
_NAMES: dict[Language, tuple[str, ...]] = {
    "en": ("Agnieszka", "Bartosz", "Celina", "Dariusz", "Elwira"),
    "ja": ("山田花子", "佐藤健一", "鈴木美咲", "高橋直樹", "伊藤由美"),
}


def facts(count: int, language: Language = "en") -> list[Fact]:
    """So many facts (60 at most), each with a value of its own."""
    found: list[Fact] = []
    shapes = _ENGLISH_FACTS if language == "en" else _JAPANESE_FACTS
    for number in range(count):
        sentence, shape = shapes[number % len(shapes)]
        person = "さん" in shape or "Kowalczyk" in shape
        value = shape.format(_NAMES[language][number // len(shapes)] if person else 30 + number)
        found.append(Fact(sentence.format(value), value))
    return found


def lost(wanted: Sequence[Fact], text: str) -> list[str]:
    """The values that do not stand in the text."""
    return [fact.value for fact in wanted if fact.value not in text]


def keeping(wanted: Sequence[Fact], share: float = 1.0, *, opening: str = "They went on with the plan.") -> Answering:
    """A summariser that keeps the first so many of the facts that it was told, and never more, however often asked."""

    def summarise(call: Call) -> Said:
        told = [fact.said for fact in wanted if fact.value in call.text]
        return Said("\n".join([opening, *told[: round(len(told) * share)]]))

    return summarise


def keeping_every_second(wanted: Sequence[Fact], opening: str = "They went on with the plan.") -> Answering:
    """A summariser that loses every second fact, however often it is asked."""

    def summarise(call: Call) -> Said:
        told = [fact.said for fact in wanted if fact.value in call.text]
        return Said("\n".join([opening, *told[::2]]))

    return summarise


_MARKS = re.compile(r"[A-Z]{3,}-\d+")


def marks(call: Call) -> Said:
    """A good summariser for tests that plant marks such as PLUM-771: it keeps them all, in their order."""
    return Said("They spoke of " + ", ".join(dict.fromkeys(_MARKS.findall(call.text))) + ".")
