"""The chats that are sent: two, 200 and 2,000 messages, new ones and growing ones, plain and streamed.

English, Japanese, code and JSON mixed, the same bytes in every run. The last user message tells fake_upstream.py how
to stream, so one running server is measured under every workload.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

ANSWER = "The fake answer has a few dozen tokens, so that its size is that of a short reply. " * 4
MARK = "chat-000000000000"  # replaced in place, so that every request is a new chat of the same length
KINDS = (
    "The deployment went through, but the second replica never became ready and the log only says that "
    "the connection pool timed out while it waited for the database. ",
    "デプロイは終わりましたが、二台目のレプリカが準備完了になりません。ログには接続プールの待ち時間切れとだけあります。",
    "def retry(fn, attempts=3):\n    for i in range(attempts):\n        try:\n            return fn()\n"
    "        except OSError:\n            time.sleep(2**i / 4)\n    raise TimeoutError\n",
    json.dumps({"pod": "api-7c9f", "ready": False, "restarts": 4, "cpu_m": 187, "events": ["BackOff", "Unhealthy"]}),
)

MakeBody = Callable[[int], bytes]
"""Given the number of the client, the next body that it sends."""


@dataclass(frozen=True)
class Workload:
    """What is sent. `clients` send at once; `known` chats grow, others are new with every request."""

    name: str
    messages: int
    bytes: int
    clients: int
    known: bool = False
    chunks: int = 0
    delay_ms: float = 0
    hold_s: float = 0

    @property
    def stream(self) -> bool:
        """Whether the answer is streamed."""
        return self.chunks > 0

    def bodies(self, model: str) -> MakeBody:
        """A new series of bodies."""
        return Growing(self, model) if self.known else _new_chats(self, model)


WORKLOADS = {
    each.name: each
    for each in (
        Workload("chat2", 2, 300, clients=8),
        Workload("chat20-known", 20, 10_000, clients=4, known=True),
        Workload("chat200", 200, 100_000, clients=4),
        Workload("chat200-known", 200, 100_000, clients=4, known=True),
        Workload("chat2000", 2000, 1_000_000, clients=2),
        Workload("chat2000-known", 2000, 1_000_000, clients=2, known=True),
        Workload("stream50", 2, 300, clients=16, chunks=50, delay_ms=10),
        Workload("slow100", 2, 300, clients=1000, chunks=100, delay_ms=100),
        Workload("hold", 2, 300, clients=1, chunks=1, hold_s=120),
    )
}


def text(size: int, seed: int) -> str:
    """About `size` UTF-8 bytes of mixed text, another one for each seed."""
    chance, parts, length = random.Random(seed), [], 0
    while length < size:
        parts.append(f"[{chance.randrange(10**6)}] {chance.choice(KINDS)}")
        length += len(parts[-1].encode())
    return "".join(parts).encode()[:size].decode("utf-8", "ignore")


def _messages(work: Workload) -> list[dict[str, str]]:
    each = max(8, work.bytes // work.messages - 42)
    turns = [{"role": "user" if n % 2 else "assistant", "content": text(each, n)} for n in range(1, work.messages)]
    turns[-1]["role"] = "user"
    turns[0]["content"] = f"{MARK} {turns[0]['content']}"
    if work.stream:
        turns[-1]["content"] += f" [[fake chunks={work.chunks} delay_ms={work.delay_ms:g} hold_s={work.hold_s:g}]]"
    return [{"role": "system", "content": text(each, 0)}, *turns]


def _encoded(work: Workload, model: str) -> bytes:
    body: dict[str, Any] = {"model": model}
    if work.stream:
        body["stream"] = True
    return json.dumps({**body, "messages": _messages(work)}, ensure_ascii=False, separators=(",", ":")).encode()


def _new_chats(work: Workload, model: str) -> MakeBody:
    before, after = _encoded(work, model).split(MARK.encode())
    numbers = count(random.SystemRandom().randrange(10**11))
    return lambda _client: b"%bchat-%012d%b" % (before, next(numbers), after)


@dataclass
class _Chat:
    before: bytes
    turns: list[bytes] = field(default_factory=list)


class Growing:
    """Chats that every client carries on, some at a time: each body is an earlier one, its answer, a new question.

    Past `longest` new turns a chat goes back to where it began: still a known beginning, and bounded in size.
    """

    at_once = 4
    longest = 20

    def __init__(self, work: Workload, model: str) -> None:
        self.clients = work.clients
        self.first = _new_chats(work, model)
        self.chats: dict[int, list[_Chat]] = {}
        self.sent = 0

    def openings(self, client: int) -> list[bytes]:
        """The first bodies of a client's chats. They are sent before the measured time."""
        self.chats[client] = [_Chat(self.first(client).removesuffix(b"]}")) for _ in range(self.at_once)]
        return [chat.before + b"]}" for chat in self.chats[client]]

    def __call__(self, client: int) -> bytes:
        """The next turn of one of this client's chats."""
        self.sent += 1
        chat = self.chats[client][self.sent // self.clients % self.at_once]
        if len(chat.turns) >= self.longest:
            chat.turns.clear()
        turn = [
            {"role": "assistant", "content": ANSWER},
            {"role": "user", "content": f"And then? {text(400, self.sent)}"},
        ]
        chat.turns.append(json.dumps(turn, ensure_ascii=False, separators=(",", ":")).encode()[1:-1])
        return b"%b,%b]}" % (chat.before, b",".join(chat.turns))
