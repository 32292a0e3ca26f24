"""What goes out is accepted by the strict stand-ins of both providers, whatever talk comes in through either format."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from app.context.known import Known
from app.context.mending import mend
from app.context.plan import Draft
from app.context.policy import Policy
from app.simulator.gemini import models as gemini_models
from app.simulator.gemini import rules as gemini_rules
from app.simulator.openai import rules as openai_rules
from app.wires.wire import Target
from tests.chat.talks import STYLES, Style, Talk, as_gemini, as_openai, gemini_chat, openai_chat, talks
from tests.wires.talking import WIRES, Json

OPENAI = Target("openai", "gpt-5.6-sol")
GEMINI = ("gemini-3.8-flash", "gemini-2.5-flash")
DECLARED = ("get_rows", "read-file", "f")
OPENAI_TOOLS: list[Json] = [{"type": "function", "function": {"name": name, "strict": False}} for name in DECLARED]
GEMINI_TOOLS: list[Json] = [{"functionDeclarations": [{"name": name} for name in DECLARED]}]
SCHEMA: Json = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}}
SAID: Json = {
    "tool_choice": "auto",
    "reasoning_effort": "low",
    "max_completion_tokens": 100,
    "stop": None,
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
}
CONFIG: Json = {
    "maxOutputTokens": 100,
    "thinkingConfig": {"thinkingLevel": "HIGH"},
    "responseMimeType": "application/json",
}


def _body(client: str, talk: Talk, style: Style, upstream: str, target: Target) -> Any:
    talk = talk if type(talk[-1]).__name__ != "Answered" else talk[:-1]
    if client == "openai":
        chat = openai_chat(as_openai(talk, style)[0], tools=OPENAI_TOOLS, **SAID)
    else:
        chat = gemini_chat(as_gemini(talk, style)[0], tools=GEMINI_TOOLS, generationConfig=CONFIG)
    chat = mend(Draft(chat), Known(), Policy()).chat
    return json.loads(WIRES[upstream].encode(chat, target).body)


@pytest.mark.parametrize("model", GEMINI)
@settings(max_examples=40, deadline=None)
@given(talk=talks(steps=2), style=STYLES)
def test_an_openai_clients_talk_is_accepted_by_gemini(model: str, talk: Talk, style: Style) -> None:
    body = _body("openai", talk, style, "gemini", Target("gemini", model))
    for content in body["contents"]:  # the style makes signatures up, which the stand-in sees through
        for part in content["parts"]:
            if part.get("thoughtSignature") == "c2ln":
                part["thoughtSignature"] = "skip_thought_signature_validator"
    gemini_rules.checked(body, gemini_models.model_named(model, "v1beta"))


@settings(max_examples=40, deadline=None)
@given(talk=talks(steps=2), style=STYLES)
def test_a_gemini_clients_talk_is_accepted_by_openai(talk: Talk, style: Style) -> None:
    openai_rules.checked(_body("gemini", talk, style, "openai", OPENAI))
