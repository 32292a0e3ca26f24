"""Clients that send only what is new, behind the id of the answer before: the official SDKs of OpenAI and Google."""

from __future__ import annotations

import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import httpx2
import openai
from google import genai
from google.genai import types

Json: TypeAlias = dict[str, Any]
Format: TypeAlias = Literal["responses", "interactions"]
PLAIN: Json = {"verify": False, "trust_env": False, "timeout": 20}


@dataclass(frozen=True)
class Call:
    """A tool call as the client got it."""

    id: str
    name: str
    arguments: Json


@dataclass(frozen=True)
class Said:
    """An answer as the client got it; `kept` is how the SDK shows it."""

    id: str
    text: str
    calls: tuple[Call, ...]
    kept: Any
    headers: httpx2.Headers

    @property
    def plan(self) -> str:
        """The x-foldline-plan header."""
        return self.headers["x-foldline-plan"]


class SDKError(Exception):
    """What an SDK raised: the name of its class, the status and the body that it shows."""

    def __init__(self, error: Any) -> None:
        super().__init__(str(error))
        self.name = type(error).__name__
        self.status: int = error.status_code
        self.body: Any = error.body


@contextlib.asynccontextmanager
async def refused(name: str) -> AsyncGenerator[list[SDKError]]:
    """What the SDK raises in here is of the class with this name."""
    caught: list[SDKError] = []
    try:
        yield caught
    except Exception as error:  # looked at by its name: Google's SDK shows these classes nowhere
        if type(error).__name__ != name:
            raise
        caught.append(SDKError(error))
    assert caught, f"no {name} was raised"


class Client(ABC):
    """One client.

    Attributes:
        prefix: what ids of ours begin with here. extra: further fields of every body.
    """

    prefix: str

    def __init__(self, sdk: Any, http: httpx2.AsyncClient, model: str) -> None:
        self.sdk, self.http, self.model = sdk, http, model
        self.extra: Json = {}
        self.headers = httpx2.Headers()

    async def ask(self, given: Any, previous: str = "", *, stream: bool = False, **more: Any) -> Said:
        """Ask, behind an earlier answer if there is one."""
        ways = {"model": self.model, "input": given, "extra_body": self.extra} | more
        return await self._asked(ways, previous, stream=stream)

    @abstractmethod
    async def _asked(self, ways: Json, previous: str, *, stream: bool) -> Said: ...

    @abstractmethod
    def tools(self, **schemas: Json) -> list[Json]:
        """Tools by name, as this format writes them."""

    @abstractmethod
    def results(self, *results: tuple[Call, str]) -> list[Json]:
        """What tools said."""

    @abstractmethod
    def picture(self, text: str, png: str) -> list[Json]:
        """A text and a picture in base64."""

    @abstractmethod
    def shaped(self, schema: Json) -> Json:
        """What asks for an answer of this shape."""

    @abstractmethod
    async def get(self, identity: str, **more: Any) -> Any:
        """The answer, once more."""

    @abstractmethod
    async def delete(self, identity: str) -> Any:
        """Delete it."""

    @abstractmethod
    async def cancel(self, identity: str) -> Any:
        """Cancel it."""

    async def listen(self, response: httpx2.Response) -> None:
        """Note the headers of the newest answer."""
        self.headers = response.headers


class Responses(Client):
    """OpenAI's."""

    prefix = "resp_"

    async def _asked(self, ways: Json, previous: str, *, stream: bool) -> Said:
        given = ways | ({"previous_response_id": previous} if previous else {})
        if stream:
            events = [event async for event in await self.sdk.responses.create(**given, stream=True)]
            assert [event.sequence_number for event in events] == list(range(len(events)))
            whole = events[-1].response
        else:
            whole = await self.sdk.responses.create(**given)
        calls = tuple(
            Call(item.call_id, item.name, json.loads(item.arguments))
            for item in whole.output
            if item.type == "function_call"
        )
        return Said(whole.id, whole.output_text, calls, whole, self.headers)

    def tools(self, **schemas: Json) -> list[Json]:
        return [{"type": "function", "name": name, "parameters": one} for name, one in schemas.items()]

    def results(self, *results: tuple[Call, str]) -> list[Json]:
        return [{"type": "function_call_output", "call_id": call.id, "output": text} for call, text in results]

    def picture(self, text: str, png: str) -> list[Json]:
        image = {"type": "input_image", "image_url": f"data:image/png;base64,{png}", "detail": "auto"}
        return [{"role": "user", "content": [{"type": "input_text", "text": text}, image]}]

    def shaped(self, schema: Json) -> Json:
        return {"text": {"format": {"type": "json_schema", "name": "shape", "schema": schema, "strict": True}}}

    async def get(self, identity: str, **more: Any) -> Any:
        return await self.sdk.responses.retrieve(identity, **more)

    async def delete(self, identity: str) -> Any:
        return await self.sdk.responses.delete(identity)

    async def cancel(self, identity: str) -> Any:
        return await self.sdk.responses.cancel(identity)


