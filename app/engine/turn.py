"""One turn of one client, from its bytes to its answer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from app.chat.address import Chain
from app.chat.model import Chat
from app.chat.size import rough
from app.context import chaining, report
from app.context.known import Known
from app.context.plan import Plan
from app.engine.beside import beside
from app.engine.continuing import Thread, as_asked, continued, refuse_confined
from app.engine.counting import counted, near_a_threshold
from app.engine.engine import Engine
from app.engine.fetching import Fetching
from app.engine.parking import parked_in
from app.engine.planning import Planned, planned, with_sending
from app.engine.reading import addressed, heard
from app.engine.relay import Relay
from app.engine.remembering import note_begun, remember
from app.engine.request import Out, Request
from app.engine.routing import Candidate
from app.engine.sending import Sender, Sent
from app.engine.sessions import session_of
from app.engine.sticky import told
from app.engine.summaries import apart
from app.errors import ClientError, ProxyError, UpstreamError
from app.observe import Outcome, TurnDetails
from app.state.keys import Session
from app.state.store import Recalled
from app.wires.anthropic.names import NAME as ANTHROPIC
from app.wires.envelope import Envelope
from app.wires.envelope import encode as to_json
from app.wires.lost import is_lost
from app.wires.threads import THREADS
from app.wires.wire import Stamp, Writer

LOG = logging.getLogger(__name__)
AGAIN = 1
"""Times that a turn is sent once more because the model's own output was unusable, before anything of it went out."""
REQUEST_ID: Mapping[str, tuple[str, ...]] = {ANTHROPIC: ("request-id",)}
"""Where else the SDKs of a format look for the id of a request."""

MOST_SUMMARIES = 2
"""Summaries that one turn waits for: of what came before an agent's task, and of the task's own finished steps."""


