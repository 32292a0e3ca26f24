"""Google's SDK, by both of its APIs."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

import httpx2
from google import genai
from google.genai import types

from tests.any_to_any.clients import PLAIN, Asked, Client, Json, Said


@functools.cache
def _never_used() -> httpx2.Client:
    """What the SDK would else make for its blocking calls, with all the certificates of the machine."""
    return httpx2.Client(**PLAIN)


class GenerateClient(Client):
    """generateContent."""

    finished, calling = "STOP", "STOP"

    def _made(self) -> Any:
        options = types.HttpOptions(
            base_url=self.url,
            timeout=30_000,
            httpx_client=_never_used(),
            httpx_async_client=self.http,
            extra_body=self.setup.extra or None,
        )
        return genai.Client(api_key=self.key, http_options=options)

    def user(self, text: str, picture: str) -> list[Any]:
        parts: list[Json] = [{"text": text}]
        if picture:
            parts.insert(0, {"inline_data": {"mime_type": "image/png", "data": picture}})
        return [types.Content.model_validate({"role": "user", "parts": parts})]

    def results(self, results: Sequence[tuple[Asked, str, bool]]) -> list[Any]:
        parts = [
            types.Part(
                function_response=types.FunctionResponse(
                    id=call.id or None, name=call.name, response={"error" if wrong else "output": text}
                )
            )
            for call, text, wrong in results
        ]
        return [types.Content(role="user", parts=parts)]

    async def ask(self, messages: Sequence[Any]) -> Said:
        given: Json = {"model": self.setup.model, "contents": list(messages), "config": self._config()}
        if not self.setup.streams:
            return self._said([await self.sdk.aio.models.generate_content(**given)])
        return self._said([piece async for piece in await self.sdk.aio.models.generate_content_stream(**given)])

    def _config(self) -> Any:
        setup = self.setup
        config: Json = {"automatic_function_calling": {"disable": True}}
        config |= {"system_instruction": setup.system} if setup.system else {}
        if setup.tools:
            declared = [{"name": name, "parameters_json_schema": schema} for name, schema in setup.tools.items()]
            config["tools"] = [{"function_declarations": declared}]
        config |= {"max_output_tokens": setup.most} if setup.most else {}
        if setup.thinks:
            level = {} if "2.5" in setup.model else {"thinking_level": "LOW"}
            config["thinking_config"] = {"include_thoughts": True, **level}
        if setup.schema:
            config |= {"response_mime_type": "application/json", "response_json_schema": setup.schema}
        return types.GenerateContentConfig.model_validate(config)

    def _said(self, pieces: Sequence[Any]) -> Said:
        parts: list[Any] = []
        for piece in pieces:
            parts += piece.candidates[0].content.parts or []
        last = pieces[-1]
        used = last.usage_metadata
        kept: list[Any] = parts
        if self.setup.bare:
            kept = [part.model_copy(update={"thought_signature": None}) for part in parts if not part.thought]
        return Said(
            "".join(part.text for part in parts if part.text and not part.thought),
            tuple(
                Asked(part.function_call.id or "", part.function_call.name, dict(part.function_call.args or {}))
                for part in parts
                if part.function_call
            ),
            last.candidates[0].finish_reason.name,
            used.prompt_token_count,
            (used.candidates_token_count or 0) + (used.thoughts_token_count or 0),
            "".join(part.text for part in parts if part.text and part.thought),
            [types.Content(role="model", parts=kept)],
            {"candidates": [_candidate(parts, last.candidates[0])]},
        )


def _candidate(parts: Sequence[Any], last: Any) -> Json:
    content = {"parts": [part.model_dump(exclude_none=True, by_alias=True) for part in parts]}
    sources = last.grounding_metadata
    said = {"groundingMetadata": sources.model_dump(exclude_none=True, by_alias=True)} if sources else {}
    return {"content": content, **said}


class InteractionsClient(Client):
    """Interactions, by a client that keeps its own history."""

    finished, calling = "completed", "requires_action"

    def _made(self) -> Any:
        options = types.HttpOptions(
            base_url=self.url,
            timeout=30_000,
            httpx_client=_never_used(),
            httpx_async_client=self.http,
            retry_options=types.HttpRetryOptions(attempts=1),
        )
        return genai.Client(api_key=self.key, http_options=options).aio.interactions

    def user(self, text: str, picture: str) -> list[Any]:
        content: list[Json] = [{"type": "text", "text": text}]
        if picture:
            content.append({"type": "image", "data": picture, "mime_type": "image/png"})
        return [{"type": "user_input", "content": content}]

    def results(self, results: Sequence[tuple[Asked, str, bool]]) -> list[Any]:
        return [
            {"type": "function_result", "call_id": call.id, "name": call.name, "result": text, "is_error": wrong}
            for call, text, wrong in results
        ]

    async def ask(self, messages: Sequence[Any]) -> Said:
        setup = self.setup
        given: Json = {"model": setup.model, "input": list(messages), "store": False}
        given |= {"extra_body": setup.extra} if setup.extra else {}
        given |= {"system_instruction": setup.system} if setup.system else {}
        if setup.tools:
            given["tools"] = [
                {"type": "function", "name": name, "parameters": schema} for name, schema in setup.tools.items()
            ]
        config: Json = {"max_output_tokens": setup.most} if setup.most else {}
        config |= {"thinking_level": "low", "thinking_summaries": "auto"} if setup.thinks else {}
        given |= {"generation_config": config} if config else {}
        if setup.schema:
            given["response_format"] = {"type": "text", "mime_type": "application/json", "schema": setup.schema}
        if not setup.streams:
            whole = await self.sdk.create(**given)
            return self._said([step.model_dump(exclude_none=True) for step in whole.steps], whole)
        return await self._streamed(given)

    async def _streamed(self, given: Json) -> Said:
        steps: dict[int, Json] = {}
        pieces: dict[int, str] = {}
        last: Any = None
        async for event in await self.sdk.create(**given, stream=True):
            match event.event_type:
                case "step.start":
                    steps[event.index] = event.step.model_dump(exclude_none=True)
                case "step.delta":
                    _add(steps[event.index], event.delta.model_dump(exclude_none=True), pieces, event.index)
                case "interaction.completed":
                    last = event.interaction
                case "error":
                    raise StreamError(event.error.code, event.error.message)
                case _:
                    pass
        for index, text in pieces.items():
            steps[index]["arguments"] = json.loads(text)
        return self._said([steps[index] for index in sorted(steps)], last)

    def _said(self, steps: Sequence[Json], whole: Any) -> Said:
        for step in steps:
            step.pop("status", None)
        kept = list(steps)
        if self.setup.bare:
            kept = [{n: v for n, v in one.items() if n != "signature"} for one in steps if one["type"] != "thought"]
        used = whole.usage
        return Said(
            "".join(one.get("text", "") for step in steps if step["type"] == "model_output" for one in step["content"]),
            tuple(Asked(one["id"], one["name"], one["arguments"]) for one in steps if one["type"] == "function_call"),
            whole.status,
            used.total_input_tokens,
            used.total_output_tokens + (used.total_thought_tokens or 0),
            "".join(
                one.get("text", "") for step in steps if step["type"] == "thought" for one in step.get("summary") or ()
            ),
            kept,
            {"steps": list(steps)},
        )


class StreamError(Exception):
    """An error event: the SDK hands it on like any other event."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def _add(step: Json, delta: Json, pieces: dict[int, str], index: int) -> None:
    """One delta put into its step, as the API's guide says."""
    match delta["type"]:
        case "text":
            content = step.setdefault("content", [])
            if content and content[-1]["type"] == "text":
                content[-1]["text"] += delta["text"]
            else:
                content.append(delta)
        case "text_annotation_delta":
            content = step["content"][-1]
            content["annotations"] = [*(content.get("annotations") or ()), *delta["annotations"]]
        case "thought_summary":
            step.setdefault("summary", []).append(delta["content"])
        case "thought_signature":
            step["signature"] = delta["signature"]
        case "arguments_delta":
            pieces[index] = pieces.get(index, "") + delta["arguments"]
        case _:
            pass
