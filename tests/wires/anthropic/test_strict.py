"""What goes out is accepted by a strict stand-in for Anthropic, whatever comes in; its answers go round and back."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.model import (
    Chat,
    Message,
    OutputFormat,
    Part,
    Reasoning,
    Sampling,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
)
from app.simulator.anthropic.messages import Messages
from app.simulator.desk import Asked
from app.wires.anthropic import ANTHROPIC, encode
from app.wires.wire import Stamp, Target
from tests.wires.anthropic.saying import WIRES, Json, decoded, openai, openai_tool, result, text, touched, use, user
from tests.wires.anthropic.test_bundling import talks
from tests.wires.talking import new_ids

HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
MODELS = (
    *("claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-5", "claude-opus-4-6", "claude-sonnet-4-6"),
    *("claude-opus-4-7", "claude-opus-4-8", "claude-opus-5", "claude-opus-5-5", "claude-sonnet-5", "claude-sonnet-5-5"),
    *("claude-haiku-5-5", "claude-fable-5", "claude-fable-5-2", "claude-mythos-5", "claude-3-7-sonnet-latest"),
)
SCHEMA: Json = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}, "b": {"type": "string"}}}
NOTHING = st.none()
SAMPLINGS = st.builds(
    Sampling,
    max_tokens=st.sampled_from([None, 1, 200, 5_000, 1_000_000]),
    temperature=st.sampled_from([None, 0.0, 1.0, 1.7]),
    top_p=st.sampled_from([None, 0.5]),
    top_k=st.sampled_from([None, 5]),
    stop=st.sampled_from([(), ("a", " ")]),
    reasoning=NOTHING
    | st.builds(
        Reasoning,
        effort=st.sampled_from(["", "none", "minimal", "low", "medium", "high", "xhigh", "max"]),
        budget=st.sampled_from([None, -1, 0, 100, 3_000, 200_000]),
        show=st.sampled_from([None, True, False]),
    ),
    output=st.sampled_from([None, OutputFormat(), OutputFormat(schema=SCHEMA)]),
    tool_choice=st.sampled_from(
        [None, *(ToolChoice(m) for m in ("auto", "none", "required")), ToolChoice("required", ("f.g",))]
    ),
    parallel_tools=st.sampled_from([None, True, False]),
)
TOOLS = st.sampled_from(
    [(), (Tool("f.g", "d", SCHEMA),), (Tool("f.g", schema=SCHEMA, strict=True), Tool("patch", kind="custom"))]
)


def as_anthropic(messages: tuple[Message, ...]) -> list[Json]:
    """A chat as an Anthropic client might write it: as odd as the chat is."""
    return [{"role": m.role, "content": [body for part in m.parts if (body := as_block(part))]} for m in messages]


def as_block(part: Part) -> Json | None:
    match part:
        case ToolCall():
            return use(part.id)
        case ToolResult():
            return result(part.call_id, part.text)
        case Text():
            return text(part.text)
        case _:
            return None


WEATHER = openai_tool("get.weather", properties={"city": {"type": "string"}})


def replied(body: bytes, seed: str = "s") -> bytes:
    """What the stand-in says. It raises RefusalError where Anthropic would refuse."""
    reply = Messages(lambda: 0).answer(Asked("/v1/messages", {}, HEADERS, json.loads(body), seed))
    return b"".join(reply.pieces)


@settings(max_examples=80, deadline=None)
@given(messages=talks(), sampling=SAMPLINGS, tools=TOOLS, model=st.sampled_from(MODELS), marks=st.booleans())
def test_whatever_is_asked_of_whichever_claude_nothing_is_refused(
    messages: tuple[Message, ...], sampling: Sampling, tools: tuple[Tool, ...], model: str, marks: bool
) -> None:
    start = (Message("user", (Text("hello"),)),)
    chat = Chat("m", (*start, *messages), tools=tools, sampling=sampling)
    outbound = encode(chat, Target("a", model), marks=marks)
    assert json.loads(replied(outbound.body))["type"] == "message"


@settings(max_examples=80, deadline=None)
@given(messages=talks(), model=st.sampled_from(MODELS))
def test_an_anthropic_chat_that_a_step_changed_is_mended_where_it_would_be_refused(
    messages: tuple[Message, ...], model: str
) -> None:
    history = [user("hello"), *as_anthropic(messages)]
    body = {
        "model": model,
        "max_tokens": 100,
        "messages": history,
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
    }
    chat = touched(decoded("anthropic", body))
    assert json.loads(replied(ANTHROPIC.encode(chat, Target("a", model)).body))["type"] == "message"


class Talk:
    """A client that keeps only what its format has room for, and the proxy that remembers what Claude said."""

    def __init__(self, model: str, streamed: bool) -> None:
        self.model = model
        self.streamed = streamed
        self.history: list[Json] = []
        self.seals: dict[int, bytes] = {}

    def chat(self) -> Chat:
        """The client's chat, with what it dropped put back."""
        body = openai(*self.history, tools=[WEATHER], reasoning_effort="low", stream=self.streamed)
        chat = decoded("openai", body)
        messages = tuple(
            ANTHROPIC.restore(message, self.seals[i], in_loop=True) if i in self.seals else message
            for i, message in enumerate(chat.messages)
        )
        return msgspec.structs.replace(chat, messages=messages)

    def turn(self) -> Json:
        """One answer of Claude's, as the client keeps it."""
        chat = self.chat()
        raw = ANTHROPIC.encode(chat, Target("a", self.model)).body
        said = replied(raw, str(len(self.history)))
        reader = ANTHROPIC.reader(chat, self.streamed, new_ids())
        writer = WIRES["openai"].writer(chat, Stamp("1", 0), False)
        for event in [*reader.feed(said), *reader.close()]:
            writer.write(event)
        message: Any = json.loads(writer.close())["choices"][0]["message"]
        message.pop("reasoning_content", None)
        if sealed := reader.sealed():
            self.seals[len(self.history)] = sealed
        self.history.append(message)
        return message


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("model", MODELS)
def test_tool_loops_with_bound_thinking_go_round_through_a_client_that_knows_nothing_of_it(
    model: str, streamed: bool
) -> None:
    """The stand-in checks every signature against all that stood before it: nothing may move, nothing be lost."""
    talk = Talk(model, streamed)
    for city in ("Oslo and Bergen", "Rome"):
        talk.history.append(user(f"weather in {city}?"))
        calls = talk.turn()["tool_calls"]
        assert len(calls) == city.count("and") + 1
        for call in reversed(calls):  # in another order than they were asked for
            talk.history.append({"role": "tool", "tool_call_id": call["id"], "content": "sun"})
        assert "tool_calls" not in talk.turn()
    assert len(talk.seals) == 4, "every turn thought"


def test_thinking_that_a_client_lost_for_good_does_not_stop_its_tool_loop() -> None:
    for model in MODELS:
        talk = Talk(model, streamed=False)
        talk.history.append(user("weather in Oslo?"))
        (call,) = talk.turn()["tool_calls"]
        talk.history.append({"role": "tool", "tool_call_id": call["id"], "content": "sun"})
        talk.seals.clear()
        assert talk.turn()["content"]
