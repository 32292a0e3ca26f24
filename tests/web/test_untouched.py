"""Traffic that nobody changes: the provider gets the client's bytes, the client gets the provider's bytes."""

from __future__ import annotations

import gzip
import json

import httpx2
import pytest

from app.simulator.running import Running

GEMINI = "gemini-3-flash-preview"
ODD_OPENAI = (
    b'{ "model" :"gpt-4.1",\n\t"messages":[ {"role":"user","content":"Caf\\u00e9 \\ud83d\\ude80 \\/ na\xc3\xafve",'
    b'"x_vendor":{"deep":[1.0,1e2,-0.0]}} ],"big":10000000000000000000000000,  "x_unknown": null, "seed":7,'
    b'"metadata":{"b":"2","a":"1"} }\n'
)
ODD_GEMINI = (
    b'{"contents" : [{"parts":[{"text":"Caf\\u00e9 \\ud83d\\ude80"}], "role":"user"}],\r\n'
    b' "generation_config": {"temperature": 0.50},"safetySettings":[] , "labels":{"n":"10000000000000000000000000"}}'
)
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize("stream", [b"", b'"stream":true,'])
async def test_an_openai_request_reaches_its_provider_byte_for_byte(
    http: httpx2.AsyncClient, sim: Running, stream: bytes
) -> None:
    body = ODD_OPENAI.replace(b'"seed"', stream + b'"seed"')
    sim.script([{"text": "fine"}])
    answer = await http.post("/v1/chat/completions", content=body, headers=JSON)

    assert answer.status_code == 200
    assert sim.journal.last.raw == body
    assert answer.headers["x-foldline-plan"] == "none"


@pytest.mark.parametrize("verb", ["generateContent", "streamGenerateContent?alt=sse", "streamGenerateContent"])
async def test_a_gemini_request_reaches_its_provider_byte_for_byte(
    http: httpx2.AsyncClient, sim: Running, verb: str
) -> None:
    sim.script([{"text": "fine"}])
    answer = await http.post(f"/v1beta/models/{GEMINI}:{verb}", content=ODD_GEMINI, headers=JSON)

    assert answer.status_code == 200
    assert sim.journal.last.raw == ODD_GEMINI
    assert sim.journal.last.path == f"/v1beta/models/{GEMINI}:{verb.partition('?')[0]}"


@pytest.mark.parametrize("model", [GEMINI, "gpt-4.1"])
async def test_single_objects_where_gemini_s_schema_has_lists_are_taken_as_gemini_takes_them(
    http: httpx2.AsyncClient, sim: Running, model: str
) -> None:
    """The form of many examples: no list around the one content, nor around its one part."""
    body = b'{"system_instruction":{"parts":{"text":"Be brief."}},"contents":{"parts":{"text":"Say: ahoy"}}}'
    sim.script([{"text": "ahoy"}])
    answer = await http.post(f"/v1beta/models/{model}:generateContent", content=body, headers=JSON)

    assert answer.status_code == 200
    assert "Be brief." in sim.journal.last.raw.decode()
    assert (sim.journal.last.raw == body) == (model == GEMINI)


async def test_a_whole_answer_comes_back_byte_for_byte(http: httpx2.AsyncClient, sim: Running) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "né", "x_mood": "calm"}, "finish_reason": "stop"}
    said = {"id": "c-1", "object": "chat.completion", "created": 1, "model": "m", "x_big": 10**25, "choices": [choice]}
    sim.script([{"json": said}])
    answer = await http.post("/v1/chat/completions", content=ODD_OPENAI, headers=JSON)

    assert json.loads(answer.content) == said
    assert str(10**25).encode() in answer.content
    direct = await _direct(sim, "/v1/chat/completions", ODD_OPENAI, {"json": said})
    assert answer.content == direct.content


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
async def test_a_stream_comes_back_byte_for_byte_with_comments_ids_and_unknown_events(
    http: httpx2.AsyncClient, sim: Running, newline: str
) -> None:
    head = '{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m",'
    events = [
        ": a comment",
        "id: 41\nevent: message\ndata:" + head + '"choices":[{"index":0,"delta":{"content":"caf\\u00e9"}}]}',
        'data: {"x_progress": 1.50, "n": 10000000000000000000000000}',
        "data: " + head + '"choices":[{"index":0,"delta":{"x_thought":"é"},"finish_reason":"stop"}]}',
        "data:   [DONE]",
    ]
    entry = {"sse": events, "newline": newline}
    sim.script([entry])
    body = ODD_OPENAI.replace(b'"seed"', b'"stream":true,"seed"')
    answer = await http.post("/v1/chat/completions", content=body, headers=JSON)

    assert answer.content == "".join(event.replace("\n", newline) + 2 * newline for event in events).encode()


