"""Replies that cross on the way neither bring back what is gone nor hide what this process wrote itself."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from app.context.known import Checkpoint, Fetch, Hop
from app.state.cache import Cache
from app.state.keys import Session
from tests.state.samples import addresses, checkpoint, session

OLD, NEW = b"epoch-00", b"epoch-01"


def answer(
    cache: Cache, who: Session, chat: Sequence[bytes], under: bytes | None, epoch: bytes | None, *found: Checkpoint
) -> dict[bytes, Checkpoint]:
    """A recall's reply that found these."""
    there = {one.address: one for one in found}
    return cache.answered(
        who, chat, under=under, epoch=epoch, version=b"v", info=None, asked=[*there, *addresses(1)], found=there
    )


def write(cache: Cache, who: Session, epoch: bytes, *given: Checkpoint) -> None:
    """A remember that succeeded."""
    cache.given(who, given, epoch)
    cache.confirmed(who, given, epoch, epoch=epoch, before=None, after=b"v", info=b"")


def test_an_empty_reply_from_before_our_own_write_hides_nothing() -> None:
    cache, who, given = Cache(), session(), checkpoint()
    _, under = cache.unknown(who, [given.address])
    write(cache, who, NEW, given)
    assert answer(cache, who, [given.address], under, None) == {given.address: given}
    assert answer(cache, who, [given.address], NEW, NEW) == {given.address: given}


def test_a_reply_from_before_a_forgetting_is_not_kept() -> None:
    cache, who, old, new = Cache(), session(), checkpoint(), checkpoint()
    write(cache, who, OLD, old)
    _, under = cache.unknown(who, [old.address])
    cache.forget(who)
    write(cache, who, NEW, new)
    answer(cache, who, [old.address], under, OLD, old)
    asked, under = cache.unknown(who, [old.address, new.address])
    assert (asked, under) == ([old.address], NEW)
    assert answer(cache, who, [old.address, new.address], under, NEW) == {new.address: new}


def test_what_never_arrived_is_not_believed_under_a_later_epoch() -> None:
    cache, who, lost, new = Cache(), session(), checkpoint(), checkpoint()
    cache.given(who, [lost], OLD)
    cache.failed(who, OLD)
    write(cache, who, NEW, new)
    assert answer(cache, who, [lost.address, new.address], NEW, NEW) == {new.address: new}


def test_what_is_on_its_way_is_used_unless_the_session_is_somebody_elses_by_then() -> None:
    cache, who, given = Cache(), session(), checkpoint()
    cache.given(who, [given], NEW)
    assert answer(cache, who, [given.address], None, None) == {given.address: given}
    assert answer(cache, who, [given.address], None, NEW) == {given.address: given}
    other = session()
    cache.given(other, [given], NEW)
    assert answer(cache, other, [given.address], None, OLD) == {}


def test_what_a_model_fetched_counts_as_much_as_what_it_sealed() -> None:
    cache, row = Cache(), Fetch("c1", "fetch_rows", "{}", "x" * 20_000)
    write(cache, session(), NEW, replace(checkpoint(), hops=(Hop("", (row, row)),)))
    assert cache.size > 40_000
    write(cache, session(), NEW, replace(checkpoint(), open=(row,)))
    assert cache.size > 60_000


def test_bytes_are_counted_and_given_back() -> None:
    cache = Cache(limit=10_000)
    people = [session() for _ in range(50)]
    for who in people:
        write(cache, who, NEW, checkpoint("x" * 500), checkpoint("x" * 500))
        answer(cache, who, addresses(3), NEW, NEW)
        assert 0 < cache.size <= 10_000
    for who in people:
        cache.forget(who)
    assert cache.size == 0
