"""A web search over sockets: asked for by the official SDK of each client format, made by each provider, cited back."""

from __future__ import annotations

import json

import pytest

from app.simulator.mind.searching import searched
from tests.any_to_any.cited import read
from tests.any_to_any.clients import FORMATS, Format
from tests.any_to_any.conftest import MODELS, World
from tests.any_to_any.rows_asked import SEARCH

ASKED = "Please search the web for 富士山"
SEARCHING = MODELS | {"chat": "gpt-5-search-api"}
FOUND = searched(ASKED)


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("upstream", FORMATS)
@pytest.mark.parametrize("client", FORMATS)
async def test_each_client_has_the_web_searched_and_gets_what_the_answer_rests_on(
    world: World, client: Format, upstream: Format, streams: bool
) -> None:
    setup = {"model": SEARCHING[upstream], "search": SEARCH[client], "options": {"chain": "never"}}
    talk = world.client(client, upstream, **setup, streams=streams)
    text, cited = read(client, (await talk.say(ASKED)).whole)
    assert FOUND is not None
    assert text == FOUND.text
    assert [source[:2] for source in cited] == [(one.page.url, one.page.title) for one in FOUND.cited]
    for (_, _, words), one in zip(cited, FOUND.cited, strict=True):
        exact = FOUND.text[one.start : one.end]
        block = client == "anthropic" and upstream != "anthropic" and streams  # whose words are out before
        assert exact in words if block else exact == words
    again = await talk.say("Say: thanks")
    assert again.text == "thanks"
    assert world.refused == []
    sent = [exchange.body for exchange in world.sim.journal.calls()][-1]
    _check_sent_back(upstream, sent)


def _check_sent_back(upstream: Format, body: object) -> None:
    """What the provider itself said of its search goes back to it; of what we said for another, nothing."""
    raw = json.dumps(body)
    kinds: dict[Format, str] = {
        "responses": "web_search_call",
        "anthropic": "web_search_tool_result",
        "interactions": "google_search_result",
    }
    for provider, kind in kinds.items():
        assert (kind in raw) == (provider == upstream), (kind, raw)
    assert '"encrypted_index": ""' not in raw


@pytest.mark.parametrize("upstream", FORMATS)
async def test_a_search_that_another_provider_made_never_goes_to_the_next_one(world: World, upstream: Format) -> None:
    """A chat begins at one provider and goes on at another: its client keeps all that it was told."""
    for client in FORMATS:
        first = world.client(client, "generate" if upstream != "generate" else "anthropic", search=SEARCH[client])
        await first.say(ASKED)
        other = world.client(client, upstream, model=SEARCHING[upstream], search=SEARCH[client])
        other.history = first.history
        said = await other.say("Say: thanks")
        assert said.text == "thanks"
    assert world.refused == []
