"""POST …/models/{model}:countTokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.simulator.gemini.models import model_named, place_of
from app.simulator.gemini.problems import check_key, problem, refused
from app.simulator.gemini.proto import read
from app.simulator.gemini.rules import check_request
from app.simulator.gemini.talks import prompt_tokens
from app.simulator.reply import Reply, json_reply
from app.simulator.shapes import Json, as_object, as_text

if TYPE_CHECKING:
    from app.simulator.desk import Asked


class CountTokens:
    """Gemini's countTokens: bare contents, or a whole request (then system text and tools count too)."""

    def answer(self, asked: Asked) -> Reply:
        """The count by the simulator's estimate; RefusalError if the request breaks one of Google's rules."""
        check_key(asked.headers, asked.query)
        version, name, verb = place_of(asked.path)
        model = model_named(name, version, verb)
        body = read("CountTokensRequest", asked.body)
        if "contents" in body and "generateContentRequest" in body:
            raise refused("Both generate_content_request and contents are set; only one may be.")
        request = as_object(body.get("generateContentRequest")) or body
        called = as_text(request.get("model"))  # its full name, as models/x or tunedModels/x
        if request is not body and ("/" not in called or called.removeprefix("models/") != name):
            raise refused("* GenerateContentRequest.model: unexpected model name format\n")
        check_request(request, model, counting=True)
        text, media = prompt_tokens(request)
        details: list[Json] = [{"modality": "TEXT", "tokenCount": text}]
        details += [{"modality": "IMAGE", "tokenCount": media}] if media else []
        return json_reply({"totalTokens": text + media, "promptTokensDetails": details})

    def refusal(self, status: int, message: str, asked: Asked) -> Reply:
        """An error in Google's words."""
        del asked
        return problem(status, message)
