"""Anthropic's SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anthropic

from tests.any_to_any.clients import Asked, Client, Json, Said

FOR_PARSED = ("parsed_output", "caller")
"""What the SDK adds to a parsed answer: no fields of a request."""


class AnthropicClient(Client):
    """Messages."""

    finished, calling = "end_turn", "tool_use"

    def _made(self) -> Any:
        return anthropic.AsyncAnthropic(
            api_key=self.key, base_url=self.url, max_retries=0, timeout=30, http_client=self.http
        )

    def user(self, text: str, picture: str) -> list[Any]:
        if not picture:
            return [{"role": "user", "content": text}]
        source = {"type": "base64", "media_type": "image/png", "data": picture}
        return [{"role": "user", "content": [{"type": "image", "source": source}, {"type": "text", "text": text}]}]

    def results(self, results: Sequence[tuple[Asked, str, bool]]) -> list[Any]:
        blocks = [
            {"type": "tool_result", "tool_use_id": call.id, "content": text, "is_error": wrong}
            for call, text, wrong in results
        ]
        return [{"role": "user", "content": blocks}]

    async def ask(self, messages: Sequence[Any]) -> Said:
        setup = self.setup
        given: Json = {"model": setup.model, "max_tokens": setup.most or 4000, "messages": list(messages)}
        given |= {"system": setup.system} if setup.system else {}
        if setup.tools:
            given["tools"] = [{"name": name, "input_schema": schema} for name, schema in setup.tools.items()]
        extra = dict(setup.extra)
        if setup.thinks:
            extra["thinking"] = {"type": "enabled", "budget_tokens": 1024}
            if not setup.model.endswith("4-5"):
                extra["thinking"] = {"type": "adaptive", "display": "summarized"}
        if setup.schema:
            extra["output_config"] = {"format": {"type": "json_schema", "schema": setup.schema}}
        given["extra_body"] = extra
        if not setup.streams:
            return self._said(await self.sdk.messages.create(**given))
        async with self.sdk.messages.stream(**given) as stream:
            return self._said(await stream.get_final_message())

    def _said(self, whole: Any) -> Said:
        blocks: list[Json] = [block.model_dump(exclude_none=True) for block in whole.content]
        for block in blocks:
            for name in FOR_PARSED:
                block.pop(name, None)
        kept = [one for one in blocks if not (self.setup.bare and one["type"].endswith("thinking"))]
        return Said(
            "".join(one["text"] for one in blocks if one["type"] == "text"),
            tuple(Asked(one["id"], one["name"], one["input"]) for one in blocks if one["type"] == "tool_use"),
            whole.stop_reason,
            whole.usage.input_tokens,
            whole.usage.output_tokens,
            "".join(one["thinking"] for one in blocks if one["type"] == "thinking"),
            [{"role": "assistant", "content": kept}],
            {"content": blocks},
        )
