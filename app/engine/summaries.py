"""Makes the summaries that plans need: each once, whoever else wants it, and never twice for the same failure.

One task a fold line in this process, one lease a session over all workers and replicas, and a second look at what is
stored once the lease is held. What a summariser's model says is used only after the retention gate; what it lost is
asked for once more, and then carried word for word. A summariser that fails is left alone for a while (per session, in
the store, so that every worker knows); the turn goes on without it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from msgspec.structs import replace

from app.chat import size
from app.chat.family import family_of
from app.context.asking import named
from app.context.critical import Critical
from app.context.errand import Errand, errand
from app.context.flaws import misread
from app.context.folds import Check, Fold, fold_address
from app.context.known import Checkpoint
from app.context.pinned import drifted
from app.context.plan import Need
from app.context.retention import LIGHT, Fact, carried, verdict
from app.engine.beside import apart_if
from app.engine.planning import Planned, asked_for
from app.engine.routing import Candidate
from app.engine.summariser import LONG, Question, Said, said
from app.errors import ProxyError
from app.observe import SummaryDetails
from app.state.keys import Session
from app.upstreams.upstream import Credential

if TYPE_CHECKING:
    from app.engine.engine import Engine

LOG = logging.getLogger(__name__)

LEASE = 8.0
"""Seconds after which the summary of a process that died no longer stops others; renewed while it is being made."""

WAIT = 45.0
"""Seconds that a turn waits for a summary that another worker makes; then it goes on without."""

PATIENCE = 60.0
"""Seconds that a turn waits for a summary in all. Then it goes on without; the summary is made all the same, behind it,
and what a slow machine makes in minutes is there for a later turn."""

SLOW = 300.0
"""Seconds after a turn that waited in vain in which no other turn of that conversation waits."""

FIRST_PAUSE, LONGEST_PAUSE = 30.0, 3600.0
"""Seconds that a failing summariser is left alone in a session; doubled with every failure."""

USELESS = 1
"""Second questions in a row that brought a model nowhere; from then on only every RETRIED-th is asked."""

RETRIED = 24

SPARED = 24
"""Second questions in a row that are spared where half of the list of facts holds all that is missing."""

MOST_REMEMBERED = 4096

PAUSE = "fold"

LATE = "late"
"""What a conversation's marks in the store are called: no summary is made, and none is waited for."""

SUMMARY = "summary"
"""What a task that makes one is called."""

P = ParamSpec("P")
T = TypeVar("T")
Found = Mapping[bytes, Checkpoint]
NOTHING: Found = {}


