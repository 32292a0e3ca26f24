"""Requests that are odd before their body is read: headers, framing, ids and paths."""

from __future__ import annotations

import asyncio

import pytest

from tests.faults.conftest import Pair
from tests.faults.rawclient import CHAT, GEMINI, Client, ask, gemini_body, is_refused, openai_body, request


async def test_three_thousand_headers_are_refused(patient: Pair) -> None:
    assert is_refused(await ask(patient.url, CHAT, openai_body(), *(f"x-h{i}: v" for i in range(3000))), 431)


async def test_a_header_of_200_kilobytes_is_refused(patient: Pair) -> None:
    assert is_refused(await ask(patient.url, CHAT, openai_body(), "x-big: " + "v" * 200_000), 431)


async def test_two_hosts_are_refused(patient: Pair) -> None:
    assert is_refused(await ask(patient.url, CHAT, openai_body(), "host: elsewhere.example"), 400, "Host")


async def test_a_chunked_body_is_read(patient: Pair) -> None:
    body = openai_body()
    async with await Client.to(patient.url) as client:
        await client.post(CHAT, b"", "transfer-encoding: chunked")
        for i in range(0, len(body), 7):
            await client.send(b"%x\r\n%s\r\n" % (len(body[i : i + 7]), body[i : i + 7]))
        await client.send(b"0\r\n\r\n")
        assert (await client.answer()).status == 200
    assert patient.provider.asked[0].body == body


FRAMING = {
    "length and chunked": ("content-length: 5", "transfer-encoding: chunked"),
    "two lengths": ("content-length: 5", "content-length: 6"),
    "negative length": ("content-length: -1",),
    "length in words": ("content-length: five",),
    "a signed length": ("content-length: +4",),
    "an odd coding": ("transfer-encoding: xchunked",),
}


@pytest.mark.parametrize("lines", FRAMING.values(), ids=FRAMING.keys())
async def test_doubtful_framing_reaches_no_provider(patient: Pair, lines: tuple[str, ...]) -> None:
    async with await Client.to(patient.url) as client:
        await client.post(CHAT, b"{}\r\n\r\n", *lines)
        client.writer.write_eof()
        answer = await client.answer()
        assert answer.status in (400, 501), answer.body
    assert patient.provider.asked == []


async def test_more_bytes_than_the_length_says_are_no_second_chat(patient: Pair) -> None:
    body = openai_body()
    async with await Client.to(patient.url) as client:
        await client.send(request(CHAT, body) + b"GARBAGE that is no request\r\n\r\n")
        assert (await client.answer()).status in (200, 400)
    assert len(patient.provider.asked) <= 1


async def test_two_requests_sent_at_once_are_answered_in_order(patient: Pair) -> None:
    async with await Client.to(patient.url) as client:
        await client.send(request(CHAT, openai_body()) + request(GEMINI, gemini_body()))
        first = await client.answer()
        assert b"choices" in first.body
        assert b"candidates" in (await client.answer()).body


@pytest.mark.parametrize(
    "line",
    [
        "x-request-id: a\r b: c",
        "x-request-id: a\n evil: yes",
        "x-request-id: \x00",
        "x-a\x01b: c",
        "x-request-id: a\r\n evil: c",
    ],
)
async def test_a_header_that_smuggles_is_refused_or_harmless(patient: Pair, line: str) -> None:
    answer = await ask(patient.url, CHAT, openai_body(), line)
    assert answer.status in (200, 400)
    assert not {"evil", " evil", "b", " b"} & answer.headers.keys()
    for asked in patient.provider.asked:
        assert not {"evil", " evil", "b", " b"} & asked.headers.keys()


@pytest.mark.parametrize(
    "name", ["x-request-id", "x-foldline-session", "x-session-id", "session-id", "x-custom", "traceparent"]
)
@pytest.mark.parametrize(
    "value", ["", " ", "\xff\xfe", "é", "a b", "'; DROP", "x" * 1000, "{}:*", "../..", "%0d%0a", "\t", "a\tb", '"']
)
async def test_ids_of_any_characters_are_harmless(patient: Pair, name: str, value: str) -> None:
    answer = await ask(patient.url, CHAT, openai_body(), f"{name}: {value}")
    assert answer.status == 200
    assert answer.headers["x-request-id"].isprintable()


async def test_what_the_connection_header_names_goes_no_further(patient: Pair) -> None:
    lines = ("connection: close, x-only-for-you", "x-only-for-you: 1", "te: trailers", "proxy-authorization: Basic x")
    assert (await ask(patient.url, CHAT, openai_body(), *lines)).status == 200
    assert not {"x-only-for-you", "te", "proxy-authorization"} & patient.provider.asked[0].headers.keys()


MODELS = ["", "gemini-x", "a%2Fb", "%00", "%FF", "..%2f..", "a?b", "m" * 5000, "a%0d%0ab", "a b", "a%23b", ":", "é"]
ODD_PATHS = [f"/v1beta/models/{model}:generateContent" for model in MODELS] + [
    "/v1beta/models/gemini-x",
    "/v1beta/models/gemini-x:",
    "/v1beta/models/gemini-x:embedContent",
    "/v1beta/models/gemini-x:streamGenerateContent?alt=sse&alt=json",
    "/v1/chat/completions/",
    "/v1/chat/completions?a=%FF",
    "/v1//chat/completions",
    "/v1/embeddings",
    "/nothing",
    "//",
    "/%",
]


@pytest.mark.parametrize("path", ODD_PATHS)
async def test_odd_paths_are_served_or_refused_in_a_dialect(patient: Pair, path: str) -> None:
    for body in (gemini_body(), openai_body()):
        answer = await ask(patient.url, path, body)
        assert answer.status < 500, answer.body
        assert answer.complete
    for asked in patient.provider.asked:
        assert asked.path.startswith(("/v1beta/models/", "/v1/chat/completions")), asked.path


async def test_a_request_that_stops_half_way_holds_up_nobody(patient: Pair) -> None:
    async with await Client.to(patient.url) as slow, await Client.to(patient.url) as slower:
        await slow.send(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-le")
        await slower.send(request(CHAT, openai_body())[:-10])
        answers = await asyncio.gather(*(ask(patient.url, CHAT, openai_body()) for _ in range(20)))
        assert {answer.status for answer in answers} == {200}
