"""Why an answer is no summary: empty, cut off, blocked, too long, an error, a refusal, or the question itself.

Only what can be told without reading: whether the facts are in it is the retention gate's question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from app.chat.events import FinishReason
from app.context.instructions import echoed

FAR = 3
SPARE = 256
"""An answer of more than FAR times its limit plus SPARE tokens is none: models overshoot, but not so far."""

ERROR_LINES = 3
"""An error message has at most this many lines; a summary that speaks of an error has more."""

_CUT = "It was cut off at the limit of its length."
_EMPTY = "It is empty."
_MARKED = "It repeats the marks of the transcript."
_ECHO = "It repeats the instructions."
_TOO_LONG = ("It is not shorter", "It takes ")

_UNFINISHED: Mapping[FinishReason, str] = {
    "length": _CUT,
    "content_filter": "The provider's filter blocked it.",
    "tool_calls": "The model called a tool instead.",
    "paused": "The model paused before it was done.",
    "malformed_call": "The model tried to call a tool, and failed.",
}

MARK = re.compile(r"^\s*<said\b|</said\b|^\s*\[(?:user|assistant|tool)\] ", re.IGNORECASE | re.MULTILINE)
"""A mark of the transcript in an answer, also of the one in plain words."""

_HTML = re.compile(r"<(?:!doctype|html|head|body|\?xml)\b", re.IGNORECASE)
_THINKING = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_ERROR_FIELDS = frozenset(("error", "errors", "detail", "exception", "code"))
_FENCE = re.compile(r"^```\w*\s*|\s*```$")


def _begins(*openings: str) -> re.Pattern[str]:
    """What a text may open with, behind quotes or marks."""
    return re.compile(rf"\W{{0,20}}(?:{'|'.join(openings)})", re.IGNORECASE | re.DOTALL)


_ERROR = _begins(
    r"(?:(?:api|http|internal|server|upstream|provider|unknown|an?|the)\s+){0,2}(?:error|exception|failure)\b"
    r"\s*(?:[:(\[{]|\d|occurred|$)",
    r"[a-z]\w{0,60}(?:error|exception)\s*[:(]",
    r"traceback \(most recent|failed to (?:fetch|connect|generate|load|process|parse)\b",
    r"(?:http(?:/[\d.]+)?\s+)?[45]\d\d\b[\s:-]{1,3}(?:bad|unauthor|forbidden|not found|request|too many|internal)",
    r"(?:http(?:/[\d.]+)?\s+)?[45]\d\d\b[\s:-]{1,3}(?:service|gateway|client|server|error|overload)",
    r"(?:bad gateway|service unavailable|too many requests|internal server|gateway time-?out|overloaded)\b",
    r"(?:rate limit (?:exceeded|reached)|(?:request )?timed? ?out|connection (?:error|refused|reset))\b",
    r"エラー\s*[:：]|.{0,20}エラーが発生",
)
_REFUSAL = _begins(
    r"(?:i[’']?m|i am|we[’']re|we are)\s+(?:\w{1,12}\s+)?(?:sorry|afraid|unable|not able)\b",
    r"(?:i|we) apologi[sz]e\b|as an ai\b",
    r"(?:sorry|apologies|unfortunately)\b[,.!]?\s+(?:but\s+)?(?:i|we|there)\b",
    r"(?:i|we)\s+(?:can(?:[’']t|not| not)|won[’']t|will not|must decline|could(?:n[’']t| not))\b",
    r"(?:i|we)\s+do(?:n[’']t| not) (?:have|see)\b|(?:please|could you) (?:provide|share|paste|send)\b",
    r"(?:there (?:is|was) )?no (?:conversation|messages?|text)\b.{0,30}(?:provided|given|to summari[sz]e)",
    r"es tut mir leid|je suis désolé|lo siento|desculpe|(?:很)?抱歉|对不起|죄송합니다",
    r"(?:大変|誠に)?(?:申し訳|すみません|ごめん|恐れ入り|残念ながら).{0,120}?"
    r"(?:できません|できかね|出来ません|いたしかね|ありません|お断り|ください)",
    r"(?:その|この)?(?:ご)?(?:要望|依頼|リクエスト|要求)には.{0,20}(?:応じ|お応え|対応).{0,10}(?:ません|かね)",
    r"(?:要約する)?(?:会話|文章|テキスト)(?:の内容)?(?:を|が).{0,20}(?:提供|送って|貼り付け|ありません|見当たりません)",
)


def flaw(text: str, finish: str, *, original: int, tokens: int, limit: int) -> str:
    """Why this is no summary, as a short sentence; "" if it may be one.

    Args:
        finish: how the answer ended (chat/events.py); "" if its end never came.
        original: tokens of what was to be summed up. tokens: of the answer.
        limit: tokens that it was to take; 0 if there was none.
    """
    if finish != "stop":
        return _UNFINISHED.get(cast(FinishReason, finish), "The answer never came to its end.")
    bare = text.strip()
    if not any(map(str.isalnum, bare)):
        return _EMPTY
    return _wrong_kind(bare) or _wrong_size(original, tokens, limit)


def misread(flaw: str) -> bool:
    """Whether a flaw shows a model that did not see what was asked of it, and not one that could not or would not."""
    return flaw in (_CUT, _EMPTY, _MARKED, _ECHO) or flaw.startswith(_TOO_LONG)


def _wrong_kind(text: str) -> str:
    if MARK.search(text):
        return _MARKED
    if echoed(text):
        return _ECHO
    if _THINKING.match(text):
        return "It holds the model's thinking: choose a summary model whose server keeps thinking apart."
    if _HTML.match(text):
        return "It is a web page."
    if _is_error_object(_FENCE.sub("", text)):
        return "It is an error object."
    if _ERROR.match(text) and len([line for line in text.splitlines() if line.strip()]) <= ERROR_LINES:
        return "It is an error message."
    if _REFUSAL.match(text):
        return "The model refused."
    return ""


def _wrong_size(original: int, tokens: int, limit: int) -> str:
    if tokens >= original:
        return f"It is not shorter than what it stands for: {tokens} tokens instead of {original}."
    if limit > 0 and tokens > limit * FAR + SPARE:
        return f"It takes {tokens} tokens, far more than the {limit} that were asked for."
    return ""


def _is_error_object(text: str) -> bool:
    if text[:1] not in "{[":
        return False
    try:
        body: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text[:40].replace(" ", "").startswith(('{"error"', '[{"error"'))
    items = cast("list[Any]", body) if isinstance(body, list) else [body]
    first = items[0] if items else None
    return isinstance(first, Mapping) and not _ERROR_FIELDS.isdisjoint(cast("Mapping[str, Any]", first))
