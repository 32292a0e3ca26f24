"""How many tokens a prompt may take before it is folded, and what it is folded down to."""

from __future__ import annotations

import msgspec

from app.context.policy import Policy

SOFT = 0.8
"""Of the way from FOLD_TO to FOLD_AT: here a summary is made ahead, so that it is there when it is needed."""

WINDOW_SHARE = 0.95
"""Of a model's window that a prompt may take: the rest is for what estimates get wrong."""

CERTAIN = 1.25
"""Estimated tokens over the window at which a chat is refused here; nearer to it, the provider counts better."""

SMALLEST = 64
"""Tokens that a summary and a list of facts may take at least, however small the budget is."""

FACTS_SHARE, MOST_FACTS = 16, 4
"""The list of facts may take as much as the summaries, or, where a fold stands for a long task of an agent, one part in
FACTS_SHARE of what is folded down to, at most MOST_FACTS times as much: it is carried for a cached token's price, while
a summary that is refused for want of room is paid for nothing."""


class Budget(msgspec.Struct, frozen=True):
    """Sizes in tokens of the whole prompt: system texts, tools and memory included.

    Args:
        at: above this it is folded. to: down to this. soft: above this the summary is made ahead.
        window: what the model takes; 0 if that is not known.
        summary: what all segments together may take. facts: what the verbatim list may take beside full segments.
    """

    at: int
    to: int
    soft: int
    window: int
    summary: int
    facts: int

    def facts_beside(self, segments: int) -> int:
        """Tokens that the verbatim list may take beside segments of so many: also what those leave of their own."""
        return self.facts + max(self.summary - segments, 0)


def budget_of(policy: Policy, fixed: int, window: int) -> Budget:
    """The budget of one request.

    A long system prompt (or many tools) must not mean that nothing is left for the talk, or that it is folded on every
    turn: the history always has half of FOLD_AT_TOKENS to itself, if the window allows, and is folded down to half of
    what it has. A window smaller than FOLD_AT_TOKENS makes FOLD_TO_TOKENS smaller by as much.

    Args:
        fixed: tokens of what is never folded. window: tokens that the model takes, 0 if not known.
    """
    most = int(window * WINDOW_SHARE) if window else policy.fold_at_tokens + fixed
    at = min(max(policy.fold_at_tokens, fixed + policy.fold_at_tokens // 2), most)
    wanted = min(policy.fold_to_tokens, policy.fold_at_tokens * 9 // 10)
    if at < policy.fold_at_tokens:
        wanted = wanted * at // policy.fold_at_tokens
    room = max(at - fixed, 0)
    to = min(max(wanted, fixed + min(wanted, room) // 2), at - (room or at) // 10)
    history = to - min(fixed, to // 2)
    summary = min(policy.summary_tokens, max(SMALLEST, history // 3))
    facts = max(summary, min(history // FACTS_SHARE, summary * MOST_FACTS))
    return Budget(at, to, int(to + SOFT * (at - to)), window, summary, facts)
