"""How critical tokens are written: one expression finds beginnings, another reads on from there.

Every repetition is possessive or bounded and every branch is anchored at the beginning of a word, so the time grows in
proportion to the text whatever it holds.
"""

from __future__ import annotations

import re

from app.context.critical.forms import CURRENCIES, UNITS

KANJI = "一-鿿々〆ヶ"
KATAKANA = "ァ-ヺーｦ-ﾟ"
UPPER = "A-ZÀ-ÖØ-ÞŁŚŠŽČĐŐ"
LOWER = "a-zß-öø-ÿłńśšžčćđőąęěřůıñ"

_NUMERAL = "〇一二三四五六七八九十百千万億"
_WORD = "(?<![A-Za-z0-9_])"
_NO_WORD = "(?![A-Za-z0-9_])"
_NUMBER = r"\d++(?:[.,]\d++)*+"
_MIXED = r"(?:\d++(?:[.,]\d++)*+[兆億万千百十]{0,3}|(?<![\d.,])[〇一二三四五六七八九十百千万億]{1,8}+){1,4}"
_MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    "|Nov(?:ember)?|Dec(?:ember)?)"
)


_FOLDING = "ıİſ\u212aµμ"
"""Signs that are the same as an ASCII letter, or as each other, where case does not count."""


def _any(words: list[str]) -> str:
    """The words, longest first; what ends with a Latin letter must end there."""
    latin = [word for word in words if word.isascii() and word[-1].isalpha()]
    other = sorted((word for word in words if word not in latin), key=len, reverse=True)
    firsts = sorted({word[0].casefold() for word in latin})
    by_first = [_beginning(first, [word for word in latin if word[0].casefold() == first]) for first in firsts]
    parts = [f"(?:{'|'.join(by_first)}){_NO_WORD}", *map(re.escape, other)]
    return f"(?:{'|'.join(parts)})"


def _beginning(first: str, words: list[str]) -> str:
    """Words with one first sign in any case: a set of its forms is looked at once for all of them."""
    forms = [form for form in (first, first.upper(), *_FOLDING) if re.fullmatch(f"(?i:{re.escape(first)})", form)]
    rests = sorted((word[1:] for word in words), key=len, reverse=True)
    return f"[{''.join(map(re.escape, dict.fromkeys(forms)))}](?i:{'|'.join(map(re.escape, rests))})"


_SIGN = r"(?:(?<![A-Za-z])(?:US|A|C)\$|[$€£¥₩₹])"
_CURRENCY = _any(list(CURRENCIES))
_UNIT = _any(list(UNITS))
_SCALE = r"(?:\ ?(?i:thousand|million|billion)(?![A-Za-z])|(?:[kKM]|bn)(?![A-Za-z0-9]))"

_CAP = f"[{UPPER}][{LOWER}'’]*[{LOWER}](?:-[{UPPER}][{LOWER}]++)*+(?![A-Za-z0-9_])"
_PARTICLE = "(?:van|von|der|den|de|la|le|del|della|di|da|dos|du|bin|al|el|ten|zu|y|of)"
_HONORIFIC = (
    "さん|さま|様|氏(?!名)|君|くん|ちゃん|先生|先輩|部長|課長|係長|社長|会長|専務|常務|主任|教授"
    "|店長|院長|医師|選手|監督"
)
_PLACE = "都|府|県|市|区|町|村|駅|大学|高校|病院|銀行|空港|港|公園|支店|支社|工場|神社|温泉|ホテル|ビル"
_ROOM = "会議室|工房|ホール|ルーム|教室|棟|館|室|通り|ビル"
_LEGAL = r"株式会社|有限会社|合同会社|㈱|\(株\)"