async def apart(made: Planned, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """What pure work on a chat gives. A long chat's is done beside the event loop, so that no other stream waits."""
    size = made.known.scale.received if made.known.scale else 0
    return await apart_if(size > LONG, work, *args, **named)


class Summaries:
    """The summaries of one process."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._running: dict[tuple[Session, bytes], asyncio.Task[Found]] = {}
        self._failures: OrderedDict[Session, int] = OrderedDict()
        self._useless: OrderedDict[str, int] = OrderedDict()
        self._spared: OrderedDict[str, int] = OrderedDict()

    async def filled(self, session: Session, made: Planned, need: Need, credential: Credential) -> Found:
        """What is known after the need was filled, by address; nothing if it could not be in time. Never raises.

        A client that hangs up does not stop it: others may be waiting, and it is paid for.
        """
        task = self.start(session, made, need, credential)
        _, late = await self._engine.store.look(session, fold_address(need.address), LATE)
        done, _ = await asyncio.wait({task}, timeout=0 if late else PATIENCE)
        if not done and not late:
            await self._engine.store.pause(session, LATE, SLOW)
        return task.result() if done else NOTHING

    def start(self, session: Session, made: Planned, need: Need, credential: Credential) -> asyncio.Task[Found]:
        """Begin to fill a need, or join those who wait for it already."""
        key = session, need.address
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(self._fill(session, made, need, credential), name=SUMMARY)
            task.add_done_callback(lambda done: self._running.pop(key, None))
        return task

    async def close(self, seconds: float) -> None:
        """Give what is being made some seconds more, then end it."""
        tasks = list(self._running.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _fill(self, session: Session, made: Planned, need: Need, credential: Credential) -> Found:
        store = self._engine.store
        try:
            async with store.lease(session, "fold", secrets.token_hex(8), LEASE, WAIT) as held:
                if not held:
                    await store.pause(session, LATE, SLOW)
                    return NOTHING
                found = await self._stored(session, made)
                now = await apart(made, made.again, replace(made.known, checkpoints=found))
                wanted = next((each for each in now.plan.needs if each.urgent or not need.urgent), None)
                if wanted is None:
                    return found
                stored, paused = await store.look(session, fold_address(wanted.address), PAUSE)
                if stored is not None or paused:
                    return found if stored is None else {**found, stored.address: stored}
                fresh = await self._made(session, now, wanted, credential)
                return {**found, fresh.address: fresh} if fresh else found
        except Exception:  # the last door of a task of its own: a turn must not fail because of a summary
            LOG.exception("making a summary failed by a fault of Foldline")
            return NOTHING

    async def _stored(self, session: Session, made: Planned) -> Found:
        """What is stored by now. Asked twice: the first answer tells a cache that somebody else wrote."""
        asked = asked_for(made.chat, made.known.addresses, folds=True)
        await self._engine.store.recall(session, asked)
        return {**made.known.checkpoints, **(await self._engine.store.recall(session, asked)).checkpoints}

    async def _made(self, session: Session, made: Planned, need: Need, credential: Credential) -> Checkpoint | None:
        began = time.perf_counter()
        task = await apart(made, errand, made.chat, made.known, made.policy, need)
        wanted = await apart(made, task.wanted)
        candidate = self._summariser(made)
        if candidate.upstream.name != made.candidates[0].upstream.name:
            credential = Credential()  # the client's own key is for the provider of its chat, and nobody else
        maker = _Maker(self._engine, self, candidate, task, wanted, credential, made.policy.min_retention)
        reason = ""
        try:
            await maker.run()
        except (ProxyError, TimeoutError) as error:
            reason = error.kind if isinstance(error, ProxyError) else "timeout"
        fold = maker.fold
        if fold is None and not reason:
            reason = maker.reason
        if fold is None or fold.refused:
            await self._failed(session)
        else:
            self._failures.pop(session, None)
        self._engine.observe_summary(maker.details(session, fold, reason, time.perf_counter() - began))
        if fold is None:
            return None
        checkpoint = Checkpoint(fold_address(need.address), fold=fold, at=self._engine.clock())
        await self._engine.store.remember(session, [checkpoint])
        return checkpoint

    def _summariser(self, made: Planned) -> Candidate:
        pinned, chat = made.policy.summary_model, made.candidates[0]
        if pinned == "auto":
            return Candidate(chat.upstream, chat.upstream.small or chat.model)
        return self._engine.routes.pick(pinned)[0][0]

    async def _failed(self, session: Session) -> None:
        count = self._failures.pop(session, 0)
        self._failures[session] = count + 1
        if len(self._failures) > MOST_REMEMBERED:
            self._failures.popitem(last=False)
        await self._engine.store.pause(session, PAUSE, min(FIRST_PAUSE * 2**count, LONGEST_PAUSE))

    def spares(self, model: str) -> bool:
        """Whether a second question is spared, where all that is missing is easily carried word for word. What a model
        makes of one is seen by its first, and now and then."""
        spared = self._spared.get(model, SPARED)
        if spared < SPARED:
            _note(self._spared, model, spared + 1)
        return spared < SPARED

    def asks_again(self, model: str) -> bool:
        """Whether a second question is worth its price for this model: not where the last ones brought nothing."""
        useless = self._useless.get(model, 0)
        return useless < USELESS or (useless - USELESS) % RETRIED == RETRIED - 1

    def note_second(self, model: str, *, helped: bool, asked: bool = True) -> None:
        """Note whether a second question (asked, or left out as useless) led anywhere."""
        _note(self._useless, model, 0 if helped else self._useless.get(model, 0) + 1)
        if asked:
            _note(self._spared, model, 0)


def _note(counts: OrderedDict[str, int], model: str, count: int) -> None:
    counts[model] = count
    counts.move_to_end(model)
    if len(counts) > MOST_REMEMBERED:
        counts.popitem(last=False)


class _Maker:
    """Makes one fold: asks, checks, asks once more for what is missing, carries the rest word for word.

    Light values (what stands in a tool's output alone) are carried where there is room, and do not count against the
    summary: no summary of a log holds all its numbers.
    """

    def __init__(
        self,
        engine: Engine,
        summaries: Summaries,
        candidate: Candidate,
        task: Errand,
        wanted: tuple[Critical, ...],
        credential: Credential,
        least: float,
    ) -> None:
        self._engine = engine
        self._plain = False
        self._summaries = summaries
        self._candidate = candidate
        self._task = task
        self._credential = credential
        self._least = least
        self._wanted = wanted
        self._judged = tuple(each for each in wanted if each.weight >= LIGHT)
        self._check = Check(pinned=candidate.model, found=len(self._judged), tokens=task.tokens)
        self._input = self._output = 0
        self.fold: Fold | None = None
        self.reason = ""

    async def run(self) -> None:
        """Sets `fold` (which may be a refusal), or `reason`. Raises ProxyError or TimeoutError if nobody answers."""
        answer = await self._ask(Question())
        if misread(answer.flaw):
            self._plain = True
            answer = await self._ask(Question(plain=True))
        if answer.flaw:
            self.reason = answer.flaw
            return
        text = answer.text
        first = verdict(self._judged, self._task.words(text), self._task.facts)
        if first.score < self._least:
            text = await self._once_more(text, first.score, first.missing)
        self.fold = self._finished(text, first.kept)

    async def _once_more(self, text: str, score: float, missing: tuple[Critical, ...]) -> str:
        """The better of the first answer and a second one that was told what is missing."""
        model = self._candidate.model
        budget = self._task.budget.facts
        if self._passes(text, budget // 2) and self._summaries.spares(model):
            return text
        if self._passes(text, self._room(text)) and not self._summaries.asks_again(model):
            self._summaries.note_second(model, helped=False, asked=False)
            return text
        if not self._passes(text, budget + self._task.wish.limit):
            return text  # a summary of nothing but what is missing would not have room for it either
        try:
            lost = tuple(each.value if self._plain else named(each) for each in missing)
            second = await self._ask(Question(lost, text, self._plain))
        except (ProxyError, TimeoutError):
            return text
        after = score if second.flaw else verdict(self._judged, self._task.words(second.text), self._task.facts).score
        self._summaries.note_second(model, helped=after >= self._least)
        return second.text if after > score else text

    def _passes(self, text: str, room: int) -> bool:
        """Whether the gate passes with a list of facts of so many tokens."""
        facts = self._carried(text, room)
        return verdict(self._judged, self._task.words(text), facts).score >= self._least

    def _room(self, text: str) -> int:
        """Tokens that the list of facts may take at most beside this answer."""
        words = size.of_text(self._task.words(text), family_of(self._candidate.model))
        return self._task.budget.facts_beside(words)

    def _listed(self, text: str) -> tuple[Fact, ...]:
        """The list of facts. What the segments leave is for what was listed before, and lest a summary be refused."""
        family = family_of(self._candidate.model)
        held = sum(size.of_text(f"- {fact.text}\n", family) for fact in self._task.facts)
        room = self._room(text)
        usual = max(self._task.budget.facts, min(held, room))
        return self._carried(text, usual if self._passes(text, usual) else room)

    def _carried(self, text: str, room: int) -> tuple[Fact, ...]:
        words, family = self._task.words(text), family_of(self._candidate.model)
        missing = verdict(self._wanted, words).missing
        return carried(missing, room, lambda line: size.of_text(line, family), before=self._task.facts, text=words)

    def _finished(self, text: str, kept: int) -> Fold:
        task = self._task
        words = task.words(text)
        family = family_of(self._candidate.model)
        facts = self._listed(text)
        last = verdict(self._judged, words, facts)
        self._check = replace(
            self._check,
            kept=kept,
            repaired=max(last.kept - kept, 0),
            score=round(last.score, 4),
            values=tuple(each.value for each in self._judged),
            lost=tuple(each.value for each in last.missing),
            made=size.of_text(text, family),
        )
        if last.score < self._least:
            lost = len(last.missing)
            why = f"It kept {last.score:.0%} of what matters, less than {self._least:.0%}: {lost} values are lost."
            return Fold(task.upto, check=self._check, refused=why)
        return replace(task.fold(text, facts), check=self._check)

    async def _ask(self, question: Question) -> Said:
        self._check = replace(self._check, asked=self._check.asked + 1)
        answer = await said(self._engine, self._candidate, self._task, self._credential, question)
        self._input += answer.input
        self._output += answer.output
        self._check = replace(self._check, served=answer.served, drifted=drifted(self._candidate.model, answer.served))
        return answer

    def details(self, session: Session, fold: Fold | None, reason: str, seconds: float) -> SummaryDetails:
        """What observers are told."""
        check = self._check
        return SummaryDetails(
            session=session.id,
            upstream=self._candidate.upstream.name,
            pinned=check.pinned,
            served=check.served,
            drifted=check.drifted,
            outcome="failed" if fold is None else "refused" if fold.refused else "made",
            reason=reason or (fold.refused if fold else ""),
            found=check.found,
            kept=check.kept,
            repaired=check.repaired,
            score=check.score,
            asked=check.asked,
            facts=len(fold.facts) if fold else 0,
            seconds=seconds,
            input_tokens=self._input,
            output_tokens=self._output,
        )
