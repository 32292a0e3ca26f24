"""OpenAI's SDK, Chat Completions."""

import json

from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam
from talk import MODEL, SAID, get_weather, report

client = OpenAI()

messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": SAID["first"]}]
first = client.chat.completions.create(model=MODEL, messages=messages)
messages += [first.choices[0].message, {"role": "user", "content": SAID["second"]}]
second = client.chat.completions.create(model=MODEL, messages=messages)

stream = client.chat.completions.create(
    model=MODEL,
    messages=[{"role": "user", "content": SAID["stream"]}],
    stream=True,
    stream_options={"include_usage": True},
)
chunks = [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]

tools = [{"type": "function", "function": SAID["tool"]}]
messages = [{"role": "user", "content": SAID["ask"]}]
asked = client.chat.completions.create(model=MODEL, messages=messages, tools=tools)
messages.append(asked.choices[0].message)
for call in asked.choices[0].message.tool_calls or []:
    result = get_weather(**json.loads(call.function.arguments))
    messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
told = client.chat.completions.create(model=MODEL, messages=messages, tools=tools)

report("openai", second.choices[0].message.content, chunks, told.choices[0].message.content)