class Turn:
    """Runs once. What it learns on the way stands in its fields, for the record and the observers."""

    def __init__(self, engine: Engine, request: Request, out: Out) -> None:
        self.engine = engine
        self.request = request
        self.out = out
        self.chat = Chat("", ())
        self.session = Session("", "")
        self.id = ""
        self.known = Known()
        self.plan = Plan(self.chat)
        self.sent: Sent | None = None
        self.outcome: Outcome = "answered"
        self.error: ProxyError | None = None
        self.status = 0
        self.first_byte = 0.0
        self.addresses: tuple[bytes, ...] = ()
        self.thread: Thread | None = None
        self.fetching: Fetching | None = None
        self._chain = Chain(request.tenant)
        self._sender = Sender(engine, request.wire.name, request.headers, request.credential)
        self._relay: Relay | None = None
        self._writer: Writer | None = None
        self._stamp: Stamp | None = None
        self._began = time.perf_counter()

    async def run(self) -> None:
        """Answer the client, whatever happens: with the answer, or with one error in its own dialect."""
        self.engine.inflight.open += 1
        try:
            await self._answer()
        except ProxyError as error:
            await self.fail(error)
            await self._note_failure()
        except asyncio.CancelledError:
            self.outcome = "client_left"
            raise
        except RecursionError:
            await self.fail(ClientError("The request is nested too deeply."))
        except Exception:  # the last door: a fault of ours is logged and said, and never leaves a client without a word
            LOG.exception("turn %s failed by a fault of Foldline", self.id)
            await self.fail(
                ProxyError("Foldline failed on this request. The log says why.", kind="upstream_failed", status=500)
            )
        finally:
            self.engine.inflight.open -= 1
            if self.sent is not None:
                self.sent.answer.close()

    async def _answer(self) -> None:
        request, engine = self.request, self.engine
        chat, addresses = await self._read()
        if request.wire.name in THREADS:
            chat, addresses = await self._threaded()
        headers = dict(request.headers)
        kept_in = self.thread.session if self.thread else None
        self.session = session_of(chat, headers, addresses, request.tenant, kept_in)
        self.id = f"t-{self.session.tenant}{self.session.root}-{engine.new_id()}"
        made = await planned(engine, self._recall, self.session, chat, addresses, self._size(), request.wire.name)
        self._take(made)
        refuse_confined(request.wire.name, made.candidates[0].upstream.wire.name, self.chat)
        if chat.stream and chat.framing == "sse":
            self.out.quiet(self.writer.keepalive, self._begin_early)
        if engine.exact_counts and near_a_threshold(made):
            made = await self._counted(made)
        made = await self._send(await self._summed_up(made))
        self._fill_behind(made)

    async def _threaded(self) -> tuple[Chat, tuple[bytes, ...]]:
        """The whole chat of a client that sends only what is new, and its addresses."""
        request = self.request
        before = self.chat
        tenant = request.tenant.hex()
        found = continued(self.engine, request.wire, request.inbound, before, tenant, request.credential)
        self.chat, self.thread = await found
        if self.chat.messages is not before.messages:
            messages = self.chat.messages
            self._chain, self.addresses = await beside(self._size(), addressed, messages, request.tenant)
        if self.thread.whole:
            self._chain, _ = await beside(self._size(), addressed, self.thread.whole, request.tenant)
        return self.chat, self.addresses

    def _take(self, made: Planned) -> Planned:
        self.known, self.plan = made.known, made.plan
        return made

    async def _counted(self, made: Planned) -> Planned:
        """The same turn by the provider's own count, if it gives one."""
        scale = await counted(made, self.engine.transport, self.request.credential)
        return self._take(made.again(replace(made.known, scale=scale))) if scale else made

    async def _summed_up(self, made: Planned) -> Planned:
        """The same turn with the summaries that it cannot do without; planned without those that are not to be had."""
        for _ in range(MOST_SUMMARIES):
            if (need := made.urgent) is None:
                return made
            found = await self.engine.summaries.filled(self.session, made, need, self.request.credential)
            made = self._take(await apart(made, made.knowing, found))
            if (after := made.urgent) is not None and after.address == need.address:
                break
        return self._take(await apart(made, made.final)) if made.urgent else made

    async def _send(self, made: Planned) -> Planned:
        """Send until an answer went to the client; the plan that it went out with. Raises the last error."""
        again, healed = AGAIN, False
        while True:
            if made.plan.refusal:
                raise ClientError(made.plan.refusal, kind="too_long")
            self._relay = None
            try:
                await self._send_once(made)
            except UpstreamError as error:
                if not self.known.bypassed:
                    self.engine.unfinished.note(self.session, self._relay)
                if self.sent is not None:
                    self.sent.answer.close()
                if self._relay is not None and self._relay.gave:
                    raise
                if is_lost(error) and (whole := _unchained(made, self._sender.last)) is not None:
                    made = self._take(whole)
                elif (
                    error.kind == "too_long" and not healed and (shorter := await self._healed(made, error)) is not None
                ):
                    made, healed = shorter, True
                elif again and self._relay is not None and (self._relay.unusable or is_lost(error)):
                    again -= 1
                else:
                    raise
                self._writer = None  # what it was told has gone to nobody
            else:
                return made

    async def _send_once(self, made: Planned) -> None:
        chat, strict = made.plan.chat, self.engine.strict
        candidates = made.candidates[:1] if self.thread and self.thread.foreign else made.candidates
        asked = as_asked(self.thread, made, chat)
        self._sender.marks = made.marks(self.request.wire.name) and not made.policy.off
        self.sent = sent = await self._sender.send(chat, candidates, made.checkpoints, strict, asked)
        self.fetching = self.engine.parking.fetching(self.session, made.chat, made.plan, made.policy)
        plan = chaining.as_sent(made.plan, sent.chat.after, sent.candidate.upstream.name)
        self.plan = with_sending(plan, sent.candidate.upstream.name, sent.put_back, sent.losses)
        self._relay = Relay(self, sent)
        await self._relay.run()

    async def _healed(self, made: Planned, error: UpstreamError) -> Planned | None:
        """The turn folded to what the provider takes; None if nothing can be made of it. Its limit is remembered."""
        candidate = self._sender.last
        if candidate is None or made.policy.off or not made.known.waits:
            return None
        scale = self.engine.counting.overflowed(made, candidate, error.message, self._size())
        known = replace(made.known, scale=scale, overflowed=True)
        shorter = await self._summed_up(self._take(made.again(known)))
        if shorter.plan.chat.messages == made.plan.chat.messages:
            self._take(made)
            return None
        return shorter

    async def onward(self, chat: Chat, candidate: Candidate) -> Sent:
        """Ask for the rest of an answer that the provider paused."""
        sent = await self._sender.onward(chat, candidate, self.engine.strict)
        self.plan = chaining.rejoined(self.plan) if self._sender.rejoined else self.plan
        return sent

    def _fill_behind(self, made: Planned) -> None:
        """What the next turns will need is made while nobody waits for it."""
        candidate = self._sender.last
        if candidate is not None:
            self.engine.counting.limits.refresh_soon(candidate.upstream, self.request.credential)
        if self.known.bypassed:
            return
        self.engine.parking.keep(self.session, parked_in(made.chat, made.plan))
        for need in made.plan.needs:
            if not need.urgent:
                self.engine.summaries.start(self.session, made, need, self.request.credential)

    async def _recall(self, session: Session, asked: Sequence[bytes]) -> Recalled:
        """What is stored, after what this request itself wants kept. Raises what `told` raises."""
        recalled = await self.engine.store.recall(session, asked)
        if "memory" not in self.chat.options:
            return recalled
        self.known = Known(bypassed=recalled.bypassed)  # said with an error, if the memory cannot be kept
        memory = await told(self.engine.store, session, recalled, self.chat.options["memory"])
        return Recalled(recalled.checkpoints, memory, recalled.bypassed)

    async def _read(self) -> tuple[Chat, tuple[bytes, ...]]:
        found = await heard(self.request, self.engine.memo)
        self.chat, self.addresses, self._chain = found.chat, found.addresses, found.chain
        return self.chat, self.addresses

    def _size(self) -> int:
        """Bytes of the whole chat, of which a client that goes on by an id sends only the last."""
        envelope = self.chat.native.body if self.chat.native else None
        whole = len(envelope.raw) if isinstance(envelope, Envelope) else 0
        return max(len(self.request.inbound.body), whole)

    def stamp(self) -> Stamp:
        """The identity of an answer that we write ourselves; the same whenever it is asked for."""
        if self._stamp is None:
            own = self.id.rpartition("-")[2]
            kept = self.session.root if self.request.wire.name in THREADS else ""  # so that the id leads to its session
            self._stamp = Stamp(kept + own, int(self.engine.clock()))
        return self._stamp

    def headers(self, sent_tokens: int = 0) -> dict[str, str]:
        """Foldline's response headers."""
        headers = dict.fromkeys(("x-request-id", *REQUEST_ID.get(self.request.wire.name, ())), self.request.request_id)
        if self.id:
            received = rough(self.request.inbound.body)
            sent = sent_tokens or self._sent_tokens() or received
            headers |= {
                "x-foldline-session": self.session.id,
                "x-foldline-turn": self.id,
                "x-foldline-tokens": f"received={received}, sent={sent}",
                "x-foldline-plan": report.header(self.plan, self.known),
            }
        return headers

    def _sent_tokens(self) -> int:
        """Estimated tokens of what was sent, or is about to be; 0 if those are the client's own bytes."""
        if self.plan.tokens:
            return self.plan.tokens
        return 0 if self.sent is None or self.sent.untouched else self.sent.size // 4

    @property
    def writer(self) -> Writer:
        """Writes for the client; made when it is first needed."""
        if self._writer is None:
            self._writer = self.request.wire.writer(self.chat, self.stamp(), self.chat.stream)
        return self._writer

    async def begin(self, content_type: str, headers: Mapping[str, str]) -> None:
        """A streamed answer begins."""
        self.status = 200
        self.first_byte = time.perf_counter() - self._began
        await self.out.start(200, content_type, {**headers, **self.headers()})

    async def _begin_early(self) -> None:
        await self.begin(self.writer.content_type, {})

    async def whole(self, content_type: str, headers: Mapping[str, str], data: bytes, sent_tokens: int) -> None:
        """An answer in one piece; `sent_tokens` is the provider's own count, 0 if it gave none."""
        self.status = 200
        self.first_byte = time.perf_counter() - self._began
        await self.out.whole(200, content_type, {**headers, **self.headers(sent_tokens)}, data)

    async def fail(self, error: ProxyError) -> None:
        """One honest error: as a status if nothing went out yet, else inside the stream and then a cut connection."""
        self.error = error
        self.outcome = "refused" if isinstance(error, ClientError) else "failed"
        wire = self.request.wire
        if not self.out.started:
            problem = wire.problem(error)
            self.status = problem.status
            headers = {**problem.headers, **self.headers()}
            await self.out.whole(problem.status, problem.content_type, headers, problem.body)
        else:
            await self.out.send(self._relay.broken(error) if self._relay else self.writer.fail(error))

    def failed_in_stream(self, error: ProxyError) -> None:
        """The provider said so itself, inside its stream, to a client of its own format: nothing to add."""
        self.error = error
        self.outcome = "failed"

    async def remember(self, relay: Relay) -> None:
        """Keep what only the provider knows about this answer, at the address that the client's next turn will have."""
        if self.known.bypassed and self.thread is None:
            return  # one deadline a turn: a store that did not answer before is not waited for again
        if skipped := await remember(self, relay, self._chain.copy()):
            known = self.known
            self.known = Known(known.addresses, known.checkpoints, known.memory, known.now, skipped)

    async def _note_failure(self) -> None:
        """A turn that failed can be looked up too; only its record is kept, behind the answer, and no checkpoint."""
        if self.id and not self.known.bypassed:
            info = self._info()
            await self.engine.store.remember(self.session, [], turn_id=self.id, turn=self.record(), info=info)

    def note_leaving(self) -> None:
        """A turn that was ended from outside, the same; it is over at once, so that is noted behind it."""
        if self.id and not self.known.bypassed:
            self.engine.unfinished.note(self.session, self._relay, self.id, self.record(), self._info())

    def _info(self) -> dict[str, str]:
        candidate = self._sender.last
        return {"model": self.chat.model, "upstream": candidate.upstream.name if candidate else ""}

    async def note_begun(self, relay: Relay, said: bytes) -> None:
        """An answer that its provider makes in the background can be asked for from its first word on."""
        await note_begun(self, relay, said)

    def record(self) -> bytes:
        """The turn as /foldline/turns shows it, JSON. A status not yet sent is the one that is about to be: 200."""
        return to_json(
            {"turn": self.details(status=200), "at": self.engine.clock(), **report.as_json(self.plan, self.known)}
        )

    def details(self, status: int = 0) -> TurnDetails:
        """What is known of this turn by now; `status` stands in while none was sent."""
        candidate = self._sender.last
        usage = self._relay.reply.usage if self._relay else None
        return TurnDetails(
            turn=self.id,
            session=self.session.id if self.id else "",
            request_id=self.request.request_id,
            dialect=self.request.wire.name,
            upstream=candidate.upstream.name if candidate else "",
            model=candidate.model if candidate else self.chat.model,
            stream=self.chat.stream,
            status=self.status or status,
            outcome=self.outcome,
            error=self.error.kind if self.error else "",
            seconds=time.perf_counter() - self._began,
            first_byte=self.first_byte,
            received=rough(self.request.inbound.body),
            sent=(self.plan.tokens or self.sent.size // 4) if self.sent else 0,
            input_tokens=usage.input if usage else 0,
            output_tokens=usage.output if usage else 0,
            sent_upstream=self._sender.attempts,
            plan=report.header(self.plan, self.known) if self.id else "",
            bypassed=self.known.bypassed,
            losses=len(self.plan.losses),
        )


def _unchained(made: Planned, last: Candidate | None) -> Planned | None:
    """The turn sent whole, as `last` has lost what it went on from; None if it went on from nothing of ours there."""
    after = made.plan.chat.after
    whole = made.without(after) if after and last is made.candidates[0] else made
    return whole if whole.plan.chat.after != after else None
