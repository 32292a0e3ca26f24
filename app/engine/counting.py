"""What a prompt's tokens are counted by, for one model at one upstream; and what is learnt from every answer."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.chat import size
from app.chat.address import setup
from app.chat.calibration import LOWEST, Calibration
from app.chat.family import family_of
from app.chat.model import Chat
from app.context.budget import budget_of
from app.context.known import Scale
from app.engine.routing import Candidate
from app.engine.unbinding import binds
from app.upstreams.counting import exact
from app.upstreams.limits import Limits
from app.upstreams.transport import Transport
from app.upstreams.upstream import Credential
from app.wires.overflow import overflow

if TYPE_CHECKING:
    from app.engine.planning import Planned

MOST_SETUPS = 512
"""System prompts and sets of tools whose size is kept: counting sixty tools anew on every turn would cost more than
all else in a plan."""

GUESSED_LIMIT = 0.8
"""Of the tokens that were too many, where a provider does not say its limit."""

MOST_OFF = 4.0
"""Times that an estimate may be too low, if a provider's refusal says so itself."""

NEAR = 0.1
"""How near to a threshold a prompt must be for the provider's own count to be worth its round trip: a tenth of it."""


class Counting:
    """One process's knowledge of sizes: windows, running ratios, and how large recent system prompts and tools are."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.calibration = Calibration()
        self._fixed: OrderedDict[tuple[bytes, str], int] = OrderedDict()

    def window(self, candidate: Candidate) -> int:
        """Tokens that the model takes; 0 if nobody vouches for a number."""
        upstream, model = candidate.upstream, candidate.model
        return self.limits.of(upstream, model).context if self.limits.known(upstream, model) else 0

    def scale(self, chat: Chat, setup: bytes, candidate: Candidate, received: int, window: int) -> Scale:
        """What this chat's tokens are counted by at `candidate`; `received` is the size of its bytes, in tokens."""
        model = candidate.model
        family = family_of(model)
        return Scale(
            family=family,
            model=model,
            ratio=self.calibration.ratio(_key(candidate)),
            window=window,
            fixed=self._fixed_of(chat, setup, family),
            received=received,
            setup=setup,
            binds=binds(candidate),
        )

    def learn(self, candidate: Candidate, guessed: int, reported: int) -> None:
        """A prompt that was estimated (uncorrected) at `guessed` tokens took `reported`."""
        if guessed and reported:
            self.calibration.observe(_key(candidate), guessed, reported)

    def overflowed(self, made: Planned, candidate: Candidate, message: str, size_bytes: int) -> Scale:
        """What to count by after the provider refused the chat as too long: its limit is learnt for all later turns.

        Args:
            message: the provider's words. size_bytes: of the client's request.
        """
        limit, asked = overflow(message)
        plan, chat = made.plan, made.chat
        tokens = plan.tokens or size_bytes // 4
        limit = limit or int(tokens * GUESSED_LIMIT)
        self.limits.learn(candidate.upstream.name, candidate.model, limit)
        digest = made.known.scale.setup if made.known.scale else setup(chat.system, chat.tools)
        scale = self.scale(chat, digest, candidate, size_bytes // 4, limit)
        if asked and plan.guess:
            return _told(scale, asked, plan.guess)
        return scale

    def _fixed_of(self, chat: Chat, setup: bytes, family: size.Family) -> int:
        """Tokens of all but the messages."""
        key = (setup, family)
        known = self._fixed.get(key)
        if known is None:
            known = self._fixed[key] = size.of_chat(_without_messages(chat), family)
            if len(self._fixed) > MOST_SETUPS:
                self._fixed.popitem(last=False)
        return known


def _without_messages(chat: Chat) -> Chat:
    return Chat(chat.model, (), chat.system, chat.tools, chat.sampling)


def _key(candidate: Candidate) -> str:
    return f"{candidate.upstream.name}/{candidate.model}"


def near_a_threshold(made: Planned) -> bool:
    """Whether an exact count could change the plan: the prompt was estimated from scratch, and lies near FOLD_AT."""
    plan, scale = made.plan, made.known.scale
    if scale is None or not plan.guess or made.known.bypassed:
        return False
    at = budget_of(made.policy, round(scale.fixed * scale.ratio), scale.window).at
    return abs(plan.tokens - at) <= at * NEAR


async def counted(made: Planned, transport: Transport, credential: Credential) -> Scale | None:
    """What to count by, corrected by the provider's own count of the very prompt; None if it gave none."""
    candidate, plan, scale = made.candidates[0], made.plan, made.known.scale
    if scale is None or not plan.guess:
        return None
    upstream, model = candidate.upstream, candidate.model
    outbound = upstream.wire.encode(plan.chat, upstream.target(model))
    tokens = await exact(transport, upstream, outbound, plan.chat, model, credential)
    return _told(scale, tokens, plan.guess) if tokens else None


def _told(scale: Scale, tokens: int, guess: int) -> Scale:
    """The scale by which an uncorrected guess comes to the tokens that the provider itself named."""
    return replace(scale, ratio=min(max(tokens / guess, LOWEST), MOST_OFF))
