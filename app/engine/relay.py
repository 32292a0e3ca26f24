"""Brings one answer from the provider to the client, as bytes where both speak the same, as events where not.

An event goes out the moment it is complete. The turn is remembered before the bytes that end the answer go out, so that
a client that asks again at once is recognised by every worker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from app.chat.events import Event, Failed, Finished, Started
from app.chat.model import Chat, ToolResult
from app.chat.reply import Reply
from app.engine.hops import MOST_HOPS, Hops
from app.engine.played import Played
from app.engine.sending import Sent
from app.engine.whole_events import WholeEvents
from app.errors import ProxyError, UpstreamError
from app.upstreams.headers import returned
from app.wires.envelope import RAW_FIELDS
from app.wires.threads import THREADS
from app.wires.threads.thread import in_background, named_in
from app.wires.wire import Interrupting, Reader

if TYPE_CHECKING:
    from app.engine.turn import Turn

EVENT_STREAM = "text/event-stream"


class Relay:
    """One answer on its way.

    Args (fields to read):
        unusable: the model's output was of no use, and asking again may help.
        gave: bytes of the answer went out to the client.
        hops: what came before, where the provider paused its answer, or the model fetched rows that are parked here.
        hop: the answer since then, with calls that the client never sees.
        played: the events of a stream that we write ourselves.
        open: results of such calls beside which the client's own are still to be answered.
    """

    def __init__(self, turn: Turn, sent: Sent) -> None:
        self.turn = turn
        self.sent = sent
        self.reply = Reply()
        self.unusable = False
        self.gave = False
        self.hops = Hops()
        self.hop = Reply()
        self.open: tuple[ToolResult, ...] = ()
        self.fetching = turn.fetching
        self._client = turn.request.wire
        upstream = sent.candidate.upstream
        self._same = upstream.wire.name == self._client.name
        self._nameless = _is_nameless(turn.chat, sent)
        self._type = sent.answer.headers.get("content-type", "application/json")
        self._streamed = self._type.startswith(EVENT_STREAM)
        self.reader: Reader = upstream.wire.reader(sent.chat, self._streamed, turn.engine.new_id)
        self.played = Played(turn.thread is not None and turn.chat.stream and turn.chat.store is not False)
        self._passed = b""  # the last bytes of an array that is passed on as it comes
        self._remembered = False

    async def run(self) -> None:
        """Until the answer is complete. Raises UpstreamError if it breaks, whether or not bytes went out before."""
        chat = self.turn.chat
        if not self.passing:
            await self._translate()
        elif self._streamed:
            await self._pass_stream()
        elif chat.stream:
            await self._pass_array()
        else:
            await self._pass_whole()

    async def _pass_whole(self) -> None:
        data = await self.sent.answer.read()
        self._take([*self.reader.feed(data), *self.reader.close()])
        if in_background(self.turn.chat) and _is_object(data):
            await self.turn.note_begun(self, data)
        if self.reply.failed and (self._said_itself() or not _is_object(data)):
            self._broke()
        await self._remember()
        if (asked := self._continued) is not None and _is_object(data) and not self.reply.failed:
            data = THREADS[self._client.name].named(data, asked)
        await self.turn.whole(self._type, self._headers(), data, self._counted())

    @property
    def _continued(self) -> Chat | None:
        """What a client asked that goes on from what is kept here: its provider knows that by other ids."""
        thread = self.turn.thread
        return thread.asked if thread is not None and thread.session is not None else None

    async def _pass_stream(self) -> None:
        events = WholeEvents()
        async for data in self.sent.answer.chunks():
            await self._note_begun(self.reader.feed(data))
            if self.reply.failed and self._is_ours_to_say():
                self._broke()
            if whole := events.feed(data):
                asked = self._continued
                await self._pass(named_in(THREADS[self._client.name], whole, asked) if asked is not None else whole)
        await self._end_passing(events.rest())

    async def _pass_array(self) -> None:
        """A JSON array is this client's own form of a stream."""
        async for data in self.sent.answer.chunks():
            self._take(self.reader.feed(data))
            self._passed = data.rstrip()[-1:] or self._passed
            await self._pass(data)
        await self._end_passing(b"")

    async def _pass(self, data: bytes) -> None:
        if self.reply.finished:
            await self._remember()
        if not self.turn.out.started:
            await self.turn.begin(self._type, self._headers())
        self.gave = True
        await self.turn.out.send(data)

    async def _note_begun(self, events: list[Event]) -> None:
        """Take events; what begins an answer that is made in the background is kept before it goes out."""
        self._take(events)
        if events and isinstance(events[0], Started) and events[0].native and in_background(self.turn.chat):
            await self.turn.note_begun(self, bytes(events[0].native.body))

    async def _end_passing(self, rest: bytes) -> None:
        self._take(self.reader.close())
        if self.reply.failed:
            if not self._said_itself():
                self._broke()
            self.turn.failed_in_stream(self.reply.failed.error)
        await self._pass(rest)
        await self._remember()
        await self.turn.out.end()

    async def _translate(self) -> None:
        out, writer = self.turn.out, self.turn.writer
        await self._read_through()
        while (onward := self._rest_of() or await self._fetched()) is not None:
            self.sent.answer.close()
            self.sent = self.turn.sent = await self.turn.onward(onward, self.sent.candidate)
            streamed = self.sent.answer.headers.get("content-type", "").startswith(EVENT_STREAM)
            self.reader = self.sent.candidate.upstream.wire.reader(self.sent.chat, streamed, self.turn.engine.new_id)
            self.hop = Reply()
            await self._read_through()
        last = writer.close()
        if not self.turn.chat.stream:
            await self._remember()
            await self.turn.whole(writer.content_type, self._headers(), last, self._counted())
            return
        self.played.add(last)
        await self._remember()
        if not out.started:
            await self.turn.begin(writer.content_type, self._headers())
        await out.send(last)
        await out.end()

    async def _read_through(self) -> None:
        async for data in self.sent.answer.chunks():
            await self._write(self.reader.feed(data))
        await self._write(self.reader.close())

    def _rest_of(self) -> Chat | None:
        """The request for the rest of an answer that its provider paused. A client of the same format asks itself."""
        onward = self.reader.onward(self.sent.chat) if self._pauses() else None
        if onward is not None:
            self.hops.add(self.reader, self.reply, onward.after)
        return onward

    def _pauses(self) -> bool:
        finished = self.hop.finished
        ours = not self._same or self._nameless
        return ours and finished is not None and finished.reason == "paused" and self.hops.count < MOST_HOPS

    async def _fetched(self) -> Chat | None:
        """The request that brings the model the rows that it asked for; None if it asked for none, or waits for the
        client's own tools too: then its rows are kept until those have answered."""
        fetching, finished = self.fetching, self.hop.finished
        if fetching is None or finished is None or not fetching.ours(self.hop):
            return None
        given = await fetching.results(self.hop)
        if not fetching.goes_on(finished):
            self.open = given
            return None
        onward = fetching.onward(self.sent.chat, self.hop, self.reader, self.sent.candidate.upstream.wire, given)
        self.hops.add(self.reader, self.reply)
        self.hops.fetch(self.hop, given)
        fetching.begin()
        return onward

    async def _write(self, events: list[Event]) -> None:
        for event in events:
            self.hop.add(event)
        if self.fetching is not None:
            events = self.fetching.shown(events)
        events = self.hops.behind(events)
        if not events:
            return
        self._take(events)
        if self.reply.failed:
            self._broke()
        if self._pauses() and self.reader.onward(self.sent.chat) is not None:
            events = [event for event in events if not isinstance(event, Finished)]
        if data := b"".join(map(self.turn.writer.write, events)):
            if not self.turn.out.started:
                await self.turn.begin(self.turn.writer.content_type, self._headers())
            self.gave = True
            self.played.add(data)
            await self.turn.out.send(data)

    def broken(self, error: ProxyError) -> bytes:
        """The error inside a stream that has begun; nothing where it would stand inside a torn element of an array."""
        writer = self.turn.writer
        if self.passing and self.gave and isinstance(writer, Interrupting):
            return writer.interrupt(error)
        said = writer.fail(error)
        if not self._passed:
            return said
        if self._passed not in b"[,}":
            return b""
        return (b"," if self._passed == b"}" else b"") + said.removeprefix(b"[")

    def _take(self, events: list[Event]) -> None:
        for event in events:
            self.reply.add(event)

    def _is_ours_to_say(self) -> bool:
        """Whether an error in the stream is not simply passed on: nothing went out, or it is not in the client's words,
        or the chat may be sent again as the provider lost its chain."""
        return not (self.turn.out.started and self._said_itself()) or (bool(self.sent.chat.after) and not self.gave)

    def _said_itself(self) -> bool:
        """Whether the provider's own error event went through to a client of the same format: no second one then."""
        failed = self.reply.failed
        return failed is not None and isinstance(failed.error, UpstreamError) and bool(failed.error.wire)

    def _broke(self) -> None:
        failed = self.reply.failed
        error = failed.error if isinstance(failed, Failed) else UpstreamError("The provider's answer broke off.")
        self.unusable = bool(error.code) and isinstance(error, UpstreamError) and not error.wire
        raise error

    async def _remember(self) -> None:
        if not self._remembered:
            self._remembered = True
            await self.turn.remember(self)

    def _headers(self) -> dict[str, str]:
        return returned(self.sent.answer.headers, self._same)

    @property
    def ids(self) -> tuple[str, ...]:
        """The provider's own for what it answered so far, one a hop; none before it gave one."""
        return tuple(filter(None, (*self.hops.handles, self.hop.id or self.reply.id)))

    @property
    def sealed(self) -> bytes:
        """What the provider said that a client may drop, over all hops; for Wire.restore."""
        return self.hops.sealed(self.reader.sealed())

    @property
    def passing(self) -> bool:
        """Whether the provider's own bytes go to the client."""
        if self.fetching is not None or self._nameless:
            return False
        return self._same and self._streamed == (self.turn.chat.stream and self.turn.chat.framing == "sse")

    def _counted(self) -> int:
        """Prompt tokens as the provider counted them, 0 if it did not."""
        return self.reply.usage.input if self.reply.usage else 0


def _is_nameless(asked: Chat, sent: Sent) -> bool:
    """Whether the provider gives its answer no id because we let it keep none, while its client wants to go on by one:
    then the answer is written anew, under an id of ours."""
    keeps = sent.candidate.upstream.keeps
    forbidden = sent.chat.store is False and asked.store is not False
    return forbidden and keeps is not None and not keeps.names_unkept


def _is_object(data: bytes) -> bool:
    """Whether it is a JSON object: maybe an answer of a kind that we do not know, for its client to judge."""
    try:
        RAW_FIELDS.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False
    return True
