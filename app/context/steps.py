"""The steps of a plan, in the order in which they run."""

from __future__ import annotations

from app.context.carry import carry
from app.context.chaining import chain
from app.context.memory import remind
from app.context.mending import mend
from app.context.plan import Step
from app.context.summary import fold
from app.context.thinking import unbind
from app.context.tool_results.step import tool_results
from app.context.trimming import trim

STEPS: tuple[Step, ...] = (tool_results, fold, trim, carry, unbind, mend, remind, chain)

RESUMING: tuple[Step, ...] = (fold, carry, remind)
"""Of a request that resumes an answer by the provider's token: that holds only for the contents that the provider got
before, and those began with the memory and the fold."""
