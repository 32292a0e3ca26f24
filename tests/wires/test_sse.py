"""The event-stream parser against a slow one that follows the standard letter by letter."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.wires import sse
from app.wires.sse import Frame, Frames, TooLargeError

PIECES = st.lists(
    st.sampled_from(
        (
            b"data: x",
            b"data:y",
            b"data:",
            b"data",
            b": ping",
            b"event: e",
            b"id: 1",
            b"retry: 5",
            b"d\xc3\xa4ta: z",
            b"data: \xe3\x81\x82",
            b"data:  two",
            b"\n",
            b"\r\n",
            b"\r",
            b"\n\n",
            b"\r\n\r\n",
            b"\r\r",
        )
    ),
    max_size=14,
)


def _slowly(data: bytes) -> list[Frame]:
    """One byte at a time: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation."""
    lines: list[bytes] = []
    line = b""
    index = 0
    while index < len(data):
        byte = data[index : index + 1]
        if byte in (b"\r", b"\n"):
            index += 1 if data[index : index + 2] == b"\r\n" else 0
            lines.append(line)
            line = b""
        else:
            line += byte
        index += 1
    lines.append(line)
    lines.append(b"")  # an event without its blank line counts too: some servers forget the last
    frames: list[Frame] = []
    name = b""
    said: list[bytes] | None = None
    for line in lines:
        if not line:
            if said is not None:
                frames.append(Frame(name, b"\n".join(said)))
            name, said = b"", None
            continue
        if line.startswith(b":"):
            continue
        field, _, value = line.partition(b":")
        value = value[1:] if value[:1] == b" " else value
        if field == b"data":
            said = [*(said or []), value]
        elif field == b"event":
            name = value
    return frames


def _quickly(chunks: list[bytes]) -> list[Frame]:
    frames = Frames()
    found = [frame for chunk in chunks for frame in frames.feed(chunk)]
    return found + frames.close()


@example([b"data: x", b"\r\n", b"\n", b"data: x"], [])
@example([b"data: x\r", b"\r\n", b"data: x"], [])
@settings(max_examples=300, deadline=None)
@given(PIECES, st.lists(st.integers(0, 80), max_size=6))
def test_any_bytes_cut_anywhere_give_what_the_standard_says(pieces: list[bytes], cuts: list[int]) -> None:
    data = b"".join(pieces)
    marks = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    expected = _slowly(data)
    assert _quickly([data]) == expected
    assert _quickly([data[a:b] for a, b in itertools.pairwise(marks)]) == expected
    assert _quickly([data[i : i + 1] for i in range(len(data))]) == expected


def test_a_byte_order_mark_is_not_part_of_the_first_line() -> None:
    assert _quickly([b"\xef\xbb\xbfdata: x\n\n"]) == [Frame(b"", b"x")]


def test_a_byte_order_mark_may_be_cut() -> None:
    assert _quickly([b"\xef", b"\xbb", b"\xbfdata: x\n\n"]) == [Frame(b"", b"x")]


def test_an_event_is_open_until_its_blank_line() -> None:
    frames = Frames()
    frames.feed(b"data: x\n")
    assert frames.open
    frames.feed(b"\n")
    assert not frames.open


def test_a_provider_that_never_ends_an_event_does_not_fill_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LARGEST_EVENT", 100)
    frames = Frames()
    frames.feed(b"data: " + b"x" * 90)
    with pytest.raises(TooLargeError):
        frames.feed(b"x" * 90)
