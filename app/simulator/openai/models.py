"""Which models the OpenAI side knows, what they can do, and the models endpoint.

Every name is served, so that any route can end here; only names that contain `no-such` are unknown. OpenAI's stricter
rules hold for names that look like its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from app.simulator.estimate import small_window
from app.simulator.openai.problems import check_key, problem, refused
from app.simulator.reply import Reply, json_reply
from app.simulator.shapes import Json

if TYPE_CHECKING:
    from app.simulator.desk import Asked

LISTED = ("lab", "gpt-4.1", "gpt-4.1-mini", "gpt-4o", "gpt-5-mini", "gpt-5.5", "gpt-6-sol", "o3", "deepseek-v4-pro")
_OWN = re.compile(r"^(?:ft:)?(?:gpt-|chatgpt-|o\d)")
_REASONING = re.compile(r"^(?:ft:)?(?:o\d|gpt-(?:[5-9]|\d\d)(?!.*-chat))")
_WINDOWS: tuple[tuple[re.Pattern[str], int, int], ...] = tuple(  # first that matches: window, most output; tokens
    (re.compile(pattern), window, output)
    for pattern, window, output in (
        (r"^gpt-5(?:\.\d)?-chat", 128_000, 16_384),
        (r"^gpt-(?:5\.[4-9](?!-(?:mini|nano))|[6-9])", 1_050_000, 128_000),
        (r"^gpt-5", 400_000, 128_000),
        (r"^gpt-4\.1", 1_047_576, 32_768),
        (r"^gpt-4o", 128_000, 16_384),
        (r"^gpt-4", 8_192, 8_192),
        (r"^gpt-3\.5", 16_385, 4_096),
        (r"^o\d", 200_000, 100_000),
        (r"", 131_072, 32_768),
    )
)


@dataclass(frozen=True, slots=True)
class Model:
    """What the rules ask of a model's name. `window` and `most_output` are in tokens."""

    name: str
    own: bool
    reasons: bool
    thinking_mode: bool
    window: int
    most_output: int


def model_named(name: str) -> Model:
    """The model of that name; RefusalError (404) if there is none."""
    if "no-such" in name:
        said = f"The model `{name}` does not exist or you do not have access to it."
        raise refused(said, None, "model_not_found", status=404)
    window, output = next((window, output) for pattern, window, output in _WINDOWS if pattern.search(name))
    return Model(
        name=name,
        own=bool(_OWN.search(name)),
        reasons=bool(_REASONING.search(name)),
        thinking_mode=name.startswith("deepseek-"),
        window=small_window(name) or window,
        most_output=output,
    )


class OpenAIModels:
    """GET /v1/models and /v1/models/{id}."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock

    def answer(self, asked: Asked) -> Reply:
        """The list, or the one whose name the path says; RefusalError (404) for an unknown name."""
        check_key(asked.headers)
        name = unquote(asked.path.partition("/models")[2].strip("/"))
        if not name:
            return json_reply({"object": "list", "data": [self._card(one) for one in LISTED]})
        return json_reply(self._card(model_named(name).name))

    def _card(self, name: str) -> Json:
        return {"id": name, "object": "model", "created": self._clock(), "owned_by": "foldline-simulator"}

    def refusal(self, status: int, message: str, asked: Asked) -> Reply:
        """An error in OpenAI's words."""
        del asked
        return problem(status, message)
