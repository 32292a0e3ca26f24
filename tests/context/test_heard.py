"""What the gate listens to: what was said, and not the data that passed by."""

from __future__ import annotations

import json

from app.chat.model import Message, Text, ToolCall, ToolResult
from app.context.critical import Said, critical
from app.context.heard import heard_in
from app.context.retention import LIGHT

ROWS = "\n".join(f"row INV-{number}, {number * 7} EUR" for number in range(20_000, 20_040))


def _call(arguments: str) -> Message:
    return Message("assistant", (Text("Writing it."), ToolCall("c1", "write_file", arguments)))


def _weights(*messages: Message) -> dict[str, float]:
    return {one.value: one.weight for one in critical(heard_in(messages))}


def test_a_path_in_a_call_counts_as_said_and_the_file_that_is_written_as_data() -> None:
    weights = _weights(_call(json.dumps({"path": "apps/billing/ports.yaml", "content": ROWS})))
    assert weights["apps/billing/ports.yaml"] >= LIGHT
    assert weights["INV-20007"] < LIGHT


def test_a_value_of_the_data_counts_once_somebody_names_it() -> None:
    written = _call(json.dumps({"path": "a.csv", "content": ROWS}))
    result = Message("user", (ToolResult("c1", (Text(ROWS),)),))
    assert _weights(written, result)["INV-20007"] < LIGHT
    named = Message("assistant", (Text("INV-20007 is the odd one."),))
    assert _weights(written, result, named)["INV-20007"] >= LIGHT
    asked = _call('{"query": "INV-20007"}')
    assert _weights(written, result, asked)["INV-20007"] >= LIGHT


def test_long_arguments_that_are_no_object_are_data_as_a_whole() -> None:
    for arguments in (ROWS, json.dumps(ROWS.splitlines()), '{"half": "' + ROWS):
        roles = {said.role for said in heard_in((_call(arguments),)) if "INV-20007" in said.text}
        assert roles == {"tool"}


def test_messages_without_long_arguments_are_heard_word_for_word() -> None:
    short = _call('{"path": "a.csv"}')
    assert heard_in((short,)) == (Said("assistant", 'Writing it.\n[calls write_file {"path": "a.csv"}]'),)
