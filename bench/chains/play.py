"""One chat played through Foldline, told to treat it in one of three ways, and what the provider bills for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.context.plan import Decision
from app.context.tool_results.settings import ToolSettings

from bench.chains.billing import Bill
from bench.chains.chats import TOOL_NAME, Kind, Message, Turn
from bench.chains.prices import RATES
from bench.chains.proxy import Proxy, proxy
from bench.chains.rhythm import GAPS, TOOL, Clock
from bench.memory import tokens
from bench.memory.bodies import Body
from bench.memory.spoken.api import Api
from bench.memory.upstream import Record, Upstream, running_upstream

NEVER_HEAVY = 10**9
WHOLE = ToolSettings(compact=False)
AS_IT_IS = {"fold_at_tokens": 0, "heavy_tool_tokens": NEVER_HEAVY, "tools": {TOOL_NAME: WHOLE}}
"""Nothing is folded, and no result is made small or cuts a chain."""

RESEND, CHAIN, FOLDLINE = "resend", "chain", "Foldline"
WAYS: Mapping[str, Mapping[str, Any]] = {RESEND: {**AS_IT_IS, "chain": "never"}, CHAIN: AS_IT_IS, FOLDLINE: {}}
"""Settings under which the proxy sends everything, always chains, or does what it does."""


@dataclass
class Billed(Upstream):
    """An upstream that writes a bill for each rhythm, and keeps no body."""

    clocks: Mapping[str, Clock] = field(default_factory=dict[str, Clock])
    bills: Mapping[str, Bill] = field(default_factory=dict[str, Bill])

    def recorded(self, asked: Body, summary: bool, message: dict[str, Any]) -> Record:
        """What is billed, under each rhythm."""
        said = str(message.get("content") or "") + json.dumps(message.get("tool_calls") or "", ensure_ascii=False)
        answered = tokens.of_text(said)
        for name, bill in self.bills.items():
            bill.take(asked, self.clocks[name].now, summary=summary, answered=answered)
        return Record(asked, summary, 0, answered, 0)


@dataclass(frozen=True, slots=True)
class Played:
    """One chat, one way.

    Attributes:
        bills: by rhythm. chained: what became of the chain, and why, in order. refused: requests that were none.
    """

    bills: Mapping[str, Bill]
    chained: Sequence[Decision]
    refused: Sequence[str]


async def played(kind: Kind, way: str, api: Api, settings: Mapping[str, Any]) -> Mapping[str, Played]:
    """The chat played one way, under each rhythm. Where time decides nothing it is played only once.

    Args:
        settings: policy numbers for Foldline's own way.
    """
    if way == FOLDLINE:
        given = {"summary_model": RATES[api.name].summary.model, **settings}  # what `auto` is at the provider itself
        return {gap: await _played(kind, given, api, (gap,)) for gap in GAPS}
    both = await _played(kind, WAYS[way], api, tuple(GAPS))
    return dict.fromkeys(GAPS, both)


async def _played(kind: Kind, policy: Mapping[str, Any], api: Api, gaps: Sequence[str]) -> Played:
    clocks = {gap: Clock() for gap in gaps}
    upstream = Billed(clocks=clocks, bills={gap: Bill() for gap in gaps})
    upstream.begin("good")
    async with (
        running_upstream(upstream),
        proxy(upstream.url, api, clocks[gaps[0]], policy) as through,
    ):
        chat: list[Message] = [{"role": "system", "content": kind.system}]
        more: Message = {"model": RATES[api.name].chat.model, **({"tools": kind.tools} if kind.tools else {})}
        for number, turn in enumerate(kind.turns):
            await _turn(through, upstream, kind, number, turn, chat, more)
            for gap, clock in clocks.items():
                upstream.bills[gap].turn()
                clock.now += GAPS[gap]
    return Played(upstream.bills, through.chained, upstream.refused)


async def _turn(
    through: Proxy, upstream: Billed, kind: Kind, number: int, turn: Turn, chat: list[Message], more: Message
) -> None:
    """The user's words, maybe a call and its result, and the answer."""
    chat.append({"role": "user", "content": turn.said})
    if turn.result:
        upstream.script = [kind.calls(number)]
        answer = await through.ask({**more, "messages": chat})
        await through.settled()
        chat.append(answer)
        calls = answer["tool_calls"]
        chat.extend({"role": "tool", "tool_call_id": call["id"], "content": turn.result} for call in calls)
        for clock in upstream.clocks.values():
            clock.now += TOOL
    upstream.script = [{"role": "assistant", "content": turn.answer}]
    chat.append(await through.ask({**more, "messages": chat}))
    await through.settled()
