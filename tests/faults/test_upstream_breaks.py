"""A provider that refuses, breaks off, falls silent or talks nonsense: one honest error, in the client's dialect."""

from __future__ import annotations

import asyncio
import gzip
import json
import shutil
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.conftest import Pair
from tests.faults.rawclient import CHAT, GEMINI, GEMINI_STREAM, Answer, Client, ask, gemini_body, openai_body
from tests.faults.rawserver import (
    END,
    GEMINI_END,
    STREAM,
    WHOLE,
    Peer,
    Script,
    chunk,
    delta,
    gemini_delta,
    raw_server,
    says_hi,
)
from tests.faults.serving import foldline, toward

DIALECTS = [
    pytest.param(CHAT, openai_body(), id="openai whole"),
    pytest.param(CHAT, openai_body(True), id="openai stream"),
    pytest.param(GEMINI, gemini_body(), id="gemini whole"),
    pytest.param(GEMINI_STREAM, gemini_body(), id="gemini stream"),
]
STREAMS = [DIALECTS[1], DIALECTS[3]]


def piece(path: str, words: str) -> bytes:
    """A chunk of the dialect of `path`."""
    return delta(words) if path == CHAT else gemini_delta(words)


def is_error(answer: Answer, status: int) -> bool:
    """Whether it is an error of this status, with words, in the dialect that was asked in."""
    assert answer.status == status, (answer.status, answer.body)
    assert answer.complete
    error = answer.error
    assert error["message"]
    assert error["code"] == status if "status" in error else error["type"]
    return True


def broke_off(answer: Answer, *said: str) -> bool:
    """Whether a stream said `said`, then one error event, and was then cut without an orderly end."""
    assert answer.status == 200
    assert not answer.complete, "a broken stream must not look like one that ended"
    *events, last = [json.loads(event) for event in answer.events]
    assert "error" in last
    assert last["error"]["message"]
    words = [
        event["choices"][0]["delta"]["content"]
        if "choices" in event
        else event["candidates"][0]["content"]["parts"][0]["text"]
        for event in events
    ]
    assert words == list(said)
    return True


# ---- before the first byte


@pytest.mark.parametrize(("path", "body"), DIALECTS)
async def test_a_connection_that_ends_without_an_answer_is_tried_again_then_said(
    patient: Pair, path: str, body: bytes
) -> None:
    async def hangs_up(peer: Peer) -> None:
        peer.reset()

    patient.provider.script = hangs_up
    assert is_error(await ask(patient.url, path, body), 502)
    assert len(patient.provider.asked) == 3


@pytest.mark.parametrize(("path", "body"), [DIALECTS[0], DIALECTS[2]])
async def test_no_first_byte_in_time_is_a_504_and_is_not_waited_for_again(hasty: Pair, path: str, body: bytes) -> None:
    async def sleeps(peer: Peer) -> None:
        await peer.gone.wait()

    hasty.provider.script = sleeps
    assert is_error(await ask(hasty.url, path, body), 504)
    assert len(hasty.provider.asked) == 1


async def test_headers_without_a_body_do_not_count_as_a_first_byte(hasty: Pair) -> None:
    async def only_headers(peer: Peer) -> None:
        await peer.stream()
        await peer.gone.wait()

    hasty.provider.script = only_headers
    assert is_error(await ask(hasty.url, CHAT, openai_body(True)), 504)


@pytest.mark.parametrize(("path", "body"), DIALECTS)
@pytest.mark.parametrize("status", [500, 503, 529])
async def test_a_failure_then_an_answer_is_an_answer(patient: Pair, path: str, body: bytes, status: int) -> None:
    async def fails_once(peer: Peer) -> None:
        if len(patient.provider.asked) == 1:
            await peer.answer(status, b'{"error":{"message":"for once"}}')
        else:
            await says_hi(peer)

    patient.provider.script = fails_once
    answer = await ask(patient.url, path, body)
    assert answer.status == 200
    assert answer.complete
    assert len(patient.provider.asked) == 2


