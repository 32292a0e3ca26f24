"""The steps of a plan, in the order in which they run."""

from __future__ import annotations

from app.context.mending import mend
from app.context.plan import Step

STEPS: tuple[Step, ...] = (mend,)