_SOURCE = rf"""
| (?P<tick>`[^`\n]{{1,120}}`)
| (?P<quote>"[^"\n]{{2,100}}"|“[^”\n]{{2,100}}”|「[^」\n]{{2,60}}」|『[^』\n]{{2,60}}』
    |(?<![A-Za-z0-9'])'[^'\n]{{2,80}}'(?![A-Za-z0-9]))
| (?P<url>{_WORD}(?:(?:https?|ftp|sftp|ssh|git|s3|gs|wss?|file|redis|rediss|postgres|postgresql|mysql|mongodb|amqp)://
    |www\.(?=[a-z0-9]))(?:(?![<>"'`\\^{{}}|])[!-~])++)
| (?P<email>(?<![A-Za-z0-9._%+-])[A-Za-z0-9][A-Za-z0-9._%+-]{{0,63}}+@[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)++)
| (?P<path>{_WORD}[A-Za-z]:\\(?:(?![<>"'`|*?,;])[!-~])++)
| (?P<host>{_WORD}(?=[A-Za-z0-9_.-]{{1,640}}+:\d)(?:\d{{1,3}}(?:\.\d{{1,3}}){{3}}
    |(?:[A-Za-z0-9_-]{{1,63}}+\.){{1,8}}[A-Za-z][A-Za-z0-9-]{{1,62}}|localhost)
    :\d{{2,5}}(?![A-Za-z0-9_:]))
| (?P<iso>{_WORD}(?P<iso_y>\d{{4}})[-/.](?P<iso_m>\d\d?)[-/.](?P<iso_d>\d\d?)(?![\d]|[-/.]\d)
    (?=(?:T(?P<iso_t>\d\d:\d\d))?))
| (?P<day>{_WORD}(?P<day_a>\d\d?)(?P<day_s>[/.])(?P<day_b>\d\d?)[/.](?P<day_y>\d{{4}})(?![A-Za-z0-9_]|[/.]\d))
| (?P<dmy>{_WORD}(?P<dmy_d>\d\d?)(?:st|nd|rd|th)?[ ](?:of[ ])?(?P<dmy_m>{_MONTH})\.?(?![A-Za-z])
    (?:,?[ ](?P<dmy_y>\d{{4}})(?!\d))?)
| (?P<mdy>{_WORD}(?P<mdy_m>{_MONTH})\.?[ ](?:the[ ])?(?P<mdy_d>\d\d?)(?:st|nd|rd|th)?(?![A-Za-z0-9_:%]|[.,]\d)
    (?:,?[ ](?P<mdy_y>\d{{4}})(?!\d))?)
| (?P<my>{_WORD}(?P<my_m>{_MONTH})\.?,?[ ](?P<my_y>(?:19|20)\d\d){_NO_WORD})
| (?P<era>(?P<era_e>令和|平成|昭和|大正|明治)(?P<era_y>\d\d?|元)年(?:(?P<era_m>\d\d?)月)?(?:(?P<era_d>\d\d?)日)?)
| (?P<cjk>{_WORD}(?:(?P<cjk_y>\d{{4}})年)?(?P<cjk_m>\d\d?)月(?:(?P<cjk_d>\d\d?)日)?(?!間))
| (?P<year>{_WORD}(?P<year_y>\d{{4}})年(?!間))
| (?P<clock>{_WORD}(?P<clock_h>\d\d?):(?P<clock_m>\d\d)(?::(?P<clock_s>\d\d)(?:\.\d++)?)?(?![\d:])
    (?:\ ?(?P<clock_p>[AaPp])\.?[Mm](?![A-Za-z])\.?)?)
| (?P<hour>{_WORD}(?P<hour_h>\d\d?)\ ?(?P<hour_p>[AaPp])\.?[Mm](?![A-Za-z0-9])\.?)
| (?P<ji>(?P<ji_p>午前|午後)?(?P<ji_h>(?<![\d.])\d\d?
    |(?<![一二三四五六七八九十])[〇一二三四五六七八九十]{{1,3}})時(?![間点期代刻])
    (?:(?P<ji_m>\d\d?|[一二三四五六七八九十]{{1,3}})分|(?P<ji_f>半))?)
| (?P<phone>(?<![A-Za-z0-9_])(?:\+\d{{1,3}}(?:[ .-]?\(?\d{{1,4}}\)?){{2,5}}|0\d{{1,4}}-\d{{1,4}}-\d{{3,4}}
    |\(\d{{3}}\)[ ]?\d{{3}}[-. ]\d{{4}}|\d{{3}}[-.]\d{{3}}[-.]\d{{4}})(?![A-Za-z0-9_]|-\d))
| (?P<money>(?P<money_s>{_SIGN})[ ]?(?P<money_n>\d++(?:[.,]\d++)*+[兆億万千]{{0,2}})(?P<money_k>{_SCALE})?円?
    |{_WORD}(?P<money_v>{_MIXED})(?P<money_l>{_SCALE})?\ ?(?P<money_c>{_CURRENCY}))
| (?P<unit>{_WORD}(?P<unit_n>{_MIXED})(?:\ |-(?=[a-z]))?(?P<unit_u>{_UNIT}))
| (?P<number>{_WORD}(?P<number_n>{_MIXED})(?P<number_k>{_SCALE})?(?![A-Za-z0-9_]|[-/@.][A-Za-z0-9_]))
| (?P<name>{_WORD}(?:(?:{_CAP}|[{UPPER}]\.)(?:[ ](?:{_PARTICLE}[ ]){{0,2}}(?=[{UPPER}]))?+){{1,6}}+)
| (?P<token>{_WORD}(?![{LOWER}]++(?![A-Za-z0-9_(]|[-./\\@][A-Za-z0-9_]))
    (?:(?:\.{{1,2}}/){{1,9}}+|~?/|--?|[@#.])?+[A-Za-z0-9_]++(?:[-./\\@][A-Za-z0-9_]++)*+(?:/(?![/A-Za-z0-9])|\(\))?+)
| (?P<slash>(?<![A-Za-z0-9_/.~])(?:~?/|\.{{1,2}}/|@|--)[A-Za-z0-9_.-]++(?:/[A-Za-z0-9_.-]++)*+)
| (?P<weekday>[月火水木金土日]曜日?)
| (?P<person>(?<![{KANJI}])(?P<person_n>[{KANJI}]{{1,6}}?|(?<![{KATAKANA}])[{KATAKANA}・]{{2,12}}?)(?:{_HONORIFIC}))
| (?P<firm>(?:{_LEGAL})(?P<firm_n>[{KANJI}{KATAKANA}A-Za-z・&]{{2,16}}+)
    |(?<![{KANJI}{KATAKANA}])(?P<firm_m>[{KANJI}{KATAKANA}]{{2,12}}?)(?:株式会社|㈱))
| (?P<place>(?<![{KANJI}])(?P<place_n>[{KANJI}{KATAKANA}]{{1,6}}?)(?:{_PLACE})(?![{KANJI}]))
| (?P<room>(?<![{KANJI}{KATAKANA}])(?P<room_n>[{KANJI}{KATAKANA}]{{1,8}}
    (?:[ぁ-ん]{{1,8}}の間|の間(?=[でにはがへをと、。]|$))
    |[{KANJI}{KATAKANA}]{{0,3}}館[ぁ-ん]{{2,8}}(?:の間|会議室|ホール|ルーム|室)
    |[{KANJI}{KATAKANA}]{{1,10}}?(?:{_ROOM})(?![{KANJI}{KATAKANA}])))
| (?P<kata>(?<![{KATAKANA}])[{KATAKANA}][{KATAKANA}・]{{2,30}}+)
"""

