"""Clients that keep their whole chat and send all of it every turn, by the official SDK of each format."""

from __future__ import annotations

import contextlib
import functools
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, TypeAlias

import anthropic
import httpx2
import openai
from google import genai
from google.genai import types

from tests.chaining.provider import Json

Wire: TypeAlias = Literal["openai", "gemini", "anthropic"]
PLAIN: dict[str, Any] = {"verify": False, "trust_env": False}


@dataclass(frozen=True)
class Setup:
    """What a client says on every turn beside the conversation.

    Attributes:
        tools: JSON schemas of the tools' arguments, by name. schema: the answer's format; None leaves it open.
        options: the body's `foldline` object. session: an id of the client's own for the conversation.
    """

    model: str = "gemini-3-flash-preview"
    system: str = ""
    tools: Mapping[str, Json] = field(default_factory=dict[str, Json])
    choice: str = ""
    most: int = 0
    schema: Json | None = None
    options: Json = field(default_factory=dict[str, Any])
    body: Json = field(default_factory=dict[str, Any])
    session: str = ""

    @property
    def extra(self) -> Json:
        """Further fields of the body."""
        return self.body | ({"foldline": self.options} if self.options else {})


@dataclass(frozen=True)
class Asked:
    """A tool call as the client got it."""

    id: str
    name: str
    arguments: Json


@dataclass(frozen=True)
class Said:
    """An answer as the client got it. `message` is how the client keeps it; input and output are tokens."""

    text: str
    calls: tuple[Asked, ...]
    finish: str
    input: int
    output: int
    message: Any
    headers: httpx2.Headers

    @property
    def plan(self) -> str:
        """The x-foldline-plan header."""
        return self.headers["x-foldline-plan"]

    @property
    def chain(self) -> str:
        """The chain step in it; empty if there is none."""
        steps = dict(step.split("=") for step in self.plan.split("; ") if "=" in step)
        return steps.get("chain", "")

    @property
    def turn(self) -> str:
        """The turn's id."""
        return self.headers["x-foldline-turn"]

    @property
    def session(self) -> str:
        """The session's id."""
        return self.headers["x-foldline-session"]


class Talk(ABC):
    """A chat that grows.

    Attributes:
        history: the messages as this format writes them. streams: whether answers are asked for as streams.
    """

    def __init__(self, http: httpx2.AsyncClient, url: str, key: str, setup: Setup, *, streams: bool = False) -> None:
        self.http, self.url, self.key, self.setup, self.streams = http, url, key, setup, streams
        self.history: list[Any] = []
        self.headers = httpx2.Headers()
        self._sdk: Any = None

    @property
    def sdk(self) -> Any:
        """The SDK's client. Its own types are loose, so that strict checking knows little of its calls."""
        if self._sdk is None:
            self._sdk = self._made()
        return self._sdk

    @abstractmethod
    def _made(self) -> Any:
        """The SDK's client, made."""

    @abstractmethod
    def user(self, text: str) -> Any:
        """A message of the user."""

    @abstractmethod
    def results(self, results: Sequence[tuple[Asked, str, bool]]) -> list[Any]:
        """The messages that hold these results: the call, what the tool said, whether that is an error."""

    @abstractmethod
    async def ask(self, messages: Sequence[Any]) -> Said:
        """Send these messages. Raises the SDK's own errors."""

    def branch(self, history: Sequence[Any] | None = None, *, http: httpx2.AsyncClient | None = None) -> Self:
        """Another course of the same chat, or the same one through another proxy."""
        other = type(self)(http or self.http, self.url, self.key, self.setup, streams=self.streams)
        if http is not None:
            other.url = str(http.base_url).rstrip("/")
        other.history = list(self.history if history is None else history)
        return other

    def with_options(self, **options: Any) -> Self:
        """The same chat with these options in the body's `foldline` object."""
        other = self.branch()
        other.setup = replace(self.setup, options=options)
        return other

    async def say(self, text: str) -> Said:
        """Send the chat with one more message of the user, and keep both that and the answer."""
        return await self._grow([self.user(text)])

    async def give(self, *results: tuple[Asked, str] | tuple[Asked, str, bool]) -> Said:
        """Send what the tools said, and keep both that and the answer."""
        return await self._grow(self.results([(*one, False) if len(one) == 2 else one for one in results]))

    async def _grow(self, new: list[Any]) -> Said:
        said = await self.ask([*self.history, *new])
        self.history += [*new, said.message]
        return said

    async def note(self, response: httpx2.Response) -> None:
        """What every client's HTTP client tells of a response."""
        self.headers = response.headers

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[None]:
        """Responses are noted here while the block lasts."""
        hooks = self.http.event_hooks
        self.http.event_hooks = {"response": [self.note]}
        try:
            yield
        finally:
            self.http.event_hooks = hooks

    @property
    def _named(self) -> dict[str, str]:
        return {"x-session-id": self.setup.session} if self.setup.session else {}


