"""Both clients that stand behind the transport seam: what a provider says arrives, and what breaks is said as it is."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import socket
import ssl
import subprocess
import threading
import zlib
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from app.errors import UpstreamError
from app.upstreams.by_aiohttp import AiohttpTransport
from app.upstreams.lean.answer import MOST_WAITING
from app.upstreams.lean.transport import LeanTransport
from app.upstreams.transport import Timeouts, Transport
from tests.faults.rawserver import LAST, STREAM, Peer, chunk, raw_server

OK = b"HTTP/1.1 200 OK\r\n"
PATIENT = Timeouts(connect=5, first_byte=30, idle=30)


@pytest.fixture(params=[LeanTransport, AiohttpTransport], ids=["lean", "aiohttp"])
async def transport(request: pytest.FixtureRequest) -> AsyncGenerator[Transport]:
    """Each of the two, patient."""
    opened: Transport = request.param(PATIENT)
    yield opened
    await opened.aclose()


@pytest.fixture
async def lean() -> AsyncGenerator[LeanTransport]:
    """Our own alone."""
    opened = LeanTransport(PATIENT)
    yield opened
    await opened.aclose()


async def asked(transport: Transport, url: str, body: bytes = b"{}") -> tuple[int, bytes]:
    """Status and whole body of one request."""
    answer = await transport.post(url, {"content-type": "application/json"}, body)
    try:
        return answer.status, await answer.read()
    finally:
        answer.close()


WAYS = {
    "with a length": (OK + b"content-length: 2\r\n\r\nhi", b"hi"),
    "in chunks": (OK + b"transfer-encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n", b"hi"),
    "in chunks with extensions and trailers": (
        OK + b"Transfer-Encoding: chunked\r\n\r\n2;a=b\r\nhi\r\n0\r\nx-late: 1\r\n\r\n",
        b"hi",
    ),
    "empty": (OK + b"content-length: 0\r\n\r\n", b""),
    "without content": (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    "behind interim answers": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"
        + OK
        + b"content-length: 2\r\n\r\nhi",
        b"hi",
    ),
    "packed": (OK + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n%b", b"hi " * 9),
}


def spoken(way: str) -> tuple[bytes, bytes]:
    """The bytes of an answer, and its body."""
    said, body = WAYS[way]
    if way == "packed":
        packed = gzip.compress(body)
        said %= (len(packed), packed)
    return said, body


@pytest.mark.parametrize("way", WAYS)
async def test_an_answer_arrives_however_it_is_framed(transport: Transport, way: str) -> None:
    said, body = spoken(way)
    async with raw_server(lambda peer: peer.say(said)) as provider:
        status, got = await asked(transport, provider.url)
        assert (status, got) == (204 if way == "without content" else 200, body)
        assert await asked(transport, provider.url) == (status, body)
        assert len(provider.connections) == 1


@pytest.mark.parametrize("way", WAYS)
async def test_an_answer_arrives_byte_by_byte_as_well(lean: LeanTransport, way: str) -> None:
    said, body = spoken(way)

    async def slowly(peer: Peer) -> None:
        for byte in said:
            await peer.say(bytes([byte]))

    async with raw_server(slowly) as provider:
        assert (await asked(lean, provider.url))[1] == body
        assert (await asked(lean, provider.url))[1] == body
        assert len(provider.connections) == 1


async def test_an_answer_without_a_length_ends_with_its_connection(transport: Transport) -> None:
    async def old(peer: Peer) -> None:
        await peer.say(b"HTTP/1.0 200 OK\r\n\r\n", b"h", b"i")
        peer.close()

    async with raw_server(old) as provider:
        assert await asked(transport, provider.url) == (200, b"hi")
        assert await asked(transport, provider.url) == (200, b"hi")
        assert len(provider.connections) == 2


async def test_the_request_is_what_was_given(transport: Transport) -> None:
    async with raw_server(lambda peer: peer.answer(200, b"")) as provider:
        large = b"x" * 300_000
        for body in (b"", b"{}", large):
            answer = await transport.post(
                provider.url + "/v1/models/a%20b:go?alt=sse", {"x-one": "1", "authorization": "Bearer kéy"}, body
            )
            answer.close()
        for request, body in zip(provider.asked, (b"", b"{}", large), strict=True):
            assert (request.method, request.path, request.body) == ("POST", "/v1/models/a%20b:go?alt=sse", body)
            assert request.headers["host"] == f"127.0.0.1:{provider.port}"
            assert request.headers["x-one"] == "1"
            assert request.headers["content-length"] == str(len(body))


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("/a b", "/a%20b"),
        ("/模型:go", "/%E6%A8%A1%E5%9E%8B:go"),
        ("", "/"),
        ("/a?x=1 2", "/a?x=1%202"),
        ("/a%2Fb", "/a%2Fb"),
    ],
)
async def test_a_path_that_http_cannot_carry_is_quoted_once(lean: LeanTransport, given: str, path: str) -> None:
    async with raw_server(lambda peer: peer.answer(200, b"")) as provider:
        await asked(lean, provider.url + given)
        assert provider.asked[0].path == path


@pytest.mark.parametrize("value", ["a\r\nx-evil: 1", "a\nb", "a\0b", "a\r"])
async def test_no_header_can_smuggle_another(lean: LeanTransport, value: str) -> None:
    async with raw_server(lambda peer: peer.answer(200, b"")) as provider:
        with pytest.raises(UpstreamError, match="cannot carry") as caught:
            await lean.post(provider.url, {"x-one": value}, b"")
        assert not caught.value.sent
        assert not provider.asked
        assert value not in caught.value.message


async def test_a_key_that_no_header_can_hold_is_named_as_the_fault(lean: LeanTransport) -> None:
    with pytest.raises(UpstreamError, match="look at the API key"):
        await lean.post("http://127.0.0.1:1/", {"authorization": "Bearer ключ"}, b"")


@pytest.mark.parametrize("url", ["ftp://a/", "http:///x", "http://a:99999/", "nonsense", "http://a:x/"])
async def test_an_address_that_is_none_is_said_to_be_the_base_urls_fault(lean: LeanTransport, url: str) -> None:
    with pytest.raises(UpstreamError, match="base URL") as caught:
        await lean.post(url, {}, b"")
    assert not caught.value.sent


async def test_nobody_there_is_no_connection(transport: Transport) -> None:
    with pytest.raises(UpstreamError, match="No connection") as caught:
        await transport.post("http://127.0.0.1:1/", {}, b"")
    assert (caught.value.sent, caught.value.repeat) == (False, True)


async def test_a_name_that_nobody_has_is_no_connection(transport: Transport) -> None:
    with pytest.raises(UpstreamError, match="No connection") as caught:
        await transport.post("http://nobody.invalid/", {}, b"")
    assert not caught.value.sent


BROKEN = {
    "before its end": OK + b"content-length: 9\r\n\r\nhi",
    "in the middle of chunks": STREAM + chunk(b"hi"),
}


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("where", BROKEN)
async def test_an_answer_that_breaks_off_gives_what_came_and_then_says_so(
    transport: Transport, where: str, how: str
) -> None:
    heard = asyncio.Event()

    async def breaks(peer: Peer) -> None:
        await peer.say(BROKEN[where])
        await heard.wait()
        getattr(peer, how)()

    async with raw_server(breaks) as provider:
        answer = await transport.post(provider.url, {}, b"")
        got: list[bytes] = []

        async def take() -> None:
            async for data in answer.chunks():
                got.append(data)
                heard.set()

        with pytest.raises(UpstreamError, match="broke off"):
            await take()
        assert b"".join(got) == b"hi"
        answer.close()


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_a_connection_that_ends_without_an_answer_says_so(transport: Transport, how: str) -> None:
    async def leaves(peer: Peer) -> None:
        getattr(peer, how)()

    async with raw_server(leaves) as provider:
        with pytest.raises(UpstreamError, match="without an answer") as caught:
            await transport.post(provider.url, {}, b"")
        assert caught.value.sent


@pytest.mark.parametrize(
    "said",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        OK + b"content-length: 1\r\ncontent-length: 2\r\n\r\nx",
        OK + b"transfer-encoding: chunked\r\n\r\nzz\r\n",
        OK + b"no colon here\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_an_honest_error(lean: LeanTransport, said: bytes) -> None:
    async with raw_server(lambda peer: peer.say(said)) as provider:
        with pytest.raises(UpstreamError, match="could not be read") as caught:
            await asked(lean, provider.url)
        assert not caught.value.repeat
        async with asyncio.timeout(10):
            await provider.connections[0].gone.wait()


async def test_headers_without_an_end_fill_no_memory(lean: LeanTransport) -> None:
    async def endless(peer: Peer) -> None:
        await peer.say(OK)
        while not peer.gone.is_set():
            await peer.say(b"x-more: " + b"y" * 4000 + b"\r\n")

    async with raw_server(endless) as provider:
        with pytest.raises(UpstreamError, match="64 KiB"):
            await lean.post(provider.url, {}, b"")


async def test_headers_of_one_name_come_as_one(transport: Transport) -> None:
    said = OK + b"X-One: a\r\nx-two: \r\nContent-Length: 0\r\n\r\n"
    async with raw_server(lambda peer: peer.say(said)) as provider:
        answer = await transport.post(provider.url, {}, b"")
        assert (answer.headers["x-one"], answer.headers["x-two"]) == ("a", "")
        answer.close()


async def test_bytes_that_nobody_asked_for_end_the_connection(lean: LeanTransport) -> None:
    whole = OK + b"content-length: 2\r\n\r\nhi"
    async with raw_server(lambda peer: peer.say(whole + whole)) as provider:
        for _ in range(2):
            assert await asked(lean, provider.url) == (200, b"hi")
        assert len(provider.connections) == 2


async def test_a_provider_that_hung_up_on_a_resting_connection_costs_no_request(lean: LeanTransport) -> None:
    async with raw_server(lambda peer: peer.answer(200, b"hi")) as provider:
        for wanted in (1, 2, 3):
            assert await asked(lean, provider.url) == (200, b"hi")
            assert len(provider.connections) == wanted
            provider.connections[-1].close()
            async with asyncio.timeout(10):
                await provider.connections[-1].gone.wait()
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("said", [b"connection: close\r\n", b"keep-alive: timeout=1\r\n", b"keep-alive: timeout=0\r\n"])
async def test_a_provider_that_will_hang_up_is_believed(lean: LeanTransport, said: bytes) -> None:
    async with raw_server(lambda peer: peer.answer(200, b"hi", more=said)) as provider:
        for _ in range(2):
            assert await asked(lean, provider.url) == (200, b"hi")
        assert len(provider.connections) == 2


async def test_many_at_once_each_get_their_own_answer_and_the_connections_are_used_again(
    transport: Transport,
) -> None:
    async def echo(peer: Peer) -> None:
        body = peer.request.body
        await peer.stream(body[:2])
        await peer.stream_more(body[2:])
        await peer.say(LAST)

    async with raw_server(echo) as provider:
        for _ in range(3):
            bodies = [b"<%d>" % number for number in range(50)]
            got = await asyncio.gather(*(asked(transport, provider.url, body) for body in bodies))
            assert [body for _, body in got] == bodies
        assert len(provider.connections) == 50


async def test_closing_in_the_middle_hangs_up(transport: Transport) -> None:
    async with raw_server(lambda peer: peer.stream(b"one")) as provider:
        answer = await transport.post(provider.url, {}, b"")
        async for data in answer.chunks():
            assert data == b"one"
            break
        answer.close()
        async with asyncio.timeout(10):
            await provider.connections[0].gone.wait()


async def test_a_cancelled_request_hangs_up(transport: Transport) -> None:
    async def silent(peer: Peer) -> None:
        await peer.gone.wait()

    async with raw_server(silent) as provider:
        waiting = asyncio.create_task(transport.post(provider.url, {}, b""))
        peer = await provider.next_request()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        async with asyncio.timeout(10):
            await peer.gone.wait()


async def test_a_client_that_does_not_take_makes_the_provider_wait(transport: Transport) -> None:
    piece = b"x" * 65_536
    pieces = 400

    async def pours(peer: Peer) -> None:
        await peer.whole_stream(*[piece] * pieces)

    async with raw_server(pours) as provider:
        answer = await transport.post(provider.url, {}, b"")
        peer, before = provider.connections[0], -1
        while before != peer.said:
            before = peer.said
            await asyncio.sleep(0.2)
        assert before < len(piece) * pieces / 2
        assert len(await answer.read()) == len(piece) * pieces
        answer.close()


async def test_what_waits_for_the_client_is_bounded(lean: LeanTransport) -> None:
    async with raw_server(lambda peer: peer.whole_stream(*[b"x" * 65_536] * 100)) as provider:
        answer = await lean.post(provider.url, {}, b"")
        largest = 0
        async for data in answer.chunks():
            largest = max(largest, len(data))
            await asyncio.sleep(0)
        assert largest <= MOST_WAITING + 2**18  # and what one read brought beyond it


@pytest.mark.parametrize("client", [LeanTransport, AiohttpTransport])
async def test_silence_has_its_deadline_before_the_first_byte_and_after(client: type[LeanTransport]) -> None:
    transport = client(Timeouts(connect=5, first_byte=0.2, idle=0.1))

    async def falls_silent(peer: Peer) -> None:
        if peer.request.body == b"never":
            await peer.gone.wait()
        await peer.stream(b"one")
        await peer.gone.wait()

    async with raw_server(falls_silent) as provider:
        with pytest.raises(UpstreamError, match="did not begin") as caught:
            await transport.post(provider.url, {}, b"never")
        assert (caught.value.kind, caught.value.repeat) == ("timeout", False)
        answer = await transport.post(provider.url, {}, b"")
        got: list[bytes] = []

        async def take() -> None:
            async for data in answer.chunks():
                got.append(data)
                await asyncio.sleep(0.3)  # a slow client is not the provider's silence

        with pytest.raises(UpstreamError, match="fell silent"):
            await take()
        assert got == [b"one"]
        answer.close()
        async with asyncio.timeout(10):
            await asyncio.gather(*(peer.gone.wait() for peer in provider.connections))
    await transport.aclose()


@pytest.mark.parametrize(
    ("named", "packed"),
    [
        ("gzip", gzip.compress(b"hi " * 999)),
        ("gzip", gzip.compress(b"hi " * 500) + gzip.compress(b"hi " * 499)),
        ("deflate", zlib.compress(b"hi " * 999)),
        ("deflate", zlib.compress(b"hi " * 999)[2:-4]),
        ("identity", b"hi " * 999),
    ],
    ids=["gzip", "gzip in two members", "deflate", "deflate without its frame", "identity"],
)
async def test_a_body_packed_without_being_asked_is_unpacked(lean: LeanTransport, named: str, packed: bytes) -> None:
    more = f"content-encoding: {named}\r\n".encode()
    async with raw_server(lambda peer: peer.answer(200, packed, more=more)) as provider:
        assert (await asked(lean, provider.url))[1] == b"hi " * 999


@pytest.mark.parametrize(
    ("named", "packed", "words"),
    [
        ("gzip", gzip.compress(b"hi " * 999)[:-9], "broke off"),
        ("gzip", b"not gzip at all", "could not be unpacked"),
        ("br", b"xxxx", "'br', which was not asked for"),
    ],
    ids=["cut off", "not packed at all", "a coding nobody asked for"],
)
async def test_a_body_that_cannot_be_unpacked_is_an_honest_error(
    lean: LeanTransport, named: str, packed: bytes, words: str
) -> None:
    more = f"content-encoding: {named}\r\n".encode()
    async with raw_server(lambda peer: peer.answer(200, packed, more=more)) as provider:
        with pytest.raises(UpstreamError, match=words):
            await asked(lean, provider.url)


async def test_a_tiny_body_that_unpacks_to_gigabytes_is_taken_in_small_pieces(lean: LeanTransport) -> None:
    bomb = gzip.compress(b"\0" * 64 * 2**20)
    async with raw_server(lambda peer: peer.answer(200, bomb, more=b"content-encoding: gzip\r\n")) as provider:
        answer = await lean.post(provider.url, {}, b"")
        assert max([len(data) async for data in answer.chunks()]) <= 2**20


async def test_tls_is_spoken_where_the_address_says_so_and_only_with_whom_we_trust(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    make = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout k -out c "
        "-addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    )
    await asyncio.to_thread(subprocess.run, make.split(), cwd=tmp_path, check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "c", tmp_path / "k")
    trusting = LeanTransport(PATIENT, ssl.create_default_context(cafile=str(tmp_path / "c")))
    strange = LeanTransport(PATIENT)
    body = b"x" * 300_000

    async def echo(peer: Peer) -> None:
        await peer.answer(200, peer.request.body)

    def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    plain = await asyncio.start_server(refuse, "127.0.0.1", 0)
    async with raw_server(echo, tls) as provider, plain:
        for host in ("127.0.0.1", "localhost", "127.0.0.1"):
            assert await asked(trusting, f"https://{host}:{provider.port}/", body) == (200, body)
        assert len(provider.connections) == 2
        with pytest.raises(UpstreamError, match="certificate"):
            await strange.post(provider.url, {}, b"")
        with pytest.raises(UpstreamError, match="TLS"):
            await trusting.post(f"https://127.0.0.1:{plain.sockets[0].getsockname()[1]}/", {}, b"")
        assert len(provider.asked) == 3
    await trusting.aclose()
    await strange.aclose()


async def test_a_redirect_is_an_answer_and_is_not_followed(transport: Transport) -> None:
    async with raw_server(lambda peer: peer.answer(307, b"", more=b"location: http://127.0.0.1:1/\r\n")) as provider:
        assert (await asked(transport, provider.url))[0] == 307


async def test_an_answer_before_the_request_was_taken_whole_ends_the_connection(lean: LeanTransport) -> None:
    """A provider that refuses a body by its length reads no more of it: the rest would look like the next request."""
    heads: list[str] = []

    def refuse(listener: socket.socket) -> None:
        for _ in range(2):
            wire, _ = listener.accept()
            with wire:
                heads.append(wire.recv(4096).split(b"\r\n")[0].decode())
                wire.sendall(b"HTTP/1.1 413 X\r\ncontent-length: 0\r\n\r\n")
                left.wait(10)

    left = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        refusing = asyncio.get_running_loop().run_in_executor(None, refuse, listener)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        for _ in range(2):
            left.clear()
            assert (await asked(lean, url, b"x" * (32 * 2**20)))[0] == 413
            left.set()
        await refusing
    assert heads == ["POST / HTTP/1.1"] * 2


async def test_closing_the_client_tells_whoever_waits(lean: LeanTransport) -> None:
    async def silent(peer: Peer) -> None:
        await peer.gone.wait()

    async with raw_server(silent) as provider:
        waiting = asyncio.create_task(lean.post(provider.url, {}, b""))
        await provider.next_request()
        await lean.aclose()
        with pytest.raises(UpstreamError):
            await waiting
