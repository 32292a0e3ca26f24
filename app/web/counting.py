"""How many tokens a request has, without answering it: Anthropic's messages/count_tokens and Gemini's :countTokens.

The provider's own count where it serves this very format, byte for byte; by its own count of the same prompt where it
serves another and has one; else an estimate, corrected by what it reported before.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from starlette.responses import Response
from starlette.routing import Route

from app.chat import size
from app.chat.family import family_of
from app.chat.model import Chat
from app.engine.routing import Candidate
from app.errors import ClientError, UpstreamError
from app.upstreams.counting import exact
from app.upstreams.headers import forwarded, returned
from app.web.answers_desk import JSON, Asked, answering, given
from app.web.chat import ANTHROPIC_BASES, GEMINI_BASES
from app.web.exchange import Door
from app.wires.anthropic import ANTHROPIC
from app.wires.envelope import encode, open_body
from app.wires.gemini import GEMINI
from app.wires.wire import Inbound

UNHELPFUL = (404, 405, 501)
"""What a server says that has no such endpoint."""

INSIDE = ("generateContentRequest", "generate_content_request")
"""Where a Gemini client puts the whole request, if it wants system text and tools counted too."""


def routes(door: Door) -> Iterable[Route]:
    """Anthropic's path, and Gemini's verb: it stands before the routes of the other verbs."""
    for base in ANTHROPIC_BASES:
        yield Route(f"{base}/messages/count_tokens", answering(door, ANTHROPIC, _anthropic), methods=["POST"])
    for base in GEMINI_BASES:
        for path in (f"{base}/models", f"{base}/publishers/{{publisher}}/models"):
            yield Route(path + "/{target:path}:countTokens", answering(door, GEMINI, _gemini), methods=["POST"])


async def _anthropic(asked: Asked) -> Response:
    body = await asked.body()
    chat = ANTHROPIC.decode(Inbound(body))
    candidate = asked.engine.routes.pick(chat.model, ANTHROPIC.name)[0][0]
    if (passed := await _passed(asked, candidate, "/messages/count_tokens", body, chat.model)) is not None:
        return passed
    return given(encode({"input_tokens": await _counted(asked, candidate, chat)}))


async def _gemini(asked: Asked) -> Response:
    body = await asked.body()
    model = unquote(asked.named("target"))
    candidate = asked.engine.routes.pick(model, GEMINI.name)[0][0]
    path = f"/models/{candidate.model.removeprefix('models/')}:countTokens"
    if (passed := await _passed(asked, candidate, path, body, candidate.model)) is not None:
        return passed
    fields = open_body(body)
    inner = next((bytes(fields[name]) for name in INSIDE if name in fields), body)
    inner = encode({name: raw for name, raw in open_body(inner).items() if name != "model"})
    tokens = await _counted(asked, candidate, GEMINI.decode(Inbound(inner, model)))
    return given(encode({"totalTokens": tokens, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens}]}))


async def _passed(asked: Asked, candidate: Candidate, path: str, body: bytes, model: str) -> Response | None:
    """The provider's own answer to the client's own bytes; None where it does not serve this format, or counts not.

    Raises UpstreamError where it refuses the request.
    """
    upstream = candidate.upstream
    if upstream.wire.name != asked.wire.name or model != candidate.model:
        return None
    headers = {
        **upstream.headers,
        **forwarded(asked.headers, True),
        "content-type": JSON,
        "accept-encoding": "identity",
    }
    headers.update(await upstream.signed(asked.credential))
    try:
        answer = await asked.engine.transport.post(upstream.base_url + path, headers, body)
    except UpstreamError:
        return None
    try:
        said = await answer.read()
    finally:
        answer.close()
    if answer.status == 200:
        return Response(said, headers=returned(answer.headers, True), media_type=JSON)
    if answer.status >= 500 or answer.status in UNHELPFUL:
        return None
    raise upstream.wire.failure(answer.status, answer.headers, said)


async def _counted(asked: Asked, candidate: Candidate, chat: Chat) -> int:
    """The provider's count of the prompt as it would go out there, else the estimate."""
    upstream, model = candidate.upstream, candidate.model
    try:
        outbound = upstream.wire.encode(chat, upstream.target(model))
    except ClientError:
        outbound = None
    if outbound is not None:
        told = await exact(asked.engine.transport, upstream, outbound, chat, model, asked.credential)
        if told is not None:
            return told
    ratio = asked.engine.counting.calibration.ratio(f"{upstream.name}/{model}")
    return round(size.of_chat(chat, family_of(model)) * ratio)
