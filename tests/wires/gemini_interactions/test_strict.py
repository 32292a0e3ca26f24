"""The strict stand-in for Google takes what goes out: any talk, whole; and a chain, hop by hop, over a real socket."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings

from app.chat.model import Chat, Message, Text, ToolResult
from app.chat.reply import Reply
from app.context.known import Known
from app.context.mending import mend
from app.context.plan import Draft
from app.context.policy import Policy
from app.errors import UpstreamError
from app.simulator.gemini import interactions_order, interactions_rules, interactions_steps
from app.simulator.running import Running, simulator_in_thread
from app.wires.gemini_interactions import GEMINI_INTERACTIONS
from app.wires.lost import is_lost
from app.wires.wire import Reader, Target
from tests.chat.talks import STYLES, Style, Talk, as_gemini, as_openai, gemini_chat, openai_chat, talks
from tests.wires.gemini_interactions.speaking import MODEL, TARGET, Json, changed, decoded, said

NAMES = ("get_rows", "read-file", "f")
OPENAI_TOOLS: list[Json] = [{"type": "function", "function": {"name": name, "strict": True}} for name in NAMES]
GEMINI_TOOLS: list[Json] = [{"functionDeclarations": [{"name": name} for name in NAMES]}, {"googleSearch": {}}]
SCHEMA: Json = {"type": "object", "properties": {"a": {"type": "integer", "exclusiveMinimum": 1}}}
ASKED: Json = {
    "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": OPENAI_TOOLS[:1]}},
    "reasoning_effort": "minimal",
    "max_completion_tokens": 128_000,
    "stop": ["", "x"],
    "temperature": 0.5,
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
}
CONFIG: Json = {
    "maxOutputTokens": 100,
    "thinkingConfig": {"thinkingBudget": 0, "includeThoughts": True},
    "responseMimeType": "application/json",
    "topK": 4,
}


def _check(chat: Chat, target: Target) -> None:
    body = json.loads(GEMINI_INTERACTIONS.encode(mend(Draft(chat), Known(), Policy()).chat, target).body)
    interactions_rules.checked(body, "v1beta")
    steps = interactions_steps.steps_of(body["input"])
    interactions_order.check_order((), steps)
    interactions_order.check_thoughts(steps)


@pytest.mark.parametrize("model", [MODEL, "gemini-2.5-flash", "gemini-3.5-flash-lite"])
@settings(max_examples=25, deadline=None)
@given(talk=talks(steps=2), style=STYLES)
def test_any_talk_of_another_format_is_accepted(model: str, talk: Talk, style: Style) -> None:
    target = Target("gemini", model)
    _check(openai_chat(as_openai(talk, style)[0], tools=OPENAI_TOOLS, **ASKED), target)
    _check(gemini_chat(as_gemini(talk, style)[0], tools=GEMINI_TOOLS, generationConfig=CONFIG), target)


# ---- over a socket


@pytest.fixture(scope="module")
def served() -> Generator[Running]:
    with simulator_in_thread() as running:
        yield running


class Conversation:
    """An OpenAI client's chat with the simulator, turn by turn, as an engine would carry it."""

    def __init__(self, http: httpx2.AsyncClient, chat: Chat) -> None:
        self._http = http
        self.chat = chat
        self.sealed: list[tuple[int, bytes]] = []
        self.reply = Reply()
        self.reader: Reader | None = None
        self.error: UpstreamError | None = None
        self.sent: Json = {}

    async def ask(self, **fields: Any) -> None:
        """One request for the chat as it stands, with `fields` set; the answer is added to it."""
        asked = changed(self.chat, **fields)
        outbound = GEMINI_INTERACTIONS.encode(asked, TARGET)
        self.sent = json.loads(outbound.body)
        answer = await self._http.post("/v1" + outbound.path, content=outbound.body)
        if answer.status_code != 200:
            self.error = GEMINI_INTERACTIONS.failure(answer.status_code, answer.headers, answer.content)
            return
        counter = iter(range(1000))
        self.reader = GEMINI_INTERACTIONS.reader(asked, asked.stream, lambda: str(next(counter)))
        self.reply = Reply()
        for event in (*self.reader.feed(answer.content), *self.reader.close()):
            self.reply.add(event)

    def remember(self) -> str:
        """The answer becomes part of the chat; gives the handle to continue from."""
        assert self.reader is not None
        assert self.reply.failed is None, self.reply.failed
        self.sealed.append((len(self.chat.messages), self.reader.sealed()))
        self.chat = changed(self.chat, messages=(*self.chat.messages, self.reply.message))
        return self.reader.handle()

    def say(self, *messages: Message) -> None:
        """The client goes on."""
        self.chat = changed(self.chat, messages=(*self.chat.messages, *messages))

    def restored(self) -> tuple[Message, ...]:
        """The messages with what Google itself said put back."""
        messages = list(self.chat.messages)
        for index, sealed in self.sealed:
            if sealed:
                messages[index] = GEMINI_INTERACTIONS.restore(messages[index], sealed, in_loop=True)
        return tuple(messages)


