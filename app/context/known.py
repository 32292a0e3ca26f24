"""What we remember: a checkpoint at each address of a chat, and all that a plan may know about one request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from app.chat.family import Family
from app.context.folds import Fold
from app.context.tool_results.handles import Handles


class Fetch(msgspec.Struct, frozen=True):
    """A call that the proxy answered itself: its id, the tool's name, the arguments, and what the model got."""

    id: str
    name: str
    arguments: str
    result: str
    is_error: bool = False


class Hop(msgspec.Struct, frozen=True):
    """A part of an answer that ended with such calls. The client has its words, and never saw the calls.

    Args:
        text: its words. fetches: its calls with their results.
        sealed: what the provider literally said, as in Checkpoint.
    """

    text: str
    fetches: tuple[Fetch, ...]
    sealed: bytes = b""


class Checkpoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """What only the provider knows about the assistant message that ends at `address`. Immutable: written once.

    Args:
        address: 16 bytes, the content address of the prefix that ends with this message (chat/address.py).
        upstream: the upstream's name in our settings.
        model: the model that was asked for; opaque parts go back to that upstream only, and to that
            model unless its models read one another's.
        served: the model that the response named.
        wire: the format that `sealed` is written in.
        sealed: what the provider said in this message that the client may drop: its native parts with thought
            signatures and call ids, or its reasoning fields. JSON in the wire's own words; empty if there is nothing.
        handle: the provider's id to continue from (interaction or response), empty if it keeps no state.
        expires: Unix seconds after which the handle may be gone, 0 if there is none.
        input_tokens, output_tokens: as the provider reported them for this turn, 0 if it did not.
        estimated_tokens: what we took the prompt of that turn for; 0 if nobody counted.
        setup: digest of system prompt and tools at that turn: they stand outside the address.
        folded: the fold line of that turn (an address), empty if nothing was folded.
        front: digest of what stood before and in place of the oldest messages (see chaining.py), empty if nothing did.
        inherited: digest of what stood before the messages and is kept with them by the provider (see Chains).
        passed: further ids that the provider gave on the way to this answer, and keeps until they are deleted.
        hops: what the model fetched on the way to this answer, oldest first. said: the words that came behind that.
        open: calls that the proxy answered itself beside calls of the client's: their results go out with the client's.
            An empty one keeps the place of a call of the client's.
        offered: whether the tool that reads parked results stood behind the client's tools at that turn.
        fold: at the address of a fold (see folds.py): the fold itself. At a turn that left messages out: that fold.
        at: Unix seconds when it was written.
    """

    address: bytes
    upstream: str = ""
    model: str = ""
    served: str = ""
    wire: str = ""
    sealed: bytes = b""
    handle: str = ""
    expires: float = 0
    input_tokens: int = 0
    output_tokens: int = 0
    estimated_tokens: int = 0
    setup: bytes = b""
    folded: bytes = b""
    front: bytes = b""
    inherited: bytes = b""
    passed: tuple[str, ...] = ()
    hops: tuple[Hop, ...] = ()
    said: str = ""
    open: tuple[Fetch, ...] = ()
    offered: bool = False
    fold: Fold | None = None
    at: float = 0

    @property
    def seals(self) -> bool:
        """Whether the provider said anything on the way to this answer that the client may drop, fetches included."""
        return bool(self.sealed) or any(hop.sealed for hop in self.hops)


class Scale(msgspec.Struct, frozen=True):
    """What a prompt's tokens are counted by.

    Args:
        family: whose tokenizer. model: asked for; `ratio` corrects estimates for it (see chat/calibration.py).
        window: tokens that the model takes, 0 if nobody vouches for a number.
        fixed: uncorrected tokens of system texts, tools and frame: what is never folded.
        received: tokens of the client's request, from its bytes alone.
        setup: digest of system prompt and tools.
        binds: the model's earlier thinking holds only behind the very prefix that it was made behind.
        tails: what was counted of this chat already, so that planning it again does not count again: uncorrected
            tokens of its last message, its last two, … A cache, and no part of the value.
    """

    family: Family = "other"
    model: str = ""
    ratio: float = 1.0
    window: int = 0
    fixed: int = 0
    received: int = 0
    setup: bytes = b""
    binds: bool = False
    tails: list[int] = msgspec.field(default_factory=list[int])


class Chains(msgspec.Struct, frozen=True):
    """How the upstream that a chat goes to keeps conversations.

    Args:
        upstream, model: where it goes. family: whose tokenizer that is.
        across_models: a chain may be gone on with by another of its models.
        cached_price: of a token that its prompt cache holds, as a share of another.
        cache_seconds: how long that cache may be trusted to hold a prompt.
        inherited: digest of what stands before this chat's messages there and would not be sent again with a handle:
            where another one was kept, the model would go on by that.
    """

    upstream: str
    model: str
    family: Family = "other"
    across_models: bool = False
    cached_price: float = 1.0
    cache_seconds: float = 0
    inherited: bytes = b""

    def fits(self, checkpoint: Checkpoint) -> bool:
        """Whether what the checkpoint's handle stands for can be gone on with."""
        return checkpoint.upstream == self.upstream and (self.across_models or checkpoint.model == self.model)


class Known(msgspec.Struct, frozen=True):
    """All that a plan may know. Time is passed in, so that the same inputs give the same plan.

    Args:
        addresses: one address (16 bytes) for each message of the chat, in order.
        checkpoints: what is stored, by address; only those that were found.
        memory: the session's sticky memory, a JSON object, or None.
        now: Unix seconds.
        bypassed: why the store could not be asked ('' if it was): the turn then goes on without state.
        scale: what tokens are counted by; None: the request is so small that nothing need be counted.
        waits: what the plan urgently needs can still be made, so that the plan need not do without.
        chains: how the upstream keeps conversations; None: it keeps none.
        lost: handles that the provider has just said it does not know.
        handles: how bulky tool results are addressed; None: nothing can be parked, so none is made small.
        overflowed: the provider has just refused this very chat as too long.
        bound_to: digest of system prompt and tools, where the model binds its thinking to them; else empty.
    """

    addresses: tuple[bytes, ...] = ()
    checkpoints: Mapping[bytes, Checkpoint] = {}
    memory: Mapping[str, Any] | None = None
    now: float = 0
    bypassed: str = ""
    scale: Scale | None = None
    waits: bool = True
    overflowed: bool = False
    chains: Chains | None = None
    handles: Handles | None = None
    lost: frozenset[str] = frozenset()
    bound_to: bytes = b""

    def deepest(self) -> int:
        """How many messages the longest known prefix has; 0 if none is known."""
        for index in range(len(self.addresses) - 1, -1, -1):
            if self.addresses[index] in self.checkpoints:
                return index + 1
        return 0
