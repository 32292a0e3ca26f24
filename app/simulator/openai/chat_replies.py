"""Chat completions as OpenAI writes them: one body, or chunks in the order that its stream keeps.

Order of a stream: role, reasoning, text, calls (name first, arguments in pieces), finish reason, usage if it was asked
for (then every earlier chunk says `usage: null`), [DONE].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from app.simulator.directives import Directives
from app.simulator.estimate import tokens
from app.simulator.mind.answers import parts_of
from app.simulator.mind.talk import Answer, Call
from app.simulator.reply import Reply, json_reply, sse, stream_reply
from app.simulator.shapes import Json, as_object, as_text, digest, dump, objects


@dataclass(frozen=True, slots=True)
class Saying:
    """An answer on its way out. `prompt` is in tokens, `created` in seconds since 1970; ids come from `seed`."""

    answer: Answer
    body: Json
    seed: str
    orders: Directives
    shows_reasoning: bool
    prompt: int
    created: int

    @property
    def identity(self) -> str:
        """The completion's id: the same request has the same."""
        return f"chatcmpl-{self.seed}"

    @property
    def finish(self) -> str:
        """Why it ended."""
        ended = "tool_calls" if self.answer.calls else "length" if self.answer.cut else "stop"
        return self.orders.text("finish") or ended

    @property
    def choices(self) -> range:
        """The indices of the choices that were asked for."""
        return range(self.body.get("n") or 1)

    @property
    def head(self) -> tuple[tuple[str, str], ...]:
        """Headers that OpenAI sends with every answer."""
        return (("x-request-id", f"req_{digest(self.seed, 'request')}"), ("openai-processing-ms", "1"))


def whole(saying: Saying) -> Reply:
    """The completion as one body."""
    answer = saying.answer
    message: Json = {"role": "assistant", "content": answer.text or (None if answer.calls else "")}
    message |= {"refusal": None, "annotations": _annotations(answer)}
    if answer.reasoning and saying.shows_reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = [_call(call, saying, index) for index, call in enumerate(answer.calls)]
    choices = [
        {"index": index, "message": message, "logprobs": None, "finish_reason": saying.finish}
        for index in saying.choices
    ]
    body = _frame(saying, "chat.completion") | {"choices": choices, "usage": _usage(saying), "service_tier": "default"}
    return json_reply(body, headers=saying.head)


def streamed(saying: Saying) -> Reply:
    """The completion as a stream."""
    with_usage = as_object(saying.body.get("stream_options")).get("include_usage") is True
    frame = _frame(saying, "chat.completion.chunk")
    events: list[Json | str] = [
        frame
        | {"choices": [{"index": index, "delta": delta, "logprobs": None, "finish_reason": reason}]}
        | ({"usage": None} if with_usage else {})
        for index in saying.choices
        for delta, reason in _deltas(saying)
    ]
    if with_usage:
        events.append(frame | {"choices": [], "usage": _usage(saying)})
    return stream_reply(sse([*events, "[DONE]"]), headers=saying.head)


def chunks_of(body: Json, *, with_usage: bool) -> Iterator[Json]:
    """The chunks of a completion that is given as one body."""
    frame = {key: value for key, value in body.items() if key not in ("choices", "usage", "object")}
    frame["object"] = "chat.completion.chunk"
    for choice in objects(body.get("choices")):
        message = dict(as_object(choice.get("message")))
        calls = [{"index": at, **call} for at, call in enumerate(objects(message.pop("tool_calls", None)))]
        delta = {key: value for key, value in message.items() if key != "refusal" and value != []}
        deltas: list[tuple[Json, Any]] = [(delta, None), *(({"tool_calls": [call]}, None) for call in calls)]
        for one, reason in [*deltas, ({}, choice.get("finish_reason"))]:
            yield frame | {"choices": [{"index": choice.get("index", 0), "delta": one, "finish_reason": reason}]}
    if with_usage and "usage" in body:
        yield frame | {"choices": [], "usage": body["usage"]}


def merged(events: list[Json]) -> Json:
    """The completion that a stream's chunks say, of its first choice."""
    message: Json = {"role": "assistant", "content": None}
    calls: dict[int, Json] = {}
    whole_body: Json = {"id": "chatcmpl-merged", "object": "chat.completion", "created": 1, "model": ""}
    finish: Any = None
    for event in events:
        whole_body |= {key: event[key] for key in ("id", "created", "model", "usage", "error") if event.get(key)}
        for choice in objects(event.get("choices"))[:1]:
            delta = as_object(choice.get("delta"))
            finish = choice.get("finish_reason") or finish
            for key in ("content", "reasoning_content"):
                if isinstance(delta.get(key), str):
                    message[key] = as_text(message.get(key)) + delta[key]
            if cited := objects(delta.get("annotations")):
                message["annotations"] = cited
            for piece in objects(delta.get("tool_calls")):
                _merge_call(calls.setdefault(int(piece.get("index", 0)), {}), piece)
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    whole_body["choices"] = [{"index": 0, "message": message, "finish_reason": finish}]
    return whole_body


def _merge_call(call: Json, piece: Json) -> None:
    function = as_object(piece.get("function"))
    call |= {key: piece[key] for key in ("id", "type", "extra_content") if key in piece}
    known = as_object(call.get("function"))
    call["function"] = {
        "name": as_text(known.get("name")) + as_text(function.get("name")),
        "arguments": as_text(known.get("arguments")) + as_text(function.get("arguments")),
    }


def _annotations(answer: Answer) -> list[Json]:
    """What the text rests on; places count its code points."""
    cited = answer.search.within(answer.text) if answer.search else ()
    places = ({"start_index": one.start, "end_index": one.end} for one in cited)
    return [
        {"type": "url_citation", "url_citation": {"url": one.page.url, "title": one.page.title, **place}}
        for one, place in zip(cited, places, strict=True)
    ]


def _frame(saying: Saying, kind: str) -> Json:
    return {
        "id": saying.identity,
        "object": kind,
        "created": saying.created,
        "model": as_text(saying.body.get("model")),
        "system_fingerprint": "fp_simulator",
    }


def _call(call: Call, saying: Saying, index: int) -> Json:
    function = {"name": call.name, "arguments": dump(call.arguments)}
    return {"id": f"call_{digest(saying.seed, index)}", "type": "function", "function": function}


def _deltas(saying: Saying) -> Iterator[tuple[Json, str | None]]:
    answer = saying.answer
    yield {"role": "assistant", "content": None if answer.calls else ""}, None
    if answer.reasoning and saying.shows_reasoning:
        for part in parts_of(answer.reasoning, Directives({})):
            yield {"reasoning_content": part}, None
    for part in parts_of(answer.text, saying.orders):
        yield {"content": part}, None
    if cited := _annotations(answer):
        yield {"annotations": cited}, None
    for index, call in enumerate(answer.calls):
        given = _call(call, saying, index)
        arguments = given["function"]["arguments"]
        yield {"tool_calls": [{"index": index, **given, "function": {"name": call.name, "arguments": ""}}]}, None
        half = max(1, len(arguments) // 2)
        for piece in (arguments[:half], arguments[half:]):
            if piece:
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, None
    yield {}, saying.finish


def _usage(saying: Saying) -> Json:
    answer = saying.answer
    reasoning = tokens(answer.reasoning)
    spoken = tokens(answer.text) + sum(tokens(call.name) + tokens(dump(call.arguments)) for call in answer.calls)
    completion = reasoning + spoken * len(saying.choices)
    return {
        "prompt_tokens": saying.prompt,
        "completion_tokens": completion,
        "total_tokens": saying.prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
