"""Clients that drop whatever they do not know hold long tool loops with models that want every thought back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.any_to_any.clients import FORMATS, Format, Json
from tests.any_to_any.conftest import World

# Anthropic's SDK warns of models that will be switched off: it is their rules that count here.
pytestmark = pytest.mark.filterwarnings("ignore:The model 'claude-:DeprecationWarning")

STEPS = 10
COUNT: Json = {"type": "object", "properties": {"to": {"type": "integer"}}, "required": ["to"]}
ASK = "Please " + ", then ".join(f'call count_up with {{"to": {to}}}' for to in range(1, STEPS + 1)) + "."
MODELS: tuple[tuple[Format, str], ...] = (
    ("anthropic", "claude-opus-5-5"),
    ("anthropic", "claude-fable-5-2"),
    ("anthropic", "claude-sonnet-4-6"),
    ("anthropic", "claude-sonnet-4-5"),
    ("generate", "gemini-3-flash-preview"),
    ("interactions", "gemini-3-flash-preview"),
    ("responses", "gpt-5"),
    ("chat", "deepseek-reasoner"),
)


LOOPS = [
    pytest.param(upstream, model, streams, id=f"{model}-{upstream}-{'streamed' if streams else 'whole'}")
    for place, (upstream, model) in enumerate(MODELS)
    for streams in ((False, True) if upstream in ("interactions", "responses") else (place % 2 == 0,))
]


@pytest.mark.parametrize(("upstream", "model", "streams"), LOOPS)
@pytest.mark.parametrize("client", FORMATS)
async def test_ten_steps_and_another_turn_without_a_refusal(
    world: World, client: Format, upstream: Format, model: str, streams: bool
) -> None:
    """The whole chat is sent again where answers come whole; where they are streamed the proxy may chain."""
    options: Json = {} if streams else {"chain": "never"}
    talk = world.client(
        client,
        upstream,
        model=model,
        tools={"count_up": COUNT},
        thinks=True,
        bare=True,
        streams=streams,
        options=options,
        system="Count.",
    )
    said = await talk.say(ASK)
    for step in range(1, STEPS + 1):
        assert [call.arguments for call in said.calls] == [{"to": step}]
        assert said.finish == talk.calling
        said = await talk.give((said.calls[0], f"counted {step}"))
    assert said.calls == ()
    assert said.finish == talk.finished
    assert f"counted {STEPS}" in said.text
    assert (await talk.say("Say: done")).text == "done"
    assert world.refused == []
    assert len(world.sim.journal.calls()) == STEPS + 2


@pytest.mark.parametrize("client", FORMATS)
async def test_a_chat_that_changes_its_model_half_way_shows_nobody_the_others_thoughts(
    world: World, client: Format
) -> None:
    talk = world.client(client, "anthropic", tools={"count_up": COUNT}, thinks=True)
    said = await talk.say('call count_up with {"to": 1}')
    history = [*talk.history, *talk.results([(said.calls[0], "counted 1", False)])]
    for upstream in ("generate", "responses", "chat", "interactions", "anthropic"):
        other = world.client(client, upstream, tools={"count_up": COUNT}, thinks=True)
        other.history = list(history)
        said = await other.say("Say: go on")
        assert said.text == "go on"
        history = other.history
    assert world.refused == []


@pytest.mark.parametrize("changes", ["at every step", "once"])
async def test_a_system_prompt_that_changes_in_a_tool_loop_costs_its_thinking_and_no_refusal(
    world: World, changes: str
) -> None:
    """Claude's newest models bind thinking to the system prompt, and a clock stands in many of them."""
    options: Json = {"tools": {"count_up": COUNT}, "thinks": True, "bare": True, "model": "claude-opus-5-5"}
    talk = world.client("chat", "anthropic", system="It is 12:00.", **options)
    said = await talk.say("Please " + ", then ".join(f'call count_up with {{"to": {to}}}' for to in (1, 2, 3)) + ".")
    for minute in (1, 2, 3):
        now = minute if changes == "at every step" else 1
        talk.setup = replace(talk.setup, system=f"It is 12:0{now}.")
        said = await talk.give((said.calls[0], f"counted {minute}"))
    talk.setup = replace(talk.setup, system="It is 12:09.")
    assert (await talk.say("Say: done")).text == "done"
    assert (await talk.say("Say: again")).text == "again"
    assert world.refused == []
