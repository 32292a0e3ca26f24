"""The dry run: what a turn would do with a body of any format. Nothing is sent, nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from app.chat.address import addresses
from app.chat.model import Chat
from app.chat.size import rough
from app.context.memory import merged, patch_of, within_limit
from app.context.preview import Asked, Preview
from app.engine.planning import Planned, Recall, Rules, planned, with_sending
from app.engine.restoring import for_candidate, restored
from app.engine.sending import refuse_losses
from app.engine.sessions import said_id, session_of
from app.errors import ClientError
from app.state.keys import Session
from app.state.store import Recalled
from app.wires.envelope import encode, open_body, read, read_or_mend
from app.wires.gemini import GEMINI
from app.wires.openai_chat import OPENAI_CHAT
from app.wires.wire import Inbound, Outbound, Wire

Fields = Mapping[str, msgspec.Raw]
MODEL = msgspec.json.Decoder(str)


class Format(msgspec.Struct, frozen=True):
    """A format that a body may be in.

    Args:
        name: as people call it.
        field: the field that gives it away.
        fits: whether a body with these fields is in this format.
        in_path: the model stands in the path, not in the body.
    """

    name: str
    wire: Wire
    field: str
    fits: Callable[[Fields], bool]
    in_path: bool = False


FORMATS: tuple[Format, ...] = (
    Format("OpenAI Chat Completions", OPENAI_CHAT, "messages", lambda fields: "messages" in fields),
    Format("Gemini generateContent", GEMINI, "contents", lambda fields: "contents" in fields, in_path=True),
)
"""Tried in this order."""


async def preview(
    rules: Rules, body: bytes, *, model: str = "", headers: Mapping[bytes, bytes], tenant: bytes, recall: Recall | None
) -> Preview:
    """What a turn would do with this request.

    Args:
        rules: what a plan goes by; the engine, where there is one.
        body: a request body of any of FORMATS.
        model: for a format that names it in the path; a `model` field in the body does as well.
        headers: lower-case names; some of them name the session.
        tenant: 8 bytes, the HMAC of the credential.
        recall: asks the store; None: there is none, and nothing is known.

    Raises:
        ClientError: the body cannot be read, or asks for what does not exist; the message says what to change.
    """
    form, chat = _read(body, model)
    marks = addresses(chat.messages, tenant)
    session = session_of(chat, headers, marks, tenant)
    asks = _with_told_memory(recall or _nothing, chat)
    made = await planned(rules, asks, session, chat, marks, len(body), form.wire.name)
    candidate = made.candidates[0]
    whole, put_back = restored(for_candidate(made.plan.chat, True), made.checkpoints, candidate)
    put_back = 0 if whole.after else put_back
    outbound, refused = _encoded(whole, made, rules.strict, made.marks(form.wire.name) and not made.policy.off)
    refused = made.plan.refusal or refused
    received = rough(body)
    originals = set(map(id, chat.messages))
    kept = sum(id(message) in originals for message in whole.messages)
    return Preview(
        format=form.name,
        wanted=chat.model,
        session=session.id if recall else "",
        named=bool(said_id(chat, headers)),
        recalled=recall is not None,
        known=made.known,
        plan=with_sending(made.plan, candidate.upstream.name, put_back, outbound.losses if outbound else ()),
        messages=chat.messages,
        system=len(chat.system),
        kept=kept,
        others=len(whole.messages) - kept,
        upstream=candidate.upstream.name,
        model=candidate.model,
        fallbacks=tuple((other.upstream.name, other.model) for other in made.candidates[1:]),
        received=received,
        sent=made.plan.tokens or _sent(outbound, received),
        untouched=outbound is not None and outbound.untouched,
        refused=refused,
        asked=Asked(outbound.path, outbound.body) if outbound else None,
    )


def _read(body: bytes, model: str) -> tuple[Format, Chat]:
    try:
        form = _format_of(body)
        return form, form.wire.decode(_inbound(form, body, model))
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


def _format_of(body: bytes) -> Format:
    fields = read_or_mend(body, lambda raw, mended: open_body(raw))
    for form in FORMATS:
        if form.fits(fields):
            return form
    signs = " nor ".join(f"{form.field} ({form.name})" for form in FORMATS)
    raise ClientError(f"The body has neither {signs}: send a request body as a client would.")


def _inbound(form: Format, body: bytes, model: str) -> Inbound:
    if not form.in_path:
        if model:
            raise ClientError(f"{form.name} names its model in the body: leave out the one beside it.", param="model")
        return Inbound(body)
    fields = read_or_mend(body, lambda raw, mended: open_body(raw))
    if "model" in fields:  # a client would have it in the path, and the body without it
        model = model or read(fields["model"], MODEL, "model")
        body = encode({name: value for name, value in fields.items() if name != "model"})
    if not model:
        raise ClientError(
            f"{form.name} has its model in the path: name it beside the body, or as a field `model` in it.",
            param="model",
        )
    return Inbound(body, model)


def _encoded(whole: Chat, made: Planned, strict: bool, marks: bool) -> tuple[Outbound | None, str]:
    """The request, and why it would be refused. The first candidate decides: no other is asked after a refusal."""
    candidate = made.candidates[0]
    try:
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
