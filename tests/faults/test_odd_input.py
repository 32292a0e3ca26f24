"""Whatever body a client sends, it gets an answer, or an error that says what to change: no 500, and no bare reset."""

from __future__ import annotations

import gzip
import itertools
import json
import zlib

import pytest

from tests.faults.conftest import Pair
from tests.faults.rawclient import (
    CHAT,
    GEMINI,
    GEMINI_STREAM,
    Client,
    ask,
    gemini_body,
    is_refused,
    openai_body,
)
from tests.faults.shapes import CONTENTS, MESSAGES

BOTH = [pytest.param(CHAT, openai_body(), id="openai"), pytest.param(GEMINI, gemini_body(), id="gemini")]
MAX_BODY = 12 * 2**20


# ---- size


@pytest.mark.parametrize(("path", "body"), BOTH)
async def test_a_body_said_to_be_too_large_is_refused_before_it_is_sent(patient: Pair, path: str, body: bytes) -> None:
    async with await Client.to(patient.url) as client:
        await client.post(path, b"", f"content-length: {MAX_BODY + 1}", "expect: 100-continue")
        assert is_refused(await client.answer(), 413, "MAX_BODY")


@pytest.mark.parametrize("framing", ["content-length: 16777216", "transfer-encoding: chunked"])
@pytest.mark.parametrize(("path", "body"), BOTH)
async def test_a_client_that_sends_too_much_sees_413_and_no_reset(
    patient: Pair, path: str, body: bytes, framing: str
) -> None:
    block = b"x" * 2**20
    piece = b"%x\r\n%s\r\n" % (len(block), block) if "chunked" in framing else block
    async with await Client.to(patient.url) as client:
        await client.post(path, b"", framing)
        for _ in range(16):
            await client.send(piece)
        if "chunked" in framing:
            await client.send(b"0\r\n\r\n")
        assert is_refused(await client.answer(), 413, "MAX_BODY")


@pytest.mark.parametrize("packing", ["gzip", "deflate"])
@pytest.mark.parametrize(("path", "body"), BOTH)
async def test_a_packed_body_is_unpacked(patient: Pair, path: str, body: bytes, packing: str) -> None:
    packed = gzip.compress(body) if packing == "gzip" else zlib.compress(body)
    answer = await ask(patient.url, path, packed, f"content-encoding: {packing}")
    assert answer.status == 200
    assert json.loads(patient.provider.asked[0].body).keys() <= {"model", "stream", "messages", "contents"}
    assert "content-encoding" not in patient.provider.asked[0].headers


@pytest.mark.parametrize(("path", "body"), BOTH)
async def test_a_body_that_unpacks_to_too_much_is_refused(patient: Pair, path: str, body: bytes) -> None:
    bomb = gzip.compress(b" " * (MAX_BODY * 8))
    assert is_refused(await ask(patient.url, path, bomb, "content-encoding: gzip"), 413, "MAX_BODY")


@pytest.mark.parametrize(
    ("packing", "body", "status"),
    [("br", b"x", 415), ("gzip", b"no gzip", 400), ("gzip", gzip.compress(b"{}", mtime=0)[:-9], 400)],
)
async def test_packing_that_cannot_be_undone_is_refused(patient: Pair, packing: str, body: bytes, status: int) -> None:
    assert is_refused(await ask(patient.url, CHAT, body, f"content-encoding: {packing}"), status)


async def test_one_message_of_ten_megabytes_goes_through(patient: Pair) -> None:
    answer = await ask(patient.url, CHAT, openai_body(text="word " * 2_000_000))
    assert answer.status == 200
    assert len(patient.provider.asked[0].body) > 10_000_000


@pytest.mark.parametrize("path", [CHAT, GEMINI])
async def test_fifty_thousand_messages_go_through(patient: Pair, path: str) -> None:
    roles = ("user", "assistant" if path == CHAT else "model")
    if path == CHAT:
        body = {"model": "m", "messages": [{"role": roles[i % 2], "content": f"turn {i}"} for i in range(50_001)]}
    else:
        body = {"contents": [{"role": roles[i % 2], "parts": [{"text": f"turn {i}"}]} for i in range(50_001)]}
    assert (await ask(patient.url, path, json.dumps(body).encode())).status == 200