@pytest.fixture
async def http(served: Running) -> AsyncGenerator[httpx2.AsyncClient]:
    served.answers.clear()
    headers = {"x-goog-api-key": "lab", "content-type": "application/json"}
    async with httpx2.AsyncClient(
        base_url=served.url, headers=headers, trust_env=False, verify=False, timeout=10
    ) as client:
        yield client


TOOL: Json = {
    "type": "function",
    "function": {"name": "get_rows", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}},
}


def _begun(words: str, **more: Any) -> Chat:
    return said(
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": words},
        tools=[TOOL],
        reasoning_effort="high",
        **more,
    )


@pytest.mark.parametrize("stream", [True, False])
async def test_a_tool_loop_goes_on_from_its_handle_and_as_well_without_it(
    http: httpx2.AsyncClient, stream: bool
) -> None:
    talk = Conversation(http, _begun('[[call get_rows {"n": 3}]] go', stream=stream))
    await talk.ask()
    handle = talk.remember()
    assert handle.startswith("v1_")
    calls = talk.reply.calls
    assert [call.name for call in calls] == ["get_rows"], talk.reply.text
    held = len(talk.chat.messages)
    talk.say(*(Message("user", (ToolResult(call.id, (Text("3 rows"),), call.name),)) for call in calls))
    await talk.ask(messages=talk.restored(), after=handle, since=held)
    assert [step["type"] for step in talk.sent["input"]] == ["function_result"]
    chained = talk.reply.text
    assert talk.error is None
    assert chained
    await talk.ask(messages=talk.restored())
    assert talk.error is None
    assert [step["type"] for step in talk.sent["input"]][-3:] == ["thought", "function_call", "function_result"]
    assert talk.reply.text == chained


async def test_a_long_talk_sends_only_what_is_new_each_time(http: httpx2.AsyncClient) -> None:
    talk = Conversation(http, _begun("one", stream=True))
    handle, held = "", 0
    for words in ("two", "three", "four"):
        await talk.ask(messages=talk.restored(), after=handle, since=held)
        handle, held = talk.remember(), len(talk.chat.messages)
        talk.say(Message("user", (Text(words),)))
        assert len(talk.sent["input"]) == 1
    await talk.ask(messages=talk.restored(), after=handle, since=held)
    chained = talk.reply.usage
    await talk.ask(messages=talk.restored())
    assert talk.error is None
    assert chained is not None
    assert talk.reply.usage is not None
    assert chained.input == talk.reply.usage.input
    assert chained.cached > 0 or chained.input < 1024


@pytest.mark.parametrize("store", [None, False])
async def test_an_answer_in_portions_is_asked_for_to_its_end(http: httpx2.AsyncClient, store: bool | None) -> None:
    talk = Conversation(
        http, changed(_begun("[[continue=2]] [[say one two three four five six]]", stream=True), store=store)
    )
    await talk.ask()
    words, hops = talk.reply.text, 1
    asked = changed(talk.chat)
    while talk.reply.finished and talk.reply.finished.reason == "paused":
        assert talk.reader is not None
        assert talk.reader.handle() == ""
        onward = talk.reader.onward(asked)
        assert onward is not None
        asked = onward
        talk.chat = onward
        await talk.ask()
        assert talk.error is None, talk.error
        assert ("input" in talk.sent) == (store is False)
        words, hops = words + talk.reply.text, hops + 1
    assert hops > 1
    whole = Conversation(http, changed(_begun("[[say one two three four five six]]", stream=True), store=store))
    await whole.ask()
    assert words == whole.reply.text
    assert bool(talk.reader and talk.reader.handle()) == (store is None)


@pytest.mark.parametrize("order", ["[[lose]]", "[[lose=400]]", "[[lose=stream]]", "[[running=1]]"])
async def test_a_chain_that_google_lost_is_told_as_lost_and_the_whole_chat_is_taken(
    http: httpx2.AsyncClient, order: str
) -> None:
    talk = Conversation(http, _begun(f"{order} hello", stream=True))
    await talk.ask()
    handle, held = talk.remember(), len(talk.chat.messages)
    talk.say(Message("user", (Text("and?"),)))
    await talk.ask(messages=talk.restored(), after=handle, since=held)
    error = talk.error or (talk.reply.failed and talk.reply.failed.error)
    assert isinstance(error, UpstreamError), order
    assert is_lost(error)
    talk.error = None
    await talk.ask(messages=talk.restored())
    assert talk.error is None
    assert talk.remember()


async def test_what_a_client_of_this_format_sends_reaches_google_as_it_is(http: httpx2.AsyncClient) -> None:
    raw = json.dumps({"model": MODEL, "input": "hi", "store": False}).encode()
    outbound = GEMINI_INTERACTIONS.encode(decoded(raw), TARGET)
    answer = await http.post("/v1/interactions", content=outbound.body)
    assert (outbound.untouched, answer.status_code) == (True, 200)
