"""How far a model's estimates were off lately, and so how to correct the next one."""

from __future__ import annotations

LOWEST, HIGHEST = 0.5, 2.0
"""A ratio beyond these is not used: no tokenizer is that far off."""

BELIEVABLE = (0.4, 2.5)
"""A report beyond these teaches nothing: the server counts something else, or makes its numbers up."""

WEIGHT = 0.2
"""How much the newest report moves the ratio; the first one stands as it is."""

SMALLEST = 200
"""Tokens. In a smaller chat the hidden parts of a prompt outweigh its words, and would teach a wrong ratio."""

MOST_MODELS = 256


class Calibration:
    """A running ratio of reported to estimated tokens per model. The least recently observed models are forgotten."""

    __slots__ = ("_most", "_ratios")

    def __init__(self, most_models: int = MOST_MODELS) -> None:
        """`most_models` bounds what is kept: model names come from clients."""
        self._most = max(1, most_models)
        self._ratios: dict[str, float] = {}

    def observe(self, model: str, estimated: int, reported: int) -> None:
        """Learn from a turn. `estimated` is the uncorrected estimate of the very prompt that `reported` counts."""
        if estimated < SMALLEST or not BELIEVABLE[0] <= reported / estimated <= BELIEVABLE[1]:
            return
        seen = _bounded(reported / estimated)
        before = self._ratios.pop(model, None)
        self._ratios[model] = seen if before is None else before + WEIGHT * (seen - before)
        if len(self._ratios) > self._most:
            del self._ratios[next(iter(self._ratios))]

    def ratio(self, model: str) -> float:
        """Reported over estimated, between 0.5 and 2; 1 for a model that was never observed."""
        return self._ratios.get(model, 1.0)

    def correct(self, model: str, estimated: int) -> int:
        """The estimate in tokens as this model's own counts would have it."""
        return round(estimated * self.ratio(model))


def _bounded(ratio: float) -> float:
    return min(HIGHEST, max(LOWEST, ratio))
