"""Going on from an earlier answer in Gemini's Interactions: `previous_interaction_id`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from app.chat.events import Event
from app.chat.model import Chat, Message
from app.chat.reply import Reply
from app.errors import ClientError
from app.wires.envelope import RAW_FIELDS, encode, open_body
from app.wires.gemini_interactions import GEMINI_INTERACTIONS
from app.wires.gemini_interactions.names import NAME, UNFINISHED, USER_STEPS, Steps
from app.wires.gemini_interactions.steps import steps_of
from app.wires.threads.interactions_replay import no_event, replayed
from app.wires.threads.thread import events_in, items_of, joined, list_of, stated, written
from app.wires.wire import Inbound, Problem, Stamp

UNKNOWN = "Requested entity was not found."
NAMES_EARLIER = ("previous_interaction_id",)


class _Resource(msgspec.Struct):
    id: str = ""
    status: str = ""


class _Event(msgspec.Struct):
    event_id: str = ""


class _Step(msgspec.Struct):
    type: str = ""


EVENT = msgspec.json.Decoder(_Event)
RESOURCE, STEP = msgspec.json.Decoder(_Resource), msgspec.json.Decoder(_Step)


class InteractionThreads:
    """See thread.Threads. The steps only are inherited: no system instruction, no tools, no configuration."""

    prefix = "v1_"
    inner = "interaction"

    def named(self, resource: bytes, asked: Chat) -> bytes:
        """`previous_interaction_id`."""
        return stated(resource, "previous_interaction_id", asked.continues)

    def referred(self, body: bytes) -> Mapping[str, str]:
        """None: this format has no such thing."""
        return {}

    def said(self, chat: Chat) -> bytes:
        """The input as steps."""
        return list_of(raw for message in chat.messages for raw in _steps(chat, message))

    def answered(self, resource: bytes) -> bytes:
        """The steps of the answer."""
        steps = RAW_FIELDS.decode(resource).get("steps")
        return bytes(steps) if steps is not None else b"[]"

    def passed(self, end: bytes, sealed: bytes, reply: Reply) -> bytes:
        """The interaction: the body, or the one that ended the stream, which has no steps of its own."""
        fields = RAW_FIELDS.decode(end)
        inner = RAW_FIELDS.decode(fields["interaction"]) if "interaction" in fields else fields
        if "steps" not in inner:
            inner["steps"] = msgspec.Raw(sealed or _words(reply))
        return encode(inner)

    def begun(self, said: bytes) -> tuple[str, bytes]:
        """By its status: queued, or in progress. Without an id nothing of it is kept."""
        fields = RAW_FIELDS.decode(said)
        resource = bytes(fields.get("interaction", said))
        inner = RESOURCE.decode(resource)
        return (inner.id, resource) if inner.status in UNFINISHED else ("", b"")

    def ended(self, resource: bytes) -> bytes:
        """Without what was said to it: Google shows the whole timeline to whoever asks."""
        fields = RAW_FIELDS.decode(resource)
        steps = items_of(bytes(fields.get("steps", b"[]")))
        said = [place for place, raw in enumerate(steps) if STEP.decode(raw).type in USER_STEPS]
        fields["steps"] = msgspec.Raw(list_of(steps[said[-1] + 1 :] if said else steps))
        fields.pop("input", None)
        return encode(fields)

    def unended(self, said: str, param: str) -> ClientError:
        """A bad request."""
        words = "The previous interaction is not complete yet. Go on from it when it is."
        return ClientError(words, param=param)

    def written(self, chat: Chat, stamp: Stamp, events: Sequence[Event]) -> bytes:
        """The interaction: a stream's end has no steps, so it is written in one piece."""
        return written(GEMINI_INTERACTIONS.writer(chat, stamp, False), events)

    def whole(self, body: bytes, history: Sequence[bytes]) -> bytes:
        """The body with the earlier steps before its own, and without the id."""
        own = self.said(GEMINI_INTERACTIONS.decode(Inbound(body)))
        fields = {name: raw for name, raw in open_body(body).items() if name not in NAMES_EARLIER}
        fields["input"] = joined((*history, own))
        return encode(fields)

    def unknown(self, said: str, param: str) -> ClientError:
        """As Google says it."""
        return ClientError(UNKNOWN, kind="not_found", param=param)

    def lost(self, said: str) -> Problem:
        """The same."""
        return GEMINI_INTERACTIONS.problem(ClientError(UNKNOWN, kind="not_found"))

    def shown(self, resource: bytes, said: bytes, query: Mapping[str, str]) -> bytes:
        """The whole turn: what was said stands before what was answered; `include_input` names it once more."""
        fields = RAW_FIELDS.decode(resource)
        fields["steps"] = joined((said, bytes(fields.get("steps", b"[]"))))
        if query.get("include_input", "").lower() == "true":
            fields["input"] = msgspec.Raw(said)
        return encode(fields)

    def replayed(self, resource: bytes, query: Mapping[str, str]) -> bytes:
        """Behind the event with the id `last_event_id`."""
        return replayed(resource, query.get("last_event_id", ""))

    def behind(self, played: bytes, query: Mapping[str, str]) -> bytes:
        """Behind the event with the id `last_event_id`."""
        events = events_in(played)
        ids = [EVENT.decode(data).event_id for _, data in events[:-1]]  # the last one is the mark of the end
        after = query.get("last_event_id", "")
        if after and after not in ids:
            raise no_event(after)
        first = min(ids.index(after) + 1, len(ids) - 1) if after else 0
        return b"".join(event for event, _ in events[first:])

    def deleted(self, said: str) -> bytes:
        """An empty object."""
        return b"{}"

    def uncancelled(self) -> ClientError:
        """Only those in the background run on."""
        return ClientError("Only interactions that run in the background can be cancelled.")

    def confined(self, chat: Chat) -> ClientError | None:
        """Agents, work in the background, and answers that Gemini itself paused."""
        if "agent" in chat.rest:
            return ClientError("agent: only Gemini itself runs agents. Send a model.", param="agent")
        if "background" in chat.rest and bytes(chat.rest["background"]) == b"true":
            words = "background: only Gemini itself answers in the background. Leave it out."
            return ClientError(words, param="background")
        if chat.resume:
            words = "continuation_token: no answer of this upstream was paused. Leave it out."
            return ClientError(words, param="continuation_token")
        return None


def _steps(chat: Chat, message: Message) -> Sequence[Any]:
    """One message as steps: as the client wrote them, or written anew where it wrote them in an older way."""
    native = message.native
    if native is not None and native.wire == NAME and isinstance(native.body, Steps):
        return native.body.raws
    written, _ = steps_of(replace(chat, messages=(message,), since=0, after="", resume=""))
    return [encode(step) for step in (written[:1] if message.role == "assistant" else written)]


def _words(reply: Reply) -> bytes:
    step = {"type": "model_output", "content": [{"type": "text", "text": reply.text}]}
    return encode([step] if reply.text else [])
