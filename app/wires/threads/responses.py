"""Going on from an earlier answer in OpenAI's Responses: `previous_response_id`, and conversations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from app.chat.events import Event
from app.chat.model import Chat
from app.chat.reply import Reply
from app.errors import ClientError
from app.wires.envelope import RAW_FIELDS, encode, open_body
from app.wires.openai_responses import OPENAI_RESPONSES, confined
from app.wires.openai_responses.names import NAME
from app.wires.threads.references import referred
from app.wires.threads.responses_replay import replayed
from app.wires.threads.thread import events_in, joined, list_of, stated, written
from app.wires.wire import Problem, Stamp

NAMES_EARLIER = ("previous_response_id", "conversation")
RUNNING = ("queued", "in_progress")


class _Resource(msgspec.Struct):
    id: str = ""
    status: str = ""


class _Numbered(msgspec.Struct):
    sequence_number: int = 0


NUMBERED = msgspec.json.Decoder(_Numbered)
RESOURCE = msgspec.json.Decoder(_Resource)


class ResponseThreads:
    """See thread.Threads. Items only are inherited: no instructions, no tools."""

    prefix = "resp_"
    inner = "response"

    def named(self, resource: bytes, asked: Chat) -> bytes:
        """`conversation` and `previous_response_id`."""
        resource = stated(resource, "previous_response_id", asked.continues)
        return stated(resource, "conversation", {"id": asked.conversation} if asked.conversation else None)

    def referred(self, body: bytes) -> Mapping[str, str]:
        """Items of ours."""
        return referred(body)

    def said(self, chat: Chat) -> bytes:
        """The input's items. A text is a message of the user."""
        messages = (*chat.system, *chat.messages)
        natives = [message.native for message in messages if message.native and message.native.wire == NAME]
        return list_of(raw for native in natives for raw in native.body)

    def answered(self, resource: bytes) -> bytes:
        """The output items."""
        output = RAW_FIELDS.decode(resource).get("output")
        return bytes(output) if output is not None else b"[]"

    def passed(self, end: bytes, sealed: bytes, reply: Reply) -> bytes:
        """The response: the body, or the one in the last event. Servers that leave its output out are helped out."""
        fields = RAW_FIELDS.decode(end)
        resource = bytes(fields["response"]) if "response" in fields else end
        inner = RAW_FIELDS.decode(resource)
        if bytes(inner.get("output", b"[]")).strip() in (b"[]", b"null"):
            inner["output"] = msgspec.Raw(sealed or _words(reply))
            return encode(inner)
        return resource

    def begun(self, said: bytes) -> tuple[str, bytes]:
        """By its status: queued, or in progress."""
        fields = RAW_FIELDS.decode(said)
        resource = bytes(fields.get("response", said))
        inner = RESOURCE.decode(resource)
        return (inner.id, resource) if inner.status in RUNNING else ("", b"")

    def ended(self, resource: bytes) -> bytes:
        """The same."""
        return resource

    def unended(self, said: str, param: str) -> ClientError:
        """A bad request."""
        return ClientError(f"Response '{said}' is not complete yet. Go on from it when it is.", param=param)

    def written(self, chat: Chat, stamp: Stamp, events: Sequence[Event]) -> bytes:
        """The response. The items of a stream have ids of their own, so it is read off the end of one."""
        said = written(OPENAI_RESPONSES.writer(chat, stamp, chat.stream), events)
        if not chat.stream:
            return said
        return bytes(RAW_FIELDS.decode(said.rstrip().rpartition(b"\ndata: ")[2])["response"])

    def whole(self, body: bytes, history: Sequence[bytes]) -> bytes:
        """The body with the earlier items before its own, and without the id."""
        fields = {name: raw for name, raw in open_body(body).items() if name not in NAMES_EARLIER}
        fields["input"] = joined((*history, _own(fields.get("input"))))
        return encode(fields)

    def unknown(self, said: str, param: str) -> ClientError:
        """OpenAI's own words and code; Codex, for one, then sends its whole history."""
        if param == "conversation":
            return ClientError(f"Conversation with id '{said}' not found.", kind="not_found", param=param)
        code = "previous_response_not_found"
        return ClientError(
            f"Previous response with id '{said}' not found.", kind="not_found", status=400, param=param, code=code
        )

    def lost(self, said: str) -> Problem:
        """404, which has no code of its own."""
        return missing(f"Response with id '{said}' not found.")

    def shown(self, resource: bytes, said: bytes, query: Mapping[str, str]) -> bytes:
        """As it was answered."""
        return resource

    def replayed(self, resource: bytes, query: Mapping[str, str]) -> bytes:
        """Behind the event numbered `starting_after`."""
        return replayed(resource, _after(query))

    def behind(self, played: bytes, query: Mapping[str, str]) -> bytes:
        """Behind the event numbered `starting_after`."""
        events, after = events_in(played), _after(query)
        rest = [event for event, data in events if NUMBERED.decode(data).sequence_number > after]
        return b"".join(rest) or events[-1][0]

    def deleted(self, said: str) -> bytes:
        """With the id once more."""
        return encode({"id": said, "object": "response", "deleted": True})

    def uncancelled(self) -> ClientError:
        """Only those in the background run on."""
        return ClientError("Cannot cancel a synchronous response.")

    def confined(self, chat: Chat) -> ClientError | None:
        """What is kept at OpenAI and named by an id."""
        return confined(chat)


def missing(words: str) -> Problem:
    """404 in OpenAI's words."""
    error = {"message": words, "type": "invalid_request_error", "param": None, "code": None}
    return Problem(404, encode({"error": error}))


def _after(query: Mapping[str, str]) -> int:
    """The number of the last event that the client has seen. Raises ClientError."""
    after = query.get("starting_after", "-1")
    if not re.fullmatch(r"-?[0-9]{1,9}", after):
        raise ClientError("Invalid 'starting_after': expected an integer.", param="starting_after")
    return int(after)


def _own(said: msgspec.Raw | None) -> bytes:
    """An input as a list of items."""
    raw = bytes(said).strip() if said is not None else b"null"
    if raw[:1] == b'"':
        return b'[{"role":"user","content":' + raw + b"}]"
    return raw if raw[:1] == b"[" else b"[]"


def _words(reply: Reply) -> bytes:
    part = {"type": "output_text", "text": reply.text, "annotations": list[str]()}
    message = {"type": "message", "role": "assistant", "status": "completed", "content": [part]}
    return encode([message] if reply.text else [])
