"""Paths that no provider has for itself: GET /v1/models, told apart by the asker's headers, and unknown ones."""

from __future__ import annotations

from app.simulator.anthropic import problems as anthropic
from app.simulator.desk import Asked, Service
from app.simulator.gemini import problems as google
from app.simulator.openai import problems as openai
from app.simulator.reply import Reply


class EitherModels:
    """Anthropic's list for requests with its version header, Gemini's for those with Gemini's, else OpenAI's."""

    def __init__(self, others: Service, gemini: Service, messages: Service) -> None:
        self._others = others
        self._gemini = gemini
        self._messages = messages

    def answer(self, asked: Asked) -> Reply:
        """The list, or one model, in the asker's format."""
        return self._meant(asked).answer(asked)

    def refusal(self, status: int, message: str, asked: Asked) -> Reply:
        """An error in the asker's format."""
        return self._meant(asked).refusal(status, message, asked)

    def _meant(self, asked: Asked) -> Service:
        if "anthropic-version" in asked.headers:
            return self._messages
        gemini = asked.headers.keys() & {"x-goog-api-key", "x-goog-api-client"} or "key" in asked.query
        return self._gemini if gemini else self._others


class Nowhere:
    """Every path that the simulator does not serve: 404 in the words of the provider that is meant."""

    def answer(self, asked: Asked) -> Reply:
        """The 404."""
        return self.refusal(404, "", asked)

    def refusal(self, status: int, message: str, asked: Asked) -> Reply:
        """An error in the words that fit the path."""
        if "anthropic-version" in asked.headers or asked.path.startswith("/v1/messages"):
            return anthropic.problem(status, message)
        if "/models/" in asked.path and ":" in asked.path:
            return google.problem(status, message)
        return openai.problem(status, message or f"Invalid URL ({asked.path})")
