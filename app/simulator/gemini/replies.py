"""generateContent answers as Google writes them: one body, server-sent events with CRLF, or a JSON array in pieces.

Every chunk of a stream carries the usage so far; the last has the finish reason. Calls come whole. With thinking, the
first call of a step is signed, or else the last text part; [[late_signature]] sends the latter in an empty part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.simulator.directives import Directives
from app.simulator.estimate import tokens, tokens_of
from app.simulator.gemini import signatures
from app.simulator.gemini.models import Model
from app.simulator.mind.answers import parts_of
from app.simulator.mind.talk import Answer
from app.simulator.reply import Reply, encoded, json_reply, sse, stream_reply
from app.simulator.shapes import Json, as_object, digest, objects


@dataclass(frozen=True, slots=True)
class Saying:
    """An answer on its way out.

    Attributes:
        identity: the response's id; the same request has the same.
        prompt: estimated tokens of the prompt's text, and of its media.
        shows_thoughts: the request asks for thought summaries.
        thinks: the model thought, and so signs.
        created: as RFC 3339, such as 2026-09-21T14:13:20Z.
    """

    answer: Answer
    identity: str
    orders: Directives
    model: Model
    prompt: tuple[int, int]
    shows_thoughts: bool
    thinks: bool
    created: str


def whole(saying: Saying) -> Reply:
    """The answer as one body."""
    if _reason(saying) == "BLOCK":
        return json_reply(_blocked(saying))
    reason = _reason(saying)
    parts = [] if _is_silent(saying) else [part for group in _parts(saying) for part in group]
    joined = _joined(parts)
    candidate = _candidate(joined) | _ending(reason) | _grounding(saying, joined)
    return json_reply(_frame(saying, candidate, tokens_done=1.0))


def streamed(saying: Saying, *, as_events: bool) -> Reply:
    """The answer as a stream: server-sent events, or (without alt=sse) a JSON array."""
    return _framed(_chunks(saying), as_events=as_events)


def chunks_of(body: Json, *, as_events: bool) -> Reply:
    """The stream of an answer that is given as one body: a single chunk."""
    return _framed([body], as_events=as_events)


def error_piece(body: Json, *, as_events: bool) -> bytes:
    """An in-stream error in that framing."""
    return sse([body], "\r\n")[0] if as_events else b",\r\n" + encoded(body) + b"]"


def merged(events: list[Json]) -> Json:
    """The answer that a stream's chunks say, of the first candidate; the last usage counts."""
    body: Json = {}
    candidate: Json = {}
    parts: list[Json] = []
    for event in events:
        body |= event
        for one in objects(event.get("candidates"))[:1]:
            candidate |= one
            parts += objects(as_object(one.get("content")).get("parts"))
    if candidate:
        content: Json = {"role": "model"}
        body["candidates"] = [candidate | {"content": content | ({"parts": parts} if parts else {})}]
    return body


def _framed(chunks: list[Json], *, as_events: bool) -> Reply:
    if as_events:
        return stream_reply(sse(chunks, "\r\n"))
    pieces = [(b"[" if index == 0 else b",\r\n") + encoded(chunk) for index, chunk in enumerate(chunks)]
    return stream_reply((*pieces, b"]"), "application/json; charset=UTF-8")


def _chunks(saying: Saying) -> list[Json]:
    reason = _reason(saying)
    if reason == "BLOCK":
        return [_blocked(saying)]
    groups = [] if _is_silent(saying) else _parts(saying)
    if not groups:
        return [_frame(saying, _candidate([]) | _ending(reason), tokens_done=1.0)]
    chunks: list[Json] = []
    for index, group in enumerate(groups, 1):
        ending = _ending(reason) | _grounding(saying) if index == len(groups) else {}
        candidate = _candidate(group) | ending
        chunks.append(_frame(saying, candidate, tokens_done=index / len(groups)))
    return chunks


def _parts(saying: Saying) -> list[list[Json]]:
    """The parts, grouped by the chunk that each goes out in."""
    answer, identity = saying.answer, saying.identity
    groups: list[list[Json]] = []
    if answer.reasoning and saying.shows_thoughts:
        groups += [[{"text": text, "thought": True}] for text in parts_of(answer.reasoning, Directives({}))]
    texts: list[list[Json]] = [[{"text": text}] for text in parts_of(answer.text, saying.orders)]
    if saying.thinks and not answer.calls and (texts or (saying.model.signs and not answer.cut)):
        signature = signatures.for_text(identity)
        if "late_signature" in saying.orders or not texts:
            texts.append([{"text": "", "thoughtSignature": signature}])
        else:
            texts[-1][0]["thoughtSignature"] = signature
    groups += texts
    for index, call in enumerate(answer.calls):
        given: Json = {"name": call.name, "args": call.arguments}
        if saying.model.signs:
            given = {"id": digest(identity, "call", index, length=12)} | given
        part: Json = {"functionCall": given}
        if index == 0 and saying.thinks:
            part["thoughtSignature"] = signatures.for_call(call.name, call.arguments, identity)
        groups.append([part])
    return groups


