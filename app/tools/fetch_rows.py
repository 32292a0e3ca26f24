"""More of a result that was made small: rows by offset, fields and filter, or lines by offset and search.

Pure: what is asked and what is parked give the answer. A wrong question is answered with what to do instead, never with
an exception: the model reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard, cast

import msgspec

from app.chat import size
from app.chat.family import Family
from app.context.tool_results import Parked, parsed
from app.context.tool_results.cutting import cut
from app.context.tool_results.fitting import ASCII, most_that_fits, most_tokens
from app.context.tool_results.sections import sections
from app.context.tool_results.shapes import Lines, Table, quoted, spelled
from app.tools.where import BadFilterError, Condition, conditions

UNKNOWN = (
    "There is no result under this handle. Use a handle exactly as a tool result of this conversation shows it; if "
    "there is none, or the result is too old, call the tool that gave it again."
)
"""The same for a handle that never was, is another conversation's, or has expired: it must not tell which."""

LINES_A_ROW = 10
"""Lines that count as one row: so many more of them one call gives."""

AROUND = 1
"""Lines before and behind one that was searched for."""

GRACE, FINEST = 1.25, 2
"""How far a call may pass its tokens if it then gives all that was asked for; else it holds to them, to the token. 40
rows of 154 tokens each come as one page, and not as 38 and a remainder. The first is by OpenAI's tokenizer, so that a
page is the same one whatever model reads it; the second by the model's own, as Claude's cuts much finer."""

LONGEST_VALUES = (0, 4000, 1500, 500, 160)
"""Characters of the longest value, tried in turn until at least one row fits; 0: no value is cut."""

NEVER_CUT = LONGEST_VALUES[-1]
"""Characters up to which a value is always shown whole."""

LONGEST_ALONE = (0, 16_000, 8000, *LONGEST_VALUES[1:])
"""The same where one row is asked for."""

_SHAPES = (
    "handle and search are text; offset, limit and start whole numbers; fields is a list of names, where a list of "
    "conditions, beside true or false."
)
_KNOWN = ("handle", "offset", "limit", "fields", "where", "search", "start", "beside")


class Bounds(msgspec.Struct, frozen=True):
    """What one call may give.

    Args:
        rows: FETCH_ROWS_LIMIT. tokens: TOOL_RESULT_TOKENS; see GRACE. family: whose tokenizer counts.
    """

    rows: int = 40
    tokens: int = 6000
    family: Family = "other"


BOUNDS = Bounds()
"""By default."""


class Asked(msgspec.Struct, frozen=True):
    """What the model asks for. Unknown arguments do not matter."""

    handle: str = ""
    offset: int = 0
    limit: int = 0
    fields: tuple[str, ...] = ()
    where: Any = None
    search: str = ""
    start: int = 0
    beside: bool = False


class Answer(msgspec.Struct, frozen=True):
    """What the model is told. `is_error`: the question was wrong, and the text says how to ask."""

    text: str
    is_error: bool = False


def fetch(parked: Parked | None, arguments: str | Mapping[str, Any], bounds: Bounds = BOUNDS) -> str:
    """The answer's text. See `answer`."""
    return answer(parked, arguments, bounds).text


def answer(parked: Parked | None, arguments: str | Mapping[str, Any], bounds: Bounds = BOUNDS) -> Answer:
    """What the model gets for these arguments; at most `bounds.rows` rows and `bounds.tokens` tokens (see GRACE), all
    that stands around the rows included.

    Args:
        parked: what is stored under the handle; None if it is unknown, foreign or expired.
        arguments: as the model wrote them: JSON text, or the object.
    """
    asked = asked_of(arguments)
    if isinstance(asked, str):
        return refusal(asked)
    if parked is None:
        return refusal(UNKNOWN)
    whole = parsed(parked)
    try:
        if isinstance(whole, Lines):
            return Answer(_lines(whole, asked, bounds))
        if asked.beside:
            whole = sections(_beside(whole))
        return Answer(_rows(whole, asked, bounds))
    except BadFilterError as problem:
        return refusal(str(problem))


def refusal(why: str) -> Answer:
    """An error as the model reads it."""
    return Answer(spelled([("error", quoted(why))]).decode(), is_error=True)


