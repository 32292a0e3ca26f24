"""A provider's own count is of the very request, costs a turn little time, and never costs it its answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from app.chat.model import Chat, Message, Text
from app.simulator.running import Running
from app.upstreams import counting
from app.upstreams.counting import exact
from app.upstreams.gemini import gemini, vertex
from app.upstreams.lean.transport import LeanTransport
from app.upstreams.openai import openai
from app.upstreams.transport import Timeouts
from app.upstreams.upstream import Credential, Upstream
from app.wires.wire import Outbound
from tests.wires.talking import decoded

KEY = Credential("bearer", "lab")
GEMINI_MODEL, OPENAI_MODEL = "gemini-3-flash-preview", "gpt-4.1"
PNG = "iVBORw0KGgo+/w=="
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SIGNATURE = "skip_thought_signature_validator"


def _call(identity: str, city: str) -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": "f", "arguments": json.dumps({"city": city})}}


TALK: dict[str, Any] = {
    "model": OPENAI_MODEL,
    "messages": [
        {"role": "system", "content": "Answer briefly. 短く答える。"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Where is this, and how is the weather?"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
            ],
        },
        {"role": "assistant", "content": "I look.", "tool_calls": [_call("a", "Oslo"), _call("b", "Bergen")]},
        {"role": "tool", "tool_call_id": "a", "content": "rain"},
        {"role": "tool", "tool_call_id": "b", "content": "sun " * 50},
        {"role": "assistant", "content": "Bergen has sun."},
        {"role": "user", "content": "thanks, and now?"},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA, "strict": False}}],
}
NATIVE: dict[str, Any] = {
    "system_instruction": {"parts": [{"text": "Answer briefly."}]},
    "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": SCHEMA}]}],
    "generationConfig": {"maxOutputTokens": 100},
    "contents": [
        {"role": "user", "parts": [{"text": "see"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": SIGNATURE}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "rain"}}}]},
    ],
}


@pytest.fixture
async def transport() -> AsyncGenerator[LeanTransport]:
    """The way to the network that turns take."""
    made = LeanTransport(Timeouts())
    yield made
    await made.aclose()


def own_openai(sim: Running) -> Upstream:
    """OpenAI's own service, which stands at the simulator."""
    return replace(openai("openai", sim.openai_url, "lab"), own=True)


def encoded(upstream: Upstream, chat: Chat, model: str) -> Outbound:
    """The request as it would go out."""
    return upstream.wire.encode(chat, upstream.target(model))


async def counted(transport: LeanTransport, upstream: Upstream, chat: Chat, model: str) -> int | None:
    """The exact count of a chat."""
    return await exact(transport, upstream, encoded(upstream, chat, model), chat, model, KEY)


async def used(upstream: Upstream, chat: Chat, model: str) -> int:
    """What the provider reports when the same request is really sent."""
    outbound = encoded(upstream, chat, model)
    headers = {"authorization": "Bearer lab", "x-goog-api-key": "lab"}
    async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
        answer = await client.post(upstream.url(outbound), content=outbound.body, headers=headers)
    body = answer.json()
    assert answer.status_code == 200, body
    return body["usage"]["prompt_tokens"] if "usage" in body else body["usageMetadata"]["promptTokenCount"]