def _joined(parts: list[Json]) -> list[Json]:
    """Neighbouring texts of one kind as one part, as an answer that is not streamed has them."""
    joined: list[Json] = []
    for part in parts:
        last = joined[-1] if joined else {}
        alike = "text" in part and "text" in last and part.get("thought") == last.get("thought")
        if alike and "thoughtSignature" not in last and not (part["text"] == "" and "thoughtSignature" in part):
            joined[-1] = last | part | {"text": last["text"] + part["text"]}
        else:
            joined.append(part)
    return joined


def _reason(saying: Saying) -> str:
    return saying.orders.text("finish") or ("MAX_TOKENS" if saying.answer.cut else "STOP")


def _is_silent(saying: Saying) -> bool:
    """Whether the end that was ordered leaves no parts. A real cap on tokens leaves what was said before it."""
    return saying.orders.text("finish") not in ("", "STOP")


def _ending(reason: str) -> Json:
    ended: Json = {"finishReason": reason}
    if reason == "MALFORMED_FUNCTION_CALL":
        ended["finishMessage"] = "Malformed function call: print(default_api."
    if reason == "SAFETY":
        ended["safetyRatings"] = [
            {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": True}
        ]
    return ended


def _grounding(saying: Saying, parts: Sequence[Json] = ()) -> Json:
    """What the text rests on. Places count bytes: of the part that it is in `parts`, or of the whole text of a stream.

    A number that is 0 is left out, as protocol buffers do.
    """
    answer = saying.answer
    if answer.search is None or _is_silent(saying):
        return {}
    part = next((at for at, one in enumerate(parts) if not one.get("thought")), 0)
    supports: list[Json] = []
    for number, cited in enumerate(answer.search.within(answer.text)):
        start, end = (len(answer.text[:at].encode()) for at in (cited.start, cited.end))
        place = {"partIndex": part, "startIndex": start, "endIndex": end}
        segment: Json = {name: value for name, value in place.items() if value}
        segment["text"] = answer.text[cited.start : cited.end]
        supports.append({"segment": segment, "groundingChunkIndices": [number]})
    html = f"<div>{answer.search.query}</div>"
    said: Json = {
        "webSearchQueries": [answer.search.query],
        "searchEntryPoint": {"renderedContent": html},
        "groundingChunks": [{"web": {"uri": page.url, "title": page.title}} for page in answer.search.pages],
        "groundingSupports": supports,
    }
    return {"groundingMetadata": said}


def _candidate(parts: list[Json]) -> Json:
    content: Json = {"parts": parts, "role": "model"} if parts else {"role": "model"}
    return {"content": content, "index": 0}


def _blocked(saying: Saying) -> Json:
    feedback: Json = {"blockReason": "SAFETY", "safetyRatings": []}
    text, media = saying.prompt
    usage = {"promptTokenCount": text + media, "totalTokenCount": text + media}
    return {"promptFeedback": feedback, "usageMetadata": usage} | _named(saying)


def _named(saying: Saying) -> Json:
    return {"modelVersion": saying.model.name, "responseId": saying.identity, "createTime": saying.created}


def _frame(saying: Saying, candidate: Json, *, tokens_done: float) -> Json:
    return {"candidates": [candidate], "usageMetadata": _usage(saying, tokens_done)} | _named(saying)


def _usage(saying: Saying, done: float) -> Json:
    """The running total; `done` is the share of the answer that is out. Thinking comes first, so it counts whole."""
    answer, (text, media) = saying.answer, saying.prompt
    said = (
        0
        if _is_silent(saying)
        else tokens(answer.text) + sum(tokens(call.name) + tokens_of(call.arguments) for call in answer.calls)
    )
    spoken = int(said * done)
    thought = tokens(answer.reasoning)
    usage: Json = {"promptTokenCount": text + media}
    usage |= {"candidatesTokenCount": spoken} if spoken else {}
    usage |= {"totalTokenCount": text + media + spoken + thought}
    details = [{"modality": "TEXT", "tokenCount": text}] + (
        [{"modality": "IMAGE", "tokenCount": media}] if media else []
    )
    return usage | {"promptTokensDetails": details} | ({"thoughtsTokenCount": thought} if thought else {})
