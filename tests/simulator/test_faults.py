"""How an answer can go wrong: the wire really does what a directive or a script says, as a raw socket sees it."""

from __future__ import annotations

import asyncio
import json
import time

import httpx2
import pytest

from app.simulator.running import Running

PATH = "/v1/chat/completions"


def _body(text: str, *, stream: bool = True) -> dict[str, object]:
    return {"model": "lab", "stream": stream, "messages": [{"role": "user", "content": text}]}


async def _raw(sim: Running, text: str, *, stream: bool = True) -> tuple[list[bytes], BaseException | None]:
    """What a socket receives, read by read, and the error that ended it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(sim.url.rpartition(":")[2]))
    body = json.dumps(_body(text, stream=stream)).encode()
    headers = ("host: x", "authorization: Bearer lab", "connection: close", f"content-length: {len(body)}")
    writer.write("\r\n".join((f"POST {PATH} HTTP/1.1", *headers, "", "")).encode() + body)
    received: list[bytes] = []
    try:
        while piece := await asyncio.wait_for(reader.read(65536), 5):
            received.append(piece)
    except ConnectionResetError as error:
        return received, error
    finally:
        writer.close()
    return received, None


async def test_break_is_a_real_reset_after_the_chunks(sim: Running) -> None:
    received, error = await _raw(sim, "[[words=9]] [[break=2]]")
    assert isinstance(error, ConnectionResetError)
    assert b"".join(received).count(b"data: ") == 2


async def test_break_before_the_first_byte_sends_nothing(sim: Running) -> None:
    received, error = await _raw(sim, "[[break=0]]")
    assert (received, type(error)) == ([], ConnectionResetError)


async def test_truncate_ends_http_properly_but_the_answer_too_early(sim: Running) -> None:
    received, error = await _raw(sim, "[[words=9]] [[truncate=2]]")
    whole = b"".join(received)
    assert error is None
    assert whole.endswith(b"0\r\n\r\n")
    assert b'finish_reason":"stop' not in whole
    whole_body, _ = await _raw(sim, "[[truncate=1]]", stream=False)
    assert b"".join(whole_body).endswith(b"0\r\n\r\n")


async def test_split_cuts_inside_characters(sim: Running) -> None:
    received, _ = await _raw(sim, "say: 京都 [[split]]")
    assert any(piece.endswith("京".encode()[:1]) for piece in b"".join(received).split(b"\r\n"))


async def test_first_and_delay_pace_the_stream(http: httpx2.AsyncClient) -> None:
    began = time.monotonic()
    async with http.stream("POST", PATH, json=_body("[[words=9]] [[chunks=3]] [[first=60]] [[delay=20]]")) as answer:
        first = time.monotonic() - began
        chunks = [line async for line in answer.aiter_lines() if line]
    assert first >= 0.06
    assert time.monotonic() - began >= 0.06 + 0.02 * (len(chunks) - 1)
    assert len(chunks) == 1 + 3 + 1 + 1  # role, three texts, finish reason, [DONE]


@pytest.mark.parametrize("order", ["[[hang]]", "[[words=9]] [[hang=2]]", "[[first=60000]]"])
async def test_a_client_that_hangs_up_is_noted_with_its_time(
    order: str, sim: Running, http: httpx2.AsyncClient
) -> None:
    with pytest.raises(httpx2.ReadTimeout):
        await http.post(PATH, json=_body(order), timeout=0.15)
    await sim.journal.settled()
    exchange = sim.journal.last
    assert exchange.aborted
    assert 100 < (exchange.aborted_after_ms or 0) < 3000


async def test_an_answer_that_ends_is_not_noted_as_aborted(sim: Running, http: httpx2.AsyncClient) -> None:
    await http.post(PATH, json=_body("hello"))
    await sim.journal.settled()
    assert (sim.journal.last.aborted, sim.journal.last.status) == (False, 200)


async def test_an_in_stream_error_of_google_begins_with_error(http: httpx2.AsyncClient) -> None:
    body = {"contents": [{"parts": [{"text": "[[words=9]] [[error=1]]"}]}]}
    for query, sign in (("?alt=sse", 'data: {"error":{"code":503,'), ("", ',\r\n{"error":{"code":503,')):
        answer = await http.post(f"/v1beta/models/lab:streamGenerateContent{query}", json=body)
        assert sign in answer.text
    assert [bool(one.get("error")) for one in json.loads(answer.text)] == [False, True]


async def test_a_whole_answer_cannot_fail_halfway_so_it_fails_at_once(http: httpx2.AsyncClient) -> None:
    answer = await http.post(PATH, json=_body("[[error=1]]", stream=False))
    assert (answer.status_code, answer.json()["error"]["type"]) == (500, "server_error")


async def test_an_order_in_the_middle_of_a_long_paste_is_not_obeyed(http: httpx2.AsyncClient) -> None:
    answer = await http.post(PATH, json=_body("a " * 3000 + "[[fail=500]]" + " b" * 3000, stream=False))
    assert answer.status_code == 200