@asynccontextmanager
async def answering(body: bytes, status: str = "200 OK", wait: float = 0) -> AsyncGenerator[str]:
    """A server that answers the same to everybody, after `wait` seconds."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(wait)
            writer.write(f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        server.close()


@pytest.mark.parametrize("stream", [False, True])
async def test_gemini_counts_system_tools_media_and_calls_of_the_very_request(
    transport: LeanTransport, sim: Running, stream: bool
) -> None:
    upstream = gemini("gemini", sim.gemini_url, "lab")
    chat = decoded("gemini", NATIVE, stream=stream)
    count = await counted(transport, upstream, chat, GEMINI_MODEL)
    assert sim.journal.last.path == f"/v1beta/models/{GEMINI_MODEL}:countTokens"
    assert count == await used(upstream, replace(chat, stream=False), GEMINI_MODEL)


async def test_gemini_counts_a_chat_that_came_in_another_format(transport: LeanTransport, sim: Running) -> None:
    upstream = gemini("gemini", sim.gemini_url, "lab")
    chat = decoded("openai", TALK)
    count = await counted(transport, upstream, chat, GEMINI_MODEL)
    assert count == await used(upstream, chat, GEMINI_MODEL)


async def test_openais_own_service_counts_text_pictures_tools_calls_and_results(
    transport: LeanTransport, sim: Running
) -> None:
    upstream = own_openai(sim)
    chat = decoded("openai", TALK)
    count = await counted(transport, upstream, chat, OPENAI_MODEL)
    assert sim.journal.last.path == "/v1/responses/input_tokens"
    assert count == await used(upstream, chat, OPENAI_MODEL)


async def test_openai_counts_a_chat_that_came_from_a_gemini_client(transport: LeanTransport, sim: Running) -> None:
    body = {**NATIVE, "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": SCHEMA}]}]}
    chat = decoded("gemini", body)
    count = await counted(transport, own_openai(sim), chat, OPENAI_MODEL)
    assert count is not None
    assert count == pytest.approx(await used(own_openai(sim), chat, OPENAI_MODEL), abs=20)  # strict is always said


EVERYTHING: dict[str, dict[str, Any]] = {
    "structured output": {
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
    },
    "a chosen tool": {"tool_choice": {"type": "function", "function": {"name": "f"}}},
    "no tool": {"tool_choice": "none"},
    "allowed tools": {
        "tool_choice": {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}]},
        }
    },
    "a free-text tool": {
        "tools": [
            {
                "type": "custom",
                "custom": {
                    "name": "f",
                    "format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": "a+"}},
                },
            }
        ],
        "messages": [
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "f", "input": "aaa"}}],
            },
            {"role": "tool", "tool_call_id": "a", "content": "done"},
        ],
    },
    "a file": {
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PNG}"}}
                ],
            }
        ]
    },
    "a refusal, and a system message in the middle": {
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": "again"},
        ]
    },
    "an id that is too long": {
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "tool_calls": [_call("x" * 60, "Oslo")]},
            {"role": "tool", "tool_call_id": "x" * 60, "content": "rain"},
        ]
    },
}


@pytest.mark.parametrize("name", EVERYTHING)
async def test_openai_takes_the_request_to_count_whatever_the_chat_holds(
    transport: LeanTransport, sim: Running, name: str
) -> None:
    chat = decoded("openai", TALK | EVERYTHING[name])
    assert await counted(transport, own_openai(sim), chat, OPENAI_MODEL), sim.journal.last.refused


async def test_what_cannot_be_said_to_the_count_is_not_counted_without(transport: LeanTransport, sim: Running) -> None:
    audio = {"type": "input_audio", "input_audio": {"data": PNG, "format": "wav"}}
    for messages in ([{"role": "user", "content": [audio]}], [{"role": "user", "content": [{"type": "novelty"}]}]):
        chat = decoded("openai", TALK | {"messages": messages})
        assert await counted(transport, own_openai(sim), chat, OPENAI_MODEL) is None
    assert len(sim.journal) == 0


async def test_compatible_servers_and_bodies_beyond_the_limit_are_not_asked(
    transport: LeanTransport, sim: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = decoded("openai", TALK)
    assert await counted(transport, openai("local", sim.openai_url, "lab"), chat, OPENAI_MODEL) is None
    monkeypatch.setattr(counting, "LARGEST", 100)
    assert await counted(transport, own_openai(sim), chat, OPENAI_MODEL) is None
    assert len(sim.journal) == 0


async def test_a_client_without_a_key_gets_no_count_and_no_error(transport: LeanTransport, sim: Running) -> None:
    upstream = gemini("gemini", sim.gemini_url)
    chat = decoded("gemini", NATIVE)
    outbound = encoded(upstream, chat, GEMINI_MODEL)
    assert await exact(transport, upstream, outbound, chat, GEMINI_MODEL, Credential()) is None
    assert await exact(transport, upstream, outbound, chat, GEMINI_MODEL, KEY)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"error": {}}', "400 Bad Request"),
        (b'{"totalTokens": 7}', "302 Found"),
        (b"", "200 OK"),
        (b"nonsense", "200 OK"),
        (b"[" * 100_000, "200 OK"),
        (b'{"totalTokens": "7"}', "200 OK"),
        (b'{"totalTokens": true}', "200 OK"),
        (b'{"totalTokens": -7}', "200 OK"),
        (b"[7]", "200 OK"),
    ],
)
async def test_an_answer_that_is_no_count_is_none(transport: LeanTransport, body: bytes, status: str) -> None:
    async with answering(body, status) as url:
        assert await counted(transport, gemini("g", url, "k"), decoded("gemini", NATIVE), GEMINI_MODEL) is None


async def test_nobody_there_is_no_count(transport: LeanTransport) -> None:
    async with answering(b"") as url:
        pass
    assert await counted(transport, gemini("g", url, "k"), decoded("gemini", NATIVE), GEMINI_MODEL) is None


async def test_a_slow_provider_delays_a_turn_by_no_more_than_the_deadline(
    transport: LeanTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert counting.PATIENCE == 2.0
    monkeypatch.setattr(counting, "PATIENCE", 0.1)
    async with answering(b'{"totalTokens": 7}', wait=1.5) as url, asyncio.timeout(1):
        assert await counted(transport, gemini("g", url, "k"), decoded("gemini", NATIVE), GEMINI_MODEL) is None


def test_vertex_is_given_only_the_fields_that_its_count_takes() -> None:
    way = next(way for way in counting.WAYS if way.fits(vertex("v", "p", "global")))
    chat = decoded("gemini", NATIVE | {"safetySettings": [], "labels": {"a": "b"}})
    outbound = encoded(vertex("v", "p", "global"), chat, GEMINI_MODEL)
    question = way.ask(outbound, chat, GEMINI_MODEL)
    assert question.path == f"/models/{GEMINI_MODEL}:countTokens"
    assert json.loads(question.body) == NATIVE


async def test_half_an_emoji_costs_the_count_and_nothing_else(transport: LeanTransport, sim: Running) -> None:
    chat = decoded("openai", TALK)
    broken = replace(chat, messages=(Message("user", (Text("\ud83d"),)), *chat.messages[1:]))
    outbound = encoded(own_openai(sim), chat, OPENAI_MODEL)
    assert await exact(transport, own_openai(sim), outbound, broken, OPENAI_MODEL, KEY) is None
