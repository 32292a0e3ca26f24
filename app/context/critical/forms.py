"""Normal forms: what is the same number, date, time or address, however it is written."""

from __future__ import annotations

import re
import unicodedata

_TENS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "億": 10**8, "兆": 10**12}
_DIGITS = {digit: value for value, digit in enumerate("〇一二三四五六七八九")}
_LATIN = {"k": 10**3, "thousand": 10**3, "m": 10**6, "million": 10**6, "bn": 10**9, "billion": 10**9}
_PIECE = re.compile(r"([\d.,]+)|(.)", re.DOTALL)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DOTTED = re.compile(r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}")
_EURO = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_EXACT = 15
"""Digits of the longest number that a float holds as it is."""

_PLAIN = re.compile(r"\d+(?:[.,]\d+)?")

MONTHS = {
    name: index + 1
    for index, name in enumerate(("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"))
}
DAYS = {name: name for name in ("mon", "tue", "wed", "thu", "fri", "sat", "sun")} | dict(
    zip("月火水木金土日", ("mon", "tue", "wed", "thu", "fri", "sat", "sun"), strict=True)
)
ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867}

CURRENCIES = {
    "$": "usd", "us$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "ドル": "usd",
    "€": "eur", "eur": "eur", "euro": "eur", "euros": "eur", "ユーロ": "eur",
    "¥": "jpy", "jpy": "jpy", "yen": "jpy", "円": "jpy",
    "£": "gbp", "gbp": "gbp", "pound": "gbp", "pounds": "gbp", "ポンド": "gbp",
    "chf": "chf", "cny": "cny", "rmb": "cny", "元": "cny", "人民元": "cny",
    "krw": "krw", "₩": "krw", "ウォン": "krw", "inr": "inr", "₹": "inr",
    "aud": "aud", "cad": "cad", "a$": "aud", "c$": "cad",
}  # fmt: skip
"""Currency signs, codes and words, and the code that each means."""

UNITS = {
    "%": "%", "percent": "%", "パーセント": "%", "ms": "ms", "milliseconds": "ms", "ミリ秒": "ms",
    "s": "s", "sec": "s", "secs": "s", "second": "s", "seconds": "s", "秒": "s", "秒間": "s",
    "min": "min", "mins": "min", "minute": "min", "minutes": "min", "分": "min", "分間": "min",
    "h": "h", "hr": "h", "hrs": "h", "hour": "h", "hours": "h", "時間": "h",
    "d": "d", "day": "d", "days": "d", "日": "d", "日間": "d", "week": "week", "weeks": "week", "週間": "week",
    "month": "month", "months": "month", "か月": "month", "ヶ月": "month", "カ月": "month", "ヵ月": "month",
    "year": "year", "years": "year", "年間": "year", "歳": "歳", "才": "歳",
    "people": "人", "persons": "人", "人": "人", "名": "人", "名様": "人",
    "キロ": "kg", "グラム": "g", "メートル": "m", "リットル": "l", "liters": "l", "litres": "l",
    "個": "個", "件": "件", "本": "本", "枚": "枚", "台": "台", "冊": "冊", "回": "回", "階": "階", "号室": "号室",
    "号": "号", "四半期": "四半期",
    "番": "番", "番線": "番線", "点": "点", "度": "度", "℃": "°c", "°c": "°c", "°f": "°f", "泊": "泊", "つ": "個",
    "行": "行",
    "丁目": "丁目", "番地": "番地", "匹": "匹", "杯": "杯", "社": "社", "店舗": "店舗", "名分": "人", "人分": "人",
    "人前": "人",
    "times": "回", "rows": "行", "lines": "行", "px": "px",
    **{unit: unit for unit in (
        "b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib", "km", "cm", "mm", "m", "µm", "nm", "kg", "g", "mg",
        "t",
        "ml", "cl", "l", "hz", "khz", "mhz", "ghz", "v", "w", "kw", "kwh", "mah", "db", "fps", "rpm", "rps", "qps",
        "dpi",
        "pt", "em", "rem", "ft", "in", "lb", "lbs", "oz", "mph", "km/h", "m/s", "mbps", "gbps", "m2", "㎡", "坪",
        "tokens",
    )},
}  # fmt: skip
"""Units in all their spellings, and the one that stands for each."""


def folded(text: str) -> str:
    """NFKC, without case, blanks as single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def number(text: str, euro: bool = False) -> str:
    """The value of a number in digits, kanji or both ("1,200.0", "1.2万", "三十"), as the shortest decimal.

    One point with three digits behind it is a decimal point, except where `euro` says that points group thousands.
    What is no single number ("10.0.0.1", "1,2,3") gives "".
    """
    if text.isdecimal() and len(text) <= _EXACT:
        return str(int(text))
    total = section = 0.0
    current: float | None = None
    for digits, sign in _PIECE.findall(text):
        if digits:
            value = _value(digits, euro)
            if value is None:
                return ""
            if len(text) == len(digits):
                return _shortest(digits, value)
            current = value
        elif sign in _DIGITS:
            current = (current or 0) * 10 + _DIGITS[sign]
        elif sign in _TENS:
            section += (1 if current is None else current) * _TENS[sign]
            current = None
        elif sign in _MYRIADS:
            total += (section + (current or 0) or 1) * _MYRIADS[sign]
            section, current = 0.0, None
    return _shortest("", total + section + (current or 0))


def scaled(value: str, word: str) -> str:
    """A number's value times what stands behind it ("k", "million")."""
    scale = _LATIN.get(word.casefold().strip(), 0)
    return _shortest("", float(value) * scale) if scale and value else value


def _value(digits: str, euro: bool) -> float | None:
    digits = digits.strip(".,")
    if _DOTTED.fullmatch(digits) or (euro and _EURO.fullmatch(digits)):
        digits = digits.replace(".", "").replace(",", ".")
    elif _GROUPED.fullmatch(digits):
        digits = digits.replace(",", "")
    elif _PLAIN.fullmatch(digits):
        digits = digits.replace(",", ".")
    else:
        return None
    return float(digits)


def _shortest(digits: str, value: float) -> str:
    if len(digits) > _EXACT and digits.isdecimal():
        return digits.lstrip("0") or "0"  # past what a float holds
    return str(int(value)) if value == int(value) else repr(round(value, 9))


def date(year: int, month: int, day: int) -> str:
    """A date's key; 0 where it says no year or no day. "" if there is no such day."""
    if not (1 <= month <= 12 and 0 <= day <= 31 and (year == 0 or 1 <= year <= 9999)):
        return ""
    return f"date:{year or '-'}-{month}-{day}" if day else f"date:{year}-{month}"


def time(hours: int, minutes: int, seconds: int = 0, half: str = "") -> str:
    """A time of day's key, in minutes. `half` is "am" or "pm" where it is said. "" if there is no such time."""
    if half == "pm" and hours < 12:
        hours += 12
    if half == "am" and hours == 12:
        hours = 0
    if hours > 29 or minutes > 59 or seconds > 60:  # 25:30 is said for half past one at night
        return ""
    return f"time:{hours * 60 + minutes}" + (f":{seconds}" if seconds else "")


def alternatives(key: str) -> tuple[str, ...]:
    """The keys that a key holds too: a day with its year also holds the day, an amount its bare number."""
    kind, _, rest = key.partition(":")
    if kind == "date":
        year, *day = rest.split("-")
        return (f"date:--{'-'.join(day)}",) if len(day) == 2 and year else ()
    if kind in {"money", "num"} and " " in rest:
        return (f"num:{rest.partition(' ')[0]}",)
    return ()
