"""What a simulated provider keeps between requests: answered turns by id, each with the turn that it continues.

A turn is known to the credential that made it, until it is deleted, grows older than the provider's retention, or is
lost on purpose. A chain is whole only while every turn in it is there; what the true providers do with the children of
a deleted turn is not documented, and this is the strict reading. Kept in memory, and bounded: the turns that were
not used for longest go first.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from app.simulator.billing import Bill
from app.simulator.shapes import Json, digest, dump

Way: TypeAlias = Literal["gone", "stream", "refused", "running"]
DAY = 86_400  # seconds
_MOST_TURNS = 5_000
_MOST_CHARACTERS = 50_000_000
_MOST_BILLS = 10_000


@dataclass(frozen=True, slots=True)
class Turn:
    """One answered request.

    Attributes:
        owner: whose it is, as `owner_of` names a credential.
        parent: the id of the turn that it continues; empty if it begins a chain.
        given: the input items or steps of the request, without what came before.
        made: the items or steps of the answer.
        status: in the provider's words.
        expires: seconds since 1970.
        answer: the resource as it was returned.
        events: the events of its stream, as sent; for those who come back to it later.
        ground: names what stands before the history in a prompt (model, instructions, tools); see billing.py.
    """

    id: str
    owner: str
    parent: str
    given: tuple[Json, ...]
    made: tuple[Json, ...]
    status: str
    expires: int
    answer: Json
    events: tuple[bytes, ...] = ()
    ground: str = ""


@dataclass(slots=True)
class Conversation:
    """A list of items under an id of its own, to which answers are added; of the provider that has such."""

    id: str
    owner: str
    expires: int
    created: int
    metadata: Json
    items: list[Json] = field(default_factory=list[Json])


class ChainLostError(Exception):
    """A turn cannot be continued.

    Attributes:
        way: `gone`: it is not known; `stream` and `refused`: the same, said as the first event of a stream, or with a
            status of 400 where the provider's usual one is another; `running`: it is not answered yet.
    """

    def __init__(self, identity: str, way: Way) -> None:
        super().__init__(f"{identity} cannot be continued: {way}")
        self.identity = identity
        self.way: Way = way


class Chains:
    """The turns and conversations of all credentials.

    Args:
        clock: seconds since 1970.
        most: how many turns are kept, and how many conversations.
        most_characters: how much JSON they may take together.
    """

    def __init__(
        self, clock: Callable[[], int], *, most: int = _MOST_TURNS, most_characters: int = _MOST_CHARACTERS
    ) -> None:
        self._clock = clock
        self._most, self._most_characters = most, most_characters
        self._turns: OrderedDict[tuple[str, str], Turn] = OrderedDict()
        self._sizes: dict[tuple[str, str], int] = {}
        self._size = 0
        self._conversations: OrderedDict[tuple[str, str], Conversation] = OrderedDict()
        self._lost: OrderedDict[tuple[str, str], Way] = OrderedDict()
        self._running: dict[tuple[str, str], int | None] = {}
        self._minted: OrderedDict[str, int] = OrderedDict()
        self._bills: deque[Bill] = deque(maxlen=_MOST_BILLS)

    @property
    def now(self) -> int:
        """Seconds since 1970."""
        return self._clock()

    @property
    def bills(self) -> tuple[Bill, ...]:
        """What the newest answers cost, oldest first."""
        return tuple(self._bills)

    def bill(self, bill: Bill) -> None:
        """Note what an answer cost."""
        self._bills.append(bill)

    def minted(self, seed: str) -> str:
        """A name for a new turn: the same for the first request of that seed, another for each repetition."""
        count = self._minted.pop(seed, 0)
        self._minted[seed] = count + 1
        if len(self._minted) > 2 * self._most:
            self._minted.popitem(last=False)
        return seed if count == 0 else digest(seed, count)

    def keep(self, turn: Turn) -> None:
        """Keep a turn, in place of one with the same id."""
        key = (turn.owner, turn.id)
        self._drop(key)
        self._lost.pop(key, None)
        self._turns[key] = turn
        self._sizes[key] = len(dump([*turn.given, turn.answer])) + sum(map(len, turn.events))
        self._size += self._sizes[key]
        while len(self._turns) > self._most or (self._size > self._most_characters and len(self._turns) > 1):
            self._drop(next(iter(self._turns)))

    def found(self, owner: str, identity: str) -> Turn | None:
        """The turn of that id; None if this owner has none, or no longer."""
        key = (owner, identity)
        turn = self._turns.get(key)
        if turn is not None and turn.expires <= self.now:
            self._drop(key)
            return None
        return turn

    def line(self, owner: str, identity: str) -> tuple[Turn, ...]:
        """The chain that ends in that turn, oldest first. The whole of it counts as used.

        Raises:
            ChainLostError: the turn, or one before it, is not there; or it is still running.
        """
        line: list[Turn] = []
        at = identity
        while at:
            turn = self.found(owner, at)
            if turn is None:
                raise ChainLostError(identity, self._lost.get((owner, at), "gone"))
            line.append(turn)
            at = turn.parent
        if self.is_running(owner, identity):
            raise ChainLostError(identity, "running")
        for turn in line:
            self._turns.move_to_end((owner, turn.id))
        return tuple(reversed(line))

    def forget(self, owner: str, identity: str) -> bool:
        """Delete a turn; whether there was one."""
        known = self.found(owner, identity) is not None
        self._drop((owner, identity))
        return known

    def lose(self, identity: str = "", *, owner: str = "", way: Way = "gone") -> int:
        """Forget a turn (or all, if no id is given), so that who continues it gets the provider's error.

        Args:
            owner: only of this credential; of all if it is empty.
            way: how the error is said; see ChainLostError.

        Returns:
            How many turns were forgotten.
        """
        keys = [key for key in self._turns if (not identity or key[1] == identity) and (not owner or key[0] == owner)]
        for key in keys:
            self._drop(key)
            self._lost[key] = way
            self._lost.move_to_end(key)
        while len(self._lost) > self._most:
            self._lost.popitem(last=False)
        return len(keys)

    def hold(self, owner: str, identity: str, looks: int | None = None) -> None:
        """Let a turn seem to be still running, for so many looks at it; None: for ever."""
        self._running[owner, identity] = looks

    def release(self, owner: str, identity: str) -> None:
        """Let a turn that was held be done."""
        self._running.pop((owner, identity), None)

    def is_held(self, owner: str, identity: str) -> bool:
        """Whether a turn seems to be running, without counting this as a look at it."""
        return (owner, identity) in self._running

    def is_running(self, owner: str, identity: str) -> bool:
        """Whether a turn seems to be running. This is a look at it."""
        key = (owner, identity)
        if key not in self._running:
            return False
        left = self._running[key]
        if left is not None and left <= 0:
            del self._running[key]
            return False
        self._running[key] = None if left is None else left - 1
        return True

    def end(self, turn: Turn, status: str, answer: Json) -> Turn:
        """End a running turn before its time: it made nothing."""
        self.release(turn.owner, turn.id)
        ended = dataclasses.replace(turn, status=status, made=(), events=(), answer=answer)
        self.keep(ended)
        return ended

    def item(self, owner: str, identity: str) -> Json | None:
        """The kept item of that id, of any turn or conversation of this owner; None if there is none."""
        kept = [(turn.given + turn.made) for key, turn in self._turns.items() if key[0] == owner]
        kept += [tuple(one.items) for key, one in self._conversations.items() if key[0] == owner]
        return next((item for items in kept for item in items if item.get("id") == identity), None)

    def open(self, conversation: Conversation) -> None:
        """Keep a conversation; the one that was not used for longest goes when there are too many."""
        self._conversations[conversation.owner, conversation.id] = conversation
        while len(self._conversations) > self._most:
            self._conversations.popitem(last=False)

    def conversation(self, owner: str, identity: str) -> Conversation | None:
        """The conversation of that id; None if this owner has none, or no longer."""
        found = self._conversations.get((owner, identity))
        if found is None or found.expires <= self.now:
            return None
        self._conversations.move_to_end((owner, identity))
        return found

    def close(self, owner: str, identity: str) -> bool:
        """Delete a conversation; whether there was one."""
        return self._conversations.pop((owner, identity), None) is not None

    def __len__(self) -> int:
        return len(self._turns)

    def _drop(self, key: tuple[str, str]) -> None:
        if self._turns.pop(key, None) is not None:
            self._size -= self._sizes.pop(key)
        self._running.pop(key, None)


def owner_of(provider: str, key: str) -> str:
    """A name for a credential that does not give it away."""
    return digest(provider, key)
