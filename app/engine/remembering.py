"""What a turn leaves behind: a checkpoint at the address of its answer, and the answer where nobody else has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.chat.address import Chain, setup
from app.context.known import Checkpoint
from app.engine.continuing import told
from app.engine.relay import Relay
from app.state.link import Command
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
    paused = finished.reason == "paused" or bool(turn.chat.resume)
    checkpoints = [] if paused else [_checkpoint(turn, relay, chain), *_lost(turn)]
    more = await _told(turn, relay)
    if not checkpoints and not more:
        return ""
    candidate = relay.sent.candidate
    info = {"model": candidate.model, "upstream": candidate.upstream.name}
    store = turn.engine.store
    return await store.remember(turn.session, checkpoints, turn_id=turn.id, turn=turn.record(), info=info, more=more)


def _checkpoint(turn: Turn, relay: Relay, chain: Chain) -> Checkpoint:
    sent, reply, plan, engine = relay.sent, relay.reply, turn.plan, turn.engine
    usage, keeps, handle = reply.usage, sent.candidate.upstream.keeps, relay.reader.handle()
    if usage is not None and not sent.chat.after and not relay.hops.count:
        engine.counting.learn(sent.candidate, plan.guess, usage.input)
    scale = turn.known.scale
    return Checkpoint(
        address=chain.extend(reply.message),
        upstream=sent.candidate.upstream.name,
        model=sent.candidate.model,
        served=reply.model,
        wire=sent.candidate.upstream.wire.name,
        sealed=relay.sealed,
        handle=handle if keeps is not None else "",
        expires=engine.clock() + keeps.seconds if keeps is not None and handle else 0,
        input_tokens=usage.input if usage else 0,
        output_tokens=usage.output if usage else 0,
        estimated_tokens=plan.tokens,
        setup=scale.setup if scale else setup(turn.chat.system, turn.chat.tools),
        folded=plan.fold.upto if plan.fold else b"",
        front=plan.front,
        passed=tuple(relay.hops.handles),
        fold=plan.fold if plan.fold and plan.fold.drops else None,
        at=engine.clock(),
    )


def _lost(turn: Turn) -> list[Checkpoint]:
    """The checkpoints whose handles the provider no longer knows, without them."""
    lost = turn.known.lost
    held = turn.known.checkpoints.values() if lost else ()
    return [replace(checkpoint, handle="", expires=0) for checkpoint in held if checkpoint.handle in lost]


async def _told(turn: Turn, relay: Relay) -> list[Command]:
    """What keeps the answer under its id, for a client that may go on from that alone. Raises StateError where the
    store is away, as it has no other copy."""
    wire, thread, chat = turn.request.wire, turn.thread, turn.chat
    if wire.name not in THREADS or thread is None or chat.store is False:
        return []
    kept = told(wire, thread, turn.session, chat, relay, turn.stamp())
    if not kept.id:
        return []
    threads = turn.engine.store.threads
    if relay.passing:
        await threads.point(turn.session, kept.id)
    if not chat.conversation:
        return threads.writes(turn.session, [kept])
    head = chat.conversation, kept.id
    if thread.session in (None, turn.session):
        return threads.writes(turn.session, [kept], head)
    await threads.keep(turn.session, [kept])  # a conversation's end is noted where its id leads, behind the answer
    await threads.keep(thread.session, [], head)
    return []
