"""What the provider said and the client dropped goes back to the provider that said it.

A checkpoint lies at the address where an assistant turn ends; the address vouches that the client's copy says the same.
Only to the same upstream, and to the same model unless its models read one another's: a signature means nothing to
another, and may be refused there.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from app.chat.model import Chat, Message, Part, Text, Thinking, ToolCall, ToolResult
from app.context.known import Checkpoint, Fetch, Hop
from app.context.thinking import asks, holds_thinking, without_thinking
from app.engine.hops import CLIENTS
from app.engine.routing import Candidate
from app.engine.unbinding import last_unbound


def for_candidate(chat: Chat, holds: bool) -> Chat:
    """The chat for an upstream: whole, or, if it `holds` the chain, from the assistant turn on that is continued."""
    if not chat.after or (holds and not chat.since):
        return chat
    if not holds:
        return msgspec.structs.replace(chat, after="", since=0)
    start = chat.since - 1
    while start > 0 and chat.messages[start - 1].role == "assistant":
        start -= 1
    return msgspec.structs.replace(chat, messages=chat.messages[start:], since=chat.since - start)


def restored(chat: Chat, checkpoints: Mapping[int, Checkpoint], candidate: Candidate) -> tuple[Chat, int]:
    """The chat with its assistant turns as `candidate` itself wrote them, and how many that were.

    `checkpoints` are by identity of the message that ends the turn: messages that a step rebuilt have none. Where the
    model fetched rows on the way to an answer, which the client never saw, its calls and their results stand in front
    of that answer again, whatever upstream it goes to.
    """
    telling = {key: found for key, found in checkpoints.items() if _tells(found, candidate)}
    unbound = last_unbound(chat, checkpoints, candidate)
    if not telling and unbound < 0:
        return chat, 0
    loop_start = max((index for index, message in enumerate(chat.messages) if asks(message)), default=-1)
    restoring = _Restoring(candidate)
    since = chat.since
    for index, message in enumerate(chat.messages):
        restoring.add(message, telling.get(id(message)), index > loop_start, bare=index <= unbound)
        if index == chat.since - 1:
            since = len(restoring.messages)
    if not restoring.changed:
        return chat, 0
    return msgspec.structs.replace(chat, messages=tuple(restoring.messages), since=since), restoring.count


def _tells(found: Checkpoint, candidate: Candidate) -> bool:
    return bool(found.hops or found.open) or _own(found, candidate) or _unproven(found, candidate)


def _unproven(found: Checkpoint, candidate: Candidate) -> bool:
    """Whether calls of this turn lack the proof that the upstream wants, as another model made them."""
    maker = (found.upstream, found.model)
    return candidate.upstream.wire.proves_calls and maker != (candidate.upstream.name, candidate.model)


def _own(found: Checkpoint, candidate: Candidate) -> bool:
    """Whether what is sealed there means something to this upstream and model.

    A provider whose models go on from one another's chains takes one another's thoughts too: Gemini's Interactions want
    them back as they came after a change of the model as well (https://ai.google.dev/gemini-api/docs/thinking).
    """
    upstream = candidate.upstream
    any_model = upstream.keeps is not None and upstream.keeps.across_models
    return (
        found.seals
        and (found.upstream, found.wire) == (upstream.name, upstream.wire.name)
        and (any_model or found.model == candidate.model)
    )


class _Restoring:
    """Takes the messages one by one. `count` counts the turns that go back as the provider wrote them."""

    def __init__(self, candidate: Candidate) -> None:
        self.messages: list[Message] = []
        self.count = 0
        self.changed = False
        self._candidate = candidate
        self._open: tuple[Fetch, ...] = ()

    def add(self, message: Message, found: Checkpoint | None, in_loop: bool, *, bare: bool = False) -> None:
        """The next message; `found` is what is known of the turn that it ends. A `bare` one goes without thinking."""
        if bare and holds_thinking(message):
            message, self.changed = without_thinking(message), True
        if found is None:
            self.messages.append(self._with_open(message))
            return
        if in_loop and message.calls and _unproven(found, self._candidate):
            message, self.changed = message.edited(message.parts), True  # to be written anew, with what stands for it
        whole, pieces = _whole_turn(self.messages, message)
        self._open = found.open
        own = not bare and _own(found, self._candidate)
        hidden = [each for hop in found.hops for each in self._hop(hop, own, in_loop)]
        last = _behind(whole, found) if found.hops or found.open else whole
        back = self._sealed(last, found.sealed, in_loop) if own else last
        if back is whole and not hidden:
            self.messages.append(message)
            return
        self.changed = True
        self.count += own
        del self.messages[len(self.messages) - pieces :]
        self.messages += [*hidden, back]

    def _hop(self, hop: Hop, own: bool, in_loop: bool) -> tuple[Message, Message]:
        """A part of an answer that ended with calls of ours, and the message with their results."""
        said = Message("assistant", (*_words(hop.text), *map(_call, hop.fetches)))
        said = self._sealed(said, hop.sealed, in_loop) if own else said
        return said, Message("user", tuple(map(_result, hop.fetches)))

    def _sealed(self, message: Message, sealed: bytes, in_loop: bool) -> Message:
        return self._candidate.upstream.wire.restore(message, sealed, in_loop) if sealed else message

    def _with_open(self, message: Message) -> Message:
        """Results of calls of ours stand beside the client's, directly behind the calls."""
        if not self._open or message.role != "user":
            return message
        given = tuple(_result(each) for each in self._open if each != CLIENTS)
        self._open = ()
        self.changed = True
        results = tuple(part for part in message.parts if isinstance(part, ToolResult))
        others = tuple(part for part in message.parts if not isinstance(part, ToolResult))
        return message.edited((*results, *given, *others))


def _behind(whole: Message, found: Checkpoint) -> Message:
    """The last part of a turn: its words behind the last fetch, and all its calls, ours where they stood."""
    text = found.said if found.hops else "".join(part.text for part in whole.parts if isinstance(part, Text))
    others = tuple(part for part in whole.parts if not isinstance(part, Text | Thinking))
    theirs = iter(others)
    calls = [_call(each) if each != CLIENTS else next(theirs, None) for each in found.open]
    return Message("assistant", (*_words(text), *(each for each in calls if each is not None), *theirs))


def _words(text: str) -> tuple[Text, ...]:
    return (Text(text),) if text else ()


def _call(fetch: Fetch) -> ToolCall:
    return ToolCall(fetch.id, fetch.name, fetch.arguments)


def _result(fetch: Fetch) -> ToolResult:
    return ToolResult(fetch.id, (Text(fetch.result),), fetch.name, fetch.is_error)


def _whole_turn(before: list[Message], message: Message) -> tuple[Message, int]:
    """The assistant turn that ends with `message`, and how many messages before it the client made of it."""
    pieces = 0
    while pieces < len(before) and before[-1 - pieces].role == "assistant":
        pieces += 1
    if not pieces:
        return message, 0
    parts: list[Part] = [part for piece in before[-pieces:] for part in piece.parts]
    return Message("assistant", (*parts, *message.parts)), pieces
