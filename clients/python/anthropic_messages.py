"""Anthropic's SDK, Messages."""

from anthropic import Anthropic
from talk import MODEL, SAID, get_weather, report

client = Anthropic()


def text(message):
    """All that an answer says."""
    return "".join(block.text for block in message.content if block.type == "text")


messages = [{"role": "user", "content": SAID["first"]}]
first = client.messages.create(model=MODEL, max_tokens=1000, messages=messages)
messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": SAID["second"]}]
second = client.messages.create(model=MODEL, max_tokens=1000, messages=messages)

with client.messages.stream(
    model=MODEL, max_tokens=1000, messages=[{"role": "user", "content": SAID["stream"]}]
) as stream:
    chunks = list(stream.text_stream)
    assert text(stream.get_final_message()) == "".join(chunks)

tool = {"name": SAID["tool"]["name"], "description": SAID["tool"]["description"]}
tools = [{**tool, "input_schema": SAID["tool"]["parameters"]}]
messages = [{"role": "user", "content": SAID["ask"]}]
asked = client.messages.create(model=MODEL, max_tokens=1000, messages=messages, tools=tools)
results = [
    {"type": "tool_result", "tool_use_id": block.id, "content": get_weather(**block.input)}
    for block in asked.content
    if block.type == "tool_use"
]
messages += [{"role": "assistant", "content": asked.content}, {"role": "user", "content": results}]
told = client.messages.create(model=MODEL, max_tokens=1000, messages=messages, tools=tools)

report("anthropic", text(second), chunks, text(told))