class OpenAITalk(Talk):
    """OpenAI chat completions."""

    def _made(self) -> Any:
        base = f"{self.url}/v1"
        return openai.AsyncOpenAI(api_key=self.key, base_url=base, max_retries=0, timeout=20, http_client=self.http)

    def user(self, text: str) -> Json:
        return {"role": "user", "content": text}

    def results(self, results: Sequence[tuple[Asked, str, bool]]) -> list[Any]:
        return [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text, _ in results]

    async def ask(self, messages: Sequence[Any]) -> Said:
        setup = self.setup
        given: Json = {"model": setup.model, "messages": [*self._system(), *messages], "extra_body": setup.extra}
        if setup.tools:
            given["tools"] = [
                {"type": "function", "function": {"name": name, "parameters": schema}}
                for name, schema in setup.tools.items()
            ]
        given |= {"tool_choice": setup.choice} if setup.choice else {}
        given |= {"max_completion_tokens": setup.most} if setup.most else {}
        if setup.schema:
            given["response_format"] = {"type": "json_schema", "json_schema": {"name": "a", "schema": setup.schema}}
        given |= {"extra_headers": self._named}
        completions = self.sdk.chat.completions
        async with self.listening():
            if not self.streams:
                whole = await completions.create(**given)
            else:
                async with completions.stream(**given, stream_options={"include_usage": True}) as stream:
                    whole = await stream.get_final_completion()
        choice = whole.choices[0]
        kept = choice.message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"})
        for call in kept.get("tool_calls", []):
            call["function"].pop("parsed_arguments", None)
            call.pop("index", None)
        calls = tuple(
            Asked(call.id, call.function.name, json.loads(call.function.arguments))
            for call in choice.message.tool_calls or ()
        )
        used = whole.usage
        return Said(
            choice.message.content or "",
            calls,
            choice.finish_reason,
            used.prompt_tokens,
            used.completion_tokens,
            kept,
            self.headers,
        )

    def _system(self) -> list[Json]:
        return [{"role": "system", "content": self.setup.system}] if self.setup.system else []


