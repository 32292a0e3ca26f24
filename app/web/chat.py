"""The hot routes: plain ASGI, one object a format, put into the FastAPI app's router."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app.errors import ClientError
from app.web.exchange import Door
from app.wires.gemini import GEMINI
from app.wires.openai_chat import OPENAI_CHAT
from app.wires.wire import Inbound, Problem, Wire

GEMINI_VERSIONS = ("v1beta", "v1", "v1alpha", "v1beta1")
VERBS = ("generateContent", "streamGenerateContent")
EMPTY = Inbound(b"")


class OpenAIChatRoute:
    """POST …/chat/completions."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One ASGI call."""
        await self._door.chat(OPENAI_CHAT, scope, receive, send, EMPTY)


class GeminiRoute:
    """POST …/models/{model}:generateContent and :streamGenerateContent."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One ASGI call. Without `alt=sse` a stream is a JSON array."""
        model, _, verb = unquote(scope["path_params"]["target"]).rpartition(":")
        if verb not in VERBS or not model:
            words = f"There is no method {verb or model!r} here. Use generateContent or streamGenerateContent."
            await respond(send, GEMINI, ClientError(words, kind="not_found"))
            return
        framing = "sse" if b"alt=sse" in scope.get("query_string", b"") else "array"
        inbound = Inbound(b"", model, verb == "streamGenerateContent", framing)
        await self._door.chat(GEMINI, scope, receive, send, inbound)


def routes(door: Door) -> Iterable[Route]:
    """All chat routes, the busiest first. A version said twice is forgiven: some base URLs carry one already."""
    openai, gemini = OpenAIChatRoute(door), GeminiRoute(door)
    for path in ("/v1", "/openai/v1", "/v1/v1", "/openai", ""):
        yield Route(f"{path}/chat/completions", openai, methods=["POST"])
    for prefix in ("", "/gemini"):
        for version in GEMINI_VERSIONS:
            for path in (f"{prefix}/{version}/models", f"{prefix}/{version}/{version}/models"):
                yield Route(path + "/{target:path}", gemini, methods=["POST"])


async def respond(send: Send, wire: Wire, error: ClientError) -> None:
    """An error for a request that is no turn."""
    await answer(send, wire.problem(error))


async def answer(send: Send, problem: Problem) -> None:
    """One whole response."""
    headers = [(name.encode(), value.encode("latin-1", "replace")) for name, value in problem.headers.items()]
    headers += [(b"content-type", problem.content_type.encode()), (b"content-length", str(len(problem.body)).encode())]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": problem.body})
