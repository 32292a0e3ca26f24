"""The rolling summary: which fold a chat goes out with, and which one is to be made.

A chat above FOLD_AT_TOKENS goes out under the first known fold that brings it below, and stays under it while it grows:
then nothing but its end changes from turn to turn. A fold goes down to FOLD_TO_TOKENS in one step, so folds are rare.
Summaries are frozen segments; a new one joins those before it, and only when they would outgrow SUMMARY_TOKENS together
the new one takes their place.
"""

from __future__ import annotations

from app.context.budget import CERTAIN
from app.context.cuts import Cuts
from app.context.folds import Fold, stretches
from app.context.known import Known
from app.context.plan import Decision, Draft, Need
from app.context.policy import Policy
from app.context.sight import Sight

STEP = "summary"

NEARLY = 0.9
"""Of FOLD_AT: what KEEP_RECENT messages may leave. Closer to it, the next turn would have to be folded again."""


def fold(draft: Draft, known: Known, policy: Policy) -> Draft:
    """The draft with the fold that it goes out with, and the need for the next one."""
    if known.scale is None or not known.addresses or policy.fold_at_tokens <= 0:
        return draft
    sight = Sight(draft.chat, known, policy, known.scale)
    now, tokens = _in_force(sight)
    need = None if known.bypassed else _need(sight, now, tokens)
    after = draft.folded(now, tokens, sight.guess(now, tokens), (need,) if need else ())
    if now is not None and now.summaries:
        after = after.decided(_carrying(sight, now, tokens))
    return after.decided(_wanting(sight, now, need, tokens)) if need else after


def _in_force(sight: Sight) -> tuple[Fold | None, int]:
    """The fold that this turn goes out with, and the tokens of the prompt under it.

    Never back to a shallower one than the turn before, unless the whole chat has become small for the budget (another
    policy): the provider's cache, and thinking that is bound to its prefix, hold only behind the same beginning.
    """
    small = sight.scale.received * 2 <= sight.budget.at and sight.prompt(None) * 2 <= sight.budget.at
    now = None if small else sight.before
    if now is not None and now.drops and (better := sight.deeper(sight.line(now) - 1)) is not None:
        now = better
    tokens = sight.prompt(now)
    while tokens > sight.budget.at and (deeper := sight.deeper(sight.line(now))) is not None:
        if _bound(sight, tokens):
            break
        now, tokens = deeper, sight.prompt(deeper)
    return now, tokens


def _bound(sight: Sight, tokens: int) -> bool:
    """Whether the prefix must stay as it is: the running tool loop's thinking is bound to it, and it still fits."""
    last = sight.messages[-1]
    looping = last.role == "user" and bool(last.results)
    return sight.scale.binds and looping and not (sight.scale.window and tokens > sight.budget.window)


def _need(sight: Sight, now: Fold | None, tokens: int) -> Need | None:
    budget = sight.budget
    dropping = now is not None and now.drops
    if tokens <= budget.soft and not dropping:
        return None
    if tokens <= budget.at and not dropping and sight.deeper(sight.line(now)) is not None:
        return None  # it is there already
    if _bound(sight, tokens):
        return None
    above = tokens > budget.at
    base = sight.base(len(sight.messages))
    found = sight.cuts(sight.line(base))
    newest = sight.exchange(found)
    if dropping and not above:
        line = sight.line(now)
        line = line if sight.promising(base, line) else 0
    else:
        line = _line(sight, base, found, _target(budget.at, budget.to, tokens, newest))
    if not line:
        return None
    if sight.scale.window and sight.fixed + newest > sight.scale.window * CERTAIN:
        return None  # whatever is folded, this cannot be sent
    early = tokens - newest
    urgent = above and (early > budget.at or sight.policy.summary_when == "before" or _too_large(sight, tokens))
    return Need("summary", sight.known.addresses[line - 1], line, urgent=urgent)


def _too_large(sight: Sight, tokens: int) -> bool:
    """Whether it would not fit the model, whatever the budget says."""
    return sight.known.overflowed or bool(sight.budget.window and tokens > sight.budget.window)


def _target(at: int, to: int, tokens: int, newest: int) -> int:
    """Tokens to fold down to. A summary made ahead leaves room for what is said until it is used: up to the budget, and
    half an exchange beyond, as that is how far the turn goes past it."""
    beyond = min(newest, (at - to) // 4) // 2
    return to if tokens >= at else max(to - (at - tokens) - beyond, to // 2)


def _line(sight: Sight, base: Fold | None, found: Cuts, target: int) -> int:
    """Where to fold next: how many messages the new summary is to stand for. 0: nowhere.

    KEEP_RECENT messages stay, unless they alone would not fit: then a summary of some of them is still better than
    leaving them out. Inside one endless task finished exchanges are folded, and the task stays.
    """
    start = sight.line(base)
    budget, count = sight.budget, len(sight.messages)
    keep = count - sight.policy.keep_recent
    carry = min(sight.carried(base) + budget.summary // 2, budget.summary + budget.facts)
    plain = [line for line in found.plain if line > start and sight.promising(base, line)]

    def after(line: int) -> int:
        return sight.fixed + carry + sight.tail(line)

    early = [line for line in plain if line <= keep]
    if line := next((line for line in early if after(line) <= target), 0):
        return line
    if early and after(early[-1]) <= budget.at * NEARLY:
        return early[-1]
    if line := next((line for line in plain if after(line) <= target), 0):
        return line
    if plain:
        return plain[-1]
    if not found.loop or after(found.newest) <= budget.soft:
        return 0
    task = sight.tail(found.newest) - sight.tail(found.task_end)
    loop = [line for line in found.loop if line > max(start, found.task_end) and sight.promising(base, line)]
    lines = [line for line in loop if line <= keep] or loop
    return next((line for line in lines if after(line) + task <= target), lines[-1] if lines else 0)


def _carrying(sight: Sight, now: Fold, tokens: int) -> Decision:
    line = max(each.end for each in stretches(now, sight.ends) if each.kind == "summary")
    before = max(sight.scale.received, tokens)
    facts = f" and {_counted(len(now.facts), 'fact')} word for word" if now.facts else ""
    reason = (
        f"{_messages(1, line)} are carried as {_counted(len(now.summaries), 'summary segment')}{facts}: "
        f"about {tokens} tokens go out instead of {before}."
    )
    if now.check is not None and now.check.drifted:
        reason += f" {now.check.served} wrote the newest segment, not the pinned {now.check.pinned}."
    return Decision(STEP, f"1-{line}", reason, before, tokens)


def _wanting(sight: Sight, now: Fold | None, need: Need, tokens: int) -> Decision:
    when = "is to be made before this turn goes out" if need.urgent else "is to be made behind this turn"
    if need.urgent and not sight.known.waits:
        when = "is wanted and was not to be had: this turn goes out without it"
    if tokens <= sight.budget.at and now is not None and now.drops:
        reason = f"A summary of {_messages(1, need.messages).lower()} {when}: then what was left out comes back."
        return Decision(STEP, "", reason, tokens, tokens)
    limit = sight.budget.at if tokens > sight.budget.at else sight.budget.soft
    reason = (
        f"The prompt takes about {tokens} tokens, more than {limit}: a summary of "
        f"{_messages(1, need.messages).lower()} {when}."
    )
    return Decision(STEP, "", reason, tokens, tokens)


def _messages(first: int, last: int) -> str:
    return f"Messages {first} to {last}" if last > first else f"Message {first}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
