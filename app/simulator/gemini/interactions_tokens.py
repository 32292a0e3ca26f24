"""Continuation tokens: where an answer stopped, so that the next request can go on. They hold all there is to know."""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass

from app.simulator.gemini.interactions_problems import refused
from app.simulator.shapes import as_list, digest, dump

_WORD = re.compile(r"\s*\S+")


@dataclass(frozen=True, slots=True)
class Stop:
    """Where an answer stopped.

    Attributes:
        at: how many characters of it are said.
        words: how many words it says in one go.
        of: the interaction that stopped there; empty if it is not stored.
    """

    at: int
    words: int
    of: str

    def token(self) -> str:
        """The token that says so."""
        said = dump([self.at, self.words, self.of])
        return base64.urlsafe_b64encode(f"{said} {_seal(said)}".encode()).decode().rstrip("=")

    def portion(self, text: str) -> str:
        """What is said next of the whole answer."""
        words = [found[0] for _, found in zip(range(self.words), _WORD.finditer(text, self.at), strict=False)]
        said = "".join(words)
        return said if text[self.at + len(said) :].strip() else text[self.at :]


def read(token: str) -> Stop:
    """The stop that a token names; RefusalError if the simulator did not make it."""
    try:
        said, _, seal = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode().rpartition(" ")
        at, words, of = as_list(json.loads(said))
    except (binascii.Error, ValueError, TypeError):
        said, seal, at, words, of = "", "", 0, 0, ""
    if not said or seal != _seal(said):
        raise refused("continuation_token: is not valid for this request.")
    return Stop(at, words, of)


def _seal(said: str) -> str:
    return digest("continuation", said)
