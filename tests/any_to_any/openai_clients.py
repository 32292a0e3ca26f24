"""OpenAI's SDK, by both of its APIs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import openai

from tests.any_to_any.clients import Asked, Client, Json, Said


def _sdk(client: Client) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        api_key=client.key, base_url=f"{client.url}/v1", max_retries=0, timeout=30, http_client=client.http
    )


class ChatClient(Client):
    """Chat Completions."""

    finished, calling = "stop", "tool_calls"

    def _made(self) -> Any:
        return _sdk(self)

    def user(self, text: str, picture: str) -> list[Any]:
        if not picture:
            return [{"role": "user", "content": text}]
        url = f"data:image/png;base64,{picture}"
        return [
            {
                "role": "user",
                "content": [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}],
            }
        ]

    def results(self, results: Sequence[tuple[Asked, str, bool]]) -> list[Any]:
        return [
            {"role": "tool", "tool_call_id": call.id, "content": ("[tool error] " if wrong else "") + text}
            for call, text, wrong in results
        ]

    async def ask(self, messages: Sequence[Any]) -> Said:
        setup = self.setup
        system: list[Json] = [{"role": "system", "content": setup.system}] if setup.system else []
        given: Json = {"model": setup.model, "messages": [*system, *messages], "extra_body": setup.extra}
        if setup.tools:
            given["tools"] = [
                {"type": "function", "function": {"name": name, "parameters": schema}}
                for name, schema in setup.tools.items()
            ]
        given |= {"max_completion_tokens": setup.most} if setup.most else {}
        given |= {"reasoning_effort": "low"} if setup.thinks else {}
        if setup.schema:
            shape: Json = {"name": "answer", "schema": setup.schema, "strict": True}
            given["response_format"] = {"type": "json_schema", "json_schema": shape}
        completions = self.sdk.chat.completions
        if not setup.streams:
            return self._said(await completions.create(**given))
        async with completions.stream(**given, stream_options={"include_usage": True}) as stream:
            return self._said(await stream.get_final_completion())

    def _said(self, whole: Any) -> Said:
        message = whole.choices[0].message
        calls = [call.function for call in message.tool_calls or ()]
        kept = message.model_dump(exclude_none=True)
        if self.setup.bare:
            kept = {name: kept[name] for name in ("role", "content", "tool_calls") if name in kept}
        for call in kept.get("tool_calls", ()):
            call.pop("index", None)
            call["function"] = {name: call["function"][name] for name in ("name", "arguments")}
            for name in call.keys() - {"id", "type", "function"} if self.setup.bare else ():
                del call[name]
        kept.pop("parsed", None)
        return Said(
            message.content or "",
            tuple(
                Asked(call.id, function.name, json.loads(function.arguments))
                for call, function in zip(message.tool_calls or (), calls, strict=True)
            ),
            whole.choices[0].finish_reason,
            whole.usage.prompt_tokens,
            whole.usage.completion_tokens,
            getattr(message, "reasoning_content", None) or "",
            [kept],
            {"choices": [{"message": message.model_dump(exclude_none=True)}]},
        )


class ResponsesClient(Client):
    """Responses, by a client that keeps its own history."""

    finished, calling = "completed", "completed"

    def _made(self) -> Any:
        return _sdk(self)

    def user(self, text: str, picture: str) -> list[Any]:
        content: Any = text
        if picture:
            shown = {"type": "input_image", "image_url": f"data:image/png;base64,{picture}", "detail": "auto"}
            content = [{"type": "input_text", "text": text}, shown]
        return [{"role": "user", "content": content}]

    def results(self, results: Sequence[tuple[Asked, str, bool]]) -> list[Any]:
        return [
            {"type": "function_call_output", "call_id": call.id, "output": ("[tool error] " if wrong else "") + text}
            for call, text, wrong in results
        ]

    async def ask(self, messages: Sequence[Any]) -> Said:
        setup = self.setup
        given: Json = {"model": setup.model, "input": list(messages), "store": False, "extra_body": setup.extra}
        given |= {"instructions": setup.system} if setup.system else {}
        if setup.tools:
            given["tools"] = [
                {"type": "function", "name": name, "parameters": schema, "strict": False}
                for name, schema in setup.tools.items()
            ]
        given |= {"max_output_tokens": setup.most} if setup.most else {}
        if setup.thinks:
            given |= {"reasoning": {"effort": "low", "summary": "auto"}, "include": ["reasoning.encrypted_content"]}
        if setup.schema:
            shape: Json = {"type": "json_schema", "name": "answer", "schema": setup.schema, "strict": True}
            given["text"] = {"format": shape}
        if not setup.streams:
            return self._said(await self.sdk.responses.create(**given))
        async with self.sdk.responses.stream(**given) as stream:
            return self._said(await stream.get_final_response())

    def _said(self, whole: Any) -> Said:
        items = [item.model_dump(exclude_none=True) for item in whole.output]
        for item in items:
            item.pop("parsed_arguments", None)
            for part in item.get("content") or ():
                part.pop("parsed", None)
        calls = tuple(
            Asked(one["call_id"], one["name"], json.loads(one["arguments"]))
            for one in items
            if one["type"] == "function_call"
        )
        thoughts = [part["text"] for one in items if one["type"] == "reasoning" for part in one["summary"]]
        return Said(
            whole.output_text,
            calls,
            whole.status,
            whole.usage.input_tokens,
            whole.usage.output_tokens,
            "".join(thoughts),
            [kept for one in items if (kept := _bare(one))] if self.setup.bare else items,
            {"output": items},
        )


def _bare(item: Json) -> Json | None:
    match item["type"]:
        case "message":
            return {"role": "assistant", "content": "".join(part.get("text", "") for part in item["content"])}
        case "function_call":
            return {name: item[name] for name in ("type", "call_id", "name", "arguments")}
        case _:
            return None
