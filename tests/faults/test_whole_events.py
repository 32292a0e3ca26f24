"""Events are passed on whole and unchanged, however the network cut them."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.whole_events import BLANK_LINES, WholeEvents
from app.wires.sse import Frames

PIECES = st.lists(
    st.sampled_from([b"data: x", b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n\r\n", b": hi", b"event: y\n"]), max_size=12
)


@settings(deadline=None, database=None, derandomize=True)
@given(PIECES, st.lists(st.integers(0, 60), max_size=8))
def test_no_byte_is_lost_and_only_whole_events_go_on(pieces: list[bytes], cuts: list[int]) -> None:
    data = b"".join(pieces)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    events = WholeEvents()
    passed = [events.feed(data[a:b]) for a, b in pairwise(places)]
    assert b"".join(passed) + events.rest() == data
    assert all(not part or part.endswith(BLANK_LINES) for part in passed)
    assert not any(line in events.rest()[:-1] for line in BLANK_LINES if line != b"\r\r"), "nothing whole waits"


def test_an_event_waits_for_its_blank_line_and_no_longer() -> None:
    events = WholeEvents()
    assert events.feed(b"data: on") == b""
    assert events.feed(b"e\r\n\r") == b""
    assert events.feed(b"\ndata: two\n\nda") == b"data: one\r\n\r\ndata: two\n\n"
    assert events.feed(b"ta: three\n") == b""
    assert events.rest() == b"data: three\n"
    assert [frame.data for frame in Frames().feed(b"data: one\r\n\r\ndata: two\n\n")] == [b"one", b"two"]
