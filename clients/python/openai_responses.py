"""OpenAI's SDK, Responses: two turns with the whole input, the tool's turn by previous_response_id."""

import json

from openai import OpenAI
from talk import MODEL, SAID, get_weather, report

client = OpenAI()

said = [{"role": "user", "content": SAID["first"]}]
first = client.responses.create(model=MODEL, input=said)
said += [*first.output, {"role": "user", "content": SAID["second"]}]
second = client.responses.create(model=MODEL, input=said)

with client.responses.stream(model=MODEL, input=SAID["stream"]) as stream:
    chunks = [event.delta for event in stream if event.type == "response.output_text.delta"]
    assert stream.get_final_response().output_text == "".join(chunks)

tools = [{"type": "function", **SAID["tool"], "strict": False}]
asked = client.responses.create(model=MODEL, input=SAID["ask"], tools=tools)
outputs = [
    {"type": "function_call_output", "call_id": item.call_id, "output": get_weather(**json.loads(item.arguments))}
    for item in asked.output
    if item.type == "function_call"
]
told = client.responses.create(model=MODEL, previous_response_id=asked.id, input=outputs, tools=tools)

report("openai", second.output_text, chunks, told.output_text)