def asked_of(arguments: str | Mapping[str, Any]) -> Asked | str:
    """The arguments, understood; a sentence if they cannot be."""
    try:
        said: Any = msgspec.json.decode(arguments or "{}") if isinstance(arguments, str) else arguments
    except (msgspec.DecodeError, RecursionError):
        return "The arguments are no JSON. Give an object with a handle, and an offset or a filter."
    if not _is_object(said):
        return "The arguments must be an object with a handle, and an offset or a filter."
    given = {name: said[name] for name in _KNOWN if said.get(name) is not None}
    if isinstance(given.get("handle"), str):
        given["handle"] = given["handle"].strip(" \t\r\n\"'`")
    if isinstance(given.get("fields"), str):
        given["fields"] = _listed(given["fields"])
    try:
        asked = msgspec.convert(given, Asked, strict=False)
    except msgspec.ValidationError as problem:
        return f"The arguments are not understood ({problem}). {_SHAPES}"
    if asked.offset < 0 or asked.limit < 0 or asked.start < 0:
        return "offset, limit and start must be 0 or more."
    return asked


def _listed(words: str) -> list[str]:
    """Names that came as text: a JSON list, or words between commas."""
    try:
        return msgspec.json.decode(words, type=list[str])
    except (msgspec.DecodeError, RecursionError):
        return [name.strip() for name in words.split(",") if name.strip()]


def _rows(table: Table, asked: Asked, bounds: Bounds) -> str:
    picked, fields = _picked(table, asked)
    limit = min(asked.limit or bounds.rows, bounds.rows)
    rows = picked[asked.offset : asked.offset + limit]
    text = ""
    lengths = LONGEST_ALONE if len(rows) == 1 else LONGEST_VALUES
    for longest in lengths[1:] if asked.start else lengths:
        shown: dict[int, bytes] = {}

        def build(count: int, longest: int = longest, shown: dict[int, bytes] = shown) -> str:
            for row in rows[:count]:
                if row not in shown:
                    shown[row] = _row(table, row, fields, longest, asked.start)
            return _answer(table, asked, picked, [shown[row] for row in rows[:count]], longest)

        count, text = _fullest(len(rows), build, bounds)
        if count > 0 or not rows:
            break
    return text or _answer(table, asked, picked, [], 0)


def _fullest(count: int, build: Callable[[int], str], bounds: Bounds) -> tuple[int, str]:
    """All that was asked for if that is but a little too much, else as much as fits."""
    fitting = most_that_fits(count, build, bounds.tokens, bounds.family, bound=True)
    if 0 < count == fitting[0]:
        return fitting
    whole = build(count)
    if len(whole) > bounds.tokens * GRACE * ASCII or most_tokens(whole, "openai") > bounds.tokens * GRACE:
        return fitting
    return (count, whole) if size.of_text(whole, bounds.family) <= bounds.tokens * FINEST else fitting


def _picked(table: Table, asked: Asked) -> tuple[Sequence[int], tuple[str, ...]]:
    """The rows that match, and the fields to show of them (none: all)."""
    if not (asked.fields or asked.where or asked.search):
        return range(table.total), ()
    names = list(dict.fromkeys(column.name for block in table.blocks() for column in block.columns))
    if wrong := [name for name in asked.fields if name not in names]:
        known = ", ".join(name[:60] for name in names[:40])
        raise BadFilterError(f"The rows have no field {wrong[0][:60]!r}. Their fields: {known}.")
    tests: tuple[Condition, ...] = conditions(asked.where, names) if asked.where else ()
    picked: Sequence[int] = range(table.total)
    if asked.search:
        picked = _searched(table, asked.search)
    if tests:
        picked = [row for row in picked if _all_hold(tests, table, row)]
    return picked, asked.fields


def _all_hold(tests: Sequence[Condition], table: Table, row: int) -> bool:
    cells = table.cells(row)
    return all(test.holds(cells) for test in tests)


def _searched(table: Table, words: str) -> list[int]:
    low = words.lower()
    found: list[int] = []
    for block in table.blocks():
        for row, text in enumerate(block.texts, block.start):
            plain = text.decode()
            if low in plain.lower() or ("\\" in plain and low in _unescaped(text).lower()):
                found.append(row)
    return found


