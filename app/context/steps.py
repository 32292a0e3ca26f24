"""The steps of a plan, in the order in which they run."""

from __future__ import annotations

from app.context.memory import remind
from app.context.mending import mend
from app.context.plan import Step

STEPS: tuple[Step, ...] = (mend, remind)

RESUMING: tuple[Step, ...] = (remind,)
"""Of a request that resumes an answer by the provider's token: that holds only for the contents that the provider got
before, and those began with the memory."""