async def test_a_failure_that_lasts_is_tried_max_retries_times_more_and_then_quoted(hasty: Pair) -> None:
    async def fails(peer: Peer) -> None:
        await peer.answer(500, b'{"error":{"message":"our database is on fire","type":"server_error"}}')

    hasty.provider.script = fails
    answer = await ask(hasty.url, CHAT, openai_body())
    assert answer.status == 500
    assert answer.error["message"] == "our database is on fire"
    assert len(hasty.provider.asked) == 2
    before = len(hasty.provider.asked)
    for _ in range(40):
        await ask(hasty.url, CHAT, openai_body())
    # each request earns a fifth of a retry, ten are saved up: a failing provider is not hammered
    assert len(hasty.provider.asked) - before <= 40 + 10 + 8


@pytest.mark.parametrize(("path", "body"), DIALECTS)
async def test_a_429_goes_to_the_client_at_once_with_its_retry_after(patient: Pair, path: str, body: bytes) -> None:
    async def limits(peer: Peer) -> None:
        said = b'{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED","type":"requests"}}'
        await peer.answer(429, said, more=b"retry-after: 7\r\n")

    patient.provider.script = limits
    answer = await ask(patient.url, path, body)
    assert is_error(answer, 429)
    assert answer.headers["retry-after"] == "7"
    assert answer.error["message"] == "slow down"
    assert len(patient.provider.asked) == 1


@pytest.mark.parametrize(("path", "body"), DIALECTS)
async def test_a_page_of_html_is_an_error_without_the_page(patient: Pair, path: str, body: bytes) -> None:
    async def gateway(peer: Peer) -> None:
        await peer.answer(502, b"<html><h1>502 Bad Gateway</h1></html>", "text/html")

    patient.provider.script = gateway
    answer = await ask(patient.url, path, body)
    assert is_error(answer, 502)
    assert b"html" not in answer.body


@pytest.mark.parametrize(("path", "body"), DIALECTS)
@pytest.mark.parametrize("status", [302, 307])
async def test_a_redirect_is_not_followed(patient: Pair, path: str, body: bytes, status: int) -> None:
    async def moves(peer: Peer) -> None:
        await peer.answer(status, b"", more=b"location: http://127.0.0.1:1/elsewhere\r\n")

    patient.provider.script = moves
    assert is_error(await ask(patient.url, path, body), 502)
    assert len(patient.provider.asked) == 1


async def test_a_refused_key_of_the_operator_is_not_the_clients_fault_and_not_tried_again(patient: Pair) -> None:
    async def refuses(peer: Peer) -> None:
        await peer.answer(401, b'{"error":{"message":"Incorrect API key provided: sk-of-the-operator"}}')

    patient.provider.script = refuses
    answer = await ask(patient.url, CHAT, openai_body())
    assert is_error(answer, 502)
    assert b"sk-of" not in answer.body
    assert len(patient.provider.asked) == 1


