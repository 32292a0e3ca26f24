"""Whatever comes in: a client's mistake is a ClientError, a provider's a failed answer, and nothing else is raised."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat.events import Failed, Finished
from app.errors import ClientError
from tests.wires.gemini_interactions.speaking import MODEL, Json, decoded, encoded, read, written

FIELDS = (
    *("type", "text", "content", "role", "id", "call_id", "name", "arguments", "result", "signature", "summary"),
    *("data", "uri", "mime_type", "resolution", "is_error", "status", "steps", "usage", "errors", "delta", "step"),
    *("index", "interaction", "error", "event_type", "continuation_token", "annotations", "code", "message"),
)
WORDS = st.sampled_from(
    (
        *("user_input", "model_output", "thought", "function_call", "function_result", "text", "image", "document"),
        *("google_search_call", "text_annotation_delta", "arguments_delta", "thought_signature", "thought_summary"),
        *("interaction.created", "step.start", "step.delta", "step.stop", "interaction.completed", "error"),
        *("completed", "failed", "requires_action", "safety", "user", "model", "", "x"),
    )
)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=12,
)
KINDS = st.sampled_from(
    ("thought", "model_output", "function_call", "function_result", "user_input", "google_search_call", "x")
)
DELTA_KINDS = st.sampled_from(
    ("text", "thought_summary", "thought_signature", "arguments_delta", "text_annotation_delta", "image", "x")
)
INDEX = st.integers(0, 2)


def _event(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({"event_type": st.just(kind), **fields})


STEPS: st.SearchStrategy[Any] = st.fixed_dictionaries({"type": KINDS}, optional=dict.fromkeys(FIELDS[2:11], JSON))
DELTAS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"type": DELTA_KINDS}, optional=dict.fromkeys(("text", "content", "signature", "arguments", "annotations"), JSON)
)
INTERACTIONS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"status": WORDS},
    optional={"steps": st.lists(STEPS, max_size=3), **dict.fromkeys(("id", "model", "usage", "errors"), JSON)},
)
EVENTS: st.SearchStrategy[Any] = st.one_of(
    JSON,
    _event("step.start", index=INDEX, step=STEPS),
    _event("step.delta", index=INDEX, delta=DELTAS),
    _event("step.stop", index=INDEX),
    _event("interaction.completed", interaction=INTERACTIONS),
    _event("error", error=JSON),
)
ROOTS: st.SearchStrategy[Json] = st.dictionaries(
    st.sampled_from(
        (
            *("input", "tools", "generation_config", "response_format", "system_instruction", "store", "stream"),
            *("previous_interaction_id", "continuation_token", "agent", "foldline", "model"),
        )
    ),
    JSON,
    max_size=4,
)


@settings(max_examples=40, deadline=None)
@given(fields=ROOTS, said=JSON | st.lists(STEPS, max_size=4))
def test_a_body_is_understood_or_refused_by_name(fields: Json, said: Any) -> None:
    with contextlib.suppress(ClientError):
        encoded(decoded({"model": MODEL, "input": said} | fields))


@settings(max_examples=40, deadline=None)
@given(events=st.lists(EVENTS, max_size=8))
def test_a_stream_ends_once_whatever_is_in_it(events: list[Any]) -> None:
    data = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()
    found, reader = read(data)
    assert sum(isinstance(event, Finished | Failed) for event in found) == 1
    assert isinstance(found[-1], Finished | Failed)
    json.loads(reader.sealed() or b"[]")
    assert written(found)


@settings(max_examples=40, deadline=None)
@given(body=JSON | INTERACTIONS)
def test_a_whole_answer_ends_once_whatever_is_in_it(body: Any) -> None:
    found, reader = read(json.dumps(body).encode(), streamed=False)
    assert isinstance(found[-1], Finished | Failed)
    json.loads(reader.sealed() or b"[]")
    assert written(found, streamed=False)
