"""A client that sends its whole chat every turn, to Foldline or to the upstream itself."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from bench.memory import tokens
from bench.memory.talk import Talk
from bench.memory.upstream import Record, Upstream

MODEL = "gpt-4.1"
Message = dict[str, Any]
Shape = Callable[[list[Message]], list[Message]]
"""What a client does to its chat before it sends it."""


@dataclass(frozen=True, slots=True)
class Run:
    """One talk under one policy.

    Attributes:
        records: what reached the upstream, in order.
        seconds: what each turn took at the client.
        failures: answers other than 200, in words.
    """

    name: str
    talk: Talk
    records: tuple[Record, ...]
    seconds: tuple[float, ...]
    failures: tuple[str, ...] = ()


def everything(chat: list[Message]) -> list[Message]:
    """The whole chat, as it is."""
    return chat


def window(budget: int) -> Shape:
    """Plain trimming: the system text and the newest messages that fit into `budget` tokens; never fewer than one."""

    def trimmed(chat: list[Message]) -> list[Message]:
        system = [message for message in chat if message["role"] == "system"]
        rest = [message for message in chat if message["role"] != "system"]
        left = budget - tokens.PER_CHAT - sum(map(_size, system))
        kept = len(rest)
        while kept and (left := left - _size(rest[kept - 1])) >= 0:
            kept -= 1
        while kept < len(rest) - 1 and rest[kept]["role"] != "user":
            kept += 1
        return [*system, *rest[min(kept, len(rest) - 1) :]]

    return trimmed


def _size(message: Message) -> int:
    return tokens.PER_MESSAGE + tokens.of_text(str(message["content"]))


async def play(
    name: str,
    talk: Talk,
    url: str,
    upstream: Upstream,
    *,
    think: float,
    shape: Shape = everything,
    model: str = MODEL,
) -> Run:
    """Play a talk turn by turn.

    Args:
        url: an origin that speaks OpenAI's chat format. model: what is asked for.
        think: seconds of silence at the upstream before the user speaks again: less than any user takes to type.
    """
    chat: list[Message] = [{"role": "system", "content": talk.system}]
    seconds: list[float] = []
    failures: list[str] = []
    async with client() as session:
        for said in talk.said:
            chat.append({"role": "user", "content": said})
            began = time.perf_counter()
            answer, failure = await ask(session, url, shape(chat), model=model)
            seconds.append(time.perf_counter() - began)
            if failure:
                failures.append(failure)
            chat.append({"role": "assistant", "content": answer.get("content") or ""})
            await upstream.quiet(think)
    return Run(name, talk, tuple(upstream.records), tuple(seconds), (*failures, *upstream.refused))


def client() -> aiohttp.ClientSession:
    """An HTTP client of loopback."""
    return aiohttp.ClientSession(
        headers={"authorization": "Bearer sk-bench"}, timeout=aiohttp.ClientTimeout(total=90), trust_env=False
    )


async def ask(
    session: aiohttp.ClientSession, url: str, messages: Sequence[Message], **more: Any
) -> tuple[Message, str]:
    """The assistant's message, and why there is none."""
    body = json.dumps({"model": MODEL, "messages": messages, **more}, ensure_ascii=False).encode()
    sent = session.post(f"{url}/v1/chat/completions", data=body, headers={"content-type": "application/json"})
    async with sent as response:
        if response.status != 200:
            return {}, f"{response.status}: {(await response.text())[:300]}"
        return (await response.json())["choices"][0]["message"], ""
