"""One answer that cites two sources, as each provider says it, whole and streamed, and what each client reads of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.any_to_any.clients import Format, Json
from tests.any_to_any.rows_answers import anthropic, chat, generate, interactions, responses

FIRST, BETWEEN, SECOND = "日本の首都は東京です。🎌", " Also: ", "富士山 is 3776 m high 🗻."
WORDS = FIRST + BETWEEN + SECOND
SOURCES = {FIRST: ("https://example.com/tokyo", "東京"), SECOND: ("https://example.com/fuji?a=1", "Mount Fuji")}
"""Words of the answer → address and title of what they rest on."""

Cited = tuple[str, str, str]
"""Address, title, and the words that rest on it."""

EXPECTED: list[Cited] = [(*SOURCES[FIRST], FIRST), (*SOURCES[SECOND], SECOND)]


def _characters(words: str) -> Json:
    start = WORDS.index(words)
    return {"start_index": start, "end_index": start + len(words)}


def _octets(words: str) -> tuple[int, int]:
    start = len(WORDS[: WORDS.index(words)].encode())
    return start, start + len(words.encode())


def _flat(words: str, place: Json) -> Json:
    url, title = SOURCES[words]
    return {"type": "url_citation", "url": url, "title": title, **place}


def _nested(words: str) -> Json:
    flat = _flat(words, _characters(words))
    return {"type": flat.pop("type"), "url_citation": flat}


def _in_octets(words: str) -> Json:
    start, end = _octets(words)
    return _flat(words, {"start_index": start, "end_index": end})


def _location(words: str) -> Json:
    url, title = SOURCES[words]
    kind = "web_search_result_location"
    return {"type": kind, "url": url, "title": title, "encrypted_index": "EoSealed", "cited_text": "…"}


def _grounding(*cited: str) -> Json:
    supports: list[Json] = []
    for number, words in enumerate(cited):
        start, end = _octets(words)
        segment = {"startIndex": start, "endIndex": end, "text": words}
        supports.append({"segment": segment, "groundingChunkIndices": [number]})
    chunks = [{"web": {"uri": SOURCES[words][0], "title": SOURCES[words][1]}} for words in cited]
    return {"webSearchQueries": ["東京"], "groundingChunks": chunks, "groundingSupports": supports}


def _message(text: str, cited: Iterable[str]) -> Json:
    part = {"type": "output_text", "text": text, "annotations": [_flat(words, _characters(words)) for words in cited]}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


_BLOCKS: list[Json] = [
    {"type": "text", "text": FIRST, "citations": [_location(FIRST)]},
    {"type": "text", "text": BETWEEN},
    {"type": "text", "text": SECOND, "citations": [_location(SECOND)]},
]
_CONTENT = {"type": "text", "text": WORDS, "annotations": [_in_octets(FIRST), _in_octets(SECOND)]}

WHOLE: dict[Format, Json] = {
    "chat": chat(content=WORDS, annotations=[_nested(FIRST), _nested(SECOND)]),
    "responses": responses(_message(WORDS, (FIRST, SECOND))),
    "anthropic": anthropic(*_BLOCKS),
    "generate": generate({"text": "hm", "thought": True}, {"text": WORDS}, groundingMetadata=_grounding(FIRST, SECOND)),
    "interactions": interactions({"type": "model_output", "content": [_CONTENT]}),
}
for _support in WHOLE["generate"]["candidates"][0]["groundingMetadata"]["groundingSupports"]:
    _support["segment"]["partIndex"] = 1  # in an answer of one piece places count from the part with this number


def _chat_stream() -> Iterable[Json]:
    for delta in ({"role": "assistant", "content": ""}, *({"content": words} for words in (FIRST, BETWEEN, SECOND))):
        yield {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    cited = {"annotations": [_nested(FIRST), _nested(SECOND)]}
    yield {"id": "c", "model": "m", "choices": [{"index": 0, "delta": cited, "finish_reason": None}]}
    yield {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def _responses_stream() -> Iterable[Json]:
    yield {"type": "response.created", "response": {"id": "r", "model": "m", "status": "in_progress", "output": []}}
    at = {"item_id": "msg_1", "output_index": 0}
    begun: Json = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
    yield {"type": "response.output_item.added", "output_index": 0, "item": begun}
    cited = 0
    for words in (FIRST, BETWEEN, SECOND):
        yield {"type": "response.output_text.delta", **at, "content_index": 0, "delta": words}
        if words in SOURCES:
            told = {"annotation_index": cited, "annotation": _flat(words, _characters(words))}
            yield {"type": "response.output_text.annotation.added", **at, "content_index": 0, **told}
            cited += 1
    item = _message(WORDS, (FIRST, SECOND))
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": responses(item)}


def _anthropic_stream() -> Iterable[Json]:
    message = {"id": "msg_1", "model": "m", "usage": {"input_tokens": 1, "output_tokens": 1}}
    yield {"type": "message_start", "message": message}
    for index, block in enumerate(_BLOCKS):
        yield {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}
        for citation in block.get("citations", ()):
            delta: Json = {"type": "citations_delta", "citation": citation}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        delta = {"type": "text_delta", "text": block["text"]}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}
    yield {"type": "message_stop"}


def _generate_stream() -> Iterable[Json]:
    for words in (FIRST, BETWEEN, SECOND):
        yield {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": words}]}}]}
    content = {"role": "model", "parts": [{"text": ""}]}
    grounding = _grounding(FIRST, SECOND)
    yield {"candidates": [{"index": 0, "content": content, "finishReason": "STOP", "groundingMetadata": grounding}]}


def _interactions_stream() -> Iterable[Json]:
    begun = {"id": "v1_1", "status": "in_progress", "model": "m"}
    yield {"event_type": "interaction.created", "interaction": begun}
    yield {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}}
    for words in (FIRST, BETWEEN, SECOND):
        yield {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": words}}
        if words in SOURCES:
            delta: Json = {"type": "text_annotation_delta", "annotations": [_in_octets(words)]}
            yield {"event_type": "step.delta", "index": 0, "delta": delta}
    yield {"event_type": "step.stop", "index": 0}
    yield {"event_type": "interaction.completed", "interaction": {"id": "v1_1", "status": "completed"}}


def _written(events: Iterable[Json]) -> bytes:
    return b"".join(b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n" for event in events)


STREAMED: dict[Format, bytes] = {
    "chat": _written(_chat_stream()) + b"data: [DONE]\n\n",
    "responses": _written(_responses_stream()),
    "anthropic": _written(_anthropic_stream()),
    "generate": _written(_generate_stream()),
    "interactions": _written(_interactions_stream()),
}


# ---- what a client reads


def read(client: Format, body: Json) -> tuple[str, list[Cited]]:
    """The words of a whole answer in the client's format, and what they rest on."""
    match client:
        case "chat":
            message = body["choices"][0]["message"]
            inner = [each["url_citation"] for each in message["annotations"]]
            return message["content"], _by_characters(message["content"], inner)
        case "responses":
            parts = [part for item in body["output"] if item["type"] == "message" for part in item["content"]]
            cited = [each for part in parts for each in _by_characters(part["text"], part["annotations"])]
            return "".join(part["text"] for part in parts), cited
        case "anthropic":
            blocks = [block for block in body["content"] if block["type"] == "text"]
            cited = [(c["url"], c["title"], b["text"]) for b in blocks for c in b.get("citations") or ()]
            return "".join(block["text"] for block in blocks), cited
        case "generate":
            return _generated(body["candidates"][0])
        case "interactions":
            contents = [each for step in body["steps"] if step["type"] == "model_output" for each in step["content"]]
            cited = [each for content in contents for each in _by_octets(content)]
            return "".join(content["text"] for content in contents), cited