# ---- bytes that are no JSON, or odd JSON

SAYING = b'{"model":"m","messages":[{"role":"user","content":"%s"}],"contents":[{"parts":[{"text":"%s"}]}]}'
NO_JSON = {
    "empty": b"",
    "blank": b"  \n",
    "array": b"[]",
    "string": b'"hello"',
    "null": b"null",
    "number": b"1",
    "half": b'{"model":"m","messages":[{"role":"user"',
    "NaN": b'{"model":"m","temperature":NaN,"messages":[{"role":"user","content":"x"}],"contents":[]}',
    "Infinity": b'{"model":"m","x":Infinity,"messages":[{"role":"user","content":"x"}],"contents":[]}',
    "form": b"model=m&messages=hello",
    "utf-16": '{"model":"m"}'.encode("utf-16"),
    "NUL": b'{"model":"m\x00","messages":[{"role":"user","content":"x"}],"contents":[]}',
    "comment": b'{/* hi */"model":"m"}',
    "trailing comma": b'{"model":"m","messages":[{"role":"user","content":"x"}],"contents":[],}',
    "two objects": openai_body() * 2,
    "bad UTF-8 in a message": SAYING % (b"\xff", b"\xff"),
    "cut UTF-8": SAYING % (b"\xe3\x81", b"\xe3\x81"),
    "surrogates as UTF-8": SAYING % (b"\xed\xa0\xbd", b"\xed\xa0\xbd"),
}


@pytest.mark.parametrize("path", [CHAT, GEMINI, GEMINI_STREAM])
@pytest.mark.parametrize("body", NO_JSON.values(), ids=NO_JSON.keys())
async def test_what_is_not_a_json_object_is_a_400(patient: Pair, path: str, body: bytes) -> None:
    assert is_refused(await ask(patient.url, path, body), 400)
    assert patient.provider.asked == []


WHERE = {
    "in an unknown field": b'{"x":"\xff",',
    "in a key": b'{"\xff":1,',
    "in a nested key": b'{"x":{"\xff":1},',
}


@pytest.mark.parametrize("start", WHERE.values(), ids=WHERE.keys())
@pytest.mark.parametrize(("path", "body"), BOTH)
async def test_invalid_utf_8_anywhere_is_a_400(patient: Pair, path: str, body: bytes, start: bytes) -> None:
    assert is_refused(await ask(patient.url, path, start + body[1:]), 400, "UTF-8")


async def test_invalid_utf_8_behind_what_was_read_before_is_a_400(patient: Pair) -> None:
    body = openai_body(text="hello" * 2000)
    assert (await ask(patient.url, CHAT, body)).status == 200
    assert is_refused(await ask(patient.url, CHAT, body[:-1] + b',"x":"\xff"}'), 400, "UTF-8")


@pytest.mark.parametrize(
    "parts",
    [
        b'[{"functionCall":{"name":"f","args":{"a":"\xff"}}}]',
        b'[{"functionResponse":{"name":"f","response":{"a":"\xff"}}}]',
    ],
)
async def test_invalid_utf_8_inside_a_call_is_a_400(patient: Pair, parts: bytes) -> None:
    assert is_refused(await ask(patient.url, GEMINI, b'{"contents":[{"parts":%s}]}' % parts), 400, "UTF-8")


@pytest.mark.parametrize("levels", [1_000, 200_000])
@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
@pytest.mark.parametrize("place", ["an unknown field", "a message", "a tool", "the whole"])
@pytest.mark.parametrize("path", [CHAT, GEMINI])
async def test_deep_nesting_is_refused_or_passed_on(
    patient: Pair, path: str, place: str, opening: bytes, levels: int
) -> None:
    deep = opening * levels + b"1" + (b"]" if opening == b"[" else b"}") * levels
    body = {
        "an unknown field": openai_body()[:-1] + b',"contents":[{"parts":[{"text":"x"}]}],"x":' + deep + b"}",
        "a message": b'{"model":"m","messages":[{"role":"user","content":%s}],"contents":[{"parts":%s}]}'
        % (deep, deep),
        "a tool": openai_body()[:-1] + b',"contents":[{"parts":[{"text":"x"}]}],"tools":[%s]}' % deep,
        "the whole": deep,
    }[place]
    answer = await ask(patient.url, path, body)
    assert answer.status in (200, 400), answer.body[:300]
    assert answer.complete


