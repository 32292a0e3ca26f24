"""The response object and its items, as OpenAI's SDKs type them: every field, with what the client asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.chat.events import FinishReason, Usage
from app.chat.model import Chat, ToolCall
from app.wires.openai_responses.asked import Asked
from app.wires.openai_responses.names import NAME, TAG
from app.wires.openai_responses.options import given
from app.wires.openai_responses.settings import tools
from app.wires.wire import Stamp

Json = dict[str, Any]

ECHOED: Json = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "service_tier": "default",
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}
"""Fields that say what the request said, and what they say where it did not."""

INCOMPLETE: dict[FinishReason, str] = {
    "length": "max_output_tokens",
    "paused": "max_output_tokens",
    "content_filter": "content_filter",
}


class Form:
    """Makes the response objects of one answer: they differ in status, output and usage only."""

    def __init__(self, chat: Chat, stamp: Stamp) -> None:
        self.id = "resp_" + stamp.id
        self._created = stamp.created
        self._model = chat.model
        self._echoed = ECHOED | _echoed(chat)
        self._echoed["background"] = False
        self._echoed["store"] = chat.store is not False
        self._echoed["previous_response_id"] = chat.continues or None
        self._echoed["conversation"] = {"id": chat.conversation} if chat.conversation else None

    def response(
        self,
        status: str,
        model: str = "",
        output: Sequence[Json] = (),
        usage: Json | None = None,
        error: Json | None = None,
        incomplete: str = "",
    ) -> Json:
        """The whole object."""
        return {
            "id": self.id,
            "object": "response",
            "created_at": self._created,
            "completed_at": self._created if status == "completed" else None,
            "status": status,
            "model": model or self._model,
            "error": error,
            "incomplete_details": {"reason": incomplete} if incomplete else None,
            "output": output,
            "usage": usage,
            **self._echoed,
        }


def _echoed(chat: Chat) -> Json:
    asked = chat.native.body if chat.native and chat.native.wire == NAME else None
    if isinstance(asked, Asked):
        return {name: asked.fields[name] for name in ECHOED if given(asked.fields, name)}
    return {"tools": tools(chat.tools, [])}


def usage_object(usage: Usage | None) -> Json:
    """Tokens as this format counts them: input includes cached, output includes reasoning."""
    used = usage or Usage()
    return {
        "input_tokens": used.input,
        "input_tokens_details": {"cached_tokens": used.cached, "cache_write_tokens": used.cache_written},
        "output_tokens": used.output,
        "output_tokens_details": {"reasoning_tokens": used.reasoning},
        "total_tokens": used.input + used.output,
    }


def text_part(text: str, annotations: Sequence[Json] = ()) -> Json:
    """Words of the answer."""
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}


def refusal_part(text: str) -> Json:
    """Words by which the model declines."""
    return {"type": "refusal", "refusal": text}


def message_item(identity: str, status: str, content: list[Json]) -> Json:
    """Words."""
    return {"id": identity, "type": "message", "status": status, "role": "assistant", "content": content}


def reasoning_item(identity: str, text: str, seal: str) -> Json:
    """Reasoning, shown as a summary."""
    summary = [{"type": "summary_text", "text": text}] if text else []
    return {"id": identity, "type": "reasoning", "summary": summary, "encrypted_content": seal}


def call_item(identity: str, status: str, call: ToolCall, names: Mapping[str, tuple[str, str]]) -> Json:
    """A call, as far as its arguments are known. `names` tells which tools stand in a namespace (names.spaces)."""
    custom = call.kind == "custom"
    body: Json = {"id": identity, "type": "custom_tool_call" if custom else "function_call", "status": status}
    body |= {"call_id": call.id, "name": call.name, "input" if custom else "arguments": call.arguments}
    if spaced := names.get(call.name):
        body |= {"namespace": spaced[0], "name": spaced[1]}
    return body


def tag(wire: str, signature: str = "") -> str:
    """The `encrypted_content` of reasoning that is not OpenAI's (names.TAG)."""
    return f"{TAG}{wire or 'none'}" + (f".{signature}" if signature else "")
