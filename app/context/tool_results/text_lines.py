"""Text as numbered lines, and what kind of text it is: a log, a stack trace, source code, a page, or just words."""

from __future__ import annotations

import re

from app.context.tool_results.markup import is_page, words_of
from app.context.tool_results.shapes import Kind, Lines

LONGEST_LINE = 2000
"""Characters of the longest line. What is longer (minified code, say) is wrapped, and each piece has a number."""

SAMPLE = 400
"""Lines that the kind is told by: the first ones."""

_LOGGED = re.compile(
    r"[\[(<\"]?(?:\d{4}[-/]\d{2}[-/]\d{2}|\d{2}:\d{2}:\d{2}|\w{3} [ \d]\d \d{2}:\d{2}|\d{2}/\w{3}/\d{4}|\d{10,13}\b)"
    r"|.{0,60}\b(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|TRACE|CRITICAL|NOTICE)\b"
    r"|\S{3,45} \S+ \S+ \[\d{2}/\w{3}/\d{4}:",
)
_TRACED = re.compile(
    r"^Traceback \(most recent call last\)|^\s+at [\w$.<>]+\(|^\s+File \".+\", line \d+|^goroutine \d+ \[", re.MULTILINE
)
_CODED = re.compile(
    r"\s*(?:\d+[\t:→|]\s*)?"
    r"(?:def |class |import |from \w+ import|return\b|if \(|if .*:$|for |while |else\b|elif |try:|except|func |"
    r"fn |const |let |var |public |private |static |#include|package |use |struct |enum |interface |export |"
    r"@\w+|//|/\*|\*/|\}|\{|.*[;{}]\s*$|.*\) *->|.*=> )"
)


def lines_of(text: str) -> Lines:
    """The text's kind, and its lines."""
    return read_as(kind_of(text), text)


def read_as(kind: Kind, text: str) -> Lines:
    """The lines of a text of a known kind."""
    if kind == "html":
        text = words_of(text)
    lines = text.replace("\r\n", "\n").split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    if max(map(len, lines)) <= LONGEST_LINE:
        return Lines(kind, lines)
    pieces = (line[at : at + LONGEST_LINE] for line in lines for at in range(0, max(len(line), 1), LONGEST_LINE))
    return Lines(kind, list(pieces), wrapped=True)


def kind_of(text: str) -> Kind:
    """What kind of text it is, by its first lines."""
    if is_page(text):
        return "html"
    sample = [line[:300] for line in text[:200_000].split("\n")[:SAMPLE] if line.strip()]
    if not sample:
        return "text"
    if sum(1 for line in sample if _LOGGED.match(line)) * 2 > len(sample):
        return "log"
    if len(_TRACED.findall("\n".join(sample))) * 5 > len(sample):
        return "trace"
    if sum(1 for line in sample if _CODED.match(line)) * 5 > len(sample) * 2:
        return "code"
    return "text"
