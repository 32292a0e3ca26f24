"""POST /v1/chat/completions: the request read as a talk, and the answer in OpenAI's words."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from app.simulator import directives
from app.simulator.mind.answers import orders_of, think
from app.simulator.mind.talk import Answer, Call, Talk, Tool, Utterance
from app.simulator.openai import chat_replies
from app.simulator.openai.chat_replies import Saying
from app.simulator.openai.models import Model
from app.simulator.openai.problems import check_key, error_body, problem, refused
from app.simulator.openai.rules import check_window, checked
from app.simulator.reply import Reply, encoded, sse, stream_reply
from app.simulator.shapes import Json, as_list, as_number, as_object, as_text, is_object, objects

if TYPE_CHECKING:
    from app.simulator.desk import Asked

_STREAM_ERROR = error_body("The server had an error while processing your request. Sorry about that!", "server_error")


class ChatCompletions:
    """OpenAI's chat completions, also as DeepSeek speaks them.

    Args:
        clock: seconds since 1970, for `created`.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock

    def answer(self, asked: Asked) -> Reply:
        """The model's answer; RefusalError if the request breaks one of OpenAI's rules."""
        check_key(asked.headers)
        if not is_object(asked.body):
            raise refused("We could not parse the JSON body of your request: it must be an object.")
        body = asked.body
        model = checked(body)
        talk = _talk(body, model)
        prompt = check_window(talk, body, model)
        orders = orders_of(talk)
        status = orders.number("fail") or (500 if "error" in orders and not body.get("stream") else None)
        if status:
            return problem(status, retry_seconds=orders.number("retry") or 7)
        saying = Saying(think(talk, orders), body, asked.seed, orders, model.thinking_mode, prompt, self._clock())
        reply = chat_replies.streamed(saying) if body.get("stream") else chat_replies.whole(saying)
        return directives.shaped(
            reply, orders, sse([_STREAM_ERROR])[0] if body.get("stream") else encoded(_STREAM_ERROR)
        )

    def refusal(self, status: int, message: str, asked: Asked) -> Reply:
        """An error in OpenAI's words."""
        del asked
        return problem(status, message)

    def streams(self, asked: Asked) -> bool:
        """The body alone decides."""
        return as_object(asked.body).get("stream") is True

    def speak(self, answer: Answer, asked: Asked) -> Reply:
        """Say an answer that somebody else thought of."""
        body = as_object(asked.body)
        saying = Saying(answer, body, asked.seed, directives.read(""), False, prompt=20, created=self._clock())
        return chat_replies.streamed(saying) if self.streams(asked) else chat_replies.whole(saying)

    def as_stream(self, body: Json, asked: Asked) -> Reply:
        """A completion as chunks."""
        options = as_object(as_object(asked.body).get("stream_options"))
        events = chat_replies.chunks_of(body, with_usage=options.get("include_usage") is True)
        return stream_reply(sse([*events, "[DONE]"]))

    def as_whole(self, events: list[Json]) -> Json:
        """Chunks as a completion."""
        return chat_replies.merged(events)


def _talk(body: Json, model: Model) -> Talk:
    choice, allowed = _choice(body.get("tool_choice"))
    stop = body.get("stop")
    limit = as_number(body.get("max_completion_tokens") or body.get("max_tokens"))
    thinking_off = as_object(body.get("thinking")).get("type") == "disabled"
    effort = body.get("reasoning_effort")
    return Talk(
        said=said_in(objects(body["messages"])),
        tools=tuple(_tool(tool) for tool in objects(body.get("tools"))),
        choice="none" if choice == "none" else "required" if choice == "required" else "auto",
        allowed=allowed,
        parallel=body.get("parallel_tool_calls") is not False,
        schema=_schema(as_object(body.get("response_format"))),
        stop=(stop,) if isinstance(stop, str) else tuple(as_text(one) for one in as_list(stop)),
        max_tokens=None if limit is None else int(limit),
        thinks=(model.reasons or model.thinking_mode or effort is not None) and effort != "none" and not thinking_off,
        searches="web_search_options" in body,
        received=body,
    )


def said_in(messages: list[Json]) -> tuple[Utterance, ...]:
    """What was said, message by message."""
    names = {as_text(call.get("id")): _called(call).name for one in messages for call in objects(one.get("tool_calls"))}
    said: list[Utterance] = []
    for message in messages:
        role = message["role"]
        calls = tuple(_called(call) for call in objects(message.get("tool_calls")))
        parts = objects(message.get("content"))
        text = as_text(message.get("content")) or "".join(as_text(part.get("text")) for part in parts)
        pictures = sum(1 for part in parts if part.get("type") == "image_url")
        match role:
            case "system" | "developer":
                said.append(Utterance("system", text))
            case "user":
                said.append(Utterance("user", text, pictures=pictures))
            case "assistant":
                said.append(Utterance("model", text, calls))
            case _:
                name = names.get(as_text(message.get("tool_call_id")), "") or as_text(message.get("name"))
                said.append(Utterance("tool", text, tool=name))
    return tuple(said)


def _called(call: Json) -> Call:
    inner = as_object(call.get(as_text(call.get("type"))))
    try:
        arguments = as_object(json.loads(as_text(inner.get("arguments")) or "{}"))
    except ValueError:  # a model may have written broken JSON, and clients send it back as it was
        arguments = {}
    return Call(as_text(inner.get("name")), arguments, as_text(call.get("id")))


def _tool(tool: Json) -> Tool:
    inner = as_object(tool.get(as_text(tool.get("type"))))
    return Tool(as_text(inner.get("name")), as_text(inner.get("description")), as_object(inner.get("parameters")))


def _choice(given: object) -> tuple[str, tuple[str, ...]]:
    if not is_object(given):
        return as_text(given) or "auto", ()
    choice = given
    if choice.get("type") == "allowed_tools":
        allowed = as_object(choice.get("allowed_tools"))
        return as_text(allowed.get("mode")), tuple(_tool(tool).name for tool in objects(allowed.get("tools")))
    return "required", (_tool(choice).name,)


def _schema(response_format: Json) -> Json | None:
    match response_format.get("type"):
        case "json_schema":
            return as_object(as_object(response_format.get("json_schema")).get("schema"))
        case "json_object":
            return {}
        case _:
            return None