def _unescaped(text: bytes) -> str:
    """JSON text without its escapes; '' if it is none."""
    try:
        return "\n".join(_strings(msgspec.json.decode(text)))
    except (msgspec.DecodeError, RecursionError):
        return ""


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in cast(list[Any], value):
            yield from _strings(each)
    elif _is_object(value):
        for name, each in value.items():
            yield name
            yield from _strings(each)


def _row(table: Table, row: int, fields: Sequence[str], longest: int, start: int) -> bytes:
    if not fields and not longest:
        return table.raw(row)
    cells = [(name, value) for name, value in table.cells(row).items() if not fields or name in fields]
    if not longest:
        return spelled(cells)
    return spelled((name, cut(value, longest, start if len(value) > NEVER_CUT else 0)) for name, value in cells)


def _answer(table: Table, asked: Asked, picked: Sequence[int], rows: Sequence[bytes], longest: int) -> str:
    filtered = bool(asked.where or asked.search)
    after = asked.offset + len(rows)
    fields: list[tuple[str, bytes]] = [("handle", quoted(asked.handle)), ("total_rows", b"%d" % table.total)]
    if filtered:
        fields.append(("matching_rows", b"%d" % len(picked)))
    fields += [("offset", b"%d" % asked.offset), ("returned_rows", b"%d" % len(rows))]
    if after < len(picked):
        fields.append(("next_offset", b"%d" % after))
    fields.append(("truncated", b"true" if after < len(picked) or longest else b"false"))
    if filtered:
        fields.append(("row_numbers", quoted(list(picked[asked.offset : after]))))
    fields.append(("rows", b"[" + b",".join(rows) + b"]"))
    if note := _note(asked, picked, rows, longest):
        fields.append(("note", quoted(note)))
    return spelled(fields).decode()


def _note(asked: Asked, picked: Sequence[int], rows: Sequence[bytes], longest: int) -> str:
    said: list[str] = []
    if not picked:
        said.append("No row matches.")
    elif asked.offset >= len(picked):
        said.append(f"There are only {len(picked)} of them: give an offset below that.")
    elif asked.offset + len(rows) < len(picked):
        said.append(f"Ask again with offset={asked.offset + len(rows)} for the next ones.")
    if longest and rows:
        said.append(
            f"Values longer than {longest} characters are cut: for more, ask for one row and one field with "
            f"start={asked.start + longest}."
        )
    return " ".join(said)


def _beside(table: Table) -> bytes:
    """What stood beside the rows, as JSON."""
    try:
        msgspec.json.decode(table.beside)
    except (msgspec.DecodeError, RecursionError):
        return quoted(table.beside)
    return table.beside.encode()


def _lines(whole: Lines, asked: Asked, bounds: Bounds) -> str:
    lines = whole.lines
    limit = min(asked.limit or bounds.rows * LINES_A_ROW, bounds.rows * LINES_A_ROW)
    low = asked.search.lower()
    picked = [at for at, line in enumerate(lines) if low in line.lower()] if low else range(len(lines))
    chosen = picked[asked.offset : asked.offset + limit]

    def build(count: int) -> str:
        return _numbered(lines, asked, picked, chosen[:count])

    _, text = _fullest(len(chosen), build, bounds)
    return text or _numbered(lines, asked, picked, ())


def _numbered(lines: Sequence[str], asked: Asked, picked: Sequence[int], chosen: Sequence[int]) -> str:
    after = asked.offset + len(chosen)
    what = "matching lines" if asked.search else "lines"
    head = f"[{len(lines):,} lines in all"
    if asked.search:
        head += f", {len(picked):,} match"
    head += f"; {what} {asked.offset + 1}-{after}." if chosen else "; none of them here."
    if after < len(picked) and chosen:
        head += f" Ask again with offset={after} for the next ones."
    elif not picked:
        head += " Search for other words, or read by offset."
    elif not chosen:
        head += f" Give an offset below {len(picked)}."
    near = AROUND if asked.search else 0
    shown = sorted({at for line in chosen for at in range(line - near, line + near + 1) if 0 <= at < len(lines)})
    return "\n".join([head + "]", *(f"{at + 1}: {lines[at]}" for at in shown)])


def _is_object(said: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(said, Mapping)
