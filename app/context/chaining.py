"""Chain or resend: where the provider holds this very prefix, only what is new goes out behind its handle.

A provider that keeps conversations (Gemini's interactions, OpenAI's responses) bills the whole chain as input on every
turn, so a chain is not cheaper than the same words sent again: it saves the sending, keeps the provider's prompt cache
sure, and keeps the model's own thoughts where they were. It is worth having as long as what the provider holds is what
we would send. As soon as we would send less (a fold, a small form of a bulky tool result, another memory), the chain is
cut, and begun anew from that smaller form.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from app.chat import size
from app.chat.model import Chat, Message
from app.context.folds import Fold
from app.context.known import Chains, Checkpoint, Known
from app.context.plan import Decision, Draft, Plan
from app.context.policy import Policy

STEP = "chain"

_FRONT_BYTES = 8
_pack = msgspec.msgpack.Encoder().encode


class Link(msgspec.Struct, frozen=True):
    """Where a chat could be continued: the provider holds its first `messages` under the handle of `checkpoint`."""

    messages: int
    checkpoint: Checkpoint


def chain(draft: Draft, known: Known, policy: Policy) -> Draft:
    """The draft, continuing what the provider holds if that is what would be sent again; else whole, and why."""
    chains = known.chains
    if chains is None:
        return draft
    draft = replace(draft, front=front_of(draft.fold, known))
    if why := _forbidden(draft.chat, policy):
        stored = draft.chat if draft.chat.store is not None else replace(draft.chat, store=False)
        return draft.decided(Decision(STEP, "never", why), stored)
    link = _link(known, chains)
    if link is None:
        return draft.decided(Decision(STEP, "new", _nothing_held(known)))
    since = _since(draft, link)
    cost = _cost(draft, known, link, chains, since)
    if (
        why := _cut(draft, known, link, since)
        or _outdated(link, chains)
        or _heavy(draft.said[link.messages :], policy, chains)
        or _too_large(known, policy, cost)
    ):
        return draft.decided(Decision(STEP, "cut", f"{why} {cost.said}", cost.resent, cost.continued))
    reason = f"The provider holds the first {_counted(link.messages)}: only what is new goes out. {cost.said}"
    chat = replace(draft.chat, after=link.checkpoint.handle, since=since)
    return draft.decided(Decision(STEP, "continue", reason, cost.resent, cost.continued), chat)


def as_sent(made: Plan, after: str, upstream: str) -> Plan:
    """The plan as it went out to `upstream`, going on from `after`: nothing, where it took the turn over."""
    if after or not made.chat.after:
        return made
    why = f"The turn went to {upstream} instead, which holds nothing of this conversation: the whole chat went out."
    return _decided_anew(made, "", why)


def rejoined(made: Plan) -> Plan:
    """The plan of an answer in several hops, whose chain the provider lost between two of them."""
    why = (
        "The provider lost the chain in the middle of the answer: the whole chat went out behind that, and begins anew."
    )
    return _decided_anew(made, "cut", why)


def _decided_anew(made: Plan, applied: str, why: str) -> Plan:
    """The plan with another decision of this step: the chat went out whole."""
    decisions = (
        Decision(STEP, applied, why, each.before, each.before) if each.step == STEP else each for each in made.decisions
    )
    return replace(made, decisions=tuple(decisions))


def front_of(fold: Fold | None, known: Known) -> bytes:
    """A digest of what stands in place of the oldest messages and before them; empty if that is nothing.

    A chain whose beginning had another front holds other words than would be sent now.
    """
    if fold is None and not known.memory:
        return b""
    told = (fold.spans, fold.facts) if fold is not None else ()
    return hashlib.sha256(_pack((told, known.memory or None))).digest()[:_FRONT_BYTES]


def _forbidden(chat: Chat, policy: Policy) -> str:
    """Why nothing may be kept at the provider; empty if it may."""
    if chat.store is False:
        return "The client forbids storing: the whole chat goes out, and the provider keeps nothing."
    if policy.chain == "never":
        return "Chaining is switched off: the whole chat goes out, and the provider keeps nothing."
    return ""


def _link(known: Known, chains: Chains) -> Link | None:
    """The longest known prefix that ends in a handle of this upstream, for a model that can go on from it."""
    for index in range(len(known.addresses) - 1, -1, -1):
        found = known.checkpoints.get(known.addresses[index])
        if found is not None and found.handle and chains.fits(found):
            return Link(index + 1, found)
    return None


def _nothing_held(known: Known) -> str:
    if known.bypassed:
        return "The store could not be asked what the provider holds: the whole chat goes out."
    return "The provider holds nothing of this conversation that can be continued: the whole chat begins a chain."


def _since(draft: Draft, link: Link) -> int:
    """How many of the draft's messages the provider holds; 0 if the message where it would go on is no longer there."""
    last = draft.said[link.messages - 1]
    messages = draft.chat.messages
    return next((index + 1 for index in range(len(messages) - 1, -1, -1) if messages[index] is last), 0)


