"""Citations between all formats: each client gets what the words rest on, at exactly those words, in its own way."""

from __future__ import annotations

import json

import pytest

from app.chat.model import Chat
from app.chat.reply import Reply
from app.engine.hops import Hops
from app.wires.wire import Inbound, Stamp
from tests.any_to_any.cited import BETWEEN, EXPECTED, FIRST, SECOND, STREAMED, WHOLE, WORDS, Cited, gathered, read
from tests.any_to_any.clients import FORMATS, Format, Json
from tests.any_to_any.rows import HELLO
from tests.any_to_any.rows_answers import anthropic, chat, generate, interactions, responses
from tests.any_to_any.table import WIRES

PAIRS = [(upstream, client) for upstream in FORMATS for client in FORMATS]
AT_THE_END = ("chat", "generate", "interactions")
"""Formats in whose streams it is known only after all words of a text what they rest on."""


def _asked(client: Format) -> Chat:
    return WIRES[client].decode(Inbound(json.dumps(HELLO[client]).encode(), "m"))


def _through(upstream: Format, client: Format, answer: bytes, *, streamed: bool, stream: bool) -> bytes:
    """What a client gets of a provider's answer; `streamed` is how it came, `stream` how it is wanted."""
    talk = _asked(client)
    reader = WIRES[upstream].reader(talk, streamed, lambda: "1")
    writer = WIRES[client].writer(talk, Stamp("1", 1_790_000_000), stream)
    events = [event for byte in answer for event in reader.feed(bytes((byte,)))] + reader.close()
    return b"".join(map(writer.write, events)) + writer.close()


def _whole(upstream: Format) -> bytes:
    return json.dumps(WHOLE[upstream]).encode()


@pytest.mark.parametrize(("upstream", "client"), PAIRS)
def test_a_whole_answer_says_what_each_of_its_words_rests_on(upstream: Format, client: Format) -> None:
    body: Json = json.loads(_through(upstream, client, _whole(upstream), streamed=False, stream=False))
    assert read(client, body) == (WORDS, EXPECTED)


@pytest.mark.parametrize(("upstream", "client"), PAIRS)
def test_a_stream_says_what_its_words_rest_on(upstream: Format, client: Format) -> None:
    raw = _through(upstream, client, STREAMED[upstream], streamed=True, stream=True)
    assert read(client, gathered(client, raw)) == (WORDS, _expected(upstream, client))


def _expected(upstream: Format, client: Format) -> list[Cited]:
    """In a stream of Messages a citation stands for its block: for all words since the last ones that were cited."""
    (one, first, _), (two, second, _) = EXPECTED
    if client != "anthropic" or upstream == "anthropic":
        return EXPECTED
    if upstream in AT_THE_END:
        return [(one, first, WORDS), (two, second, WORDS)]
    return [(one, first, FIRST), (two, second, BETWEEN + SECOND)]


@pytest.mark.parametrize(("upstream", "client"), PAIRS)
def test_a_stream_and_an_answer_in_one_piece_say_the_same(upstream: Format, client: Format) -> None:
    body: Json = json.loads(_through(upstream, client, STREAMED[upstream], streamed=True, stream=False))
    assert read(client, body) == (WORDS, EXPECTED)


@pytest.mark.parametrize("client", [client for client in FORMATS if client != "anthropic"])
def test_words_behind_a_pause_are_cited_at_their_place_in_the_whole_answer(client: Format) -> None:
    """Anthropic pauses an answer and goes on with it: its client of another format sees one."""
    talk, hops, seen = _asked(client), Hops(), Reply()
    writer = WIRES[client].writer(talk, Stamp("1", 1_790_000_000), False)
    paused = anthropic({"type": "text", "text": "⏸ 最初に、"}, stop="pause_turn")
    for answer in (paused, WHOLE["anthropic"]):
        reader = WIRES["anthropic"].reader(talk, False, lambda: "1")
        for event in hops.behind([*reader.feed(json.dumps(answer).encode()), *reader.close()]):
            seen.add(event)
            writer.write(event)
        hops.add(reader, seen)
    text, cited = read(client, json.loads(writer.close()))
    assert (text, cited) == ("⏸ 最初に、" + WORDS, EXPECTED)


@pytest.mark.parametrize("name", ["citationSources", "citations"])
def test_what_gemini_recites_is_cited_too(name: str) -> None:
    start = len(WORDS[: WORDS.index(SECOND)].encode())
    source = {"uri": "https://example.com/poem", "startIndex": start, "endIndex": start + len(SECOND.encode())}
    answer = json.dumps(generate({"text": WORDS}, citationMetadata={name: [source]})).encode()
    body = json.loads(_through("generate", "chat", answer, streamed=False, stream=False))
    assert read("chat", body) == (WORDS, [("https://example.com/poem", "", SECOND)])


_URL = "https://example.com/odd"
_FLAT: Json = {"type": "url_citation", "url": _URL, "title": "odd"}


def _odd(upstream: Format, place: Json) -> Json:
    """An answer whose citation has this place."""
    match upstream:
        case "chat":
            inner = {"url": _URL, "title": "odd", **place}
            return chat(content=WORDS, annotations=[{"type": "url_citation", "url_citation": inner}, "odd"])
        case "responses":
            part = {"type": "output_text", "text": WORDS, "annotations": [_FLAT | place, "odd"]}
            item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
            return responses(item)
        case "generate":
            segment = {f"{name.split('_')[0]}Index": value for name, value in place.items()}
            support = {"segment": segment, "groundingChunkIndices": [0, 7, "odd"]}
            sources = {
                "groundingChunks": [{"web": {"uri": _URL, "title": "odd"}}],
                "groundingSupports": [support, "odd"],
            }
            return generate({"text": WORDS}, groundingMetadata=sources)
        case _:
            content = {"type": "text", "text": WORDS, "annotations": [_FLAT | place, "odd"]}
            return interactions({"type": "model_output", "content": [content]})


@pytest.mark.parametrize(
    "place",
    [
        {},
        {"start_index": 0, "end_index": 0},
        {"start_index": 9, "end_index": 3},
        {"start_index": "a", "end_index": None},
        {"start_index": -4, "end_index": -1},
    ],
    ids=["none", "empty", "reversed", "no numbers", "negative"],
)
@pytest.mark.parametrize(("upstream", "client"), [pair for pair in PAIRS if pair[0] not in ("anthropic", pair[1])])
def test_a_citation_without_a_usable_place_stands_for_the_whole_text(
    upstream: Format, client: Format, place: Json
) -> None:
    answer = json.dumps(_odd(upstream, place)).encode()
    body: Json = json.loads(_through(upstream, client, answer, streamed=False, stream=False))
    assert read(client, body) == (WORDS, [(_URL, "odd", WORDS)])
