"""A provider that forgets the conversation while the rows are fetched costs one more request, and nobody notices."""

from __future__ import annotations

import pytest

from tests.chaining.provider import Json, Provider
from tests.fetching.conftest import KEEPING, STREAMS, WIRES, Kind, StartFront, Wire, with_reviews
from tests.fetching.saying import says
from tests.fetching.shop import rows

FIRST, LAST = "Let me look. ", "Row 205 is fine."
LOST: dict[Kind, Json] = {
    "interactions": {"status": 404, "json": {"error": {"code": "not_found", "message": "Interaction not found."}}},
    "responses": {
        "status": 400,
        "json": {
            "error": {
                "message": "Previous response with id 'resp_1' not found.",
                "type": "invalid_request_error",
                "param": "previous_response_id",
                "code": "previous_response_not_found",
            }
        },
    },
}


@pytest.mark.parametrize("kind", KEEPING)
@WIRES
@STREAMS
async def test_a_chain_lost_between_two_hops_costs_one_more_request_and_is_not_to_be_seen(
    front: StartFront, provider: Provider, kind: Kind, wire: Wire, streams: bool
) -> None:
    async with front(kind) as proxy:
        talk = proxy.talk(wire, streams=streams)
        await with_reviews(talk)
        await talk.say("Remember: the crate is PLUM-7.")
        before = len(proxy.asked)
        wanted = ("fetch_rows", {"handle": proxy.handle, "offset": 200, "limit": 6})
        provider.script.load([says(kind, FIRST, [wanted]), LOST[kind], says(kind, LAST)])
        said = await talk.say("Is row 205 fine?")
        assert (said.text, said.calls) == (FIRST + LAST, ())
        assert len(proxy.asked) == before + 3
        assert provider.last.previous == ""
        assert "PLUM-7" in provider.last.new
        assert proxy.fetched()[-1]["rows"] == rows()[200:206]
        chain = next(each for each in (await proxy.record(said.turn))["decisions"] if each["step"] == "chain")
        assert chain["applied"] == "cut"
        assert "in the middle of the answer" in chain["reason"]

        assert (await talk.say("Which crate?")).chain == "continue"
    assert provider.refused == []