class Interactions(Client):
    """Google's."""

    prefix = "v1_"

    async def _asked(self, ways: Json, previous: str, *, stream: bool) -> Said:
        given = ways | ({"previous_interaction_id": previous} if previous else {})
        if not given["extra_body"]:
            del given["extra_body"]
        api = self.sdk.aio.interactions
        if not stream:
            whole = await api.create(**given)
            return self._said(whole.id, [step.model_dump() for step in whole.steps], whole)
        events = [event.model_dump() async for event in await api.create(**given, stream=True)]
        last = next(event["interaction"] for event in events if event["event_type"] == "interaction.completed")
        return self._said(last["id"], steps_of(events), last)

    def _said(self, identity: str, steps: Sequence[Json], kept: Any) -> Said:
        texts = [part["text"] for step in steps if step["type"] == "model_output" for part in step["content"]]
        calls = tuple(
            Call(step["id"], step["name"], step["arguments"]) for step in steps if step["type"] == "function_call"
        )
        return Said(identity, "".join(texts), calls, kept, self.headers)

    def tools(self, **schemas: Json) -> list[Json]:
        return [{"type": "function", "name": name, "parameters": one} for name, one in schemas.items()]

    def results(self, *results: tuple[Call, str]) -> list[Json]:
        return [
            {"type": "function_result", "call_id": call.id, "name": call.name, "result": text} for call, text in results
        ]

    def picture(self, text: str, png: str) -> list[Json]:
        return [{"type": "text", "text": text}, {"type": "image", "data": png, "mime_type": "image/png"}]

    def shaped(self, schema: Json) -> Json:
        return {"response_format": {"type": "text", "mime_type": "application/json", "schema": schema}}

    async def get(self, identity: str, **more: Any) -> Any:
        return await self.sdk.aio.interactions.get(id=identity, **more)

    async def delete(self, identity: str) -> Any:
        return await self.sdk.aio.interactions.delete(id=identity)

    async def cancel(self, identity: str) -> Any:
        return await self.sdk.aio.interactions.cancel(id=identity)


def steps_of(events: Sequence[Mapping[str, Any]]) -> list[Json]:
    """The steps that the events of a stream make."""
    steps: list[Json] = []
    for event in events:
        if event["event_type"] == "step.start":
            empty: Json = {"content": [], "arguments": {}}
            steps.append(empty | {name: value for name, value in event["step"].items() if value is not None})
        elif event["event_type"] == "step.delta":
            _grow(steps[-1], event["delta"])
    for step in steps:
        if "argued" in step:
            step["arguments"] = json.loads(step["argued"])
    return steps


def _grow(step: Json, delta: Json) -> None:
    if delta["type"] == "text":
        step["content"] = [*step["content"], {"type": "text", "text": delta["text"]}]
    elif delta["type"] == "arguments_delta":
        step["argued"] = step.get("argued", "") + delta["arguments"]
    elif delta["type"] == "thought_signature":
        step["signature"] = delta["signature"]


@contextlib.asynccontextmanager
async def client_of(format_: Format, url: str, key: str, model: str) -> AsyncGenerator[Client]:
    """A client of a proxy."""
    async with httpx2.AsyncClient(base_url=url, headers={"authorization": f"Bearer {key}"}, **PLAIN) as http:
        if format_ == "responses":
            async with openai.AsyncOpenAI(api_key=key, base_url=f"{url}/v1", max_retries=0, http_client=http) as sdk:
                client: Client = Responses(sdk, http, model)
                http.event_hooks["response"].append(client.listen)
                yield client
            return
        with httpx2.Client(verify=False, trust_env=False) as plain:
            options = types.HttpOptions(
                base_url=url,
                timeout=20_000,
                httpx_client=plain,
                httpx_async_client=http,
                retry_options=types.HttpRetryOptions(attempts=1),
            )
            other: Client = Interactions(genai.Client(api_key=key, http_options=options), http, model)
            http.event_hooks["response"].append(other.listen)
            yield other
