"""One text, left to right: every critical token with its key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from string import ascii_letters, ascii_lowercase, digits
from typing import NamedTuple

from app.context.critical import forms, names
from app.context.critical.grammar import AT, START
from app.context.critical.kinds import KIND_WEIGHT, LONGEST, Found, Kind
from app.context.critical.words import word

_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_KATAKANA_ONLY = re.compile("[ァ-ヺー・]+")
_WIDTH = re.compile("[\uff01-\uff5e\u3000]")
_OPENS = re.compile(r"(?:^|[\n.!?:;。！？「『\"“(\[|>*#•-])\s*$")
_WORD = frozenset(ascii_letters + digits + "_")
_TAIL = ".,;:!?'*_~"

_Token = tuple[Kind, str, float] | None
_Rule = Callable[[re.Match[str]], "_Token"]


TITLE_SHARE = 2.0
LONGEST_TITLE = 16
SENTENCE_ENDS = tuple("。！？!?すたいるだなねよか")
"""How a spoken Japanese sentence ends: 「必ず確認します」 is speech, 「塩の子午線」 a title."""


FULL_NAME, FULL_SHARE = 4, 1.2
"""A Japanese person of four characters has both names (小鳥遊千尋さん): nobody can be found by 西田さん alone."""

PRECISE_SHARE = 1.2
"""What a number with a unit and a decimal point (48.4 kg) weighs of its kind: it was measured, not guessed."""

NAMED_ROOM, NAMED_ROOM_SHARE, ROOM_SHARE = 5, 1.2, 0.8
"""A Japanese room of five characters says which one it is (北館大ホール): it weighs more than a passing number."""

IDIOM_SHARE = 0.3
IDIOMS = frozenset(["十分"])
"""一度, 一番, 二人, 十分: words more often than numbers, and not missed where they are."""


def narrowed(text: str) -> str:
    """The text with full-width letters, digits and signs as plain ones; no character moves."""
    return text.translate(_WIDE) if _WIDTH.search(text) else text


def scan(text: str) -> Iterator[Found]:
    """Every critical token in a narrowed text, in order; tokens inside quotes too."""
    read: dict[tuple[str, str], _Read | None] = {}
    quotes: dict[str, tuple[Found, ...]] = {}
    for match in _matches(text):
        way, written = match.lastgroup or "", match[0]
        if way == "quote":
            inner = written[1:-1]
            if inner not in quotes:
                quotes[inner] = tuple(scan(inner))
            yield from _quoted(text, match, inner, quotes[inner])
        elif way == "name":
            yield from _named(text, match)
        else:
            if (way, written) not in read:
                read[way, written] = _read(way, match)
            if (token := read[way, written]) is not None:
                start = match.start()
                yield Found(token.kind, start, start + token.length, token.key, token.weight)


class _Read(NamedTuple):
    """What something written means, wherever it stands; `length` characters of it."""

    kind: Kind
    key: str
    weight: float
    length: int


def _read(way: str, match: re.Match[str]) -> _Read | None:
    token = _RULES[way](match)
    if token is None:
        return None
    kind, key, share = token
    written = match[0]
    return _Read(
        kind, key, KIND_WEIGHT[kind] * share, len(written) - (_extra(written) if way in {"url", "path"} else 0)
    )


def _matches(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while (begin := START.search(text, at)) is not None:
        way, start, end = begin.lastgroup or "", begin.start(), begin.end()
        match = None
        if way == "inside" or (way == "sign" and text[start] in "+("):
            match = _from_small_letters(text, at, start)
        if match is None and way != "inside":
            match = AT[way].match(text, start)
        at = match.end() if match is not None else end
        if match is not None:
            yield match


def _from_small_letters(text: str, at: int, end: int) -> re.Match[str] | None:
    """What begins with the small letters in front of `end`, and not before `at`."""
    start = at + len(text[at:end].rstrip(ascii_lowercase))
    if start == end or (start and text[start - 1] in _WORD):
        return None
    return AT["lower"].match(text, start)


def _found(token: tuple[Kind, str, float], start: int, end: int, weak: bool = False) -> Found:
    kind, key, share = token
    return Found(kind, start, end, key, KIND_WEIGHT[kind] * share, weak)


def _quote_share(inner: str) -> float:
    """What a quote weighs of its kind: a Japanese title (short, and no sentence) more than speech, a lone word less."""
    if inner.isascii():
        return 1.0 if " " in inner else 0.6
    return TITLE_SHARE if len(inner) <= LONGEST_TITLE and not inner.endswith(SENTENCE_ENDS) else 1.0


def _quoted(text: str, match: re.Match[str], inner: str, within: tuple[Found, ...]) -> Iterator[Found]:
    start, end = match.start() + 1, match.end() - 1
    whole = False
    for one in within:
        whole = whole or (one.start == 0 and one.end == len(inner))
        yield Found(one.kind, one.start + start, one.end + start, one.key, one.weight, one.weak)
    if whole or text.startswith(":", match.end()) or not any(map(str.isalpha, inner)) or inner != inner.strip():
        return
    yield _found(("quote", f"quote:{forms.folded(inner)}", _quote_share(inner)), start, end)


def _named(text: str, match: re.Match[str]) -> Iterator[Found]:
    start, end = names.trimmed(match[0])
    if start >= end:
        return
    written = match[0][start:end]
    key = names.latin(written)
    low = key[:3]
    if low in forms.DAYS and key in _WEEKDAYS:
        yield _found(("date", f"date:{low}", 0.6), match.start() + start, match.start() + end)
        return
    if len(key) < 2 or key in _MONTHS:
        return
    before = text[max(0, match.start() - 6) : match.start()]
    opens = start == 0 and (match.start() == 0 or _OPENS.search(before) is not None)
    share = 1.0 if " " in key else 0.8
    yield _found(("name", f"name:{key}", share), match.start() + start, match.start() + end, opens and " " not in key)


_WEEKDAYS = frozenset(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"])
_MONTHS = frozenset(
    ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november")
) | {"december"}


def _extra(written: str) -> int:
    """Characters at the end of an address that belong to the sentence."""
    end = len(written)
    while end and (
        written[end - 1] in _TAIL
        or (written[end - 1] == ")" and written.count("(", 0, end) < written.count(")", 0, end))
        or (written[end - 1] == "]" and "[" not in written)
    ):
        end -= 1
    return len(written) - end


def _tick(match: re.Match[str]) -> _Token:
    inner = match[0][1:-1].strip()
    if not inner:
        return None
    token = word(inner) if " " not in inner else None
    if token is not None:
        return token
    value = next((one for one in scan(inner) if one.start == 0 and one.end == len(inner)), None)
    return (
        (value.kind, value.key, 1.0) if value is not None and value.kind != "name" else ("code", f"code:{inner}", 0.9)
    )


def _url(match: re.Match[str]) -> _Token:
    if len(match[0]) > LONGEST:
        return None
    written = match[0][: len(match[0]) - _extra(match[0])].rstrip("/")
    scheme, apart, rest = written.rpartition("://")
    host, slash, path = rest.partition("/")
    return "url", f"url:{scheme.casefold()}{apart}{host.casefold()}{slash}{path}", 1.0


def _path(match: re.Match[str]) -> _Token:
    return "path", f"path:{match[0][: len(match[0]) - _extra(match[0])]}", 1.0


def _date(year: str | None, month: str | int, day: str | None) -> _Token:
    month = forms.MONTHS[month[:3].casefold()] if isinstance(month, str) and month[0].isalpha() else int(month)
    key = forms.date(int(year or 0), month, int(day or 0))
    return ("date", key, 1.0) if key else None


def _iso(match: re.Match[str]) -> _Token:
    return _date(match["iso_y"], match["iso_m"], match["iso_d"])


def _day(match: re.Match[str]) -> _Token:
    first, second = match["day_a"], match["day_b"]
    day_first = match["day_s"] == "." or int(first) > 12
    return _date(match["day_y"], *((second, first) if day_first else (first, second)))


def _era(match: re.Match[str]) -> _Token:
    year = forms.ERAS[match["era_e"]] + int(match["era_y"].replace("元", "1"))
    if match["era_m"]:
        return _date(str(year), match["era_m"], match["era_d"])
    return "date", f"date:{year}", 0.8


def _cjk(match: re.Match[str]) -> _Token:
    token = _date(match["cjk_y"], match["cjk_m"], match["cjk_d"])
    return token if match["cjk_y"] or match["cjk_d"] else None


def _clock(match: re.Match[str]) -> _Token:
    half = f"{(match['clock_p'] or '').casefold()}m" if match["clock_p"] else ""
    key = forms.time(int(match["clock_h"]), int(match["clock_m"]), int(match["clock_s"] or 0), half)
    return ("time", key, 1.0) if key else None


def _hour(match: re.Match[str]) -> _Token:
    key = forms.time(int(match["hour_h"]), 0, 0, f"{match['hour_p'].casefold()}m")
    return ("time", key, 1.0) if key else None


def _ji(match: re.Match[str]) -> _Token:
    half = {"午前": "am", "午後": "pm"}.get(match["ji_p"] or "", "")
    minutes = 30 if match["ji_f"] else int(forms.number(match["ji_m"] or "0") or 0)
    key = forms.time(int(forms.number(match["ji_h"]) or 99), minutes, 0, half)
    return ("time", key, 1.0) if key else None


def _phone(match: re.Match[str]) -> _Token:
    digits = "".join(filter(str.isdigit, match[0]))
    return ("id", f"phone:{digits}", 1.0) if 8 <= len(digits) <= 15 else None


def _money(match: re.Match[str]) -> _Token:
    currency = forms.CURRENCIES[(match["money_s"] or match["money_c"]).casefold()]
    value = forms.number(match["money_n"] or match["money_v"], euro=currency == "eur")
    value = forms.scaled(value, match["money_k"] or match["money_l"] or "")
    return ("money", f"money:{value} {currency}", 1.0) if value else None


def _unit(match: re.Match[str]) -> _Token:
    value = forms.number(match["unit_n"])
    if not value:
        return None
    unit = forms.UNITS[match["unit_u"].casefold()]
    kanji = match["unit_n"][0] in "〇一二三四五六七八九十百千万億"
    if "." in value:
        return "number", f"num:{value} {unit}", PRECISE_SHARE
    idiom = kanji and (value in {"1", "2"} or match[0] in IDIOMS)
    return "number", f"num:{value} {unit}", IDIOM_SHARE if idiom else 1.0


def _number(match: re.Match[str]) -> _Token:
    written = match["number_n"]
    if not written[0].isdigit():
        return None  # kanji numerals without a unit are words
    value = forms.scaled(forms.number(written), match["number_k"] or "")
    if not value:
        return ("id", f"word:{written}", 0.8) if written.count(".") > 1 else None
    if len(written) == 1 and not match["number_k"]:
        return None
    return "number", f"num:{value}", 0.6 if len(written) == 2 else 0.85


def _person(match: re.Match[str]) -> _Token:
    key = names.person(match["person_n"])
    full = len(key) >= FULL_NAME and not _KATAKANA_ONLY.fullmatch(key)
    return ("name", f"name:{key}", FULL_SHARE if full else 1.0) if key else None


def _firm(match: re.Match[str]) -> _Token:
    return "name", f"name:{names.firm(match['firm_n'] or match['firm_m'])}", 1.0


def _place(match: re.Match[str]) -> _Token:
    stem = match["place_n"]
    key = names.place(stem, match[0][len(stem) :])
    return ("name", f"name:{key}", 0.8) if key else None


def _room(match: re.Match[str]) -> _Token:
    key = names.room(match[0])
    return ("name", f"name:{key}", NAMED_ROOM_SHARE if len(key) >= NAMED_ROOM else ROOM_SHARE) if key else None


def _kata(match: re.Match[str]) -> _Token:
    key, share = names.katakana(match[0])
    return ("name", f"name:{key}", share) if len(key) > 2 else None


_RULES: dict[str, _Rule] = {
    "token": lambda match: word(match[0]),
    "slash": lambda match: word(match[0]),
    "tick": _tick,
    "url": _url,
    "email": lambda match: ("email", f"email:{match[0].casefold()}", 1.0),
    "path": _path,
    "host": lambda match: ("id", f"host:{match[0].casefold()}", 1.0),
    "iso": _iso,
    "day": _day,
    "dmy": lambda match: _date(match["dmy_y"], match["dmy_m"], match["dmy_d"]),
    "mdy": lambda match: _date(match["mdy_y"], match["mdy_m"], match["mdy_d"]),
    "my": lambda match: _date(match["my_y"], match["my_m"], None),
    "era": _era,
    "cjk": _cjk,
    "year": lambda match: ("date", f"date:{int(match['year_y'])}", 0.7),
    "clock": _clock,
    "hour": _hour,
    "ji": _ji,
    "phone": _phone,
    "money": _money,
    "unit": _unit,
    "number": _number,
    "weekday": lambda match: ("date", f"date:{forms.DAYS[match[0][0]]}", 0.6) if len(match[0]) > 1 else None,
    "person": _person,
    "firm": _firm,
    "place": _place,
    "room": _room,
    "kata": _kata,
}
"""What each way of writing means; quotes and Latin names have their own functions."""