@pytest.mark.parametrize("verb", ["generateContent", "streamGenerateContent?alt=sse", "streamGenerateContent"])
async def test_gemini_s_answers_come_back_byte_for_byte_in_every_form(
    http: httpx2.AsyncClient, sim: Running, verb: str
) -> None:
    path = f"/v1beta/models/{GEMINI}:{verb}"
    answer = await http.post(path, content=ODD_GEMINI, headers=JSON)
    direct = await _direct(sim, path, ODD_GEMINI)

    assert answer.content == direct.content
    assert answer.headers["content-type"] == direct.headers["content-type"]


async def test_a_packed_request_goes_on_as_what_is_in_it(http: httpx2.AsyncClient, sim: Running) -> None:
    sim.script([{"text": "fine"}])
    answer = await http.post(
        "/v1/chat/completions", content=gzip.compress(ODD_OPENAI), headers={**JSON, "content-encoding": "gzip"}
    )

    assert answer.status_code == 200
    assert sim.journal.last.raw == ODD_OPENAI
    assert "content-encoding" not in sim.journal.last.headers


async def test_a_provider_s_error_comes_back_byte_for_byte(http: httpx2.AsyncClient, sim: Running) -> None:
    error = {"error": {"message": "No.", "type": "x_own_type", "param": None, "code": "x_own_code", "x_more": [1]}}
    sim.script([{"status": 422, "json": error}])
    answer = await http.post("/v1/chat/completions", content=ODD_OPENAI, headers=JSON)

    assert (answer.status_code, answer.json()) == (422, error)


async def test_what_the_provider_wants_to_know_of_the_client_goes_along_and_the_rest_stays(
    http: httpx2.AsyncClient, sim: Running, key: str
) -> None:
    headers = {
        "user-agent": "harbour/9",
        "openai-organization": "org-1",
        "x-foldline-session": "s-1",
        "cookie": "a=b",
        "x-forwarded-for": "203.0.113.9",
        "x-request-id": "req-77",
        "sec-fetch-mode": "cors",
    }
    answer = await http.post("/v1/chat/completions", content=ODD_OPENAI, headers={**JSON, **headers})
    got = sim.journal.last.headers

    assert (got["user-agent"], got["openai-organization"], got["x-request-id"]) == ("harbour/9", "org-1", "req-77")
    assert not got.keys() & {"x-foldline-session", "cookie", "x-forwarded-for", "sec-fetch-mode", "x-goog-api-key"}
    assert got["authorization"] == f"Bearer {key}"
    assert answer.headers["x-request-id"] == "req-77"


async def test_the_provider_s_limits_come_back_with_the_answer(http: httpx2.AsyncClient, sim: Running) -> None:
    limits = {"x-ratelimit-remaining-requests": "41", "openai-processing-ms": "12", "set-cookie": "a=b"}
    choice = {"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}
    said = {"id": "c-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    sim.script([{"json": said, "headers": limits}])
    answer = await http.post("/v1/chat/completions", content=ODD_OPENAI, headers=JSON)

    assert (answer.headers["x-ratelimit-remaining-requests"], answer.headers["openai-processing-ms"]) == ("41", "12")
    assert "set-cookie" not in answer.headers


async def _direct(sim: Running, path: str, body: bytes, *entries: dict[str, object]) -> httpx2.Response:
    """The same request to the provider itself."""
    sim.script(entries)
    headers = {**JSON, "authorization": "Bearer direct", "x-goog-api-key": "direct"}
    async with httpx2.AsyncClient(base_url=sim.url, trust_env=False, verify=False) as client:
        return await client.post(path, content=body, headers=headers)