def _by_characters(text: str, annotations: Iterable[Json]) -> list[Cited]:
    return [(each["url"], each["title"], text[each["start_index"] : each["end_index"]]) for each in annotations]


def _by_octets(content: Json) -> list[Cited]:
    raw = content["text"].encode()
    annotations = content.get("annotations", ())
    return [(each["url"], each["title"], raw[each["start_index"] : each["end_index"]].decode()) for each in annotations]


def _generated(candidate: Json) -> tuple[str, list[Cited]]:
    parts = candidate["content"]["parts"]
    text = "".join(part["text"] for part in parts if not part.get("thought"))
    said = candidate.get("groundingMetadata", {})
    cited: list[Cited] = []
    for support in said.get("groundingSupports", ()):
        segment = support["segment"]
        whole = parts[segment["partIndex"]]["text"] if "partIndex" in segment else text
        words = whole.encode()[segment.get("startIndex", 0) : segment["endIndex"]].decode()
        assert words == segment["text"]
        webs = [said["groundingChunks"][number]["web"] for number in support["groundingChunkIndices"]]
        cited += [(web["uri"], web["title"], words) for web in webs]
    return text, cited


def gathered(client: Format, raw: bytes) -> Json:
    """The whole answer that a stream adds up to, as a client of the format gathers it."""
    lines = [line.removeprefix(b"data: ") for line in raw.splitlines() if line.startswith(b"data: ")]
    events: list[Json] = [json.loads(line) for line in lines if line != b"[DONE]"]
    match client:
        case "chat":
            deltas = [choice["delta"] for event in events for choice in event["choices"]]
            words = "".join(delta.get("content") or "" for delta in deltas)
            return chat(content=words, annotations=[each for delta in deltas for each in delta.get("annotations", ())])
        case "responses":
            return _gathered_response(events)
        case "anthropic":
            return _gathered_blocks(events)
        case "generate":
            candidates = [each for event in events for each in event["candidates"]]
            parts = [part for each in candidates for part in each["content"]["parts"]]
            grounding: list[Json] = [each["groundingMetadata"] for each in candidates if "groundingMetadata" in each]
            return generate(*parts, groundingMetadata=grounding[-1])
        case "interactions":
            return _gathered_steps(events)


