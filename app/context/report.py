"""A plan as one header line, and as JSON for the record of the turn."""

from __future__ import annotations

from typing import Any

from app.context.known import Known
from app.context.plan import Plan


def header(plan: Plan, known: Known) -> str:
    """The steps that applied, in short: `mend=1; restore=2; state=bypassed`; `none` if the chat went out as it came."""
    applied = [f"{decision.step}={decision.applied}" for decision in plan.decisions if decision.applied]
    if known.bypassed:
        applied.append("state=bypassed")
    return "; ".join(applied) or "none"


def as_json(plan: Plan, known: Known) -> dict[str, Any]:
    """What was decided, with reasons; what could not be said; what was known."""
    return {
        "decisions": list(plan.decisions),
        "losses": list(plan.losses),
        "known": {
            "messages": len(known.addresses),
            "prefix": known.deepest(),
            "bypassed": known.bypassed or None,
        },
    }