def _cut(draft: Draft, known: Known, link: Link, since: int) -> str:
    """Why the chain cannot or should not go on; empty if it can. The order is that of what a user would ask first."""
    new = draft.said[link.messages :]
    held = link.checkpoint
    if held.handle in known.lost:
        return "The provider no longer knows the chain."
    if 0 < held.expires <= known.now:
        return "What the provider holds may have been deleted by now."
    if not new:
        return "The chat ends where the provider's copy ends: nothing is new."
    if (other := next((index for index, message in enumerate(new) if message.role == "assistant"), None)) is not None:
        return f"Message {link.messages + other + 1} was not said in this chain: the history was edited."
    if held.front != draft.front:
        return "The fold or the sticky memory changed: the chain begins anew from it."
    if not since or any(message.role == "assistant" for message in draft.chat.messages[since:]):
        return "The message to continue from goes out changed."
    return ""


def _outdated(link: Link, chains: Chains) -> str:
    """Why the model would go on by what the client no longer says; empty if it would not."""
    if link.checkpoint.inherited == chains.inherited:
        return ""
    return (
        "What stands at the head of the conversation changed (instructions among its items, or the line that asks for "
        "JSON), and the model would go on by what it was told before."
    )


def _too_large(known: Known, policy: Policy, cost: Cost) -> str:
    """Why the chain has grown too large; empty if it has not. 0 in the policy folds nothing, and cuts nothing."""
    at = policy.fold_at_tokens
    window = known.scale.window if known.scale else 0
    if at and cost.continued > max(at, cost.fixed + at // 2):
        return f"The chain has grown past {at} tokens."
    return f"The chain has grown past the {window} tokens that the model takes." if 0 < window < cost.continued else ""


def _heavy(messages: Sequence[Message], policy: Policy, chains: Chains) -> str:
    """Why a chain would drag a bulky tool result along, by its size as the client sent it; empty if none is heavy."""
    sizes = (size.of_part(result, chains.family) for message in messages for result in message.results)
    largest = max(sizes, default=0)
    if largest <= policy.heavy_tool_tokens:
        return ""
    return f"A tool result of about {largest} tokens makes this turn heavy: the chain begins anew without dragging it."


class Cost(msgspec.Struct, frozen=True):
    """What the next turn would bill as input, in tokens.

    Args:
        continued: the whole chain as the provider reported it, its newest answer, and what is new.
        resent: the prompt as it would go out whole.
        cached: how much of either its prompt cache probably holds. price: of a cached token, as a share of another.
        fixed: of both, system prompt and tools.
    """

    continued: int
    resent: int
    cached: int
    price: float
    fixed: int

    @property
    def said(self) -> str:
        """Both prices as a sentence."""
        off = 1 - self.price
        paid = [tokens - round(min(self.cached, tokens) * off) for tokens in (self.continued, self.resent)]
        cache = f" ({paid[0]} and {paid[1]} at full price, as its cache probably holds the beginning)"
        words = f"Continued, the provider bills about {self.continued} input tokens; sent whole, about {self.resent}"
        return words + (cache if self.cached else "") + "."


def _cost(draft: Draft, known: Known, link: Link, chains: Chains, since: int) -> Cost:
    held = link.checkpoint
    added = draft.chat.messages[since:] if since else draft.said[link.messages :]
    new = sum(size.of_message(message, chains.family) for message in added)
    continued = (held.input_tokens or held.estimated_tokens) + held.output_tokens + new
    warm = known.now - held.at <= chains.cache_seconds
    same = held.front == draft.front and held.inherited == chains.inherited
    return Cost(
        continued=continued,
        resent=draft.tokens or continued,
        cached=held.input_tokens if warm and same else 0,
        price=chains.cached_price,
        fixed=round(known.scale.fixed * known.scale.ratio) if known.scale else 0,
    )


def _counted(messages: int) -> str:
    return f"{messages} messages" if messages > 1 else "message"