def _gathered_response(events: list[Json]) -> Json:
    """The response of the last event, which must say what the events before it said."""
    told = [each["annotation"] for each in events if each["type"] == "response.output_text.annotation.added"]
    whole: Json = events[-1]["response"]
    messages = [item for item in whole["output"] if item["type"] == "message"]
    assert told == [each for item in messages for part in item["content"] for each in part["annotations"]]
    return whole


def _gathered_blocks(events: list[Json]) -> Json:
    blocks: list[Json] = []
    for event in events:
        match event["type"]:
            case "content_block_start":
                assert event["index"] == len(blocks)
                begun: Json = event["content_block"]
                blocks.append({**begun, "citations": list[Json]()})
            case "content_block_delta" if event["delta"]["type"] == "text_delta":
                blocks[event["index"]]["text"] += event["delta"]["text"]
            case "content_block_delta" if event["delta"]["type"] == "citations_delta":
                block: Json = blocks[int(event["index"])]
                block["citations"] = [*block["citations"], event["delta"]["citation"]]
            case _:
                pass
    return anthropic(*blocks)


def _gathered_steps(events: list[Json]) -> Json:
    steps: list[Json] = []
    for event in events:
        delta: dict[str, Any] = event.get("delta") or {}
        if event["event_type"] == "step.start":
            steps.append(event["step"] | {"content": [{"type": "text", "text": "", "annotations": []}]})
        elif delta.get("type") == "text":
            steps[event["index"]]["content"][0]["text"] += delta["text"]
        elif delta.get("type") == "text_annotation_delta":
            steps[event["index"]]["content"][0]["annotations"] += delta["annotations"]
    return interactions(*steps)
