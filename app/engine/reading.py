"""A request read: its chat, and an address for each message. What was read on an earlier turn is not read again."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from app.chat.address import Chain
from app.chat.model import Chat, Message
from app.engine.beside import beside
from app.engine.memo import Look, Memo, Seen, goes_on, keys_of
from app.engine.request import Request


class Heard(msgspec.Struct, frozen=True):
    """What was read.

    Args:
        addresses: where each message ends. chain: stands behind the last one.
        seen: what is kept for the next turn; None if the request is so small that it is not worth it.
    """

    chat: Chat
    addresses: tuple[bytes, ...]
    chain: Chain
    seen: Seen | None


async def heard(request: Request, memo: Memo) -> Heard:
    """The request's chat and its addresses. Raises ClientError for what cannot be read.

    Of a large request all that takes long is done beside the event loop: the longest piece that keeps other streams
    waiting is one call of the JSON reader or one check of its UTF-8, 1 to 2 ms for each megabyte.
    """
    body = request.inbound.body
    keys = await beside(len(body), keys_of, request.tenant, request.wire.name, body)
    look = memo.look(keys, body)
    found = await beside(len(body), _read, request, look)
    if found.seen is not None:
        memo.keep(look, found.seen)
    return found


def addressed(messages: Sequence[Message], tenant: bytes) -> tuple[Chain, tuple[bytes, ...]]:
    """The chain behind these messages, and where each of them ends."""
    chain = Chain(tenant)
    return chain, tuple(map(chain.extend, messages))


def _read(request: Request, look: Look) -> Heard:
    before = look.seen
    chat = request.wire.decode(request.inbound, before.chat if before else None)
    chain, addresses = Chain(request.tenant), ()
    if before and goes_on(chat, before):
        chain, addresses = before.chain.copy(), before.addresses
    addresses += tuple(map(chain.extend, chat.messages[len(addresses) : -1]))
    seen = Seen(chat, addresses, chain.copy()) if look.keys else None
    addresses += tuple(map(chain.extend, chat.messages[len(addresses) :]))
    return Heard(chat, addresses, chain, seen)
