"""A stage for turns that are folded: its provider tells a question for a summary from a chat."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Self

from app.engine.routing import Route
from app.upstreams.transport import Answer
from tests.context.folding import words
from tests.engine.scripts import GEMINI_3, Given, Got, Seen, Stage, gemini_says, openai_says, whole
from tests.wires.talking import Json

POLICY = {"fold_at_tokens": 1000, "fold_to_tokens": 500, "keep_recent": 2, "summary_tokens": 120}
GOOD = "They spoke about plain things and agreed on all of them."

Summariser = Callable[[Json], str | Given | Exception]


class Folding(Stage):
    """A stage whose provider answers every chat, and every question for a summary as `summariser` says.

    `chats` and `asked` are the requests of either kind. The next chats get `refusals`, as long as there are any. A
    question waits for `waits_for`, if that is set; `reached` tells that there was one.
    """

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **{"policy": POLICY, "max_retries": 0, **settings})
        self.asked: list[Got] = []
        self.chats: list[Got] = []
        self.summariser: Summariser = lambda body: GOOD
        self.refusals: list[Given] = []
        self.waits_for: asyncio.Event | None = None
        self.reached = asyncio.Event()

    async def post(self, url: str, headers: Any, body: bytes) -> Answer:
        """Being the transport."""
        got = Got(url, headers, body)
        if url.endswith("/input_tokens"):  # a chat that is near its model's window is counted by the provider itself
            return whole({"object": "response.input_tokens", "input_tokens": len(body) // 7})
        if not _is_question(got.body):
            self.chats.append(got)
            if self.refusals:
                return self.refusals.pop(0)
            return gemini_says({"text": "fine"}) if "contents" in got.body else openai_says("fine")
        self.asked.append(got)
        self.reached.set()
        if self.waits_for is not None:
            await self.waits_for.wait()
        said = self.summariser(got.body)
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Given):
            return said
        return _gemini(said) if "contents" in got.body else summary_says(said)

    @classmethod
    async def beside(cls, other: Stage, **settings: Any) -> Self:
        """Another worker: an engine of its own over the same store."""
        return cls(other.store, other.engine.routes.upstreams, [Route("*", "openai", "gpt-x")], **settings)

    async def says_all(self, messages: list[Json], **more: Any) -> Seen:
        """One request of an OpenAI client."""
        return await self.says("openai", {"messages": messages, **more})

    async def settled(self) -> None:
        """What is made behind the turns is made."""
        await self.engine.summaries.close(5)

    @property
    def last(self) -> list[str]:
        """The contents of the messages of the chat that was sent last."""
        return [message["content"] for message in self.chats[-1].body["messages"]]


async def folding_stage(upstream: str = "openai", **settings: Any) -> Folding:
    """A stage with its own store, whose models are all served by one upstream."""
    stage = await Folding.open(upstream, **settings)
    assert isinstance(stage, Folding)
    return stage


def summary_says(text: str, model: str = "gpt-x", finish: str = "stop") -> Given:
    """A summariser's answer in Chat Completions."""
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 700, "completion_tokens": 30, "total_tokens": 730}
    choice = {"message": message, "finish_reason": finish}
    return whole({"id": "s1", "model": model, "choices": [choice], "usage": usage})


def long_talk(count: int, tokens: int = 100, first: str = "") -> list[Json]:
    """A chat of `count` messages that ends with the user; `first` stands in its first one."""
    roles = ("user", "assistant")
    said = [{"role": roles[index % 2], "content": words(tokens, index)} for index in range(count)]
    said[0]["content"] = f"{first} {said[0]['content']}".strip()
    assert said[-1]["role"] == "user"
    return said


def _is_question(body: Json) -> bool:
    if "contents" in body:
        return body.get("systemInstruction", {"parts": [{"text": ""}]})["parts"][0]["text"].startswith("Summarise")
    first = body["messages"][0]
    return first["role"] in ("system", "developer") and first["content"].startswith("Summarise")


def _gemini(text: str) -> Given:
    content = {"role": "model", "parts": [{"text": text}]}
    return whole({"candidates": [{"content": content, "finishReason": "STOP"}], "modelVersion": GEMINI_3})
