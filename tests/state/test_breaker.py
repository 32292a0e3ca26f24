"""The breaker opens after a run of failures, and lets one probe through after its rest."""

from __future__ import annotations

from app.state.breaker import Breaker


def test_a_single_blip_does_not_open_it() -> None:
    breaker = Breaker()
    for now in range(100):
        breaker.failed(now)
        breaker.worked()
    assert breaker.allows(100)


def test_old_failures_do_not_count() -> None:
    breaker = Breaker(failures=3, within=10)
    for now in (0, 6, 12, 18, 24):
        breaker.failed(now)
    assert breaker.state == "closed"


def test_it_opens_rests_and_sends_one_probe() -> None:
    breaker = Breaker(failures=3, within=10, rest=2)
    for now in (0, 1, 2):
        assert breaker.allows(now)
        breaker.failed(now)
    assert (breaker.state, breaker.allows(3.9)) == ("open", False)
    assert [breaker.allows(4), breaker.allows(4)] == [True, False]
    breaker.failed(4.5)
    assert [breaker.allows(6), breaker.allows(6.5)] == [False, True]
    breaker.worked()
    assert (breaker.state, breaker.allows(6.6), breaker.openings) == ("closed", True, 1)


def test_an_abandoned_probe_leaves_room_for_the_next() -> None:
    breaker = Breaker(failures=1, rest=2)
    breaker.failed(0)
    assert breaker.allows(2)
    breaker.abandoned()
    assert breaker.allows(2)
