"""The dry run: what a turn would do with a body of any format. Nothing is sent, nothing is written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec.structs import replace

from app.chat.address import addresses
from app.chat.model import Chat
from app.chat.size import rough
from app.context.memory import merged, patch_of, within_limit
from app.context.preview import Asked, Preview
from app.engine.continuing import Thread, as_asked, refuse_confined
from app.engine.formats import Format, format_of, inbound_of
from app.engine.planning import Planned, Recall, Rules, planned, with_sending
from app.engine.restoring import for_candidate, restored
from app.engine.sending import refuse_losses
from app.engine.sessions import said_id, session_of
from app.errors import ClientError
from app.state.keys import Session
from app.state.store import Recalled
from app.wires.threads import THREADS
from app.wires.wire import Inbound, Outbound, Wire

Continue = Callable[[Wire, Inbound, Chat], Awaitable[tuple[Chat, Thread]]]
"""Makes a chat whole whose client sends only what is new: `continued`, with a store behind it."""


async def preview(
    rules: Rules,
    body: bytes,
    *,
    model: str = "",
    named: str = "",
    headers: Mapping[bytes, bytes],
    tenant: bytes,
    recall: Recall | None,
    whole: Continue | None = None,
) -> Preview:
    """What a turn would do with this request.

    Args:
        rules: what a plan goes by; the engine, where there is one.
        body: a request body of any of FORMATS.
        model: for a format that names it in the path; a `model` field in the body does as well.
        named: the format, by its wire's name, where the body fits two.
        headers: lower-case names; some of them name the session.
        tenant: 8 bytes, the HMAC of the credential.
        recall: asks the store; None: there is none, and nothing is known.
        whole: asks it for what a client goes on from by an id; None: what is new is all there is.

    Raises:
        ClientError: the body cannot be read, or asks for what does not exist; the message says what to change.
        StateError: the store, which holds the one copy of what the request goes on from, is away.
    """
    form, chat, thread = await _read(body, model, named, whole)
    marks = addresses(chat.messages, tenant)
    session = session_of(chat, headers, marks, tenant, thread.session if thread else None)
    asks = _with_told_memory(recall or _nothing, chat)
    size = len(body) + sum(map(len, thread.history if thread else ()))
    made = await planned(rules, asks, session, chat, marks, size, form.wire.name)
    shown = _shown(made, form, thread, rules.strict, rough(body))
    return replace(
        shown, session=session.id if recall else "", named=bool(said_id(chat, headers)), recalled=recall is not None
    )


def _shown(made: Planned, form: Format, thread: Thread | None, strict: bool, received: int) -> Preview:
    """The plan with the request that would go out by it."""
    chat, candidate = made.chat, made.candidates[0]
    sent, put_back = restored(_as_sent(made, thread), made.checkpoints, candidate)
    put_back = 0 if sent.after else put_back
    outbound, refused = _encoded(sent, made, strict, form.wire.name)
    refused = made.plan.refusal or refused
    originals = set(map(id, chat.messages))
    kept = sum(id(message) in originals for message in sent.messages)
    return Preview(
        format=form.name,
        wanted=chat.model,
        session="",
        named=False,
        recalled=False,
        known=made.known,
        plan=with_sending(made.plan, candidate.upstream.name, put_back, outbound.losses if outbound else ()),
        messages=chat.messages,
        system=len(chat.system),
        kept=kept,
        others=len(sent.messages) - kept,
        upstream=candidate.upstream.name,
        model=candidate.model,
        fallbacks=tuple((other.upstream.name, other.model) for other in made.candidates[1:]),
        received=received,
        sent=made.plan.tokens or _sent(outbound, received),
        untouched=outbound is not None and outbound.untouched,
        refused=refused,
        asked=Asked(outbound.path, outbound.body) if outbound else None,
    )


async def _read(body: bytes, model: str, named: str, whole: Continue | None) -> tuple[Format, Chat, Thread | None]:
    try:
        form = format_of(body, named)
        inbound = inbound_of(form, body, model)
        chat = form.wire.decode(inbound)
        if whole is None or form.wire.name not in THREADS:
            return form, chat, None
        return form, *await whole(form.wire, inbound, chat)
    except RecursionError:
        raise ClientError("The request is nested too deeply.") from None


async def _nothing(session: Session, addresses: Sequence[bytes]) -> Recalled:
    """In place of a store."""
    return Recalled()


def _with_told_memory(recall: Recall, chat: Chat) -> Recall:
    """What is stored, as it would be after what the request itself wants kept: a turn would store that first."""
    if "memory" not in chat.options:
        return recall

    async def told(session: Session, addresses: Sequence[bytes]) -> Recalled:
        recalled = await recall(session, addresses)
        memory = within_limit(merged(recalled.memory or {}, patch_of(chat.options["memory"])))
        return Recalled(recalled.checkpoints, memory or None, recalled.bypassed)

    return told


def _as_sent(made: Planned, thread: Thread | None) -> Chat:
    """The chat as the first candidate gets it; see Sender.send."""
    return as_asked(thread, made, made.plan.chat) or for_candidate(made.plan.chat, True)


def _encoded(whole: Chat, made: Planned, strict: bool, client: str) -> tuple[Outbound | None, str]:
    """The request, and why it would be refused. The first candidate decides: no other is asked after a refusal."""
    candidate = made.candidates[0]
    marks = made.marks(client) and not made.policy.off
    try:
        refuse_confined(client, candidate.upstream.wire.name, whole)
        outbound = candidate.upstream.wire.encode(whole, candidate.upstream.target(candidate.model, marks))
    except ClientError as error:
        return None, error.message
    if strict:
        try:
            refuse_losses(outbound.losses)
        except ClientError as error:
            return outbound, error.message
    return outbound, ""


def _sent(outbound: Outbound | None, received: int) -> int:
    if outbound is None:
        return 0
    return received if outbound.untouched else rough(outbound.body)
