"""A client that says only what is new is understood, over every upstream: words, tools, pictures, shapes, branches."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

from tests.threads.talk import Client

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def _png() -> str:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    whole = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0\0\0\0")) + chunk(b"IEND", b"")
    return base64.b64encode(whole).decode()


async def test_three_turns_know_what_was_said_in_the_first(client: Client, stream: bool) -> None:
    first = await client.ask("The code is PLUM-1.", stream=stream)
    second = await client.ask("The berth is KIWI-7.", first.id, stream=stream)
    third = await client.ask("What is the code?", second.id, stream=stream)
    fourth = await client.ask("What is the berth?", third.id, stream=not stream)

    assert "PLUM-1" in third.text
    assert "KIWI-7" in fourth.text
    assert len({first.id, second.id, third.id, fourth.id}) == 4


async def test_results_of_tools_come_back_behind_the_id_of_the_answer_that_called_them(
    client: Client, stream: bool
) -> None:
    tools = client.tools(get_weather=CITY)
    first = await client.ask("What is the weather in Oslo and Bergen?", tools=tools, stream=stream)
    assert [call.arguments["city"] for call in first.calls] == ["Oslo", "Bergen"]
    results = client.results(*((call, f"rain over {call.arguments['city']}") for call in first.calls))
    second = await client.ask(results, first.id, tools=tools, stream=stream)
    assert "rain over Oslo" in second.text
    again = await client.ask("And the weather in Bodo?", second.id, tools=tools, stream=stream)
    assert [call.arguments["city"] for call in again.calls] == ["Bodo"]
    last = await client.ask(client.results((again.calls[0], "sun")), again.id, tools=tools, stream=stream)
    assert "sun" in last.text


async def test_a_picture_is_seen_again_on_the_next_turn(client: Client) -> None:
    first = await client.ask(client.picture("Look at this.", _png()))
    assert "1 picture" in first.text
    second = await client.ask("Hm, and now", first.id)
    assert "1 picture" in second.text


async def test_a_shape_asked_for_holds_for_its_own_turn_alone(client: Client) -> None:
    first = await client.ask("The code is PLUM-1.")
    shaped = await client.ask("Which city?", first.id, **client.shaped(CITY))
    assert set(json.loads(shaped.text)) == {"city"}
    plain = await client.ask("What is the code?", shaped.id)
    assert "PLUM-1" in plain.text


async def test_an_older_answer_may_be_gone_on_from_once_more(client: Client, stream: bool) -> None:
    first = await client.ask("The code is PLUM-1.", stream=stream)
    left = await client.ask("No, the code is KIWI-7.", first.id, stream=stream)
    right = await client.ask("What is the code?", first.id, stream=stream)
    assert "PLUM-1" in right.text
    assert "KIWI-7" in (await client.ask("What is the code?", left.id, stream=stream)).text
    assert "PLUM-1" in (await client.ask("Once more: what is the code?", right.id, stream=stream)).text


async def test_no_instructions_and_no_tools_are_inherited(client: Client) -> None:
    system: dict[str, Any] = {"instructions": "x"} if client.prefix == "resp_" else {"system_instruction": "x"}
    first = await client.ask("The code is PLUM-1.", tools=client.tools(get_weather=CITY), **system)
    second = await client.ask("[[echo]]", first.id)
    assert "get_weather" not in second.text
    assert '"tools"' not in second.text
