"""What goes out is accepted by the strict stand-in of OpenAI, over a real socket: whole, chained, stored or not."""

from __future__ import annotations

from collections.abc import Generator

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings

from app.chat.events import Event, Finished, TextDelta, ThinkingDelta, ToolCallDelta, ToolCalled
from app.chat.model import Chat, Message, Native, Text, ToolCall, ToolResult
from app.chat.reply import Reply
from app.context.known import Known
from app.context.mending import mend
from app.context.plan import Draft
from app.context.policy import Policy
from app.simulator.running import simulator_in_thread
from app.wires.openai_responses import OPENAI_RESPONSES
from app.wires.wire import Reader
from tests.chat.talks import (
    STYLES,
    Answered,
    Style,
    Talk,
    as_gemini,
    as_openai,
    gemini_chat,
    openai_chat,
    talks,
)
from tests.wires.openai_responses.speaking import TARGET, Json, as_items, body_of, decoded, edited, told, written

NAMES = ("get_rows", "read-file", "f")
SCHEMA: Json = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}}
TOOLS: list[Json] = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in NAMES]
GEMINI_TOOLS: list[Json] = [{"functionDeclarations": [{"name": name} for name in NAMES]}]
SAID: Json = {
    "reasoning_effort": "low",
    "max_completion_tokens": 100,
    "stop": ["x"],
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
    "verbosity": "low",
}


@pytest.fixture(scope="module")
def provider() -> Generator[httpx2.Client]:
    """A client of the stand-in."""
    with (
        simulator_in_thread() as running,
        httpx2.Client(
            base_url=running.openai_url,
            headers={"authorization": "Bearer lab"},
            trust_env=False,
            verify=False,
            timeout=10,
        ) as client,
    ):
        yield client


def _asked(provider: httpx2.Client, chat: Chat) -> tuple[Reply, Reader]:
    """The answer to a chat. A refusal fails the test."""
    outbound = OPENAI_RESPONSES.encode(chat, TARGET)
    headers = {"content-type": "application/json"}
    answer = provider.post(outbound.path.removeprefix("/"), content=outbound.body, headers=headers)
    assert answer.status_code == 200, answer.text
    reader = OPENAI_RESPONSES.reader(chat, chat.stream, lambda: "1")
    reply = told([*reader.feed(answer.content), *reader.close()])
    assert reply.failed is None
    assert reply.finished is not None
    return reply, reader


class _Conversation:
    """A tool loop, then more talk, in which every answer is put back as the provider said it."""

    def __init__(self, provider: httpx2.Client, store: bool | None, *, chained: bool) -> None:
        self._provider = provider
        self._chained = chained
        start = openai_chat([{"role": "user", "content": "Where is Ann?"}], tools=TOOLS[:1], stream=True)
        self.chat = edited(start, native=None, messages=(), store=store)
        self.bodies: list[int] = []

    def say(self, *messages: Message, choice: str = "none") -> Reply:
        sampling = decoded(body_of({"role": "user", "content": "x"}, tool_choice=choice)).sampling
        self.chat = edited(self.chat, messages=(*self.chat.messages, *messages), sampling=sampling)
        self.bodies.append(len(OPENAI_RESPONSES.encode(self.chat, TARGET).body))
        reply, reader = _asked(self._provider, self.chat)
        turn = reply.message
        if sealed := reader.sealed():
            turn = OPENAI_RESPONSES.restore(turn, sealed, in_loop=True)
        self.chat = edited(self.chat, messages=(*self.chat.messages, turn))
        if self._chained:
            assert reader.handle().startswith("resp_")
            self.chat = edited(self.chat, after=reader.handle(), since=len(self.chat.messages))
        return reply

    def hold(self) -> None:
        """Call a tool, hear what it says, and go on."""
        called = self.say(Message("user", (Text("Where is Ann?"),)), choice="required")
        assert called.calls
        results = tuple(ToolResult(call.id, (Text("Room 4"),)) for call in called.calls)
        self.say(Message("user", results))
        self.say(Message("user", (Text("And Bob? " + "x" * 2000),)))
        self.say(Message("user", (Text("Thanks."),)))


@pytest.mark.parametrize("store", [True, False, None])
def test_a_tool_loop_is_accepted_with_every_answer_put_back(provider: httpx2.Client, store: bool | None) -> None:
    talk = _Conversation(provider, store, chained=False)
    talk.hold()
    reasoning = [
        m for m in talk.chat.messages if m.native and any(b'"reasoning"' in bytes(raw) for raw in m.native.body)
    ]
    assert reasoning, "the stand-in reasons, so that something had to be put back"


def test_a_tool_loop_is_accepted_when_only_what_is_new_is_sent(provider: httpx2.Client) -> None:
    talk = _Conversation(provider, None, chained=True)
    talk.hold()
    assert talk.bodies[-1] < 1000, "the long message before was not sent again"
    whole = edited(talk.chat, after="", since=0, messages=(*talk.chat.messages, Message("user", (Text("So?"),))))
    _asked(provider, whole)


def test_an_answer_of_another_provider_is_accepted_when_it_comes_back_to_openai(provider: httpx2.Client) -> None:
    gemini = Native("gemini", {})
    spoken: list[Event] = [
        ThinkingDelta("hm", Native("gemini", b"")),
        TextDelta("One moment."),
        ToolCallDelta(0, "a", "f", "{}"),
        ToolCalled(0, ToolCall("a", "f", "{}")),
        ToolCalled(1, ToolCall("b", "f", "{}", "c2ln", native=gemini)),
        Finished("tool_calls"),
    ]
    asked: Json = {"role": "user", "content": "Where is Ann?"}
    output: list[Json] = decoded_output(written(spoken, stream=False))
    results: list[Json] = [{"type": "function_call_output", "call_id": i, "output": "4"} for i in "ab"]
    _asked(provider, decoded(body_of(asked, *output, *results)))


def decoded_output(data: bytes) -> list[Json]:
    """The output of a whole response."""
    found: list[Json] = httpx2.Response(200, content=data).json()["output"]
    return found


SETTINGS = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _ending_with_the_user(talk: Talk) -> Talk:
    return talk[:-1] if isinstance(talk[-1], Answered) else talk


@SETTINGS
@given(talk=talks(steps=2), style=STYLES)
def test_a_talk_from_chat_completions_is_accepted(provider: httpx2.Client, talk: Talk, style: Style) -> None:
    chat = openai_chat(as_openai(_ending_with_the_user(talk), style)[0], tools=TOOLS, **SAID)
    _asked(provider, mend(Draft(chat), Known(), Policy()).chat)


@SETTINGS
@given(talk=talks(steps=2), style=STYLES)
def test_a_talk_from_gemini_is_accepted(provider: httpx2.Client, talk: Talk, style: Style) -> None:
    config = {"maxOutputTokens": 5, "responseMimeType": "application/json", "temperature": 1}
    contents = as_gemini(_ending_with_the_user(talk), style)[0]
    chat = gemini_chat(contents, tools=GEMINI_TOOLS, generationConfig=config)
    _asked(provider, mend(Draft(chat), Known(), Policy()).chat)


@SETTINGS
@given(talk=talks(steps=2))
def test_an_edited_talk_of_this_format_is_accepted(provider: httpx2.Client, talk: Talk) -> None:
    items, _ = as_items(_ending_with_the_user(talk))
    chat = decoded(body_of(*items))
    _asked(provider, edited(chat, messages=tuple(message.edited(message.parts) for message in chat.messages)))
