"""Every way to reach a store keeps its deadline, signs in, and takes one round trip where one is promised."""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import os
import signal
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from redis import exceptions as errors

from app.state.connect import open_link
from app.state.link import Link, reason
from tests.servers import RedisServer, free_port, redis_sentinel, short_directory
from tests.state.conftest import OpenStore
from tests.state.samples import addresses, checkpoint, session


@asynccontextmanager
async def linked(url: str, seconds: float = 0.5) -> AsyncGenerator[Link]:
    link = await open_link(url, options={"timeout": seconds})
    try:
        yield link
    finally:
        await link.close()


@pytest.mark.parametrize(
    "form",
    [
        "redis://127.0.0.1:{port}",
        "redis://127.0.0.1:{port}?socket_timeout=60&socket_connect_timeout=60",
        "redis://user:word@127.0.0.1:{port}/3",
        "rediss://127.0.0.1:{port}",
        "unix://{socket}",
        "redis+cluster://127.0.0.1:{port},127.0.0.1:{port}",
        "rediss+cluster://127.0.0.1:{port}",
        "redis+sentinel://127.0.0.1:{port},127.0.0.1:{port}/main",
        "rediss+sentinel://127.0.0.1:{port}/main",
    ],
)
async def test_every_form_keeps_the_deadline_against_a_silent_server(form: str) -> None:
    silent: set[asyncio.StreamWriter] = set()

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        silent.add(writer)
        while await reader.read(1024):
            pass

    with short_directory() as directory:
        path = directory / "s.sock"
        tcp = await asyncio.start_server(swallow, "127.0.0.1", 0)
        unix = await asyncio.start_unix_server(swallow, path)
        url = form.format(port=tcp.sockets[0].getsockname()[1], socket=path)
        async with linked(url, seconds=0.2) as link:
            for _ in range(2):
                began = time.monotonic()
                with pytest.raises((errors.TimeoutError, errors.ConnectionError)):
                    await link.ping()
                assert time.monotonic() - began < 0.8
        for writer in silent:
            writer.close()
        tcp.close()
        unix.close()


async def test_the_embedded_store_keeps_the_deadline_too(tmp_path: Path) -> None:
    with short_directory() as directory:
        async with linked(f"embedded://{directory}", seconds=0.2) as link:
            await link.ping()
            pid = int((directory / "valkey" / "pid").read_text())
            os.kill(pid, signal.SIGSTOP)
            try:
                with pytest.raises(errors.TimeoutError):
                    await link.ping()
            finally:
                os.kill(pid, signal.SIGCONT)
            await link.ping()


async def test_a_refused_port_is_told_at_once() -> None:
    for form in ("redis://127.0.0.1:1", "redis+cluster://127.0.0.1:1", "redis+sentinel://127.0.0.1:1/main"):
        async with linked(form) as link:
            with pytest.raises(errors.ConnectionError) as caught:
                await link.ping()
            assert reason(caught.value) == "refused"


async def test_user_password_and_database_are_honoured(redis: RedisServer) -> None:
    redis.command("ACL", "SETUSER", "fold", "on", ">p@ss/word", "~*", "+@all")
    async with linked(f"redis://fold:p%40ss%2Fword@127.0.0.1:{redis.port}/3?client_name=mine") as link:
        who, _, clients = await link.run(("ACL", "WHOAMI"), ("SET", "in-three", "1"), ("CLIENT", "LIST"))
        assert who == b"fold"
        assert b"name=mine " in clients
        assert "word" not in link.describe()
    assert b"db3:keys=1" in redis.command("INFO", "keyspace")
    async with linked(f"unix://fold:p%40ss%2Fword@{redis.socket}?db=3") as link:
        assert await link.run(("GET", "in-three")) == [b"1"]
    async with linked(f"redis://fold:wrong@127.0.0.1:{redis.port}") as link:
        with pytest.raises(errors.AuthenticationError) as caught:
            await link.ping()
        assert reason(caught.value) == "denied"


