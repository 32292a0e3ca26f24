"""What a turn leaves behind: a checkpoint at the address of its answer, and the answer where nobody else has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.chat.address import Chain, setup
from app.context.known import Checkpoint
from app.engine.continuing import said_for, told
from app.engine.hops import fetches_of
from app.engine.relay import Relay
from app.errors import StateError
from app.state.keys import Session
from app.state.link import Command
from app.state.threads import Told, session_in
from app.tools.offer import is_offered
from app.wires.threads import THREADS

if TYPE_CHECKING:
    from app.engine.turn import Turn


async def remember(turn: Turn, relay: Relay, chain: Chain) -> str:
    """Keep a complete answer: one round trip. Why it was skipped, or an empty string.

    Args:
        chain: the address up to the request's end; it is extended.
    """
    finished, foreign = relay.reply.finished, turn.thread is not None and turn.thread.foreign
    if finished is None or relay.reply.failed is not None or foreign:
        return ""
    paused = finished.reason == "paused"
    checkpoints = _paused(relay, chain) if paused else [_checkpoint(turn, relay, chain), *_lost(turn)]
    if turn.known.bypassed:  # what was planned without the store is worth nothing to later turns
        checkpoints = []
    kept = _told(turn, relay)
    if not checkpoints and kept is None:
        return ""
    candidate = relay.sent.candidate
    info = {"model": candidate.model, "upstream": candidate.upstream.name}
    store = turn.engine.store
    played = relay.played.packed if kept else b""
    more = _writes(turn, kept, played) if kept else ()
    skipped = await store.remember(turn.session, checkpoints, turn_id=turn.id, turn=turn.record(), info=info, more=more)
    return skipped if kept is None else await _keep(turn, relay, kept, skipped)


async def note_begun(turn: Turn, relay: Relay, said: bytes) -> None:
    """Keep an answer that its provider makes in the background: its client may leave now, and ask for it by its id.

    `said` is the body of the answer, or the event that begins its stream.
    """
    wire, thread = turn.request.wire, turn.thread
    if wire.name not in THREADS or thread is None or thread.foreign or turn.chat.store is False:
        return
    identity, resource = THREADS[wire.name].begun(said)
    if not identity:
        return
    begun = replace(
        said_for(wire, thread, turn.session, identity),
        resource=resource,
        at=turn.stamp().created,
        upstream=relay.sent.candidate.upstream.name,
        handles=(identity,),
        running=True,
        passed=True,
    )
    await _keep(turn, relay, begun, "to be kept now")


def _checkpoint(turn: Turn, relay: Relay, chain: Chain) -> Checkpoint:
    sent, reply, plan, engine = relay.sent, relay.reply, turn.plan, turn.engine
    usage, keeps, handle = relay.hop.usage or reply.usage, sent.candidate.upstream.keeps, relay.reader.handle()
    if usage is not None and not sent.chat.after and not relay.hops.count:
        engine.counting.learn(sent.candidate, plan.guess, usage.input)
    scale = turn.known.scale
    return Checkpoint(
        address=chain.extend(reply.message),
        upstream=sent.candidate.upstream.name,
        model=sent.candidate.model,
        served=reply.model,
        wire=sent.candidate.upstream.wire.name,
        # of an answer that its client itself asked for in hops, that client has all but the last
        sealed=b"" if turn.chat.resume else relay.sealed,
        handle=handle if keeps is not None else "",
        expires=engine.clock() + keeps.seconds if keeps is not None and handle else 0,
        input_tokens=usage.input if usage else 0,
        output_tokens=usage.output if usage else 0,
        estimated_tokens=plan.tokens,
        setup=scale.setup if scale else turn.known.bound_to or setup(turn.chat.system, turn.chat.tools),
        folded=plan.fold.upto if plan.fold else b"",
        front=plan.front,
        inherited=keeps.inherits(plan.chat) if keeps is not None else b"",
        passed=tuple(relay.hops.handles),
        hops=tuple(relay.hops.fetched),
        said=relay.hop.text if relay.hops.fetched else "",
        open=fetches_of(relay.hop, relay.open) if relay.open else (),
        offered=is_offered(plan.chat.tools),
        fold=plan.fold if plan.fold and plan.fold.drops else None,
        at=engine.clock(),
    )


def _paused(relay: Relay, chain: Chain) -> list[Checkpoint]:
    """Of an answer that a client of the same format goes on with itself: what the provider keeps of it by now."""
    sent = relay.sent.candidate
    if not relay.reply.id or sent.upstream.keeps is None:
        return []
    return [Checkpoint(chain.extend(relay.reply.message), sent.upstream.name, sent.model, passed=(relay.reply.id,))]


def _lost(turn: Turn) -> list[Checkpoint]:
    """The checkpoints whose handles the provider no longer knows, without them."""
    lost = turn.known.lost
    held = turn.known.checkpoints.values() if lost else ()
    return [replace(checkpoint, handle="", expires=0) for checkpoint in held if checkpoint.handle in lost]


def _told(turn: Turn, relay: Relay) -> Told | None:
    """The answer by its id, for a client that may go on from that alone; None where it may not."""
    wire, thread, chat = turn.request.wire, turn.thread, turn.chat
    if wire.name not in THREADS or thread is None or chat.store is False:
        return None
    kept = told(wire, thread, turn.session, chat, relay, turn.stamp())
    return kept if kept.id else None


def _home(turn: Turn) -> Session | None:
    """Where the conversation is kept that the answer is added to: its id says so."""
    return session_in(turn.session.tenant, turn.chat.conversation)


def _writes(turn: Turn, kept: Told, played: bytes = b"") -> list[Command]:
    """The answer, its events as they were `played`, and the end of a conversation that is kept in the same place."""
    head = (turn.chat.conversation, kept.id) if _home(turn) == turn.session else None
    return turn.engine.store.threads.writes(turn.session, [kept], head, played)


async def _keep(turn: Turn, relay: Relay, kept: Told, skipped: str) -> str:
    """What the turn's own step could not keep of such an answer: it has no other copy, so a step that was skipped is
    tried once more. Why the answer cannot be gone on from, or an empty string: it is given all the same."""
    threads, home = turn.engine.store.threads, _home(turn)
    try:
        if skipped:
            await threads.write(_writes(turn, kept))
        if relay.passing:
            await threads.point(turn.session, kept.id)
        if home not in (None, turn.session):
            await threads.write(threads.writes(home, [], (turn.chat.conversation, kept.id)))
    except StateError as error:
        return skipped or error.message
    return skipped
