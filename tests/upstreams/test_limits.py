"""What a model takes: learnt from refusals, asked of the upstream in the background, and believed for an hour."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from app.chat.windows import UNKNOWN, Window
from app.simulator.running import Running
from app.upstreams import limits as limits_module
from app.upstreams.gemini import gemini
from app.upstreams.lean.transport import LeanTransport
from app.upstreams.limits import LONGEST_NAME, MOST_LEARNT, Limits
from app.upstreams.openai import openai
from app.upstreams.transport import Timeouts
from app.upstreams.upstream import Credential, Upstream

KEY = Credential("bearer", "lab")
HOUR = 3600.0


@dataclass
class Clock:
    """Time that passes when told to."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Listing:
    """A server with one answer to whatever it is asked; it notes the request lines and headers."""

    body: bytes = b'{"data": []}'
    status: str = "200 OK"
    silent: bool = False
    asked: list[str] = field(default_factory=list[str])
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request."""
        try:
            self.asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
            if self.silent:
                await reader.read()
            head = f"HTTP/1.1 {self.status}\r\ncontent-length: {len(self.body)}\r\nconnection: close\r\n\r\n"
            writer.write(head.encode() + self.body)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def listing(models: object = None, **given: str | bool) -> AsyncGenerator[Listing]:
    """A server that lists `models`."""
    served = Listing(json.dumps(models or {"data": []}).encode(), **given)  # type: ignore[arg-type]  # status and silent
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    served.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server:
        yield served
        server.close()


@pytest.fixture
def clock() -> Clock:
    """Time in the tests' hands."""
    return Clock()


@pytest.fixture
async def limits(clock: Clock) -> AsyncGenerator[Limits]:
    """Limits that may ask, since a real transport stands beside them."""
    transport = LeanTransport(Timeouts())
    made = Limits(transport, clock)
    yield made
    await made.aclose()
    await transport.aclose()


async def until(true: Callable[[], bool]) -> None:
    """Wait for what a background task does."""
    async with asyncio.timeout(5):
        while not true():  # noqa: ASYNC110 (what is waited for has no event to give)
            await asyncio.sleep(0.005)


def asking() -> bool:
    """Whether some upstream is being asked now."""
    return any(task.get_name().startswith("limits of") for task in asyncio.all_tasks())


def upstream(url: str = "http://127.0.0.1:9/v1") -> Upstream:
    """A compatible server with a key of ours."""
    return openai("local", url, "ours")


def test_without_any_word_the_table_counts_and_a_name_it_lacks_is_not_vouched_for() -> None:
    limits = Limits()
    assert limits.of(upstream(), "gpt-4.1").context == 1_047_576
    assert limits.known(upstream(), "gpt-4.1")
    assert limits.of(upstream(), "house-special") == UNKNOWN
    assert not limits.known(upstream(), "house-special")


def test_a_refusal_vouches_for_a_model_that_nobody_knows(clock: Clock) -> None:
    limits = Limits(None, clock)
    limits.learn("local", "House-Special", 500_000)
    assert limits.of(upstream(), "models/house-special") == Window(500_000, UNKNOWN.output)
    assert limits.known(upstream(), "house-special")
    assert not limits.known(openai("other", "http://127.0.0.1:9"), "house-special")


def test_a_refusal_never_makes_a_window_larger_than_the_table_has_it(clock: Clock) -> None:
    limits = Limits(None, clock)
    limits.learn("local", "gpt-5", 400_000)
    assert limits.of(upstream(), "gpt-5") == Window(272_000, 128_000)
    limits.learn("local", "gpt-5", 100_000)
    assert limits.of(upstream(), "gpt-5") == Window(100_000, 128_000)


def test_of_several_refusals_the_smallest_counts_until_its_hour_is_over(clock: Clock) -> None:
    limits = Limits(None, clock)
    limits.learn("local", "m", 9_000)
    clock.now += HOUR / 2
    limits.learn("local", "m", 8_000)
    limits.learn("local", "m", 10_000)
    clock.now += HOUR - 1
    assert limits.of(upstream(), "m").context == 8_000
    limits.learn("local", "m", 10_000)
    clock.now += 2
    assert limits.of(upstream(), "m") == UNKNOWN
    limits.learn("local", "m", 10_000)
    assert limits.of(upstream(), "m").context == 10_000


@pytest.mark.parametrize("nonsense", [-5, 0, 1, 255])
def test_a_limit_that_no_model_has_is_not_believed(nonsense: int) -> None:
    limits = Limits()
    limits.learn("local", "m", nonsense)
    assert not limits.known(upstream(), "m")


def test_names_made_up_by_clients_take_bounded_memory() -> None:
    limits = Limits()
    for number in range(MOST_LEARNT + 5):
        limits.learn("local", f"{number}-{'x' * 10_000}", 5_000)
    limits.learn("local", "last", 5_000)
    assert limits.known(upstream(), "last")
    assert not limits.known(upstream(), f"0-{'x' * LONGEST_NAME}")