async def test_a_master_behind_sentinels_is_found_again_after_a_crash(open_store: OpenStore) -> None:
    with redis_sentinel() as (master, replica, port):
        # The first sentinel is not there: the others are asked at the same time.
        store = await open_store(f"redis+sentinel://127.0.0.1:1,127.0.0.1:{port}/main")
        who, given = session(), checkpoint()
        assert await store.remember(who, [given], info={}) == ""
        deadline = time.monotonic() + 5
        while replica.command("EXISTS", who.key) != b":1\r\n":
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)
        master.kill()
        assert await store.remember(who, [checkpoint()], info={}) != ""
        deadline = time.monotonic() + 20
        while await store.remember(who, [checkpoint()], info={}):
            assert time.monotonic() < deadline, "no new master was found"
            await asyncio.sleep(0.1)
        assert (await store.recall(who, [given.address])).checkpoints == {given.address: given}


async def test_tls_is_spoken_and_its_certificate_checked() -> None:
    with short_directory() as directory:
        _make_certificate(directory)
        server = RedisServer(
            directory,
            *("--tls-port", "0", "--tls-cert-file", str(directory / "cert.pem")),
            *("--tls-key-file", str(directory / "key.pem"), "--tls-auth-clients", "no"),
        )
        port = free_port()
        try:
            server.start()
            server.command("CONFIG", "SET", "tls-ca-cert-file", str(directory / "cert.pem"), "tls-port", str(port))
            async with linked(f"rediss://127.0.0.1:{port}?ssl_ca_certs={directory / 'cert.pem'}") as link:
                assert await link.run(("SET", "a", b"x" * 100_000), ("STRLEN", "a")) == [b"OK", 100_000]
                assert await link.run(("GET", "a")) == [b"x" * 100_000]
            async with linked(f"rediss://127.0.0.1:{port}") as link:
                with pytest.raises(errors.ConnectionError):
                    await link.ping()
        finally:
            server.kill()


@pytest.mark.parametrize("known", [False, True], ids=["first sight", "known session"])
async def test_recall_and_remember_take_one_round_trip_each(
    shared_redis: RedisServer, open_store: OpenStore, known: bool
) -> None:
    bursts = 0

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: bool) -> None:
        nonlocal bursts
        while data := await reader.read(1 << 20):
            bursts += count
            writer.write(data)
        writer.close()

    tasks: list[asyncio.Future[Any]] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", shared_redis.port)
        tasks.append(asyncio.gather(relay(reader, there[1], True), relay(there[0], writer, False)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0, limit=1 << 20)
    store = await open_store(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    who, given = session(), checkpoint()
    chat = [*addresses(50), given.address]
    if known:
        await store.remember(who, [given], info={})
        await store.recall(who, chat)
    bursts = 0
    await store.recall(who, chat)
    assert bursts == 1
    assert await store.remember(who, [given, checkpoint()], turn_id="t", turn=b"x", info={}) == ""
    assert bursts == 2
    await store.close()
    await asyncio.gather(*tasks)
    server.close()


async def test_a_long_known_chat_asks_only_for_what_is_new(redis: RedisServer, open_store: OpenStore) -> None:
    store = await open_store(redis.url)
    who, chat = session(), addresses(2000)
    given = [checkpoint(address=address) for address in chat[1::2]]
    await store.remember(who, given, info={})
    await store.recall(who, chat)
    before = _bytes_received(redis)
    known = await store.recall(who, [*chat, *addresses(2)])
    assert len(known.checkpoints) == 1000
    assert _bytes_received(redis) - before < 2000  # all addresses would be 46 kB


async def test_the_cache_stays_within_its_bytes(redis: RedisServer, open_store: OpenStore) -> None:
    store = await open_store(redis.url, cache_bytes=50_000)
    who = session()
    for _ in range(20):
        who, given = session(), checkpoint("x" * 10_000)
        await store.remember(who, [given], info={})
        assert store.cache_bytes <= 50_000
        assert (await store.recall(who, [given.address])).checkpoints == {given.address: given}
    huge = checkpoint("x" * 60_000)
    await store.remember(who, [huge], info={})
    assert store.cache_bytes <= 50_000
    assert (await store.recall(who, [huge.address])).checkpoints == {huge.address: huge}


def _bytes_received(server: RedisServer) -> int:
    stats = server.command("INFO", "stats").decode()
    return int(stats.partition("total_net_input_bytes:")[2].split()[0])


def _make_certificate(directory: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    (directory / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (directory / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
