"""What a model takes: read out of refusals, asked of the upstream in the background, and believed for an hour."""

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
from app.upstreams.gemini import gemini
from app.upstreams.limits import LONGEST_NAME, MOST_LEARNT, Limits, overflow
from app.upstreams.openai import openai
from app.upstreams.transport import AiohttpTransport, Timeouts
from app.upstreams.upstream import Credential, Upstream

KEY = Credential("bearer", "lab")
HOUR = 3600.0

WORDINGS: dict[str, tuple[str, tuple[int, int]]] = {
    "OpenAI": (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 10500 tokens. "
        "Please reduce the length of the messages.",
        (8192, 10500),
    ),
    "OpenAI with tools": (
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130500 tokens "
        "(130000 in the messages, 500 in the functions).",
        (128_000, 130_500),
    ),
    "OpenAI, the newer words": (
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        (0, 0),
    ),
    "OpenAI, input limit": (
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 280123 tokens. "
        "Please reduce the length of the messages.",
        (272_000, 280_123),
    ),
    "OpenAI completions": (
        "This model's maximum context length is 4097 tokens, however you requested 4927 tokens (3927 in your prompt; "
        "1000 for the completion). Please reduce your prompt; or completion length.",
        (4097, 4927),
    ),
    "DeepSeek": (
        "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (62000 in the "
        "messages, 8000 in the completion). Please reduce the length of the messages or completion.",
        (65_536, 70_000),
    ),
    "OpenRouter": (
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens (148000 "
        'of text input, 2000 in the output). Please reduce the length of either one, or use the "middle-out" transform',
        (131_072, 150_000),
    ),
    "vLLM": (
        "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens. "
        "Please reduce the length of the input messages.",
        (4096, 5000),
    ),
    "vLLM, answer too long beside the prompt": (
        "'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context length is 4096 "
        "tokens and your request has 3500 input tokens (1000 > 4096 - 3500).",
        (4096, 4500),
    ),
    "vLLM, newest": (
        "You passed 5001 input tokens and requested 1000 output tokens. However, the model's context length is only "
        "4096 tokens, resulting in a maximum input length of 3096 tokens. Please reduce the length of the input prompt",
        (4096, 6001),
    ),
    "vLLM's engine": (
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that "
        "`max_model_len` is no smaller than the number of text tokens.",
        (4096, 5000),
    ),
    "SGLang": (
        "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
        (4096, 5000),
    ),
    "SGLang with the answer": (
        "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of "
        "5000 tokens: 4000 tokens from the input messages and 1000 tokens for the completion.",
        (4096, 5000),
    ),
    "llama.cpp": (
        "request (5012 tokens) exceeds the available context size (4096 tokens), try increasing it",
        (4096, 5012),
    ),
    "llama.cpp without numbers": (
        "the request exceeds the available context size. try increasing the context size or enable context shift",
        (0, 0),
    ),
    "LM Studio": (
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context "
        "length of only 4096 tokens, which is not enough.",
        (4096, 5000),
    ),
    "Ollama": ("prompt too long; exceeded max context length by 904 tokens", (0, 0)),
    "Gemini": (
        "The input token count (1200345) exceeds the maximum number of tokens allowed (1048576).",
        (1_048_576, 1_200_345),
    ),
    "Gemini without the count": (
        "The input token count exceeds the maximum number of tokens allowed 1048576.",
        (1_048_576, 0),
    ),
    "Vertex AI": (
        "Unable to submit request because the input token count is 1200345 but model only supports up to 1048576. "
        "Reduce the input token count and try again.",
        (1_048_576, 1_200_345),
    ),
    "Anthropic": ("prompt is too long: 210000 tokens > 200000 maximum", (200_000, 210_000)),
    "Anthropic with the answer": (
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or "
        "`max_tokens` and try again",
        (200_000, 210_000),
    ),
    "Groq": ("Please reduce the length of the messages or completion.", (0, 0)),
    "Cerebras": (
        "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
        (8192, 9000),
    ),
    "Mistral": (
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        (32_768, 40_000),
    ),
    "Fireworks": ("The prompt is too long: 140000, model maximum context length: 131071", (131_071, 140_000)),
    "Together": (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens and "
        "512 `max_new_tokens`",
        (4097, 5512),
    ),
    "text-generation-inference": (
        "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000",
        (1024, 2000),
    ),
    "xAI": (
        "This model's maximum prompt length is 131072 but the request contains 150000 tokens.",
        (131_072, 150_000),
    ),
    "Cohere": (
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000.",
        (4081, 5000),
    ),
    "Moonshot": (
        "Invalid request: Your request exceeded model token limit: 131072 (requested: 135012)",
        (131_072, 135_012),
    ),
    "Qwen": ("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]", (129_024, 0)),
    "GitHub Copilot": ("prompt token count of 130000 exceeds the limit of 128000", (128_000, 130_000)),
    "GitHub Models": ("Request body too large for gpt-4o model. Max size: 8000 tokens.", (8000, 0)),
    "Bedrock": (
        "This model's maximum context length is 8192 tokens. Please reduce the length of the prompt",
        (8192, 0),
    ),
    "written with separators": (
        "This model's maximum context length is 131,072 tokens. However, your messages resulted in 1,150,000 tokens.",
        (131_072, 1_150_000),
    ),
    "MiniMax, whose number is an error code": ("invalid params, context window exceeds limit (2013)", (0, 0)),
    "a rate, which is no window": (
        "Request too large for model `llama-3.1-8b` on tokens per minute (TPM): Limit 6000, Requested 8000, please "
        "reduce your message size and try again.",
        (0, 0),
    ),
    "a number beyond all sense": (f"This model's maximum context length is {'9' * 5000} tokens.", (0, 0)),
    "nothing": ("", (0, 0)),
}


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
    transport = AiohttpTransport(Timeouts())
    made = Limits(transport, clock)
    yield made
    await made.aclose()
    await transport.aclose()


async def until(true: Callable[[], bool]) -> None:
    """Wait for what a background task does."""
    async with asyncio.timeout(5):
        while not true():  # noqa: ASYNC110 (what is waited for has no event to give)
            await asyncio.sleep(0.005)


def upstream(url: str = "http://127.0.0.1:9/v1") -> Upstream:
    """A compatible server with a key of ours."""
    return openai("local", url, "ours")


@pytest.mark.parametrize("name", WORDINGS)
def test_a_refusal_says_the_limit_and_what_was_asked_for(name: str) -> None:
    words, expected = WORDINGS[name]
    assert overflow(words) == expected
    assert overflow(f"Provider returned error: 400 {words.upper()}") == expected


def test_a_refusal_of_any_length_is_read_in_no_time() -> None:
    assert overflow("prompt is too long: " * 500_000) == (0, 0)
    assert overflow("context length is 1" * 100_000)[1] == 0


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
        await until(lambda: limits.known(here, "m"))
        clock.now += HOUR - 1
        limits.refresh_soon(here, KEY)
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
        await until(lambda: bool(caplog.records))
        clock.now += 599
        limits.refresh_soon(here, KEY)
        await asyncio.sleep(0.02)
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
        await asyncio.sleep(0.02)
        assert server.asked == []
        limits.refresh_soon(here, KEY)
        await until(lambda: limits.known(here, "m"))


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
        await asyncio.sleep(0.02)
        await limits.aclose()
        assert server.asked == []


async def test_geminis_own_numbers_are_taken(limits: Limits, sim: Running) -> None:
    here = gemini("gemini", sim.gemini_url, "lab")
    assert not limits.known(here, "lab")
    limits.refresh_soon(here, KEY)
    await until(lambda: limits.known(here, "lab"))
    assert limits.of(here, "models/lab") == Window(1_048_576, 65_536)
