"""One answer of the model that sums up: asked for, listened to, and hung up on once enough was said."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec.structs import replace

from app.chat import size
from app.chat.events import Event, Usage
from app.chat.family import Family, family_of
from app.chat.model import Chat
from app.chat.reply import Reply
from app.context.asking import ask, flaw
from app.context.errand import Errand
from app.context.plain import ask_plainly, borne_out, notes_of
from app.context.written import ENOUGH, enough, usable, visible
from app.engine.beside import apart_if
from app.engine.routing import Candidate
from app.engine.sending import Sender
from app.errors import UpstreamError
from app.upstreams.transport import Answer
from app.upstreams.upstream import Credential
from app.wires.wire import Reader

if TYPE_CHECKING:
    from app.engine.engine import Engine

WHOLE = 120.0
"""Seconds that a provider's own small model may take for one answer, which comes in one piece."""

STREAMED = 900.0
"""The same for a server of one's own, which is listened to while it writes: silence is noticed long before
(IDLE_TIMEOUT), and a machine without a graphics card may write two words a second."""

STEP = 64
"""Characters between two looks at what was written."""

LONG = 2_000
"""Tokens of a chat from which on work on it takes many milliseconds: finding its facts above all."""

Done: TypeAlias = Callable[[str], bool]


class Question(msgspec.Struct, frozen=True):
    """What is asked, beside the errand itself.

    Args:
        missing: values that the answer before lost. draft: that answer.
        plain: in few words (see context/plain.py).
    """

    missing: tuple[str, ...] = ()
    draft: str = ""
    plain: bool = False


class Said(msgspec.Struct, frozen=True):
    """What a summariser said. `flaw` says why that is no summary. Tokens are estimates where it did not count them."""

    text: str
    served: str
    flaw: str
    input: int = 0
    output: int = 0


async def said(engine: Engine, candidate: Candidate, task: Errand, credential: Credential, question: Question) -> Said:
    """One answer. Raises ProxyError or TimeoutError if there is none.

    A provider's own small model is asked for its answer in one piece: it is quick, and OpenAI streams some models to
    verified organisations only. Any other server is listened to while it writes.
    """
    upstream, family = candidate.upstream, family_of(candidate.model)
    window = engine.counting.limits.of(upstream, candidate.model).context
    given = (task.wish, candidate.model)
    if question.plain:
        write = partial(ask_plainly, *given, family=family, window=window, missing=question.missing)
    else:
        write = partial(ask, *given, family=family, window=window, missing=question.missing, draft=question.draft)
    chat = replace(await apart_if(task.tokens > LONG, write), stream=not upstream.small)
    async with asyncio.timeout(WHOLE if upstream.small else STREAMED):
        heard = await _heard(engine, candidate, credential, chat, partial(enough, limit=task.wish.limit, family=family))
    if heard.reply.failed is not None:
        raise heard.reply.failed.error
    return _judged(heard, task, family, plain=question.plain)


class _Heard(msgspec.Struct, frozen=True):
    """What came, how it ended (chat/events.py, or ENOUGH; "" if its end never came), and tokens of the question."""

    reply: Reply
    finish: str
    asked: int


async def _heard(engine: Engine, candidate: Candidate, credential: Credential, chat: Chat, done: Done) -> _Heard:
    """Asks, and listens to the end, or until `done` says of the words so far that they are enough."""
    reply = Reply()
    sender = Sender(engine, "", [], credential, retries=1)
    try:
        sent = await sender.send(chat, [candidate], {}, strict=False)
    except UpstreamError as error:
        if not chat.stream or "stream" not in error.message.lower():
            raise
        sent = await sender.send(replace(chat, stream=False), [candidate], {}, strict=False)  # it cannot, it says
    try:
        streamed = sent.answer.headers.get("content-type", "").startswith("text/event-stream")
        reader = candidate.upstream.wire.reader(sent.chat, streamed, engine.new_id)
        if not streamed:
            _take(reply, [*reader.feed(await sent.answer.read()), *reader.close()])
        elif await _listened(sent.answer, reader, reply, done):
            return _Heard(reply, ENOUGH, sent.size // 4)
    finally:
        sent.answer.close()
    return _Heard(reply, reply.finished.reason if reply.finished else "", sent.size // 4)


async def _listened(answer: Answer, reader: Reader, reply: Reply, done: Done) -> bool:
    """Whether enough was said before the answer came to its end."""
    looked = 0
    async for data in answer.chunks():
        _take(reply, reader.feed(data))
        if len(text := reply.text) >= looked + STEP and reply.finished is None:
            looked = len(text)
            if done(text):
                return True
    _take(reply, reader.close())
    return False


def _take(reply: Reply, events: Iterable[Event]) -> None:
    for event in events:
        reply.add(event)


def _judged(heard: _Heard, task: Errand, family: Family, *, plain: bool) -> Said:
    reply, limit = heard.reply, task.wish.limit
    shown = visible(reply.text)
    text, finish = usable(notes_of(shown, task.wish) if plain else shown, heard.finish, limit, family)
    if plain:
        text = borne_out(text, task.said)
    wrong = flaw(text, finish, original=task.tokens, tokens=size.of_text(text, family), limit=limit)
    counted = reply.usage or Usage(heard.asked, size.of_text(reply.text, family))
    return Said(text, reply.model, wrong, counted.input, counted.output)
