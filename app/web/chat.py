"""The hot routes: plain ASGI, one object a format, put into the FastAPI app's router."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app.errors import ClientError
from app.web.exchange import Door
from app.web.paths import VERSIONS
from app.wires.anthropic import ANTHROPIC
from app.wires.gemini import GEMINI
from app.wires.gemini_interactions import GEMINI_INTERACTIONS
from app.wires.openai_chat import OPENAI_CHAT
from app.wires.openai_responses import OPENAI_RESPONSES
from app.wires.wire import Inbound, Problem, Wire

OPENAI_BASES = ("/v1", "/openai/v1", "/openai", "")
ANTHROPIC_BASES = ("/v1", "/anthropic/v1", "/anthropic", "")
GEMINI_BASES = tuple(
    f"{prefix}/{version}{project}"
    for prefix in ("", "/gemini")
    for version in VERSIONS
    for project in ("", "/projects/{project}/locations/{location}")
)
"""With and without our prefix, and as Vertex AI has it, under a project's path. What base URLs double is put right
before (paths.py)."""

VERBS = ("generateContent", "streamGenerateContent")
EMPTY = Inbound(b"")


class BodyRoute:
    """A format whose body says all: Chat Completions, Responses, Messages, Interactions."""

    def __init__(self, door: Door, wire: Wire) -> None:
        self._door = door
        self._wire = wire

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One ASGI call."""
        await self._door.chat(self._wire, scope, receive, send, EMPTY)


class GeminiRoute:
    """POST …/models/{model}:generateContent and :streamGenerateContent.

    Args:
        collection: what stands before the model's name as a part of it, `tunedModels/`; empty for plain models.
    """

    def __init__(self, door: Door, collection: str = "") -> None:
        self._door = door
        self._collection = collection

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One ASGI call. Without `alt=sse` a stream is a JSON array."""
        model, _, verb = unquote(scope["path_params"]["target"]).rpartition(":")
        if verb not in VERBS or not model:
            words = f"There is no method {verb or model!r} here. Use generateContent or streamGenerateContent."
            await respond(send, GEMINI, ClientError(words, kind="not_found"))
            return
        framing = "sse" if b"alt=sse" in scope.get("query_string", b"") else "array"
        inbound = Inbound(b"", self._collection + model, verb == "streamGenerateContent", framing)
        await self._door.chat(GEMINI, scope, receive, send, inbound)


def routes(door: Door) -> Iterable[Route]:
    """All chat routes, the busiest first."""
    chat, responses = BodyRoute(door, OPENAI_CHAT), BodyRoute(door, OPENAI_RESPONSES)
    for path in OPENAI_BASES:
        yield Route(f"{path}/chat/completions", chat, methods=["POST"])
        yield Route(f"{path}/responses", responses, methods=["POST"])
    messages = BodyRoute(door, ANTHROPIC)
    for path in ANTHROPIC_BASES:
        yield Route(f"{path}/messages", messages, methods=["POST"])
    gemini, interactions = GeminiRoute(door), BodyRoute(door, GEMINI_INTERACTIONS)
    tuned = GeminiRoute(door, "tunedModels/")
    for path in GEMINI_BASES:
        yield Route(f"{path}/models/{{target:path}}", gemini, methods=["POST"])
        yield Route(f"{path}/publishers/{{publisher}}/models/{{target:path}}", gemini, methods=["POST"])
        yield Route(f"{path}/tunedModels/{{target}}", tuned, methods=["POST"])
        yield Route(f"{path}/interactions", interactions, methods=["POST"])


async def respond(send: Send, wire: Wire, error: ClientError) -> None:
    """An error for a request that is no turn."""
    await answer(send, wire.problem(error))


async def answer(send: Send, problem: Problem) -> None:
    """One whole response."""
    headers = [(name.encode(), value.encode("latin-1", "replace")) for name, value in problem.headers.items()]
    headers += [(b"content-type", problem.content_type.encode()), (b"content-length", str(len(problem.body)).encode())]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": problem.body})
