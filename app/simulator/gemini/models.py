"""Which Gemini models there are, what their names tell the rules, and the models endpoint.

Every name is served (a route may send `lab` here, which then is a model of the newest kind); only names that contain
`no-such` are unknown. The `-latest` aliases exist on v1beta alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from app.simulator.estimate import small_window
from app.simulator.gemini.problems import check_key, problem, refused
from app.simulator.reply import Reply, json_reply
from app.simulator.shapes import Json

if TYPE_CHECKING:
    from app.simulator.desk import Asked

LISTED = (
    "lab",
    "gemini-2.5-pro",
    "gemini-2.5-flash",
    "gemini-2.5-flash-lite",
    "gemini-3-flash-preview",
    "gemini-3.1-pro-preview",
    "gemini-3.5-flash",
    "gemini-3.6-flash",
    "gemini-3.7-flash",
    "gemini-3.8-flash",
)
OUTPUT_TOKENS = 65_536
_INPUT_TOKENS = 1_048_576
_VERSION = re.compile(r"^gemini-(\d+)(?:\.(\d+))?")
_ALL_LEVELS = ("MINIMAL", "LOW", "MEDIUM", "HIGH")
_LEVELS: tuple[tuple[str, tuple[str, ...]], ...] = (  # by the beginning of the name; the first that fits
    ("gemini-3.8-flash", _ALL_LEVELS[1:]),
    ("gemini-3.7-flash", _ALL_LEVELS[1:]),
    ("gemini-3.1-pro", _ALL_LEVELS[1:]),
    ("gemini-3-pro", ("LOW", "HIGH")),
    ("gemini-4", (*_ALL_LEVELS, "XHIGH")),
)


@dataclass(frozen=True, slots=True)
class Model:
    """What the rules ask of a model's name.

    Attributes:
        generation: 2 for the 2.x models, 3 and more for those that validate thought signatures.
        thinks: it can think, and does so unless told otherwise.
        levels: the thinking levels that it takes; none if it takes budgets only.
        budget: the smallest and largest thinking budget in tokens; None if it takes none.
        may_not_think: a budget of 0 is allowed.
        window: the most input tokens.
    """

    name: str
    generation: int
    thinks: bool
    levels: tuple[str, ...]
    budget: tuple[int, int] | None
    may_not_think: bool
    window: int

    @property
    def signs(self) -> bool:
        """Whether function calls must come back with their thought signatures."""
        return self.generation >= 3


def model_named(name: str, version: str, verb: str = "generateContent") -> Model:
    """The model of that name (without `models/`); RefusalError (404) if this API version has none."""
    if "no-such" in name or (name.startswith("gemini-") and name.endswith("-latest") and version != "v1beta"):
        said = (
            f"models/{name} is not found for API version {version}, or is not supported for {verb}. "
            "Call ListModels to see the list of available models and their supported methods."
        )
        raise refused(said, code=404)
    found = _VERSION.match(name)
    generation = int(found[1]) if found else 0 if name.startswith("gemma-") else 3
    minor = int(found[2] or 0) if found else 0
    lite = "lite" in name
    if generation >= 3:
        levels = next((levels for start, levels in _LEVELS if name.startswith(start)), _ALL_LEVELS)
        return _model(name, generation, thinks=True, levels=levels, budget=(0, 65_536), may_not_think="pro" not in name)
    thinks = (generation, minor) == (2, 5)
    low, high = (128, 32_768) if "pro" in name else (512, 24_576) if lite else (1, 24_576)
    budget = (low, high) if thinks else None
    return _model(
        name, generation, thinks=thinks and not lite, levels=(), budget=budget, may_not_think="pro" not in name
    )


def _model(
    name: str,
    generation: int,
    *,
    thinks: bool,
    levels: tuple[str, ...],
    budget: tuple[int, int] | None,
    may_not_think: bool,
) -> Model:
    window = small_window(name) or _INPUT_TOKENS
    return Model(name, generation, thinks, levels, budget, may_not_think, window)


def place_of(path: str) -> tuple[str, str, str]:
    """API version, model and verb of a request's path; the model may stand behind projects and publishers."""
    version, _, rest = path.strip("/").partition("/")
    name, _, verb = rest.rpartition(":")
    return version, unquote(name).rpartition("models/")[2] or unquote(name), verb


class GeminiModels:
    """GET /{version}/models and /{version}/models/{model}."""

    def answer(self, asked: Asked) -> Reply:
        """The list, or the one whose name the path says; RefusalError (404) for an unknown name."""
        check_key(asked.headers, asked.query)
        version, _, rest = asked.path.strip("/").partition("/")
        name = unquote(rest.removeprefix("models").strip("/"))
        if not name:
            return json_reply({"models": [_card(model_named(one, version)) for one in LISTED]})
        return json_reply(_card(model_named(name, version)))

    def refusal(self, status: int, message: str, asked: Asked) -> Reply:
        """An error in Google's words."""
        del asked
        return problem(status, message)


def _card(model: Model) -> Json:
    return {
        "name": f"models/{model.name}",
        "version": "001",
        "displayName": f"{model.name} (simulated)",
        "description": "A deterministic stand-in.",
        "inputTokenLimit": model.window,
        "outputTokenLimit": OUTPUT_TOKENS,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
        "temperature": 1,
        "topP": 0.95,
        "topK": 64,
        "maxTemperature": 2,
        "thinking": model.thinks,
    }