@pytest.mark.parametrize("path", [CHAT, GEMINI])
async def test_half_of_a_split_emoji_is_mended(patient: Pair, path: str) -> None:
    text = r"cut \ud83d here"
    body = (
        b'{"model":"m","messages":[{"role":"user","content":"%s"}]}'
        if path == CHAT
        else b'{"contents":[{"parts":[{"text":"%s"}]}]}'
    )
    answer = await ask(patient.url, path, body % text.encode())
    assert answer.status == 200
    assert b"\\ud83d" not in patient.provider.asked[0].body
    assert "\ufffd" in json.dumps(json.loads(patient.provider.asked[0].body), ensure_ascii=False)


@pytest.mark.parametrize(
    "odd",
    [
        b'"x":1e400',
        b'"x":100000000000000000000000001',
        b'"x":0.1000000000000000055',
        b'"model":"m","model":"n"',
        b'"x":"\\u0000"',
    ],
)
async def test_odd_but_valid_json_goes_to_the_provider_byte_for_byte(patient: Pair, odd: bytes) -> None:
    body = openai_body()[:-1] + b", " + odd + b"}"
    answer = await ask(patient.url, CHAT, body)
    assert answer.status in (200, 400)
    if answer.status == 200:
        assert patient.provider.asked[0].body == body


async def test_a_byte_order_mark_is_refused_or_forgiven(patient: Pair) -> None:
    assert (await ask(patient.url, CHAT, b"\xef\xbb\xbf" + openai_body())).status in (200, 400)


# ---- shapes


async def test_messages_of_any_shape_are_answered_or_refused_by_name(patient: Pair) -> None:
    for shape in MESSAGES:
        for more in ({}, {"stream": True}):
            answer = await ask(patient.url, CHAT, json.dumps({"model": "m", "messages": shape, **more}).encode())
            assert answer.status in (200, 400), (shape, answer.status, answer.body)
            assert answer.complete
            if answer.status == 400:
                assert "messages" in answer.error["message"], (shape, answer.error)
    assert len(patient.provider.asked) < len(MESSAGES)


async def test_contents_of_any_shape_are_answered_or_refused_by_name(patient: Pair) -> None:
    for shape in CONTENTS:
        for path in (GEMINI, GEMINI_STREAM):
            answer = await ask(patient.url, path, json.dumps({"contents": shape}).encode())
            assert answer.status in (200, 400), (shape, answer.status, answer.body)
            assert answer.complete
            if answer.status == 400:
                assert "contents" in answer.error["message"], (shape, answer.error)


CHAT_FIELDS = [
    "stream",
    "stream_options",
    "max_tokens",
    "temperature",
    "tools",
    "tool_choice",
    "stop",
    "response_format",
    "reasoning_effort",
    "metadata",
    "foldline",
    "session_id",
    "seed",
    "user",
    "functions",
    "extra_body",
    "google",
    "n",
    "parallel_tool_calls",
    "logit_bias",
    "model",
]
GEMINI_FIELDS = [
    "systemInstruction",
    "system_instruction",
    "tools",
    "toolConfig",
    "tool_config",
    "generationConfig",
    "generation_config",
    "safetySettings",
    "cachedContent",
    "foldline",
    "labels",
]
VALUES: list[object] = [None, -1, 1e300, "x", [None], {}, {"a": None}, [{"a": {}}], True]


@pytest.mark.parametrize(
    ("path", "body", "fields"), [(CHAT, openai_body(), CHAT_FIELDS), (GEMINI, gemini_body(), GEMINI_FIELDS)]
)
async def test_any_field_may_be_null_or_wrong(patient: Pair, path: str, body: bytes, fields: list[str]) -> None:
    for name, value in itertools.product(fields, VALUES):
        changed = json.dumps({**json.loads(body), name: value}).encode()
        answer = await ask(patient.url, path, changed)
        assert answer.status in (200, 400), (changed, answer.status, answer.body)
