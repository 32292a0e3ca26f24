"""The simulator as an ASGI app: one counter for each call of each provider that it stands in for."""

from __future__ import annotations

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from app.simulator.anthropic.catalogue import MessagesModels
from app.simulator.anthropic.count import CountMessageTokens
from app.simulator.anthropic.messages import Messages
from app.simulator.chains import Chains
from app.simulator.delivery import Closing
from app.simulator.desk import Counter, Desk
from app.simulator.gemini.count import CountTokens
from app.simulator.gemini.generate import Generate
from app.simulator.gemini.interactions import Interactions
from app.simulator.gemini.interactions_kept import CancelInteraction, DeleteInteraction, GetInteraction
from app.simulator.gemini.models import GeminiModels
from app.simulator.journal import Journal
from app.simulator.keeping import KeepingCounter
from app.simulator.models import EitherModels, Nowhere
from app.simulator.openai import conversations, responses_kept
from app.simulator.openai.chat import ChatCompletions
from app.simulator.openai.input_tokens import InputTokens
from app.simulator.openai.models import OpenAIModels
from app.simulator.openai.responses import Responses
from app.simulator.script import Script

FIXED_TIME = 1_790_000_000  # seconds since 1970: answers say the same time for ever, so that they can be compared
GEMINI_VERSIONS = ("v1", "v1beta", "v1alpha", "v1beta1")


def create_simulator(
    *,
    journal: Journal | None = None,
    script: Script | None = None,
    clock: Callable[[], int] = lambda: FIXED_TIME,
    chains: Chains | None = None,
) -> Starlette:
    """A strict, deterministic stand-in for the providers.

    Args:
        journal: where requests are noted; without one nothing is kept.
        script: prescribed answers; without one the simulated model answers by itself.
        clock: seconds since 1970, for `created` and `createTime`.
        chains: the answers that can be asked for and continued; without them new ones, on the same clock.

    Returns:
        The app. Its `state` holds `journal`, `script`, `chains` and `closing` (set it to end all open answers).
    """
    desk = Desk(
        journal=Journal(0) if journal is None else journal,
        script=Script() if script is None else script,
        closing=Closing(),
    )
    chains = Chains(clock) if chains is None else chains
    kept = [*_responses(desk, chains), *_interactions(desk, chains)]
    app = Starlette(
        routes=[*_openai(desk, clock), *_gemini(desk, clock), *kept, *_anthropic(desk, clock), *_others(desk)]
    )
    app.state.chains = chains
    app.state.journal, app.state.script, app.state.closing = desk.journal, desk.script, desk.closing
    return app


def _openai(desk: Desk, clock: Callable[[], int]) -> list[BaseRoute]:
    completions = ChatCompletions(clock)
    chat = Counter(desk, completions, scripted=completions)
    models = Counter(desk, EitherModels(OpenAIModels(clock), GeminiModels(), MessagesModels()))
    return [
        Route("/v1/chat/completions", chat, methods=["POST"]),
        Route("/v1/responses/input_tokens", Counter(desk, InputTokens()), methods=["POST"]),
        Route("/v1/models", models, methods=["GET"]),
        Route("/v1/models/{model:path}", models, methods=["GET"]),
    ]


def _gemini(desk: Desk, clock: Callable[[], int]) -> list[BaseRoute]:
    contents = Generate(clock)
    generate = Counter(desk, contents, scripted=contents)
    count, models = Counter(desk, CountTokens()), Counter(desk, GeminiModels())
    routes: list[BaseRoute] = []
    for version in GEMINI_VERSIONS:
        routes += [
            Route(f"/{version}/{{model:path}}:generateContent", generate, methods=["POST"]),
            Route(f"/{version}/{{model:path}}:streamGenerateContent", generate, methods=["POST"]),
            Route(f"/{version}/{{model:path}}:countTokens", count, methods=["POST"]),
            Route(f"/{version}/models", models, methods=["GET"]),
            Route(f"/{version}/models/{{model:path}}", models, methods=["GET"]),
        ]
    return routes


def _responses(desk: Desk, chains: Chains) -> list[BaseRoute]:
    root, talks = "/v1/responses", "/v1/conversations"
    return [
        Route(root, KeepingCounter(desk, Responses(chains)), methods=["POST"]),
        *(
            Route(path, Counter(desk, service(chains)), methods=[method])
            for method, path, service in (
                ("GET", f"{root}/{{id}}", responses_kept.GetResponse),
                ("DELETE", f"{root}/{{id}}", responses_kept.DeleteResponse),
                ("POST", f"{root}/{{id}}/cancel", responses_kept.CancelResponse),
                ("GET", f"{root}/{{id}}/input_items", responses_kept.InputItems),
                ("POST", talks, conversations.CreateConversation),
                ("GET", f"{talks}/{{id}}", conversations.GetConversation),
                ("POST", f"{talks}/{{id}}", conversations.ChangeConversation),
                ("DELETE", f"{talks}/{{id}}", conversations.DeleteConversation),
                ("GET", f"{talks}/{{id}}/items", conversations.ConversationItems),
                ("POST", f"{talks}/{{id}}/items", conversations.AddItems),
                ("GET", f"{talks}/{{id}}/items/{{item}}", conversations.ConversationItems),
                ("DELETE", f"{talks}/{{id}}/items/{{item}}", conversations.DeleteItem),
            )
        ),
    ]


def _interactions(desk: Desk, chains: Chains) -> list[BaseRoute]:
    create = KeepingCounter(desk, Interactions(chains))
    get, cancel = Counter(desk, GetInteraction(chains)), Counter(desk, CancelInteraction(chains))
    delete = Counter(desk, DeleteInteraction(chains))
    routes: list[BaseRoute] = []
    for version in GEMINI_VERSIONS:
        for root in (f"/{version}", f"/{version}/projects/{{project}}/locations/{{location}}"):
            routes += [
                Route(f"{root}/interactions", create, methods=["POST"]),
                Route(f"{root}/interactions/{{id}}", get, methods=["GET"]),
                Route(f"{root}/interactions/{{id}}", delete, methods=["DELETE"]),
                Route(f"{root}/interactions/{{id}}/cancel", cancel, methods=["POST"]),
            ]
    return routes


def _anthropic(desk: Desk, clock: Callable[[], int]) -> list[BaseRoute]:
    messages = Messages(clock)
    return [
        Route("/v1/messages", Counter(desk, messages, scripted=messages), methods=["POST"]),
        Route("/v1/messages/count_tokens", Counter(desk, CountMessageTokens()), methods=["POST"]),
    ]


def _others(desk: Desk) -> list[BaseRoute]:
    """A word to a visitor, and what is said of every other path: it too stands in the journal."""
    nowhere = Counter(desk, Nowhere())
    methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    return [Route("/", _welcome, methods=["GET"]), Route("/{rest:path}", nowhere, methods=methods)]


def _welcome(_request: Request) -> JSONResponse:
    serves = ["OpenAI chat", "OpenAI responses", "Anthropic messages", "Gemini generateContent", "Gemini Interactions"]
    return JSONResponse({"name": "Foldline provider simulator", "serves": serves})
