"""Every provider's errors reach every client as its own SDK's class, with status, cause and words."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import anthropic
import openai
import pytest
from google.genai import _interactions_errors as interactions  # its only place: the SDK exports them nowhere else
from google.genai import errors as google

from tests.any_to_any.clients import FORMATS, Client, Format
from tests.any_to_any.conftest import MODELS, World
from tests.any_to_any.google_clients import StreamError

Classes = Mapping[int, type[Exception]]
OPENAI: Classes = {
    400: openai.BadRequestError,
    401: openai.AuthenticationError,
    403: openai.PermissionDeniedError,
    404: openai.NotFoundError,
    413: openai.APIStatusError,
    429: openai.RateLimitError,
    500: openai.InternalServerError,
    503: openai.InternalServerError,
}
ANTHROPIC: Classes = {
    400: anthropic.BadRequestError,
    401: anthropic.AuthenticationError,
    403: anthropic.PermissionDeniedError,
    404: anthropic.NotFoundError,
    413: anthropic.APIStatusError,
    429: anthropic.RateLimitError,
    500: anthropic.InternalServerError,
    503: anthropic.InternalServerError,
    529: anthropic.InternalServerError,
}
GENERATE: Classes = {
    **dict.fromkeys((400, 401, 403, 404, 413, 429), google.ClientError),
    **dict.fromkeys((500, 503), google.ServerError),
}
INTERACTIONS: Classes = {
    400: interactions.BadRequestError,
    401: interactions.AuthenticationError,
    403: interactions.PermissionDeniedError,
    404: interactions.NotFoundError,
    413: interactions.APIStatusError,
    429: interactions.RateLimitError,
    500: interactions.InternalServerError,
    503: interactions.InternalServerError,
}
CLASSES: dict[Format, Classes] = {
    "chat": OPENAI,
    "responses": OPENAI,
    "anthropic": ANTHROPIC,
    "generate": GENERATE,
    "interactions": INTERACTIONS,
}
IN_STREAM: dict[Format, type[Exception] | tuple[type[Exception], ...]] = {
    "chat": openai.APIError,
    "responses": openai.APIError,
    "anthropic": anthropic.APIError,
    "generate": google.APIError,
    "interactions": (StreamError, interactions.APIStatusError),  # the latter where nothing had gone out yet
}
PAIRS = pytest.mark.parametrize(
    ("client", "upstream"), [(client, upstream) for client in FORMATS for upstream in FORMATS]
)
TOO_LONG: dict[Format, str] = {
    "chat": "context_length_exceeded",
    "responses": "context_length_exceeded",
    "anthropic": "prompt is too long",
    "generate": "exceeds the maximum number of tokens",
    "interactions": "exceeds the maximum number of tokens",
}
"""What agents of each format look for before they compact their history."""


async def _refused(talk: Client, text: str) -> Any:
    """The error that the SDK raises."""
    with pytest.raises(Exception) as raised:  # noqa: PT011  (which class it must be is what the test asks)
        await talk.say(text)
    return raised.value


def _is(error: Any, wanted: type[Exception] | tuple[type[Exception], ...]) -> bool:
    return isinstance(error, wanted)


def _status(error: Any) -> int:
    status: Any = error.code if isinstance(error, google.APIError) else error.status_code
    return status


def _seen(status: int, client: Format, upstream: Format) -> int:
    """The status as this client gets it: overload has a number of its own at Anthropic, and nowhere else."""
    if client == "anthropic" and upstream != "anthropic" and status == 503:
        return 529
    return 503 if status == 529 and client != "anthropic" else status


@PAIRS
async def test_an_error_before_the_answer_is_the_sdks_own_class(world: World, client: Format, upstream: Format) -> None:
    overload = (529,) if upstream == "anthropic" else ()
    for status in (400, 403, 404, 413, 429, 500, 503, *overload):
        talk = world.client(client, upstream)
        error = await _refused(talk, f"[[fail={status}]] [[retry=100]]")
        seen = _seen(status, client, upstream)
        assert _is(error, CLASSES[client][seen]), (status, error)
        assert _status(error) == seen
        assert len(str(error)) > 20
        if status == 429:
            assert error.response.headers["retry-after"] == "60", "no SDK is made to sleep for longer"


@PAIRS
async def test_a_wrong_key_an_unknown_model_and_too_long_a_chat(world: World, client: Format, upstream: Format) -> None:
    stranger = dataclasses.replace(world, key="bad-key").client(client, upstream)
    error = await _refused(stranger, "hi")
    status = 400 if client == upstream == "generate" else 401  # Google itself says so, and is quoted
    assert _is(error, CLASSES[client][status])
    assert _status(error) == status
    name = MODELS[upstream].partition("-")[0] + "-no-such"
    error = await _refused(world.client(client, upstream, model=name), "hi")
    assert _is(error, CLASSES[client][404])
    assert "no-such" in str(error)
    error = await _refused(world.client(client, upstream, model=f"{MODELS[upstream]}-8k"), "word " * 12_000)
    assert _is(error, CLASSES[client][400])
    assert TOO_LONG[client] in str(getattr(error, "code", "")) + str(error)


@PAIRS
@pytest.mark.parametrize("order", ["error=3", "truncate=3", "break=3"])
async def test_an_error_inside_a_stream_is_raised_or_told(
    world: World, client: Format, upstream: Format, order: str
) -> None:
    talk = world.client(client, upstream, streams=True)
    error = await _refused(talk, f"[[words=60]] [[{order}]]")
    if (client, upstream) == ("responses", "responses") and isinstance(error, RuntimeError):
        return  # OpenAI's own failed response, byte for byte: its SDK says so itself when it comes to the end
    assert _is(error, IN_STREAM[client]), repr(error)
    assert error.message


@PAIRS
async def test_an_answer_that_breaks_before_it_is_whole_is_a_bad_gateway(
    world: World, client: Format, upstream: Format
) -> None:
    error = await _refused(world.client(client, upstream), "[[words=60]] [[break=1]]")
    assert _status(error) in (500, 502)
