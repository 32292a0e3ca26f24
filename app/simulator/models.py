"""Paths that no provider has for itself: GET /v1/models, told apart by the asker's headers, and unknown ones."""

from __future__ import annotations

from app.simulator.desk import Asked, Service
from app.simulator.gemini import problems as google
from app.simulator.openai import problems as openai
from app.simulator.reply import Reply


class EitherModels:
    """Gemini's list for requests with Gemini's credentials or client header, OpenAI's for all others."""

    def __init__(self, others: Service, gemini: Service) -> None:
        self._others = others
        self._gemini = gemini

    def answer(self, asked: Asked) -> Reply:
        """The list, or one model, in the asker's format."""
        return self._meant(asked).answer(asked)

    def refusal(self, status: int, message: str, asked: Asked) -> Reply:
        """An error in the asker's format."""
        return self._meant(asked).refusal(status, message, asked)

    def _meant(self, asked: Asked) -> Service:
        gemini = asked.headers.keys() & {"x-goog-api-key", "x-goog-api-client"} or "key" in asked.query
        return self._gemini if gemini else self._others


class Nowhere:
    """Every path that the simulator does not serve: 404 in Google's words for a path with a verb, else in OpenAI's."""

    def answer(self, asked: Asked) -> Reply:
        """The 404."""
        return self.refusal(404, "", asked)

    def refusal(self, status: int, message: str, asked: Asked) -> Reply:
        """An error in the words that fit the path."""
        if "/models/" in asked.path and ":" in asked.path:
            return google.problem(status, message)
        return openai.problem(status, message or f"Invalid URL ({asked.path})")