class GeminiTalk(Talk):
    """Gemini's generateContent."""

    def _made(self) -> Any:
        options = types.HttpOptions(
            base_url=self.url,
            timeout=20_000,
            httpx_client=_never_used(),
            httpx_async_client=self.http,
            extra_body=self.setup.extra,
            headers=self._named,
        )
        return genai.Client(api_key=self.key, http_options=options)

    def user(self, text: str) -> Any:
        return types.Content(role="user", parts=[types.Part(text=text)])

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
        models = self.sdk.aio.models
        given: Json = {"model": self.setup.model, "contents": list(messages), "config": self._config()}
        async with self.listening():
            if self.streams:
                pieces = [piece async for piece in await models.generate_content_stream(**given)]
            else:
                pieces = [await models.generate_content(**given)]
        return self._said(pieces)

    def _config(self) -> Any:
        setup = self.setup
        declared = [
            types.FunctionDeclaration(name=name, parameters_json_schema=schema) for name, schema in setup.tools.items()
        ]
        mode = {"auto": types.FunctionCallingConfigMode.AUTO}.get(setup.choice)
        return types.GenerateContentConfig(
            system_instruction=setup.system or None,
            tools=[types.Tool(function_declarations=declared)] if declared else None,
            tool_config=types.ToolConfig(function_calling_config=types.FunctionCallingConfig(mode=mode))
            if mode
            else None,
            max_output_tokens=setup.most or None,
            response_mime_type="application/json" if setup.schema else None,
            response_json_schema=setup.schema,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )

    def _said(self, pieces: Sequence[Any]) -> Said:
        parts: list[Any] = []
        for piece in pieces:
            parts += piece.candidates[0].content.parts or []
        texts = [part.text for part in parts if part.text and not part.thought]
        calls = tuple(
            Asked(part.function_call.id or "", part.function_call.name, dict(part.function_call.args or {}))
            for part in parts
            if part.function_call
        )
        last = pieces[-1]
        used = last.usage_metadata
        return Said(
            "".join(texts),
            calls,
            last.candidates[0].finish_reason.name,
            used.prompt_token_count,
            used.candidates_token_count or 0,
            types.Content(role="model", parts=parts),
            self.headers,
        )


class AnthropicTalk(Talk):
    """Anthropic messages."""

    def _made(self) -> Any:
        return anthropic.AsyncAnthropic(
            api_key=self.key, base_url=self.url, max_retries=0, timeout=20, http_client=self.http
        )

    def user(self, text: str) -> Json:
        return {"role": "user", "content": text}

    def results(self, results: Sequence[tuple[Asked, str, bool]]) -> list[Any]:
        blocks = [
            {"type": "tool_result", "tool_use_id": call.id, "content": text, "is_error": wrong}
            for call, text, wrong in results
        ]
        return [{"role": "user", "content": blocks}]

    async def ask(self, messages: Sequence[Any]) -> Said:
        setup = self.setup
        given: Json = {"model": setup.model, "max_tokens": setup.most or 2000, "messages": list(messages)}
        given |= {"system": setup.system} if setup.system else {}
        if setup.tools:
            given["tools"] = [{"name": name, "input_schema": schema} for name, schema in setup.tools.items()]
        given |= {"tool_choice": {"type": setup.choice}} if setup.choice else {}
        extra = dict(setup.extra)
        if setup.schema:
            extra["output_config"] = {"format": {"type": "json_schema", "schema": setup.schema}}
        given |= {"extra_body": extra, "extra_headers": self._named}
        api = self.sdk.messages
        async with self.listening():
            if not self.streams:
                whole = await api.create(**given)
            else:
                async with api.stream(**given) as stream:
                    whole = await stream.get_final_message()
        blocks = [block.model_dump(exclude_none=True) for block in whole.content]
        calls = tuple(Asked(one["id"], one["name"], one["input"]) for one in blocks if one["type"] == "tool_use")
        return Said(
            "".join(one["text"] for one in blocks if one["type"] == "text"),
            calls,
            whole.stop_reason,
            whole.usage.input_tokens,
            whole.usage.output_tokens,
            {"role": "assistant", "content": [_bare(one) for one in blocks]},
            self.headers,
        )


TALKS: dict[Wire, type[Talk]] = {"openai": OpenAITalk, "gemini": GeminiTalk, "anthropic": AnthropicTalk}


@functools.cache
def _never_used() -> httpx2.Client:
    """What Google's SDK would else make for its blocking calls, with all the certificates of the machine."""
    return httpx2.Client(**PLAIN)


def _bare(block: Json) -> Json:
    """A block as it is sent back: the SDK's own additions to a parsed answer are no fields of a request."""
    return {name: value for name, value in block.items() if name not in ("parsed_output", "caller")}


@contextlib.asynccontextmanager
async def client_of(url: str, key: str) -> AsyncGenerator[httpx2.AsyncClient]:
    """An HTTP client of a proxy, with a key for every format; no proxy settings of the machine."""
    headers = {"authorization": f"Bearer {key}", "x-goog-api-key": key}
    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=20, **PLAIN) as http:
        yield http
