"""What the models of a chat cost: its own, and the small one that sums up by default (SUMMARY_MODEL=auto).

US dollars a million tokens as listed by litellm 1.108.7 and the providers' own pages on 2026-11-30
(https://ai.google.dev/gemini-api/docs/pricing, https://developers.openai.com/api/docs/pricing). Of each provider's
current models the chat's is the one whose price is nearest to the small model's: with any larger one a fold is cheaper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bench.memory.prices import Price


@dataclass(frozen=True, slots=True)
class Rates:
    """Prices of a chat's model and of its summariser, as shares of an input token of the chat's model."""

    chat: Price
    summary: Price

    @property
    def cached(self) -> float:
        """A cached token of the chat."""
        return self.chat.cached / self.chat.input

    @property
    def summary_input(self) -> float:
        """A token that the summariser reads."""
        return self.summary.input / self.chat.input

    @property
    def summary_cached(self) -> float:
        """A cached one, as a share of what another token costs the summariser."""
        return self.summary.cached / self.summary.input

    @property
    def summary_output(self) -> float:
        """A token that the summariser writes."""
        return self.summary.output / self.chat.input

    @property
    def own(self) -> Rates:
        """The same chat, summed up by its own model."""
        return Rates(self.chat, self.chat)

    @property
    def said(self) -> str:
        """Both models with their prices, input, cached and output."""
        return "; ".join(
            f"{one.model} {one.input:g}/{one.cached:g}/{one.output:g}" for one in (self.chat, self.summary)
        )


RATES: Mapping[str, Rates] = {
    # half its list price until 2026-12-31; from then on the summariser costs half as much beside it
    "interactions": Rates(Price("gemini-3.8-flash", 0.75, 0.075, 3.75), Price("gemini-2.5-flash", 0.3, 0.03, 2.5)),
    "responses": Rates(Price("gpt-6.1-sol", 2, 0.1, 10), Price("gpt-5-mini", 0.25, 0.025, 2)),
}
"""By the API that keeps the chain."""