_BRANCHES = {part.partition("(?P<")[2].partition(">")[0]: part for part in _SOURCE.split("\n| ") if part.strip()}


def _of(ways: str) -> re.Pattern[str]:
    return re.compile("|".join(_BRANCHES[way] for way in ways.split()), re.VERBOSE)


_LOWER = _of("url email path host token")
_UPPER = _of("email path host mdy my name token")
_DIGIT = _of("email host iso day dmy cjk year clock hour ji phone money unit number token")
_CJK = _of("era ji money unit weekday firm person room place")
_KANA = _of("firm person room place kata")

_JOINT = "-.~/@#"
_OPENING = '"“「『'
_BOTH = f"[{KANJI}{KATAKANA}]"
_ENDINGS = (*_HONORIFIC.split("|"), *_PLACE.split("|"), *_ROOM.split("|"), "株式会社", "㈱")
_ENDING = f"(?=[{''.join(sorted({word[0] for word in _ENDINGS}))}])(?:{'|'.join(_ENDINGS)})"
_COUNTED = "時円個件本枚台冊回階号番点度泊つ行丁匹杯社店名人歳才秒分年週日パヶか"

START = re.compile(
    rf"""
  [{UPPER}0-9{_JOINT}_%:\\`{_OPENING}'$€£¥₩₹+(㈱〇{KANJI}{KATAKANA}]
  (?:
    (?<=[{KATAKANA}]) (?P<kana>(?<![{KATAKANA}][{KATAKANA}])[{KATAKANA}]*+)
  | (?<=[{KANJI}〇㈱]) (?P<cjk>
      (?<=[{KANJI}])(?<![{KANJI}][{KANJI}])
      (?:(?<=[{_NUMERAL}令平昭大明午株有合館])|(?=曜|{_BOTH}{{0,11}}?{_ENDING}|{_BOTH}{{0,7}}+[ぁ-ん]{{0,8}}?の間))
    | (?<=[{_NUMERAL}])(?<![{_NUMERAL}][{_NUMERAL}])(?=[{_NUMERAL}兆]{{0,8}}+[{_COUNTED}])
    | (?<=[株有合])(?=式会社|限会社|同会社) | (?<=㈱) | (?<=午)(?=[前後]) | (?<=[令平昭大明])(?=和|成|正|治))
  | (?<=[{UPPER}]) (?P<upper>(?<![A-Za-z0-9_][{UPPER}])(?:(?![A-Za-z0-9_])[@]|[A-Za-z0-9_]*+))
  | (?<=[0-9]) (?P<digit>(?<![A-Za-z0-9_][0-9])[A-Za-z0-9_.,]*+)
  | (?P<quote>(?<=[{_OPENING}]) | (?<=')(?<![A-Za-z0-9']')(?=[^\s']))
  | (?P<sign>(?<=[$€£¥₩₹])(?=[ ]?\d) | (?<=\+)(?=\d) | (?<=\()(?=\d{{3}}\)|株))
  | (?P<inside>(?<=[a-z][{UPPER}0-9_(+%]) | (?<=[a-z][-./\\:@])(?=[A-Za-z0-9_/\\]))
  | (?<=[{_JOINT}]) (?P<joint>(?<![A-Za-z0-9_.~/@#-][{_JOINT}])[{_JOINT}]*+(?=[A-Za-z0-9_]))
  | (?P<tick>(?<=`))
  )
""",
    re.VERBOSE,
)
"""Where a token may begin, or (`inside`) what in the middle of a word makes one of it: then the word's small letters
stand before it. It begins with a set of characters, which the engine skips to at the speed of memory."""

AT: dict[str, re.Pattern[str]] = {
    "lower": _LOWER,
    "upper": _UPPER,
    "digit": _DIGIT,
    "joint": _of("slash token"),
    "tick": _of("tick"),
    "quote": _of("quote"),
    "sign": _of("phone money firm"),
    "kana": _KANA,
    "cjk": _CJK,
}
"""For each sort of beginning, the ways of writing that may begin so. Named groups are the ways; a group with an
underscore is a part of the way that it is named after."""
