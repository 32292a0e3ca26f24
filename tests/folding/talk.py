"""A client that keeps its chat and sends all of it every turn, in OpenAI's or Gemini's format."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import httpx2

from tests.folding.provider import Json, strings

Wire: TypeAlias = Literal["openai", "gemini"]
MODELS: dict[Wire, str] = {"openai": "gpt-5", "gemini": "gemini-3-flash-preview"}


@dataclass(frozen=True)
class Answer:
    """What a client got. `seconds` is how long it took; `messages` is how the client keeps it."""

    wire: Wire
    status: int
    headers: httpx2.Headers
    data: bytes
    seconds: float

    @property
    def plan(self) -> str:
        """The x-foldline-plan header."""
        return self.headers.get("x-foldline-plan", "")

    @property
    def turn(self) -> str:
        """The turn's id."""
        return self.headers["x-foldline-turn"]

    @property
    def body(self) -> Json:
        """The JSON of an answer in one piece."""
        return json.loads(self.data)

    @property
    def error(self) -> Json:
        """The error in it."""
        return self.body["error"]

    @property
    def messages(self) -> list[Json]:
        """The answer as it is sent back on the next turn."""
        events = self._events()
        if self.wire == "gemini":
            parts = [
                part for event in events for one in event["candidates"] for part in one["content"].get("parts", [])
            ]
            return [{"role": "model", "parts": parts}]
        if not self._streamed:
            message = events[0]["choices"][0]["message"]
            kept = {name: message[name] for name in ("role", "content", "tool_calls") if name in message}
            return [kept]
        deltas = [choice["delta"] for event in events for choice in event["choices"]]
        text = "".join(delta.get("content") or "" for delta in deltas)
        calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
        bare = [{name: value for name, value in call.items() if name != "index"} for call in calls]
        return [{"role": "assistant", "content": text or None} | ({"tool_calls": bare} if bare else {})]

    @property
    def text(self) -> str:
        """Its words."""
        if self.wire == "gemini":
            return "".join(strings([part for part in self.messages[0]["parts"] if "text" in part]))
        return self.messages[0]["content"] or ""

    @property
    def _streamed(self) -> bool:
        return self.headers["content-type"].startswith("text/event-stream")

    def _events(self) -> list[Json]:
        assert self.status == 200, self.data
        if not self._streamed:
            return [self.body]
        lines = [line.removeprefix(b"data:").strip() for line in self.data.splitlines() if line.startswith(b"data:")]
        return [json.loads(line) for line in lines if line != b"[DONE]"]


@dataclass
class Talk:
    """A chat that grows. `say` sends it with one more message of the user, and keeps the answer.

    Attributes:
        history: the messages, or Gemini's contents. options: the body's `foldline` object.
        more: further fields of the body.
    """

    http: httpx2.AsyncClient
    wire: Wire = "openai"
    system: str = ""
    model: str = ""
    stream: bool = False
    history: list[Json] = field(default_factory=list[Json])
    options: Json = field(default_factory=dict[str, Any])
    more: Json = field(default_factory=dict[str, Any])
    session: str = ""

    def user(self, text: str) -> Json:
        """A message of the user."""
        return {"role": "user", "content": text} if self.wire == "openai" else _content("user", text)

    def assistant(self, text: str) -> Json:
        """A message of the model."""
        return {"role": "assistant", "content": text} if self.wire == "openai" else _content("model", text)

    def pretend(self, *texts: str) -> None:
        """Put words into the history without asking anybody: the user's and the model's in turn."""
        for at, text in enumerate(texts):
            self.history.append(self.assistant(text) if at % 2 else self.user(text))

    def body(self, messages: Sequence[Json]) -> Json:
        """The request for these messages."""
        body: Json = dict(self.more)
        if self.wire == "gemini":
            body["contents"] = list(messages)
            if self.system:
                body["systemInstruction"] = {"parts": [{"text": self.system}]}
        else:
            system = [{"role": "system", "content": self.system}] if self.system else []
            body |= {"model": self.model or MODELS["openai"], "messages": [*system, *messages], "stream": self.stream}
        return body | ({"foldline": self.options} if self.options else {})

    @property
    def path(self) -> str:
        """Where it is sent to."""
        if self.wire == "openai":
            return "/v1/chat/completions"
        method = "streamGenerateContent?alt=sse" if self.stream else "generateContent"
        return f"/v1beta/models/{self.model or MODELS['gemini']}:{method}"

    async def post(self, body: bytes) -> Answer:
        """Send exactly these bytes."""
        headers = {"content-type": "application/json"} | ({"x-session-id": self.session} if self.session else {})
        began = time.monotonic()
        answer = await self.http.post(self.path, content=body, headers=headers)
        return Answer(self.wire, answer.status_code, answer.headers, answer.content, time.monotonic() - began)

    async def ask(self, text: str) -> Answer:
        """Send the chat with one more message of the user, and keep neither that nor the answer."""
        return await self.post(json.dumps(self.body([*self.history, self.user(text)]), ensure_ascii=False).encode())

    async def say(self, text: str) -> Answer:
        """Send the chat with one more message of the user; both are kept if there is an answer."""
        answer = await self.ask(text)
        if answer.status == 200:
            self.history += [self.user(text), *answer.messages]
        return answer

    async def go_on(self) -> Answer:
        """Send the chat as it is, and keep the answer."""
        answer = await self.post(json.dumps(self.body(self.history), ensure_ascii=False).encode())
        if answer.status == 200:
            self.history += answer.messages
        return answer

    def branch(self, history: Sequence[Json]) -> Talk:
        """Another course of the same chat."""
        return Talk(
            self.http,
            self.wire,
            self.system,
            self.model,
            self.stream,
            list(history),
            self.options,
            self.more,
            self.session,
        )


def _content(role: str, text: str) -> Json:
    return {"role": role, "parts": [{"text": text}]}


@asynccontextmanager
async def client_of(url: str, key: str) -> AsyncGenerator[httpx2.AsyncClient]:
    """A bare HTTP client of a proxy, with a key for either dialect."""
    headers = {"authorization": f"Bearer {key}", "x-goog-api-key": key}
    async with httpx2.AsyncClient(base_url=url, headers=headers, trust_env=False, verify=False, timeout=30) as http:
        yield http
