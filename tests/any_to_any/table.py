"""The conformance table: what becomes of each concept between each client format and each upstream format.

It is made by sending requests and answers through the wires: `python -m tests.any_to_any.table` writes it into
docs/formats.md between its two marks.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from app.errors import ClientError
from app.wires.anthropic import ANTHROPIC
from app.wires.gemini import GEMINI
from app.wires.gemini_interactions import GEMINI_INTERACTIONS
from app.wires.openai_chat import OPENAI_CHAT
from app.wires.openai_responses import OPENAI_RESPONSES
from app.wires.wire import Inbound, Stamp, Target, Wire
from tests.any_to_any.clients import FORMATS, Format
from tests.any_to_any.rows import HELLO, Row, stands
from tests.any_to_any.rows_answers import ANSWER_ROWS, CALLED, SEAL, AnswerRow
from tests.any_to_any.rows_asked import HOW_ROWS, SAMPLING_ROWS, TOLD_ROWS, TOOL_ROWS
from tests.any_to_any.rows_said import SAID_ROWS

WIRES: dict[Format, Wire] = {
    "chat": OPENAI_CHAT,
    "responses": OPENAI_RESPONSES,
    "anthropic": ANTHROPIC,
    "generate": GEMINI,
    "interactions": GEMINI_INTERACTIONS,
}
NEWEST: dict[Format, str] = {
    "chat": "gpt-5.5",
    "responses": "gpt-5.5",
    "anthropic": "claude-opus-5-5",
    "generate": "gemini-3.8-flash",
    "interactions": "gemini-3.8-flash",
}
OLDER: dict[Format, str] = {
    "chat": "gpt-4.1",
    "responses": "gpt-4.1",
    "anthropic": "claude-sonnet-4-5",
    "generate": "gemini-2.5-flash",
    "interactions": "gemini-2.5-flash",
}
TITLES: dict[Format, str] = {
    "chat": "Chat Completions",
    "responses": "Responses",
    "anthropic": "Anthropic Messages",
    "generate": "Gemini generateContent",
    "interactions": "Gemini Interactions",
}
REQUEST_ROWS = (*SAID_ROWS, *TOOL_ROWS, *HOW_ROWS, *SAMPLING_ROWS, *TOLD_ROWS)
DOCS = Path(__file__).parents[2] / "docs" / "formats.md"
BEGIN, END = "<!-- table: begins -->", "<!-- table: ends -->"
DROPPED = "DROPPED"
"""What no cell may say: the concept is gone, and nobody said so."""


def cell(row: Row, client: Format, upstream: Format, models: dict[Format, str] = NEWEST) -> str:
    """What becomes of a concept. Empty if the client's format cannot say it."""
    if client not in row.asks:
        return ""
    raw = row.body(client).replace(b'"model": "m"', b'"model": "%b"' % models[upstream].encode())
    chat = WIRES[client].decode(Inbound(raw, models[upstream] if client == "generate" else ""))
    try:
        outbound = WIRES[upstream].encode(chat, Target("u", models[upstream]))
    except ClientError:
        return "refused"
    if client == upstream:
        return "kept" if outbound.untouched and outbound.body == raw else "rebuilt"
    body = json.loads(outbound.body)
    noted = ", noted" if outbound.losses else ""
    if stands(row.signs.get(upstream), body):
        return "mapped" + noted
    if stands(row.instead.get(upstream), body):
        return "emulated" + noted
    if upstream in row.moot and not outbound.losses:
        return "not needed"
    return "loss" if outbound.losses else DROPPED


def answer_cell(row: AnswerRow, client: Format, upstream: Format) -> str:
    """What a client gets of a thing in this provider's answer. Empty if the provider has no such thing."""
    if upstream not in row.says:
        return ""
    if client == upstream:
        return "kept"
    asked = HELLO[client] | ({"thinking": {"type": "adaptive"}} if client == "anthropic" else {})
    wanted = WIRES[client].decode(Inbound(json.dumps(asked).encode()))
    reader = WIRES[upstream].reader(wanted, False, lambda: "1")
    writer = WIRES[client].writer(wanted, Stamp("1", 1_790_000_000), False)
    for event in (*reader.feed(json.dumps(row.says[upstream]).encode()), *reader.close()):
        writer.write(event)
    return "mapped" if stands(row.signs.get(client), json.loads(writer.close())) else "left out"


def put_back(client: Format, upstream: Format) -> str:
    """Whether what only the provider said, and a simple client drops, goes back to that provider with the next step."""
    loop = next(row for row in SAID_ROWS if row.name == "tool result")
    chat = WIRES[client].decode(Inbound(loop.body(client), "m"))
    reader = WIRES[upstream].reader(chat, False, lambda: "1")
    reader.feed(json.dumps(CALLED[upstream]).encode())
    reader.close()
    asked, said, told = chat.messages
    back = WIRES[upstream].restore(said, reader.sealed(), True)
    whole = msgspec.structs.replace(chat, messages=(asked, back, told))
    body = WIRES[upstream].encode(whole, Target("u", NEWEST[upstream])).body
    return "put back" if SEAL.encode() in body else "lost"


def lines() -> Iterable[str]:
    """The Markdown of all tables."""
    for client in FORMATS:
        yield f"### A client of {TITLES[client]}"
        yield ""
        rows = [(row.name, [cell(row, client, up) for up in FORMATS]) for row in REQUEST_ROWS if client in row.asks]
        yield from _table("what it says", rows)
        yield ""
        got = [(row.name, [answer_cell(row, client, up) for up in FORMATS]) for row in ANSWER_ROWS]
        got.append(("reasoning that it drops", [put_back(client, up) for up in FORMATS]))
        yield from _table("what it gets", got)
        yield ""
    yield "### Older models"
    yield ""
    yield "What they take that the newest do not, or otherwise: " + ", ".join(sorted(set(OLDER.values()))) + "."
    yield ""
    for client in FORMATS:
        rows = [
            (row.name, [cell(row, client, up, OLDER) for up in FORMATS])
            for row in (*HOW_ROWS, *SAMPLING_ROWS)
            if client in row.asks
        ]
        changed = [(name, cells) for name, cells in rows if cells != _newest(name, client)]
        yield from _table(f"from {TITLES[client]}", changed)
        yield ""


def _newest(name: str, client: Format) -> Sequence[str]:
    row = next(row for row in REQUEST_ROWS if row.name == name)
    return [cell(row, client, up) for up in FORMATS]


def _table(title: str, rows: Iterable[tuple[str, Sequence[str]]]) -> Iterable[str]:
    yield f"| {title} | " + " | ".join(TITLES[upstream] for upstream in FORMATS) + " |"
    yield "| --- " * (len(FORMATS) + 1) + "|"
    for name, cells in rows:
        yield f"| {name} | " + " | ".join(one or "–" for one in cells) + " |"


def made() -> str:
    """All tables, as they stand between the marks."""
    return "\n".join(lines()).strip()


def written(document: str, tables: str) -> str:
    """The document with these tables between its marks."""
    head, _, rest = document.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{tables}\n\n{END}{tail}"


if __name__ == "__main__":
    DOCS.write_text(written(DOCS.read_text(encoding="utf-8"), made()), encoding="utf-8")
    sys.stdout.write(f"{DOCS.name} is written.\n")