NONSENSE = [
    pytest.param(
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 7\r\n\r\nnot one", id="no json"
    ),
    pytest.param(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 0\r\n\r\n", id="nothing"),
    pytest.param(
        b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"id":"c1', id="half an object"
    ),
    pytest.param(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 13\r\n\r\n<html></html>", id="html"),
    pytest.param(b"SSH-2.0-OpenSSH_9.2\r\n", id="another protocol"),
    pytest.param(b"\x00\x01\x02\x03 garbage \xff\xfe\r\n\r\n", id="garbage"),
    pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: abc\r\n\r\n{}", id="bad length"),
    pytest.param(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", id="bad chunk"),
    pytest.param(
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{}", id="shorter than it says"
    ),
    pytest.param(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nabcd", id="not gzip"),
]


@pytest.mark.parametrize(("path", "body"), DIALECTS)
@pytest.mark.parametrize("said", NONSENSE)
async def test_nonsense_is_an_error_of_the_dialect(patient: Pair, path: str, body: bytes, said: bytes) -> None:
    async def talks_nonsense(peer: Peer) -> None:
        await peer.say(said)
        peer.close()

    patient.provider.script = talks_nonsense
    assert is_error(await ask(patient.url, path, body), 502)


async def test_a_refused_port_and_an_unknown_certificate_are_errors_that_tell_nothing_of_the_host(
    tmp_path: Path,
) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout k -out c"
    await asyncio.to_thread(subprocess.run, make.split(), cwd=tmp_path, check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "c", tmp_path / "k")
    async with raw_server(says_hi) as provider:
        nowhere = provider.url
    async with raw_server(says_hi, tls) as provider:
        settings = toward(provider.url) | {"gemini_base_url": nowhere}
        with foldline(tmp_path, **settings) as process:
            for path, body in [(CHAT, openai_body()), (CHAT, openai_body(True))]:
                answer = await ask(process.url, path, body)
                assert is_error(answer, 502)
                assert "certificate" in answer.error["message"]
            assert provider.asked == [], "the key was not sent"
            for path, body in [(GEMINI, gemini_body()), (GEMINI_STREAM, gemini_body())]:
                answer = await ask(process.url, path, body)
                assert is_error(answer, 502)
                assert b"127.0.0.1" not in answer.body


async def test_a_compressed_answer_is_unpacked(patient: Pair) -> None:
    async def packs(peer: Peer) -> None:
        await peer.answer(200, gzip.compress(WHOLE), more=b"content-encoding: gzip\r\n")

    patient.provider.script = packs
    answer = await ask(patient.url, CHAT, openai_body())
    assert answer.body == WHOLE
    assert "content-encoding" not in answer.headers


# ---- inside a stream


def then(*pieces: bytes, end: Callable[[Peer], None]) -> Script:
    """Streams the pieces, gives them time to arrive, and ends in its own way."""

    async def plays(peer: Peer) -> None:
        await peer.stream()
        for piece in pieces:
            await peer.stream_more(piece)
            await asyncio.sleep(0.03)  # so that it arrives alone
        end(peer)

    return plays


def ends_well(peer: Peer) -> None:
    """The last chunk of HTTP, whatever the model said."""
    peer.transport.write(b"0\r\n\r\n")


HALF = [pytest.param(b"", id="between events"), pytest.param(b'data: {"choices":[{"ind', id="inside an event")]


@pytest.mark.parametrize("half", HALF)
@pytest.mark.parametrize("end", [Peer.reset, Peer.close, ends_well], ids=["reset", "closed", "clean early end"])
@pytest.mark.parametrize(("path", "body"), STREAMS)
async def test_a_stream_that_breaks_off_ends_with_an_error_that_parses(
    patient: Pair, path: str, body: bytes, end: Callable[[Peer], None], half: bytes
) -> None:
    pieces = [piece(path, "one"), half] if half else [piece(path, "one")]
    patient.provider.script = then(*pieces, end=end)
    assert broke_off(await ask(patient.url, path, body), "one")
    assert len(patient.provider.asked) == 1, "what has been said is never said again"


@pytest.mark.parametrize(("path", "body"), STREAMS)
async def test_a_stream_that_falls_silent_ends_with_an_error(hasty: Pair, path: str, body: bytes) -> None:
    def waits(peer: Peer) -> None:
        pass

    hasty.provider.script = then(piece(path, "one"), end=waits)
    answer = await ask(hasty.url, path, body)
    assert broke_off(answer, "one")
    assert "silent" in answer.error["message"]


@pytest.mark.parametrize(("path", "body"), STREAMS)
async def test_an_error_as_the_first_event_becomes_a_status(patient: Pair, path: str, body: bytes) -> None:
    said = b'data: {"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE","type":"server_error"}}\n\n'
    patient.provider.script = then(said[:20], said[20:], end=ends_well)
    answer = await ask(patient.url, path, body)
    assert answer.status >= 500
    assert answer.error["message"] == "overloaded"
    assert not answer.headers["content-type"].startswith("text/event-stream")


@pytest.mark.parametrize(("path", "body"), STREAMS)
async def test_an_error_of_the_provider_in_mid_stream_is_said_once(patient: Pair, path: str, body: bytes) -> None:
    said = b'data: {"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE","type":"server_error"}}\n\n'
    patient.provider.script = then(piece(path, "one"), said, end=ends_well)
    answer = await ask(patient.url, path, body)
    assert [("error" in event) for event in answer.events] == [False, True]
    assert answer.error["message"] == "overloaded"


@pytest.mark.parametrize(("path", "body"), [DIALECTS[0], DIALECTS[2]])
async def test_an_error_under_status_200_becomes_a_status(patient: Pair, path: str, body: bytes) -> None:
    async def errs(peer: Peer) -> None:
        await peer.answer(200, b'{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}')

    patient.provider.script = errs
    answer = await ask(patient.url, path, body)
    assert answer.status >= 500
    assert answer.error["message"] == "overloaded"


async def test_a_huge_event_arrives_whole(patient: Pair) -> None:
    huge = delta("x" * 5_000_000)
    patient.provider.script = then(huge, END, end=ends_well)
    answer = await ask(patient.url, CHAT, openai_body(True))
    assert answer.complete
    assert answer.body == huge + END


@pytest.mark.parametrize(
    ("path", "body", "end"), [(CHAT, openai_body(True), END), (GEMINI_STREAM, gemini_body(), GEMINI_END)]
)
async def test_a_stream_cut_into_single_bytes_arrives_byte_for_byte(
    patient: Pair, path: str, body: bytes, end: bytes
) -> None:
    whole = piece(path, "あ") + end

    async def drips(peer: Peer) -> None:
        await peer.say(STREAM)
        for i in range(len(whole)):
            await peer.say(chunk(whole[i : i + 1]))
        await peer.say(b"0\r\n\r\n")

    patient.provider.script = drips
    answer = await ask(patient.url, path, body)
    assert answer.complete
    assert answer.body == whole


ARRAY = b"HTTP/1.1 200 OK\r\ncontent-type: application/json; charset=UTF-8\r\ntransfer-encoding: chunked\r\n\r\n"
ELEMENT = gemini_delta("one").removeprefix(b"data: ").strip()


@pytest.mark.parametrize(
    "said", [b"[" + ELEMENT, b"[" + ELEMENT + b"\n,\r\n"], ids=["after an element", "after a comma"]
)
async def test_a_json_array_that_breaks_off_ends_with_an_error_as_its_last_element(patient: Pair, said: bytes) -> None:
    async def breaks(peer: Peer) -> None:
        await peer.say(ARRAY, chunk(said))
        await asyncio.sleep(0.05)
        peer.reset()

    patient.provider.script = breaks
    answer = await ask(patient.url, GEMINI_STREAM.partition("?")[0], gemini_body())
    assert not answer.complete
    first, last = json.loads(answer.body)
    assert first == json.loads(ELEMENT)
    assert last["error"]["code"] == 502


async def test_a_json_array_arrives_element_by_element(patient: Pair) -> None:
    first, last = b"[" + ELEMENT, b"\n,\r\n" + GEMINI_END.removeprefix(b"data: ").strip() + b"]"
    go_on = asyncio.Event()

    async def waits(peer: Peer) -> None:
        await peer.say(ARRAY, chunk(first))
        await go_on.wait()
        await peer.say(chunk(last), b"0\r\n\r\n")

    patient.provider.script = waits
    async with await Client.to(patient.url) as client:
        await client.post(GEMINI_STREAM.partition("?")[0], gemini_body())
        await client.head()
        await client.until(first)
        go_on.set()
        answer = await client.rest()
    assert answer.complete
    assert answer.body == first + last


async def test_a_json_array_that_breaks_off_inside_an_element_is_cut(patient: Pair) -> None:
    async def breaks(peer: Peer) -> None:
        await peer.say(ARRAY, chunk(b"[" + ELEMENT + b',{"candi'))
        await asyncio.sleep(0.05)
        peer.reset()

    patient.provider.script = breaks
    answer = await ask(patient.url, GEMINI_STREAM.partition("?")[0], gemini_body())
    assert not answer.complete
    assert answer.body == b"[" + ELEMENT + b',{"candi'
