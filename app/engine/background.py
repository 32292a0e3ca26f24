"""Answers that their provider goes on making although nobody listens (`background`): noted when they begin, so that the
client finds them here by their ids, and asked for until they are complete.

All raise StateError when the store is away: it holds the one copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from app.state.keys import Session
from app.state.threads import Told
from app.upstreams.asking import ask
from app.upstreams.upstream import Credential, Upstream
from app.wires.threads import THREADS

if TYPE_CHECKING:
    from app.engine.engine import Engine


def maker(engine: Engine, told: Told) -> Upstream | None:
    """The upstream that makes the answer, in the API that its client speaks; None if it is no longer set up."""
    upstream = engine.routes.upstreams.get(told.upstream)
    spoken = upstream.speaking(told.wire) if upstream else None
    return spoken if spoken is not None and spoken.wire.name == told.wire and spoken.keeps is not None else None


async def settled(engine: Engine, session: Session, told: Told, credential: Credential) -> Told:
    """The answer as its provider has it now; kept if it is complete by now. `credential` as in `ask`.

    Raises:
        DeniedError: there is no key. UpstreamError: the provider could not be reached.
    """
    upstream = maker(engine, told) if told.running else None
    if upstream is None:
        return told
    kept = await ask(upstream, "GET", (told.id, ""), {}, credential)
    said = await kept.whole()
    return await taken(engine, session, told, said) if kept.status == 200 else told


async def taken(engine: Engine, session: Session, told: Told, said: bytes) -> Told:
    """The answer with what its provider just said it is: `said` is the resource. It is kept if it is complete."""
    threads = THREADS[told.wire]
    try:
        running, resource = bool(threads.begun(said)[0]), threads.ended(said)
    except msgspec.DecodeError:  # no resource: what is known of it stays
        return told
    now = replace(told, resource=resource, answered=threads.answered(resource), running=running)
    if not running:
        await engine.store.threads.keep(session, [now])
    return now