async def test_what_the_upstream_lists_comes_before_the_table(limits: Limits) -> None:
    models = {"data": [{"id": "gpt-4.1", "max_model_len": 32_000}, {"id": "own/model", "context_length": 64_000}]}
    async with listing(models) as server:
        here = upstream(server.url)
        limits.refresh_soon(here, KEY)
        await until(lambda: limits.known(here, "own/model"))
        assert limits.of(here, "own/model").context == 64_000
        assert limits.of(here, "gpt-4.1").context == 32_000
        assert server.asked[0].startswith("GET /v1/models HTTP/1.1")
        assert "authorization: bearer ours" in server.asked[0].lower()


async def test_a_refusal_comes_before_what_the_upstream_lists(limits: Limits, clock: Clock) -> None:
    async with listing({"data": [{"id": "m", "max_model_len": 32_000}]}) as server:
        here = upstream(server.url)
        limits.refresh_soon(here, KEY)
        await until(lambda: limits.known(here, "m"))
        limits.learn("local", "m", 16_000)
        assert limits.of(here, "m").context == 16_000
        clock.now += HOUR + 1
        assert limits.of(here, "m").context == 32_000


async def test_an_upstream_is_asked_once_an_hour_whoever_comes(limits: Limits, clock: Clock) -> None:
    async with listing({"data": [{"id": "m", "max_model_len": 32_000}]}) as server:
        here = openai("local", server.url)
        for number in range(50):
            limits.refresh_soon(here, Credential("bearer", f"client-{number}"))
        await until(lambda: limits.known(here, "m") and not asking())
        clock.now += HOUR - 1
        limits.refresh_soon(here, KEY)
        assert not asking()
        assert len(server.asked) == 1
        server.body = b'{"data": [{"id": "n", "max_model_len": 64000}]}'
        clock.now += 2
        limits.refresh_soon(here, KEY)
        await until(lambda: limits.known(here, "n"))
        assert len(server.asked) == 2
        assert not limits.known(here, "m")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{}", "404 Not Found"),
        (b"{}", "302 Found"),
        (b"nonsense", "200 OK"),
        (b"[" * 100_000, "200 OK"),
    ],
)
async def test_an_upstream_that_does_not_say_is_asked_again_after_ten_minutes_without_a_word(
    limits: Limits, clock: Clock, caplog: pytest.LogCaptureFixture, body: bytes, status: str
) -> None:
    caplog.set_level(logging.DEBUG, "app.upstreams.limits")
    async with listing(status=status) as server:
        server.body = body
        here = upstream(server.url)
        limits.refresh_soon(here, KEY)
        await until(lambda: bool(caplog.records) and not asking())
        clock.now += 599
        limits.refresh_soon(here, KEY)
        assert not asking()
        assert len(server.asked) == 1
        clock.now += 2
        limits.refresh_soon(here, KEY)
        await until(lambda: len(server.asked) == 2)
    assert {record.levelno for record in caplog.records} == {logging.DEBUG}
    assert "127.0.0.1" not in caplog.text
    assert not limits.known(here, "m")


async def test_a_list_of_odd_entries_teaches_what_it_can(limits: Limits) -> None:
    models = {"data": [None, 5, {"id": 7}, {"id": "x", "max_model_len": "many"}, {"id": "m", "max_model_len": 9_000}]}
    async with listing(models) as server:
        here = upstream(server.url)
        limits.refresh_soon(here, KEY)
        await until(lambda: limits.known(here, "m"))
        assert not limits.known(here, "x")


async def test_a_client_without_a_key_costs_the_next_one_nothing(limits: Limits) -> None:
    async with listing({"data": [{"id": "m", "max_model_len": 32_000}]}) as server:
        here = openai("local", server.url)
        limits.refresh_soon(here, Credential())
        await until(lambda: not asking())
        assert server.asked == []
        limits.refresh_soon(here, KEY)
        await until(lambda: limits.known(here, "m"))


async def test_a_silent_upstream_is_given_up_at_the_deadline(
    limits: Limits, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert limits_module.PATIENCE == 10
    monkeypatch.setattr(limits_module, "PATIENCE", 0.1)
    caplog.set_level(logging.DEBUG, "app.upstreams.limits")
    async with listing(silent=True) as server:
        limits.refresh_soon(upstream(server.url), KEY)
        await until(lambda: bool(caplog.records))
    assert "Timeout" in caplog.text


async def test_closing_does_not_wait_for_a_silent_upstream(limits: Limits) -> None:
    async with listing(silent=True) as server:
        limits.refresh_soon(upstream(server.url), KEY)
        await until(lambda: bool(server.asked))
        async with asyncio.timeout(2):
            await limits.aclose()


async def test_nothing_goes_out_where_no_real_transport_stands() -> None:
    async with listing() as server:
        limits = Limits()
        limits.refresh_soon(upstream(server.url), KEY)
        assert not asking()
        await limits.aclose()


async def test_geminis_own_numbers_are_taken(limits: Limits, sim: Running) -> None:
    here = gemini("gemini", sim.gemini_url, "lab")
    assert not limits.known(here, "lab")
    limits.refresh_soon(here, KEY)
    await until(lambda: limits.known(here, "lab"))
    assert limits.of(here, "models/lab") == Window(1_048_576, 65_536)
