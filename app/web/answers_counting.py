"""POST /responses/input_tokens and /responses/compact: what OpenAI says of a request without answering it."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from app.chat import size
from app.chat.family import family_of
from app.chat.model import Chat
from app.engine.continuing import Thread, continued
from app.engine.routing import Candidate
from app.errors import ClientError, UpstreamError
from app.upstreams.headers import forwarded, returned
from app.web.answers_desk import JSON, Asked, given
from app.wires.envelope import encode, open_body
from app.wires.threads import THREADS
from app.wires.wire import Inbound

UNHELPFUL = (404, 405, 501)
"""What a server says that has no such endpoint."""


async def counted(asked: Asked) -> Response:
    """The provider's own count where it speaks this format, else an estimate."""
    body, chat, thread = await _whole(asked)
    candidate = _candidate(asked, chat)
    if candidate.upstream.wire.name == asked.wire.name:
        try:
            return await _passed(asked, candidate, "/responses/input_tokens", body, thread)
        except UpstreamError as error:
            if error.wire and error.status < 500 and error.status not in UNHELPFUL:
                raise
    ratio = asked.engine.counting.calibration.ratio(f"{candidate.upstream.name}/{candidate.model}")
    tokens = round(size.of_chat(chat, family_of(candidate.model)) * ratio)
    return given(encode({"object": "response.input_tokens", "input_tokens": tokens}))


async def compacted(asked: Asked) -> Response:
    """The provider's own compaction: its blob means nothing to any other."""
    body, chat, thread = await _whole(asked)
    candidate = _candidate(asked, chat)
    if candidate.upstream.wire.name != asked.wire.name:
        words = (
            f"The model {chat.model!r} is not served by OpenAI's Responses here, and only that makes compaction items. "
            "Leave it out: Foldline folds long conversations by itself."
        )
        raise ClientError(words, kind="not_found", param="model")
    return await _passed(asked, candidate, "/responses/compact", body, thread)


async def _whole(asked: Asked) -> tuple[bytes, Chat, Thread]:
    """The request's body, its chat with what it goes on from, and that."""
    body = await asked.body()
    inbound = Inbound(body)
    chat, thread = await continued(
        asked.engine, asked.wire, inbound, asked.wire.decode(inbound), asked.tenant, asked.credential
    )
    return body, chat, thread


def _candidate(asked: Asked, chat: Chat) -> Candidate:
    return asked.engine.routes.pick(chat.model, asked.wire.name)[0][0]


async def _passed(asked: Asked, candidate: Candidate, path: str, body: bytes, thread: Thread) -> Response:
    """The provider's own answer to the request as the client sent it, made whole where only we know what was before.

    Raises:
        UpstreamError: it refused, or could not be reached.
    """
    if thread.session is not None:
        body = THREADS[asked.wire.name].whole(body, thread.history)
    upstream = candidate.upstream
    headers = forwarded(asked.headers, True) | {"content-type": JSON, "accept-encoding": "identity"}
    headers.update(await upstream.signed(asked.credential))
    answer = await asked.engine.transport.post(upstream.base_url + path, headers, _addressed(body, candidate.model))
    try:
        said = await answer.read()
    finally:
        answer.close()
    if answer.status != 200:
        raise upstream.wire.failure(answer.status, answer.headers, said)
    return Response(said, headers=returned(answer.headers, True), media_type=JSON)


def _addressed(body: bytes, model: str) -> bytes:
    """The body for the provider's model, without what is meant for Foldline; the client's own bytes if that is all."""
    fields = open_body(body)
    named = msgspec.json.decode(fields.get("model", b"null"))
    if named in (model, None) and "foldline" not in fields:
        return body
    fields.pop("foldline", None)
    if named is not None:
        fields["model"] = msgspec.Raw(encode(model))
    return encode(fields)
